/* emit_steps.c - prints steps and the arguments bound to their operands; see emit_steps.h. */
#include "emit_steps.h"

#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "compiler/ir/identifiers.h"

/* Names of variables in the body of a loop over layers: pointers to the current layer, if the
 * loop has strides. */
#define LAYER_WEIGHTS "layer_weights" /* weights + layer * weights_stride */
#define LAYER_ARENA "layer_arena"     /* arena + layer * arena_stride */

/* ---- bindings ---- */

/* Converts an offset in the arena or the weights from bytes to units of the tensor's format. */
static long long in_units(enum cr_space space, int64_t offset, enum cr_format format)
{
    bool bytes = space == CR_SPACE_ARENA || space == CR_SPACE_WEIGHTS;
    return (long long)(bytes ? offset / cr_formats[format].unit : offset);
}

/* Prints " + 5" for a positive number, " - 5" for a negative one, nothing for 0. */
static void print_plus(struct cr_text *t, long long number)
{
    if (number)
        cr_put(t, " %c %lld", number < 0 ? '-' : '+', number < 0 ? -number : number);
}

/* Prints "start + layer * stride". */
static void print_linear(struct cr_text *t, long long start, long long stride)
{
    long long way = stride < 0 ? -stride : stride;
    if (start || !stride)
        cr_put(t, "%lld", start);
    if (stride)
        cr_put(t, "%s", !start && stride > 0 ? "" : !start ? "-" : stride > 0 ? " + " : " - ");
    if (stride)
        cr_put(t, way == 1 ? "layer" : "layer * %lld", way);
}

/* Prints a cast such as "(int *)" if a tensor in the arena or the weights is not of floats, since
 * pointers to these are of floats. */
static void print_cast(struct cr_text *t, enum cr_space space, enum cr_format format)
{
    const char *type = cr_formats[format].c_type;
    bool pointer = space == CR_SPACE_ARENA || space == CR_SPACE_WEIGHTS;
    if (pointer && strcmp(type, "float") != 0)
        cr_put(t, "(%s%s *)", space == CR_SPACE_WEIGHTS ? "const " : "", type);
}

/* Prints a location that is the same for all layers. */
static void print_location(struct cr_text *t, const struct cr_program *p, struct cr_location at, enum cr_format format)
{
    long long offset = in_units(at.space, at.offset, format);
    print_cast(t, at.space, format);
    switch (at.space) {
    case CR_SPACE_ARENA:
    case CR_SPACE_WEIGHTS:
        cr_put(t, "%s", at.space == CR_SPACE_ARENA ? "arena" : "weights");
        print_plus(t, offset);
        break;
    case CR_SPACE_INPUT:
        cr_put(t, "in_%s", p->inputs[offset].identifier);
        break;
    case CR_SPACE_OUTPUT:
        cr_put(t, "out_%s", p->outputs[offset].identifier);
        break;
    case CR_SPACE_LENGTH:
        cr_put(t, "length_%s", cr_length_identifier(p, (int)offset));
        break;
    case CR_SPACE_STATE:
        cr_put(t, "state_%s", p->inputs[offset].identifier);
        break;
    case CR_SPACE_LITERAL:
        cr_put(t, "literal%lld", offset);
        break;
    default:
        cr_put(t, "%lld", offset);
    }
    print_plus(t, at.within / cr_formats[format].unit);
}

/* By space: the text before the number in a location that depends on the layer; behind(space) is
 * the text after the number. */
static const char *const before[CR_SPACE_COUNT] = {[CR_SPACE_NONE] = "",
                                                   [CR_SPACE_ARENA] = "arena + ",
                                                   [CR_SPACE_WEIGHTS] = "weights + ",
                                                   [CR_SPACE_INPUT] = "inputs[",
                                                   [CR_SPACE_OUTPUT] = "outputs[",
                                                   [CR_SPACE_STATE] = "(void *)inputs[",
                                                   [CR_SPACE_LITERAL] = "literals["};

