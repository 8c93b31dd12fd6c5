/*
 * standalone_step.c - prints a training step as standalone C: a function that computes the next
 * state from a state.
 *
 * The state consists of the parameters and of the inputs that outputs replace, row-major, one
 * after another in memory of the caller.  A step packs the parameters into its arena, and reads
 * the other inputs in place.  If the next state is stored over the old one, inputs that are read
 * after their next value is stored, such as the number of a step, are first copied to the
 * beginning of the arena.  The arena of a step over micro-batches also holds the sums of
 * gradients.
 */
#include "standalone_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/ir/identifiers.h"
#include "micro_batches.h"
#include "standalone_shares.h"
#include "standalone_sums.h"

enum { ALIGN = 64 }; /* the alignment of each tensor of the state, in bytes */

/* ---- the state ---- */

/* A tensor of the state: its port; the port with the shape of the whole tensor; its offset in
 * bytes; the output that replaces it, or CR_NONE; and the offset of its copy in the arena, or
 * CR_NONE if it needs no copy. */
struct tensor {
    const struct cr_port *port, *whole;
    int64_t offset;
    int output;
    int64_t copy;
};

struct state {
    struct tensor *tensors; /* the parameters, then the inputs that are part of the state */
    int n, *of_input;       /* of_input: by input: its index in `tensors`, or CR_NONE */
    int64_t bytes, copies;  /* size of a state, and of the copies in the arena */
};

/* Return the size of a tensor in bytes; the second function includes the padding after it. */
static int64_t bytes_of(const struct cr_port *port)
{
    return cr_elements(port->rank, port->shape) * (int64_t)sizeof(float);
}

static int64_t aligned_bytes_of(const struct cr_port *port)
{
    return (bytes_of(port) + ALIGN - 1) / ALIGN * ALIGN;
}

static void add_tensor(struct state *s, const struct cr_port *port, const struct cr_port *whole)
{
    s->tensors[s->n++] = (struct tensor){port, whole, s->bytes, CR_NONE, CR_NONE};
    s->bytes += aligned_bytes_of(port);
}

/* Records the output that replaces a tensor.  If the tensor is read after that output is stored,
 * also gives it a copy in the arena. */
static void set_output(struct state *s, struct tensor *tensor, int output, bool needs_copy)
{
    tensor->output = output;
    if (!needs_copy)
        return;
    tensor->copy = s->copies;
    s->copies += aligned_bytes_of(tensor->port);
}

/* Lays out the state: the parameters, then the inputs that are part of the state, each aligned. */
static struct state state_of(const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    struct state s = {0};
    s.tensors = cr_calloc((size_t)(p->n_params + p->n_inputs), sizeof *s.tensors);
    s.of_input = cr_calloc((size_t)p->n_inputs, sizeof *s.of_input);
    for (int i = 0; i < p->n_params; i++)
        add_tensor(&s, &p->params[i], &p->params[i]);
    for (int i = 0; i < p->n_inputs; i++) {
        s.of_input[i] = w->next_state->is_state[i] ? s.n : CR_NONE;
        if (w->next_state->is_state[i])
            add_tensor(&s, &p->inputs[i], cr_whole_input(p, i));
    }
    for (int i = 0; i < p->n_outputs; i++) {
        int param = w->next_state->to_param[i], input = w->next_state->to_input[i];
        if (param != CR_NONE)
            set_output(&s, &s.tensors[param], i, false);
        else if (input != CR_NONE)
            set_output(&s, &s.tensors[s.of_input[input]], i, !p->outputs[i].in_place);
    }
    return s;
}

static void free_state(struct state *s)
{
    free(s->tensors);
    free(s->of_input);
}

/* True for the output that is the number of micro-batches, which is also a macro. */
static bool is_number(const struct cr_standalone *w, int output)
{
    return w->p->micro_batches && strcmp(w->p->outputs[output].name, CR_UPDATE ".micro_batches") == 0;
}

/* True if an output is an argument of the step: it is neither part of the state nor a gradient. */
static bool is_result(const struct cr_standalone *w, int output)
{
    const struct cr_next_state *next = w->next_state;
    return next->to_param[output] == CR_NONE && next->to_input[output] == CR_NONE &&
           next->to_sum[output] == CR_NONE && !is_number(w, output);
}

