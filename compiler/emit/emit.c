/* Prints the text of a whole program: the functions of its kernels, and the functions of its
 * entries. */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/unwind.h"
#include "emit_steps.h"

/* ---- steps ---- */

typedef void emit_step(struct cr_text *text, const struct cr_step *step,
                       const struct cr_step_walk *walk);

static emit_step *const emitters[CR_STEP_KINDS] = {
#define STEP(NAME, name, traits, description) [CR_STEP_##NAME] = cr_emit_step_##name,
#include "compiler/ir/steps.def"
#undef STEP
};

/* Prints the steps of an entry.  Stores the position of each step's text in `spans`, unless that
 * is null. */
static void emit_steps(struct cr_text *text, const struct cr_program *program,
                       const struct cr_entry *entry, struct cr_span *spans)
{
    struct cr_step_walk walk = cr_walk_entry(program, entry, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));) {
        size_t begin = text->length;
        emitters[step->kind](text, step, &walk);
        if (spans)
            spans[walk.index] = (struct cr_span){begin, text->length};
    }
}

/* ---- the function of an entry ---- */

/* The ports for which an entry's function has a variable in_x, state_x or out_x: those that are
 * the same argument in all layers. */
struct named_ports {
    bool *inputs, *outputs;
    const struct cr_buffer **input_buffers, **output_buffers; /* by port: the buffer of a port
                                                               * that a step uses, else null */
};

static void name_port(struct named_ports *named, struct cr_location at)
{
    if (at.space == CR_SPACE_INPUT || at.space == CR_SPACE_STATE)
        named->inputs[at.offset] = true;
    if (at.space == CR_SPACE_OUTPUT)
        named->outputs[at.offset] = true;
}

static void name_ports(struct named_ports *named, const struct cr_binding *b)
{
    if (b->first_differs)
        name_port(named, b->first);
    if (b->last_differs)
        name_port(named, b->last);
    if (b->form == CR_FORM_SAME)
        name_port(named, (struct cr_location){b->space, b->start, 0});
}

/* Finds the ports that get a variable: those bound to the same argument in all layers.  A port
 * that depends on the layer is looked up in inputs[] or outputs[] instead. */
static void find_named(struct named_ports *named, const struct cr_program *p,
                       const struct cr_entry *entry)
{
    named->inputs = cr_calloc((size_t)p->n_inputs, sizeof *named->inputs);
    named->outputs = cr_calloc((size_t)p->n_outputs, sizeof *named->outputs);
    struct cr_step_walk walk = cr_walk_entry(p, entry, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));)
        for (int i = 0; i < cr_n_operands(p, step); i++)
            name_ports(named, cr_operand_binding(p, step, i));
}

/* Finds for each port the first buffer through which a step uses it. */
static void find_buffers(struct named_ports *named, const struct cr_program *p)
{
    named->input_buffers = cr_calloc((size_t)p->n_inputs, sizeof *named->input_buffers);
    named->output_buffers = cr_calloc((size_t)p->n_outputs, sizeof *named->output_buffers);
    for (int i = p->n_buffers - 1; i >= 0; i--) {
        const struct cr_buffer *buffer = &p->buffers[i];
        if (buffer->space == CR_SPACE_OUTPUT)
            named->output_buffers[buffer->offset] = buffer;
        else if (buffer->space == CR_SPACE_INPUT || buffer->space == CR_SPACE_STATE)
            named->input_buffers[buffer->offset] = buffer;
    }
}

/* Prints a comment with a port's name and shape. */
static void print_port_comment(struct cr_text *t, const struct cr_program *p, const struct cr_port *port,
                               const struct cr_buffer *buffer)
{
    char plain[128];
    struct cr_text shape = {0};
    cr_plain_scope(plain, sizeof plain, port->name);
    cr_emit_shape(&shape, p, buffer);
    cr_put(t, " /* %s%s */\n", plain, shape.data);
    free(shape.data);
}

/* Declares the variables of ports, except for those that no step would use. */
static void print_ports(struct cr_text *t, const struct cr_program *p,
                        const struct cr_entry *entry)
{
    struct named_ports named;
    find_named(&named, p, entry);
    find_buffers(&named, p);
    for (int i = 0; i < p->n_inputs; i++) {
        if (!named.inputs[i])
            continue;
        const char *type = cr_c_type(p->inputs[i].dtype);
        if (p->inputs[i].state)
            cr_put(t, "    %s *const state_%s = (void *)inputs[%d];", type, p->inputs[i].identifier, i);
        else
            cr_put(t, "    const %s *const in_%s = inputs[%d];", type, p->inputs[i].identifier, i);
        print_port_comment(t, p, &p->inputs[i], named.input_buffers[i]);
    }
    for (int i = 0; i < p->n_outputs; i++) {
        if (!named.outputs[i])
            continue;
        cr_put(t, "    %s *const out_%s = outputs[%d];", cr_c_type(p->outputs[i].dtype),
               p->outputs[i].identifier, i);
        print_port_comment(t, p, &p->outputs[i], named.output_buffers[i]);
    }
    free(named.inputs);
    free(named.outputs);
    free(named.input_buffers);
    free(named.output_buffers);
}