static const char *behind(enum cr_space space)
{
    const char *text = before[space];
    return *text && text[strlen(text) - 1] == '[' ? "]" : "";
}

/* Prints a location with a stride: relative to the loop's pointer to the layer if that has the
 * same stride, else as start + layer * stride. */
static void print_even(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    long long start = in_units(b->space, b->start, format);
    long long stride = in_units(b->space, b->stride, format);
    print_cast(t, b->space, format);
    if (b->relative) {
        cr_put(t, "%s", b->space == CR_SPACE_ARENA ? LAYER_ARENA : LAYER_WEIGHTS);
        print_plus(t, start);
        return;
    }
    cr_put(t, "%s", before[b->space]);
    print_linear(t, start, stride);
    cr_put(t, "%s", behind(b->space));
}

static void print_alternating(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    print_cast(t, b->space, format);
    cr_put(t, "%s(layer %% 2 ? %lld : %lld)%s", before[b->space],
           in_units(b->space, b->alternate[1], format), in_units(b->space, b->alternate[0], format),
           behind(b->space));
}

/* Prints a table of locations, one for each layer, indexed by the layer. */
static void print_table(struct cr_text *t, const struct cr_program *p, const struct cr_binding *b,
                        enum cr_format format)
{
    print_cast(t, b->space, format);
    cr_put(t, "%s(const long[]){", before[b->space]);
    for (int i = 0; i < b->n_rows; i++)
        cr_put(t, "%s%lld", i ? ", " : "", in_units(b->space, p->table[b->first_row + i], format));
    cr_put(t, "}[layer");
    print_plus(t, -(long long)b->first_layer);
    cr_put(t, "]%s", behind(b->space));
}

/* Prints a number that depends on the rank, such as "(const long[]){0, 32}[rank]", divided by
 * `unit`. */
static void print_by_rank(struct cr_text *t, const struct cr_program *p, int first_row, int unit)
{
    cr_put(t, "(const long[]){");
    for (int r = 0; r < p->ranks; r++)
        cr_put(t, "%s%lld", r ? ", " : "", (long long)(p->table[first_row + r] / unit));
    cr_put(t, "}[rank]");
}

/* Prints the offset of an argument inside its port, such as " + 12 + layer * 24". */
static void print_within(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    int unit = cr_formats[format].unit;
    if (!b->within && !b->within_stride)
        return;
    cr_put(t, " + ");
    print_linear(t, (long long)(b->within / unit), (long long)(b->within_stride / unit));
}

/* Prints the cast of a port that depends on the layer: it is looked up as a pointer to void, to
 * which no offset can be added.  A state that a kernel replaces never depends on the layer: see
 * may_move. */
static void print_cast_of_port(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    bool looked_up = b->form != CR_FORM_SAME;
    if (looked_up && (b->within || b->within_stride || b->differs))
        cr_put(t, "(%s%s *)", b->space == CR_SPACE_OUTPUT ? "" : "const ", cr_formats[format].c_type);
}

/* Prints the offset of a part that an i32 chooses, such as " + cr_chosen(*id, 4) * 256". */
static void print_choice(struct cr_text *t, const struct cr_program *p,
                         const struct cr_layers *loop, const struct cr_chosen_part *choice,
                         enum cr_format format)
{
    struct cr_binding by = p->bindings[choice->by];
    bool constant = by.space == CR_SPACE_ARENA && by.form == CR_FORM_SAME && !by.first_differs &&
                    !by.last_differs && !by.differs && !by.within && !by.within_stride;
    long long element = (long long)choice->element;
    cr_put(t, " + cr_chosen(");
    if (constant) { /* prints ((int *)arena)[5] instead of ((int *)arena + 4)[1] */
        cr_put(t, "((int *)arena)[%lld]", in_units(by.space, by.start, CR_FORMAT_i32) + element);
    } else {
        cr_put(t, "((const int *)(");
        cr_emit_binding(t, p, loop, &by, CR_FORMAT_i32);
        cr_put(t, "))[%lld]", element);
    }
    cr_put(t, ", %lld) * %lld", (long long)choice->bound,
           (long long)(choice->stride / cr_formats[format].unit));
}