/* Prints the identifier of a port; for an output of the entry `update`, without "update_". */
static void put_own_port(struct cr_text *t, const struct cr_standalone *w,
                         const struct cr_port *port)
{
    const char *own = w->p->micro_batches ? cr_after_prefix(port->identifier, CR_UPDATE "_") : NULL;
    cr_put(t, "%s", own ? own : port->identifier);
}

/* ---- the header ---- */

/* Prints the declaration int NAME_step(state, next, other inputs, results, arena), or
 * NAME_step_with(pool, ...), without ";" or a body. */
static void put_prototype(struct cr_text *t, const struct cr_standalone *w, bool with_pool)
{
    const struct cr_program *p = w->p;
    if (with_pool)
        cr_put(t, "int %s_step_with(struct %s_pool *pool, const void *state, void *next", p->name,
               p->name);
    else
        cr_put(t, "int %s_step(const void *state, void *next", p->name);
    for (int i = 0; i < p->n_inputs; i++) {
        if (!cr_is_step_data(w, i))
            continue;
        cr_put(t, ", const %s *in_", cr_c_type(p->inputs[i].dtype));
        cr_put_port(t, &p->inputs[i]);
    }
    for (int i = 0; i < p->n_outputs; i++) {
        if (!is_result(w, i))
            continue;
        cr_put(t, ", %s *out_", cr_c_type(p->outputs[i].dtype));
        put_own_port(t, w, &p->outputs[i]);
    }
    cr_put(t, ", void *arena)");
}

/* Prints the arguments of a call of NAME_step. */
static void put_arguments(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put(t, "state, next");
    for (int i = 0; i < p->n_inputs; i++) {
        if (!cr_is_step_data(w, i))
            continue;
        cr_put(t, ", in_");
        cr_put_port(t, &p->inputs[i]);
    }
    for (int i = 0; i < p->n_outputs; i++) {
        if (!is_result(w, i))
            continue;
        cr_put(t, ", out_");
        put_own_port(t, w, &p->outputs[i]);
    }
    cr_put(t, ", arena");
}

static void put_port_line(struct cr_text *t, const struct cr_standalone *w, const char *what,
                          const struct cr_port *port)
{
    cr_put(t, " *   %s %s ", what, cr_dtype_name(port->dtype));
    put_own_port(t, w, port);
    cr_put_port_shape(t, port);
    if (!w->p->micro_batches)
        cr_put_origin(t, port);
    cr_put(t, "\n");
}

static void put_port_lines(struct cr_text *t, const struct cr_standalone *w)
{
    for (int i = 0; i < w->p->n_inputs; i++)
        if (cr_is_step_data(w, i))
            put_port_line(t, w, "input ", &w->p->inputs[i]);
    for (int i = 0; i < w->p->n_outputs; i++)
        if (is_result(w, i))
            put_port_line(t, w, "output", &w->p->outputs[i]);
}

/* Prints the number of elements of an argument: n times the elements of a port. */
static void put_elements(struct cr_text *t, const struct cr_standalone *w, const char *side,
                         const struct cr_port *port, int n)
{
    struct cr_text own = {0};
    put_own_port(&own, w, port);
    cr_put(t, "#define %s_%s_", w->upper, side);
    for (const char *c = own.data; *c; c++)
        cr_put(t, "%c", cr_upper(*c));
    cr_put(t, "_ELEMENTS %lldL\n", (long long)(n * cr_elements(port->rank, port->shape)));
    free(own.data);
}

/* Returns the bytes of the largest tensor of the state. */
static long long largest_tensor(const struct state *s)
{
    int64_t most = 0;
    for (int i = 0; i < s->n; i++) {
        int64_t n = cr_elements(s->tensors[i].whole->rank, s->tensors[i].whole->shape);
        most = n > most ? n : most;
    }
    return (long long)(most * (int64_t)sizeof(float));
}

