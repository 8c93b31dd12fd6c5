/* The whole text of a program: its functions and what calls them, entry by entry. */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/guard.h"
#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"

/* The variables by which a loop's body knows the way from layer to layer, if there are such. */
#define LAYER_WEIGHTS "layer_weights" /* weights + layer * weights_stride */
#define LAYER_ARENA "layer_arena"     /* arena + layer * arena_stride */

/* ---- bindings ---- */

/* Offsets in the arena and among the weights are printed as what their pointers point to. */
static long long in_units(enum cr_space space, int64_t offset, enum cr_format format)
{
    bool bytes = space == CR_SPACE_ARENA || space == CR_SPACE_WEIGHTS;
    return (long long)(bytes ? offset / cr_formats[format].unit : offset);
}

/* " + 5", " - 5", or nothing. */
static void print_plus(struct cr_text *t, long long number)
{
    if (number)
        cr_put(t, " %c %lld", number < 0 ? '-' : '+', number < 0 ? -number : number);
}

/* "start + layer * stride". */
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

/* "(int *)": the pointers to arena and weights are of floats, what lies there may have another
 * type. */
static void print_cast(struct cr_text *t, enum cr_space space, enum cr_format format)
{
    const char *type = cr_formats[format].c_type;
    bool pointer = space == CR_SPACE_ARENA || space == CR_SPACE_WEIGHTS;
    if (pointer && strcmp(type, "float") != 0)
        cr_put(t, "(%s%s *)", space == CR_SPACE_WEIGHTS ? "const " : "", type);
}

/* A location that is the same for all layers. */
static void print_location(struct cr_text *t, struct cr_location at, enum cr_format format)
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
        cr_put(t, "in%lld", offset);
        break;
    case CR_SPACE_OUTPUT:
        cr_put(t, "out%lld", offset);
        break;
    case CR_SPACE_LENGTH:
        cr_put(t, "length%lld", offset);
        break;
    case CR_SPACE_STATE:
        cr_put(t, "state%lld", offset);
        break;
    case CR_SPACE_LITERAL:
        cr_put(t, "literal%lld", offset);
        break;
    default:
        cr_put(t, "%lld", offset);
    }
    print_plus(t, at.within / cr_formats[format].unit);
}

/* What goes before and behind the number of a location that depends on the layer. */
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

/* By the pointer to the layer where the loop has one of that distance, else start + layer * stride. */
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

static void print_turns(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    print_cast(t, b->space, format);
    cr_put(t, "%s(layer %% 2 ? %lld : %lld)%s", before[b->space],
           in_units(b->space, b->turns[1], format), in_units(b->space, b->turns[0], format),
           behind(b->space));
}

/* The locations in the order of the layers, and which of them is this layer's. */
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

/* Where inside a port an argument begins: " + 12 + layer * 24". */
static void print_within(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    int unit = cr_formats[format].unit;
    if (!b->within && !b->within_stride)
        return;
    cr_put(t, " + ");
    print_linear(t, (long long)(b->within / unit), (long long)(b->within_stride / unit));
}

/* A port that depends on the layer is looked up as a pointer to nothing known, which has to be cast
 * before one can add to it.  A state that a kernel replaces is never one of them: see may_move. */
static void print_cast_of_port(struct cr_text *t, const struct cr_binding *b, enum cr_format format)
{
    bool looked_up = b->form != CR_FORM_SAME;
    if (looked_up && (b->within || b->within_stride))
        cr_put(t, "(%s%s *)", b->space == CR_SPACE_OUTPUT ? "" : "const ", cr_formats[format].c_type);
}

/* What an argument is, as an expression of the layer's number. */
static void print_binding(struct cr_text *t, const struct cr_program *p,
                          const struct cr_step *loop, const struct cr_binding *b,
                          enum cr_format format)
{
    if (b->first_differs) {
        cr_put(t, "layer == %d ? ", loop->start);
        print_location(t, b->first, format);
        cr_put(t, " : ");
    }
    if (b->last_differs) {
        cr_put(t, "layer == %d ? ", loop->start + (loop->count - 1) * loop->direction);
        print_location(t, b->last, format);
        cr_put(t, " : ");
    }
    print_cast_of_port(t, b, format);
    switch (b->form) {
    case CR_FORM_SAME:
        print_location(t, (struct cr_location){b->space, b->start, 0}, format);
        break;
    case CR_FORM_EVEN:
        print_even(t, b, format);
        break;
    case CR_FORM_TURNS:
        print_turns(t, b, format);
        break;
    case CR_FORM_TABLE:
        print_table(t, p, b, format);
        break;
    }
    print_within(t, b, format);
}

/* ---- steps ---- */