void cr_emit_binding(struct cr_text *t, const struct cr_program *p, const struct cr_layers *loop,
                     const struct cr_binding *b, enum cr_format format)
{
    bool added_to = (b->choice.bound || b->differs) && (b->first_differs || b->last_differs);
    if (added_to)
        cr_put(t, "(");
    if (b->first_differs) {
        cr_put(t, "layer == %d ? ", loop->start);
        print_location(t, p, b->first, format);
        cr_put(t, " : ");
    }
    if (b->last_differs) {
        cr_put(t, "layer == %d ? ", loop->start + (loop->count - 1) * loop->direction);
        print_location(t, p, b->last, format);
        cr_put(t, " : ");
    }
    print_cast_of_port(t, b, format);
    switch (b->form) {
    case CR_FORM_SAME:
        print_location(t, p, (struct cr_location){b->space, b->start, 0}, format);
        break;
    case CR_FORM_EVEN:
        print_even(t, b, format);
        break;
    case CR_FORM_ALTERNATING:
        print_alternating(t, b, format);
        break;
    case CR_FORM_TABLE:
        print_table(t, p, b, format);
        break;
    case CR_FORM_RANKS:
        print_by_rank(t, p, b->first_row, 1);
        break;
    }
    print_within(t, b, format);
    if (added_to)
        cr_put(t, ")");
    if (b->differs) {
        cr_put(t, " + ");
        print_by_rank(t, p, b->first_more, b->space == CR_SPACE_NONE ? 1 : cr_formats[format].unit);
    }
    if (b->choice.bound)
        print_choice(t, p, loop, &b->choice, format);
}

/* ---- steps ---- */

void cr_emit_shape(struct cr_text *t, const struct cr_program *p, const struct cr_buffer *buffer)
{
    char name[512];
    cr_put(t, buffer->rank ? "" : "[");
    for (int i = 0; i < buffer->rank; i++) {
        int length = buffer->length[i];
        cr_axis_text(length == CR_NONE ? NULL : &p->lengths[length], p->sizes, buffer->size[i], buffer->shape[i], name,
                     sizeof name);
        cr_put(t, "%s%s", i ? ", " : "[", name);
    }
    cr_put(t, "]");
}

/* Writes the name of the buffer that iteration i of a loop over layers binds to an argument, with # in place of its
 * numbers. */
static void name_bound(char plain[128], const struct cr_program *p, const struct cr_binding *b, int i)
{
    cr_plain_scope(plain, 128, p->buffers[p->bound[b->first_buffer + i].what].name);
}

/* Prints the name and the shape of the buffer that is bound to an argument.  If the first layer of a loop binds a buffer
 * with another name than the next one, prints both names.  Packed weights have the shape of the matrix. */
static void print_buffer_comment(struct cr_text *t, const struct cr_program *p, const struct cr_layers *loop,
                                 const struct cr_binding *b, const struct cr_slot *slot)
{
    char plain[128], next[128];
    struct cr_text shape = {0};
    name_bound(plain, p, b, 0);
    name_bound(next, p, b, loop && loop->count > 1);
    cr_emit_shape(&shape, p, &p->buffers[p->bound[b->first_buffer].what]);
    cr_put(t, " /* %s%s%s%s%s */", plain, strcmp(plain, next) != 0 ? ", then " : "",
           strcmp(plain, next) != 0 ? next : "", slot->packed && slot->note ? slot->note : shape.data,
           slot->packed ? ", packed" : "");
    free(shape.data);
}