/* Prints the macros of the header: sizes in bytes, numbers of elements. */
static void put_sizes(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    const struct cr_program *p = w->p;
    if (p->ranks)
        cr_put(t, "#define %s_RANKS %d /* processes that share a step */\n", w->upper, p->ranks);
    cr_put_threads(t, w);
    cr_put(t, "#define %s_TENSORS %d /* of the state */\n#define %s_STATE_BYTES %lldL\n", w->upper,
           s->n, w->upper, (long long)s->bytes);
    cr_put(t, "#define %s_TENSOR_BYTES %lldL /* the largest of them%s */\n", w->upper, largest_tensor(s),
           p->ranks ? ", of all ranks" : "");
    int64_t sums_bytes = cr_sums_floats(w) * (int64_t)sizeof(float);
    cr_put(t, "#define %s_ARENA_BYTES (%lldL + %s_THREADS * %lldL)\n", w->upper,
           (long long)(s->copies + p->weights_bytes + sums_bytes + p->arena_bytes), w->upper,
           (long long)p->scratch_bytes);
    if (p->micro_batches)
        cr_put(t, "#define %s_MICRO_BATCHES %d /* of a step, one after another in its inputs */\n",
               w->upper, p->micro_batches);
    for (int i = 0; i < p->n_inputs; i++)
        if (cr_is_step_data(w, i))
            put_elements(t, w, "IN", &p->inputs[i], p->micro_batches ? p->micro_batches : 1);
    for (int i = 0; i < p->n_outputs; i++)
        if (is_result(w, i))
            put_elements(t, w, "OUT", &p->outputs[i], 1);
}

static const char about[] =
    " *\n * Tensors are row-major.  The state is the parameters and what the optimiser keeps, all\n"
    " * in one piece of memory as %s_tensors says.  The caller owns all memory: a state,\n"
    " * or two, inputs, outputs and an arena.  States and arena are aligned to 64\n"
    " * bytes.  Nothing is allocated and no global changes: the next state is a function of the\n"
    " * old one and the inputs, the same to the last bit under every compiler and with any\n"
    " * number of threads.\n";

static const char about_shares[] =
    " *\n * The step is cut for %s_RANKS processes, the ranks of MPI_COMM_WORLD: compile it by mpicc with\n"
    " * -D%s_MPI.  After MPI_Init all of them call the functions with the same parameters and states.  Each has all\n"
    " * parameters, and its share of what the optimiser keeps; the bits are those of a single process.  Rank r reads,\n"
    " * of each input, the micro-batches from %s_MICRO_BATCHES * r / %s_RANKS on, up to those of the next rank.\n"
    " * With another number of processes the functions return 1.\n";

static const char about_ranks[] =
    " *\n * Compiled with -D%s_MPI by mpicc, the processes of MPI_COMM_WORLD, its ranks, share the\n"
    " * micro-batches of a step: all call %s_step with the same state, after MPI_Init, and get the\n"
    " * same next state and outputs, with the bits of a single process.  Of n ranks rank r reads, of\n"
    " * each input, the micro-batches from %s_MICRO_BATCHES * r / n on, up to those of the next rank.\n";