/* A block with the arguments as a structure, handed to rt->parallel with the function. */
static void print_call(struct cr_text *t, const struct cr_program *p, const struct cr_step *loop,
                       const struct cr_step *call)
{
    const struct cr_function *f = &p->functions[call->function];
    int indent = loop ? 8 : 4;
    cr_put(t, "%*s{\n%*sconst struct k%d_args args = {\n", indent, "", indent + 4, "", f->number);
    cr_put(t, "%*s.rt = rt,\n", indent + 8, "");
    for (int i = 0; i < f->n_bound; i++) {
        cr_put(t, "%*s.%s = ", indent + 8, "", f->slots[i].name);
        print_binding(t, p, loop, &p->bindings[call->first_binding + i], f->slots[i].format);
        cr_put(t, ",\n");
    }
    cr_put(t, "%*s};\n", indent + 4, "");
    struct cr_text items = {0};
    cr_emit_items(&items, f);
    cr_put_line(t, indent + 4, "rt->parallel(pool, %s, %lld, k%d_%s, &args, scratch, scratch_floats);",
                items.data, (long long)call->shares, f->number, f->title);
    free(items.data);
    cr_put(t, "%*s}\n", indent, "");
}

/* The head of a loop over layers, up or down. */
static void print_loop(struct cr_text *t, const struct cr_step *loop)
{
    bool up = loop->direction > 0;
    int end = loop->start + (loop->count - !up) * loop->direction;
    cr_put(t, "    for (long layer = %d; layer %s %d; layer%s) {\n", loop->start, up ? "<" : ">=",
           end, up ? "++" : "--");
    if (loop->weights_stride)
        cr_put(t, "        const float *const " LAYER_WEIGHTS " = weights + layer * %lld;\n",
               in_units(CR_SPACE_WEIGHTS, loop->weights_stride, CR_FORMAT_f32));
    if (loop->arena_stride)
        cr_put(t, "        float *const " LAYER_ARENA " = arena + layer * %lld;\n",
               in_units(CR_SPACE_ARENA, loop->arena_stride, CR_FORMAT_f32));
}

/* Steps are flat: a loop over layers is open until its END.  `spans`, by step, or null. */
static void print_steps(struct cr_text *t, const struct cr_program *p, const struct cr_entry *entry,
                        struct cr_span *spans)
{
    const struct cr_step *loop = NULL;
    for (int i = entry->first_step; i < entry->first_step + entry->n_steps; i++) {
        const struct cr_step *step = &p->steps[i];
        size_t begin = t->length;
        switch (step->kind) {
        case CR_STEP_CALL:
            print_call(t, p, loop, step);
            break;
        case CR_STEP_LOOP:
            loop = step;
            print_loop(t, step);
            break;
        case CR_STEP_END:
            loop = NULL;
            cr_put(t, "    }\n");
            break;
        }
        if (spans)
            spans[i] = (struct cr_span){begin, t->length};
    }
}

/* ---- the function of an entry ---- */

/* The ports that are spoken of as in3, state3 or out3: those that some call is given in all layers. */
struct named_ports {
    bool *inputs, *outputs;
};

static void name_port(struct named_ports *named, struct cr_location at)
{
    if (at.space == CR_SPACE_INPUT || at.space == CR_SPACE_STATE)
        named->inputs[at.offset] = true;
    if (at.space == CR_SPACE_OUTPUT)
        named->outputs[at.offset] = true;
}

/* The bindings of an entry's calls are those from its first step's up to the next entry's. */
static int first_binding(const struct cr_program *p, int step)
{
    while (step < p->n_steps && p->steps[step].kind != CR_STEP_CALL)
        step++;
    return step < p->n_steps ? p->steps[step].first_binding : p->n_bindings;
}

/* A port that is bound to the same argument in all layers is a variable; one that depends on the
 * layer is looked up in inputs[] or outputs[]. */
static void find_named(struct named_ports *named, const struct cr_program *p,
                       const struct cr_entry *entry)
{
    int end = first_binding(p, entry->first_step + entry->n_steps);
    named->inputs = cr_calloc((size_t)p->n_inputs, sizeof *named->inputs);
    named->outputs = cr_calloc((size_t)p->n_outputs, sizeof *named->outputs);
    for (int i = first_binding(p, entry->first_step); i < end; i++) {
        const struct cr_binding *b = &p->bindings[i];
        if (b->first_differs)
            name_port(named, b->first);
        if (b->last_differs)
            name_port(named, b->last);
        if (b->form == CR_FORM_SAME)
            name_port(named, (struct cr_location){b->space, b->start, 0});
    }
}

/* " name[2, 3]" as a comment. */
static void print_port_comment(struct cr_text *t, const struct cr_port *port)
{
    char plain[128], shape[200];
    cr_plain_scope(plain, sizeof plain, port->name);
    cr_put(t, " /* %s%s */\n", plain,
           cr_shape_text(shape, sizeof shape, port->rank, port->shape));
}