/* Prints code that loads the lengths of the run and fails if a length is outside 1 to its bound.
 * For a ragged length it checks the size of each row. */
static void print_lengths(struct cr_text *t, const struct cr_program *p)
{
    char plain[128];
    for (int i = 0; i < p->n_lengths; i++) {
        cr_plain_scope(plain, sizeof plain, p->lengths[i].name);
        cr_put(t, "    const %slength_%s = %s(const int *)inputs[%d]; /* %s */\n",
               p->lengths[i].batch ? "int *const " : "long ", cr_length_identifier(p, i),
               p->lengths[i].batch ? "" : "*", p->input_of_length[i], plain);
    }
    for (int i = 0; i < p->n_lengths; i++) {
        bool ragged = p->lengths[i].batch > 0;
        const char *name = cr_length_identifier(p, i), *row = ragged ? "[row]" : "";
        if (ragged)
            cr_put(t, "    for (long row = 0; row < length_%s; row++)\n    ",
                   cr_length_identifier(p, p->lengths[i].batch - 1));
        cr_put(t, "    if (length_%s%s < 1 || length_%s%s > %lld)\n%s        return %d;\n", name, row, name, row,
               (long long)p->lengths[i].bound, ragged ? "    " : "", i + 1);
    }
}

void cr_entry_function(char *name, size_t size, const struct cr_program *p,
                       const struct cr_entry *entry, const char *what)
{
    snprintf(name, size, "%s_%s%s%s", p->name, entry->name, *entry->name ? "_" : "", what);
}

/* True if any step of an entry starts its function by rt->parallel. */
static bool starts_functions(const struct cr_program *p, const struct cr_entry *entry)
{
    struct cr_step_walk walk = cr_walk_entry(p, entry, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));)
        if (cr_step_is(step, CR_STEP_PARALLEL))
            return true;
    return false;
}

/* True if the arguments of some function lie in a space. */
static bool binds_space(const struct cr_program *p, const struct cr_entry *entry, enum cr_space space)
{
    struct cr_step_walk walk = cr_walk_entry(p, entry, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));)
        for (int i = 0; cr_step_is(step, CR_STEP_PARALLEL) && i < cr_n_operands(p, step); i++) {
            const struct cr_binding *b = cr_operand_binding(p, step, i);
            if (b->space == space || (b->first_differs && b->first.space == space) ||
                (b->last_differs && b->last.space == space))
                return true;
        }
    return false;
}

/* Prints the body of an entry that has steps.  The scratch memory of all threads comes after the
 * arena proper. */
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
    if (!binds_space(p, entry, CR_SPACE_WEIGHTS))
        cr_put(t, "    (void)weights;\n");
    if (!p->n_lengths && !binds_space(p, entry, CR_SPACE_INPUT) && !binds_space(p, entry, CR_SPACE_STATE))
        cr_put(t, "    (void)inputs;\n");
    if (!starts_functions(p, entry))
        cr_put(t, "    (void)rt, (void)pool, (void)outputs, (void)scratch, (void)scratch_floats;\n");
    emit_steps(t, p, entry, steps);
}

/* Prints the function of an entry, which has the type of cr_code.execute (compiler/exec/exec.h). */
static void print_entry(struct cr_text *t, const struct cr_program *p, const struct cr_entry *entry,
                        struct cr_span *steps)
{
    char name[128], plain[64];
    cr_entry_function(name, sizeof name, p, entry, "execute");
    cr_plain_text(plain, sizeof plain, entry->name);
    bool exchanges = p->ranks || cr_exchanges(p);
    cr_put(t,
           "\n/* Computes the outputs%s%s. */\n"
           "int %s(const struct cr_runtime *rt, struct cr_pool *pool,\n"
           "    const float *weights, const void *const *inputs, void *const *outputs, float *arena%s)\n{\n",
           *plain ? " of " : "", plain, name, exchanges ? ",\n    struct cr_ranks *ranks" : "");
    if (p->ranks)
        cr_put(t, "    const int rank = ranks->rank;\n    (void)rank;\n");
    else if (exchanges)
        cr_put(t, "    (void)ranks;\n");
    if (entry->n_steps)
        print_work(t, p, entry, steps);
    else
        cr_put(t, "    (void)rt, (void)pool, (void)weights, (void)inputs, (void)outputs, (void)arena;\n");
    cr_put(t, "    return 0;\n}\n");
}