/* Prints a block with a structure of the arguments and a call of rt->parallel for the function. */
void cr_emit_step_call(struct cr_text *t, const struct cr_step *step,
                       const struct cr_step_walk *walk)
{
    const struct cr_program *p = walk->program;
    const struct cr_function *f = &p->functions[step->function];
    int indent = walk->loop ? 8 : 4;
    cr_put(t, "%*s{\n%*sconst struct k%d_args args = {\n", indent, "", indent + 4, "", f->number);
    cr_put(t, "%*s.rt = rt,\n", indent + 8, "");
    for (int i = 0; i < f->n_bound; i++) {
        cr_put(t, "%*s.%s = ", indent + 8, "", f->slots[i].name);
        cr_emit_binding(t, p, walk->loop, cr_operand_binding(p, step, i), f->slots[i].format);
        cr_put(t, ",");
        if (f->slots[i].kind == CR_SLOT_ARGUMENT)
            print_buffer_comment(t, p, walk->loop, cr_operand_binding(p, step, i), &f->slots[i]);
        cr_put(t, "\n");
    }
    cr_put(t, "%*s};\n", indent + 4, "");
    struct cr_text items = {0};
    cr_emit_items(&items, f);
    cr_put_line(t, indent + 4, "rt->parallel(pool, %s, %lld, k%d_%s, &args, scratch, scratch_floats);",
                items.data, (long long)step->call.shares, f->number, f->title);
    free(items.data);
    cr_put(t, "%*s}\n", indent, "");
}

/* Returns the length of the scope that two titles have in common, up to the last # of it. */
static size_t common_scope(const char *a, size_t most, const char *b)
{
    size_t scope = 0;
    for (size_t i = 0; i < most && a[i] == b[i]; i++)
        scope = a[i] == '#' ? i + 1 : scope;
    return scope;
}

/* Prints, as a comment, the scope that the functions of a loop have in common, such as "h.#". */
static void print_scope(struct cr_text *t, const struct cr_program *p, const struct cr_step *loop)
{
    static const char *const prefixes[] = {"gradient of ", "next "};
    const char *scope = NULL;
    size_t length = 0;
    for (const struct cr_step *step = loop + 1; step->kind != CR_STEP_END; step++) {
        const char *title = step->function == CR_NONE ? "" : p->functions[step->function].comment;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            title += strncmp(title, prefixes[i], strlen(prefixes[i])) == 0 ? strlen(prefixes[i]) : 0;
        size_t end = strcspn(title, ",\n");
        if (!memchr(title, '#', end))
            continue;
        length = common_scope(title, scope ? length : end, scope ? scope : title);
        scope = title;
    }
    if (length)
        cr_put(t, " /* %.*s */", (int)length, scope);
}

/* Prints the first lines of a loop over layers, in ascending or descending order. */
void cr_emit_step_loop(struct cr_text *t, const struct cr_step *step,
                       const struct cr_step_walk *walk)
{
    const struct cr_layers *loop = &step->loop;
    bool up = loop->direction > 0;
    int end = loop->start + (loop->count - !up) * loop->direction;
    cr_put(t, "    for (long layer = %d; layer %s %d; layer%s) {", loop->start, up ? "<" : ">=", end, up ? "++" : "--");
    print_scope(t, walk->program, step);
    cr_put(t, "\n");
    if (loop->weights_stride)
        cr_put(t, "        const float *const " LAYER_WEIGHTS " = weights + layer * %lld;\n",
               in_units(CR_SPACE_WEIGHTS, loop->weights_stride, CR_FORMAT_f32));
    if (loop->arena_stride)
        cr_put(t, "        float *const " LAYER_ARENA " = arena + layer * %lld;\n",
               in_units(CR_SPACE_ARENA, loop->arena_stride, CR_FORMAT_f32));
}

void cr_emit_step_end(struct cr_text *t, const struct cr_step *step,
                      const struct cr_step_walk *walk)
{
    (void)step, (void)walk;
    cr_put(t, "    }\n");
}