/* Only ports that are spoken of by name: others would be unused variables. */
static void print_ports(struct cr_text *t, const struct cr_program *p,
                        const struct cr_entry *entry)
{
    struct named_ports named;
    find_named(&named, p, entry);
    for (int i = 0; i < p->n_inputs; i++) {
        if (!named.inputs[i])
            continue;
        const char *type = cr_c_type(p->inputs[i].dtype);
        if (p->inputs[i].state)
            cr_put(t, "    %s *const state%d = (void *)inputs[%d];", type, i, i);
        else
            cr_put(t, "    const %s *const in%d = inputs[%d];", type, i, i);
        print_port_comment(t, &p->inputs[i]);
    }
    for (int i = 0; i < p->n_outputs; i++) {
        if (!named.outputs[i])
            continue;
        cr_put(t, "    %s *const out%d = outputs[%d];", cr_c_type(p->outputs[i].dtype), i, i);
        print_port_comment(t, &p->outputs[i]);
    }
    free(named.inputs);
    free(named.outputs);
}

/* The lengths of this run; a run that is longer than there is room for is refused. */
static void print_lengths(struct cr_text *t, const struct cr_program *p)
{
    char plain[128];
    for (int i = 0; i < p->n_lengths; i++) {
        cr_plain_scope(plain, sizeof plain, p->lengths[i].name);
        cr_put(t, "    const long length%d = *(const int *)inputs[%d]; /* %s */\n", i,
               p->input_of_length[i], plain);
    }
    for (int i = 0; i < p->n_lengths; i++)
        cr_put(t, "    if (length%d < 1 || length%d > %lld)\n        return %d;\n", i, i,
               (long long)p->lengths[i].bound, i + 1);
}

void cr_entry_function(char *name, size_t size, const struct cr_program *p,
                       const struct cr_entry *entry, const char *what)
{
    snprintf(name, size, "%s_%s%s%s", p->name, entry->name, *entry->name ? "_" : "", what);
}

/* The lines of an entry that computes something; the arena ends in the scratch of all threads. */
static void print_work(struct cr_text *t, const struct cr_program *p, const struct cr_entry *entry,
                       struct cr_span *steps)
{
    cr_put(t,
           "    const long scratch_floats = %lld; /* for each thread */\n"
           "    float *const scratch = arena + %lld;\n",
           (long long)(entry->scratch_bytes / (int64_t)sizeof(float)),
           (long long)(entry->arena_bytes / (int64_t)sizeof(float)));
    print_ports(t, p, entry);
    print_lengths(t, p);
    cr_put(t, "    (void)weights, (void)inputs;\n");
    print_steps(t, p, entry, steps);
}

/* The signature is that of cr_code.execute (compiler/exec/exec.h). */
static void print_entry(struct cr_text *t, const struct cr_program *p, const struct cr_entry *entry,
                        struct cr_span *steps)
{
    char name[128], plain[64];
    cr_entry_function(name, sizeof name, p, entry, "execute");
    cr_plain_text(plain, sizeof plain, entry->name);
    cr_put(t,
           "\n/* Computes the outputs%s%s. */\n"
           "int %s(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,\n"
           "    const void *const *inputs, void *const *outputs, float *arena)\n{\n",
           *plain ? " of " : "", plain, name);
    if (entry->n_steps)
        print_work(t, p, entry, steps);
    else
        cr_put(t, "    (void)rt, (void)pool, (void)weights, (void)inputs, (void)outputs, (void)arena;\n");
    cr_put(t, "    return 0;\n}\n");
}

void cr_emit(struct cr_text *text, const struct cr_program *program)
{
    for (int i = 0; i < program->n_functions; i++)
        cr_emit_function(text, &program->functions[i], NULL);
    for (int i = 0; i < program->n_entries; i++)
        print_entry(text, program, &program->entries[i], NULL);
}

/* Prints once more what cr_emit does, and keeps the places alone. */
void cr_spans_find(struct cr_spans *spans, const struct cr_program *program)
{
    struct cr_text text = {0};
    spans->n = program->n_functions;
    spans->functions = cr_calloc((size_t)program->n_functions, sizeof *spans->functions);
    spans->statements = cr_calloc((size_t)program->n_functions, sizeof *spans->statements);
    spans->steps = cr_calloc((size_t)program->n_steps, sizeof *spans->steps);
    for (int i = 0; i < program->n_functions; i++) {
        const struct cr_function *f = &program->functions[i];
        spans->functions[i].begin = text.length;
        spans->statements[i] = cr_calloc((size_t)f->n_body, sizeof *spans->statements[i]);
        cr_emit_function(&text, f, spans->statements[i]);
        spans->functions[i].end = text.length;
    }
    for (int i = 0; i < program->n_entries; i++)
        print_entry(&text, program, &program->entries[i], spans->steps);
    free(text.data);
}

void cr_spans_free(struct cr_spans *spans)
{
    for (int i = 0; i < spans->n; i++)
        free(spans->statements[i]);
    free(spans->statements);
    free(spans->functions);
    free(spans->steps);
}

struct cr_program *cr_emit_program(struct cr_module *module)
{
    struct cr_program *program = module->program;
    struct cr_text text = {0};
    CR_CHECK(module->has & CR_HAS_PROGRAM);
    module->program = NULL;
    module->has &= ~(unsigned)CR_HAS_PROGRAM;
    cr_emit(&text, program);
    program->text = text.data;
    program->text_length = text.length;
    return program;
}