/* Prints the functions of kernels and of entries.  Stores the positions of all pieces in `spans`,
 * unless that is null. */
static void print_functions(struct cr_text *text, const struct cr_program *program, struct cr_spans *spans)
{
    for (int i = 0; i < program->n_functions; i++) {
        size_t begin = text->length;
        if (program->functions[i].n_body)
            cr_emit_function(text, &program->functions[i], spans ? spans->statements[i] : NULL);
        if (spans)
            spans->functions[i] = (struct cr_span){begin, text->length};
    }
    for (int i = 0; i < program->n_entries; i++)
        print_entry(text, program, &program->entries[i], spans ? spans->steps : NULL);
}

/* Prints an enum of the script's options, and another one of the names for sums of sizes that
 * occur in `functions`, the text of the functions. */
static void put_names(struct cr_text *text, const struct cr_named_sizes *sizes, const char *functions)
{
    struct cr_text options = {0}, sums = {0};
    for (int i = CR_OPTION_NAMES; i < sizes->n_names; i++) {
        const struct cr_size_name *name = &sizes->names[i];
        struct cr_text *line = *name->sum ? &sums : &options;
        if (i == sizes->ranks_name || (*name->sum && !cr_has_identifier(functions, name->text)))
            continue;
        cr_put(line, "%s%s = ", line->length ? ", " : "enum { ", name->text);
        if (*name->sum)
            cr_put(line, "%s", name->sum);
        else
            cr_put(line, "%lld", (long long)name->value);
    }
    if (options.length)
        cr_put_line(text, 0, "%s }; /* %s */", options.data,
                    sizes->no_options ? "bounds of lengths" : "options of the script");
    if (sizes->ranks_name && cr_has_identifier(functions, "RANKS"))
        cr_put(text, "enum { RANKS = %lld }; /* processes among which the model is split */\n",
               (long long)sizes->names[sizes->ranks_name].value);
    if (sums.length)
        cr_put_line(text, 0, "%s }; /* sums of sizes */", sums.data);
    free(options.data);
    free(sums.data);
}

/* Prints the definitions of the names of sizes and of the prefetch distance that occur in
 * `functions`, the text of the functions. */
static void put_sizes(struct cr_text *text, const struct cr_program *program, const char *functions)
{
    struct cr_named_sizes *sizes = program->sizes;
    if (!sizes)
        return;
    cr_put(text, "\n");
    put_names(text, sizes, functions);
    if (sizes->names[CR_NAME_AHEAD].value > 0)
        cr_put(text, "enum { %s = %lld }; /* floats between a weight that is read and the prefetched one */\n",
               sizes->names[CR_NAME_AHEAD].text, (long long)sizes->names[CR_NAME_AHEAD].value);
    if (!sizes->head_dim)
        return;
    struct cr_named_sizes plain = *sizes;
    char product[512];
    plain.head_dim = 0;
    cr_size_text(&plain, sizes->head_dim, product, sizeof product);
    cr_put(text, "enum { " CR_HEAD_DIM " = %s }; /* columns of a head's queries and keys */\n", product);
}

void cr_emit(struct cr_text *text, const struct cr_program *program)
{
    struct cr_text functions = {0};
    print_functions(&functions, program, NULL);
    put_sizes(text, program, functions.data);
    cr_put_bytes(text, functions.data, functions.length);
    free(functions.data);
}

static void shift_spans(struct cr_span *spans, int n, size_t by)
{
    for (int i = 0; i < n; i++) {
        spans[i].begin += by;
        spans[i].end += by;
    }
}

/* Prints the same text as cr_emit, but keeps only the positions of its pieces. */
void cr_spans_find(struct cr_spans *spans, const struct cr_program *program)
{
    struct cr_text functions = {0}, sizes = {0};
    spans->n = program->n_functions;
    spans->functions = cr_calloc((size_t)program->n_functions, sizeof *spans->functions);
    spans->statements = cr_calloc((size_t)program->n_functions, sizeof *spans->statements);
    spans->steps = cr_calloc((size_t)program->n_steps, sizeof *spans->steps);
    for (int i = 0; i < program->n_functions; i++)
        spans->statements[i] = cr_calloc((size_t)program->functions[i].n_body, sizeof *spans->statements[i]);
    print_functions(&functions, program, spans);
    put_sizes(&sizes, program, functions.data);
    shift_spans(spans->functions, program->n_functions, sizes.length);
    shift_spans(spans->steps, program->n_steps, sizes.length);
    for (int i = 0; i < program->n_functions; i++)
        shift_spans(spans->statements[i], program->functions[i].n_body, sizes.length);
    free(functions.data);
    free(sizes.data);
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
    program->text_length = text.length;
    program->text = cr_take_text(&text);
    return program;
}