void cr_put_step_header(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    struct state s = state_of(w);
    cr_put(t, "/*\n * %s - a step of a training, compiled to C by Crescent.\n *\n", name);
    put_port_lines(t, w);
    cr_put(t, about, name);
    if (w->p->ranks)
        cr_put(t, about_shares, w->upper, w->upper, w->upper, w->upper);
    else if (w->p->micro_batches)
        cr_put(t, about_ranks, w->upper, name, w->upper);
    cr_put(t, " */\n");
    cr_put(t, "#ifndef %s_H\n#define %s_H\n\n", w->upper, w->upper);
    put_sizes(t, w, &s);
    cr_put(t, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    cr_put(
        t,
        "/* A tensor of the state: its name in a checkpoint, its shape, and where it begins, in\n"
        " * bytes.  Its elements are floats, or ints. */\n"
        "struct %s_tensor {\n    const char *name;\n    int is_param, is_int, rank;\n"
        "    long shape[%d];\n    long elements;\n%s    long offset;\n};\n\n"
        "/* The parameters, then the rest, in the order of a checkpoint of `crescent train`. */\n"
        "extern const struct %s_tensor %s_tensors[];\n\n",
        name, CR_MAX_RANK, w->p->ranks ? "    long own; /* elements that a rank has: its share, or all */\n" : "", name,
        name);
    cr_put(t,
           "/* Copy a tensor into a state, and out of it%s.  Return 0, or 1 for a null pointer or a wrong\n"
           " * number. */\n"
           "int %s_set_tensor(void *state, int tensor, const void *whole);\n"
           "int %s_get_tensor(const void *state, int tensor, void *whole);\n\n",
           w->p->ranks ? ": rank 0 gets the whole, and other ranks, which call it, too,\n * may pass null" : "", name,
           name);
    cr_put(t,
           "/* Makes a step: reads `state`, writes all of `next` and the outputs.  `next` is `state`, and is\n"
           " * stored over it, or does not overlap it.  Returns 0, or 1 if a pointer is null or not aligned. */\n");
    put_prototype(t, w, false);
    cr_put(t, ";\n\n");
    cr_put_pool_header(t, w);
    cr_put(t, 
           "/* Makes a step with the threads of a pool; with a null pool, on this thread. */\n");
    put_prototype(t, w, true);
    cr_put(t, ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    free_state(&s);
}

/* ---- the source ---- */

/* Prints the table NAME_tensors. */
static void put_tensors(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    cr_put(t, "\n/* ---- the state ---- */\n\nconst struct %s_tensor %s_tensors[] = {\n",
           w->p->name, w->p->name);
    for (int i = 0; i < s->n; i++) {
        const struct cr_port *port = s->tensors[i].whole, *own = s->tensors[i].port;
        cr_put(t, "    {");
        cr_put_string(t, port->name);
        cr_put(t, ", %d, %d, %d, {", i < w->p->n_params, port->dtype == CR_I32, port->rank);
        for (int r = 0; r < port->rank; r++)
            cr_put(t, "%s%lldL", r ? ", " : "", (long long)port->shape[r]);
        cr_put(t, "%s}, %lldL, ", port->rank ? "" : "0", (long long)cr_elements(port->rank, port->shape));
        if (w->p->ranks)
            cr_put(t, "%lldL, ", (long long)cr_elements(own->rank, own->shape));
        cr_put(t, "%lldL},\n", (long long)s->tensors[i].offset);
    }
    cr_put(t, "};\n");
}

/* Prints the functions that copy tensors to and from a state of which a rank has the whole. */
static void put_copying(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    cr_put(t,
           "\nint %s_set_tensor(void *state, int tensor, const void *whole)\n{\n"
           "    if (!state || !whole || tensor < 0 || tensor >= %s_TENSORS)\n        return 1;\n"
           "    memcpy((char *)state + %s_tensors[tensor].offset, whole, (size_t)%s_tensors[tensor].elements * 4);\n"
           "    return 0;\n}\n",
           name, w->upper, name, name);
    cr_put(t,
           "\nint %s_get_tensor(const void *state, int tensor, void *whole)\n{\n"
           "    if (!state || !whole || tensor < 0 || tensor >= %s_TENSORS)\n        return 1;\n"
           "    memcpy(whole, (const char *)state + %s_tensors[tensor].offset, (size_t)%s_tensors[tensor].elements * 4);\n"
           "    return 0;\n}\n",
           name, w->upper, name, name);
}

/* The text of helper functions that every step uses.  In a program for ranks, each rank packs its
 * own part of the table `layouts`. */
static const char helpers[] =
    "\nstruct packing {\n    const struct cr_runtime *rt;\n    const char *state;\n%s"
    "    float *weights;\n};\n\n"
    "/* Packs pieces of parameters as the kernels read them. */\n"
    "static void pack_params(const void *args, long begin, long end, float *scratch)\n{\n"
    "    const struct packing *p = args;\n    long i;\n    (void)scratch;\n"
    "    for (i = begin; i < end; i++)\n"
    "        cr_pack_weight(p->rt, &%slayouts[i],\n"
    "            (const float *)(p->state + %s_tensors[%slayouts[i].param].offset), p->weights);\n"
    "}\n";

/* Prints a line such as inputs[3] = from + 4032L, with the tensor's name as a comment.  For a
 * parameter of which a rank computes only a share, adds the offset of the share. */
static void put_place(struct cr_text *t, const struct cr_standalone *w, const char *side, int i, const char *state,
                      const struct tensor *tensor, bool is_share)
{
    char plain[200];
    cr_plain_text(plain, sizeof plain, tensor->port->name);
    cr_put(t, "    %s[%d] = ", side, i);
    if (is_share)
        cr_put(t, "(float *)(void *)(");
    cr_put(t, "%s + %lldL", state, (long long)tensor->offset);
    if (is_share) {
        cr_put(t, ")");
        cr_put_share_begin(t, w, tensor->whole);
    }
    cr_put(t, "; /* %s */\n", plain);
}

/* Prints assignments of the pointers of all ports: to places in a state, or to arguments. */
static void put_pointers(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    const struct cr_program *p = w->p;
    for (int i = 0; i < p->n_inputs; i++) {
        if (s->of_input[i] != CR_NONE) {
            put_place(t, w, "inputs", i, "from", &s->tensors[s->of_input[i]], false);
            continue;
        }
        if (p->micro_batches)
            continue;
        cr_put(t, "    inputs[%d] = in_", i);
        cr_put_port(t, &p->inputs[i]);
        cr_put(t, ";\n");
    }
    if (!p->n_inputs)
        cr_put(t, "    inputs[0] = 0;\n");
    for (int i = 0; i < p->n_outputs; i++) {
        if (is_result(w, i)) {
            cr_put(t, "    outputs[%d] = out_", i);
            put_own_port(t, w, &p->outputs[i]);
            cr_put(t, ";\n");
            continue;
        }
        if (is_number(w, i))
            cr_put(t, "    outputs[%d] = &number;\n", i);
        if (is_number(w, i) || w->next_state->to_sum[i] != CR_NONE)
            continue;
        int param = w->next_state->to_param[i];
        int tensor = param != CR_NONE ? param : s->of_input[w->next_state->to_input[i]];
        put_place(t, w, "outputs", i, "to", &s->tensors[tensor], param != CR_NONE && cr_is_output_share(p, i));
    }
}

/* Prints checks that pointers are not null and are aligned. */
static void put_checks(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put(t, "    if (((size_t)state | (size_t)next | (size_t)arena) %% 64 || !state || !next ||\n"
              "        !arena)\n        return 1;\n");
    for (int side = 0; side < 2; side++) {
        const struct cr_port *ports = side ? p->outputs : p->inputs;
        for (int i = 0; i < (side ? p->n_outputs : p->n_inputs); i++) {
            if (side ? !is_result(w, i) : !cr_is_step_data(w, i))
                continue;
            cr_put(t, "    if (!%s", side ? "out_" : "in_");
            put_own_port(t, w, &ports[i]);
            cr_put(t, ")\n        return 1;\n");
        }
    }
}

/* Prints the lines after the kernels: they copy the parts of the state that no output replaces. */
static void put_ending(struct cr_text *t, const struct state *s)
{
    for (int i = 0; i < s->n; i++) {
        const struct tensor *tensor = &s->tensors[i];
        long long offset = (long long)tensor->offset;
        if (tensor->output == CR_NONE)
            cr_put(t, "    if (to != from)\n        memcpy(to + %lldL, from + %lldL, %lldL);\n", offset, offset,
                   (long long)bytes_of(tensor->port));
    }
}

/* Prints a line such as inputs[3] = memcpy((char *)arena + 0L, from + 4032L, 4L), with the
 * tensor's name as a comment. */
static void put_copy(struct cr_text *t, int input, const struct tensor *tensor)
{
    char plain[200];
    cr_plain_text(plain, sizeof plain, tensor->port->name);
    cr_put(t, "        inputs[%d] = memcpy((char *)arena + %lldL, from + %lldL, %lldL); /* %s */\n", input,
           (long long)tensor->copy, (long long)tensor->offset, (long long)bytes_of(tensor->port), plain);
}

/* Prints copies of the inputs that are read after their next value is stored; see set_output. */
static void put_copies(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    if (!s->copies)
        return;
    cr_put(t, "    if (to == from) { /* these are read after their next values are stored */\n");
    for (int i = 0; i < w->p->n_inputs; i++) {
        const struct tensor *tensor = s->of_input[i] == CR_NONE ? NULL : &s->tensors[s->of_input[i]];
        if (tensor && tensor->copy != CR_NONE)
            put_copy(t, i, tensor);
    }
    cr_put(t, "    }\n");
}

/* Prints the call that packs the parameters; in a program for ranks, each rank packs different
 * pieces. */
static void put_packing(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    const struct cr_program *p = w->p;
    struct cr_text pieces = {0};
    for (int r = 0; r < p->ranks; r++)
        cr_put(&pieces, "%s%d%s", r ? ", " : "(const long[]){", p->first_layout[r + 1] - p->first_layout[r],
               r + 1 < p->ranks ? "" : "}[ranks.rank]");
    if (!p->ranks)
        cr_put(&pieces, "%d", p->n_layouts);
    cr_put(t,
           "    packing.rt = cr_runtime_select(0);\n    packing.state = from;\n"
           "    packing.weights = (float *)arena + %lldL;\n",
           (long long)(s->copies / (int64_t)sizeof(float)));
    if (p->ranks)
        cr_put(t, "    packing.layouts = layouts + begin_of_layouts[ranks.rank];\n");
    cr_put(t, "    packing.rt->parallel(threads, %s, %s, pack_params, &packing, 0, 0);\n", pieces.data, pieces.data);
    free(pieces.data);
}

/* Prints NAME_step_with, which packs the parameters into the arena, runs the kernels from one
 * state to the next, and copies the parts that no output replaces. */
static void put_step_with(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    const struct cr_program *p = w->p;
    cr_put(t, "\n");
    put_prototype(t, w, true);
    cr_put(t,
           "\n{\n    const void *inputs[%d];\n    void *outputs[%d];\n"
           "    struct cr_pool *threads = (struct cr_pool *)(void *)pool;\n"
           "    struct packing packing;\n"
           "    const char *from = state;\n    char *to = next;\n    int status%s;\n",
           p->n_inputs ? p->n_inputs : 1, p->n_outputs, p->micro_batches ? ", number" : "");
    if (p->micro_batches)
        cr_put(t, "    struct micro_batches micro;\n");
    if (p->ranks)
        cr_put(t, "    struct cr_ranks ranks = {%s_rank()};\n    if (ranks.rank < 0)\n        return 1;\n", p->name);
    put_checks(t, w);
    put_pointers(t, w, s);
    put_copies(t, w, s);
    put_packing(t, w, s);
    if (p->micro_batches) {
        cr_put_sums_call(t, w);
    } else {
        cr_put(t,
               "    status = %s_execute(packing.rt, threads, packing.weights, inputs, outputs,\n"
               "        packing.weights + %lldL);\n",
               p->name, (long long)(p->weights_bytes / (int64_t)sizeof(float)));
    }
    put_ending(t, s);
    if (p->ranks)
        cr_put(t, "    gather_params(to, ranks.rank);\n");
    cr_put(t, "    return status;\n}\n");
}

/* Prints NAME_step, which calls NAME_step_with with a temporary pool. */
static void put_step(struct cr_text *t, const struct cr_standalone *w)
{
    char step[128];
    struct cr_text arguments = {0};
    snprintf(step, sizeof step, "%s_step_with", w->p->name);
    put_arguments(&arguments, w);
    cr_put(t, "\n");
    put_prototype(t, w, false);
    cr_put(t, "\n{\n");
    cr_put_own_pool(t, w, step, arguments.data);
    cr_put(t, "}\n");
    free(arguments.data);
}

/* Prints the tables of the tensors of which ranks have shares. */
static void put_shares(struct cr_text *t, const struct cr_standalone *w, const struct state *s)
{
    int64_t *offset = cr_calloc((size_t)s->n + 1, sizeof *offset);
    for (int i = 0; i < s->n; i++)
        offset[i] = s->tensors[i].offset;
    cr_put_shares_tables(t, w, offset);
    free(offset);
}

void cr_put_step_source(struct cr_text *t, const struct cr_standalone *w)
{
    struct state s = state_of(w);
    put_tensors(t, w, &s);
    if (w->p->ranks)
        put_shares(t, w, &s);
    else
        put_copying(t, w);
    const char *of_packing = w->p->ranks ? "p->" : "";
    cr_put(t, helpers, w->p->ranks ? "    const struct cr_weight_layout *layouts;\n" : "", of_packing, w->p->name,
           of_packing);
    cr_put_pool_source(t, w);
    cr_put_sums_source(t, w);
    put_step_with(t, w, &s);
    put_step(t, w);
    free_state(&s);
}
