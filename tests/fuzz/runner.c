/* Compiles and runs graphs; see runner.h. */
#include "runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/exec/pack_tensors.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/steps.h"
#include "reach.h"
#include "runtime/pool.h"
#include "runtime/select_runtime.h"

/* Results may exceed their bounds by this factor: the bound of a sum is its likely error, not the
 * greatest one, and an online softmax rounds in another order. */
static const double slack = 8;

enum { GUARD = 16, LINE = 16 /* floats */, MAX_THREADS = 8 };

bool cr_found(struct cr_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(report->text, sizeof report->text, format, args);
    va_end(args);
    return false;
}

/* ---- compiling ---- */

uint64_t cr_reached;

struct cr_program *cr_emit_reached(struct cr_module *module)
{
    cr_reached |= cr_reach(module);
    return cr_emit_program(module);
}

struct cr_program *cr_program_of(struct cr_graph *g, const struct cr_pass_options *options,
                                 struct cr_error *error)
{
    struct cr_module *module = cr_module_new(g);
    struct cr_program *program = NULL;
    if (cr_run_passes(module, options, error) == 0)
        program = cr_emit_reached(module);
    cr_module_free(module);
    return program;
}

bool cr_compile_program(struct cr_compiled *c, struct cr_program *program,
                        cr_backend_function *backend, struct cr_report *report)
{
    struct cr_error error = {""};
    *c = (struct cr_compiled){.program = program};
    if (backend(program, &c->code, &error) == 0)
        return true;
    cr_program_free(program);
    c->program = NULL;
    return cr_found(report, "it does not compile: %.500s", error.text);
}

void cr_compiled_free(struct cr_compiled *c)
{
    if (!c->program)
        return;
    cr_code_free(&c->code);
    cr_program_free(c->program);
}

bool cr_same_program(const struct cr_program *a, const struct cr_program *b)
{
    return a->text_length == b->text_length && a->n_layouts == b->n_layouts &&
           a->weights_bytes == b->weights_bytes && a->arena_bytes == b->arena_bytes &&
           a->scratch_bytes == b->scratch_bytes && a->n_params == b->n_params &&
           memcmp(a->text, b->text, a->text_length) == 0 &&
           memcmp(a->layouts, b->layouts, (size_t)a->n_layouts * sizeof *a->layouts) == 0;
}

/* ---- memory between guard words, filled with NaN ---- */

static const uint32_t canary = 0x7fc0dead;

/* The parts of one allocation, with guard words between them. */
struct layout {
    float *memory;
    int64_t floats;
};

static int64_t reserve(struct layout *l, int64_t floats)
{
    int64_t at = l->floats + GUARD;
    l->floats = at + (floats + LINE - 1) / LINE * LINE;
    return at;
}

static void make_memory(struct layout *l)
{
    l->floats += GUARD;
    if (posix_memalign((void **)&l->memory, 64, (size_t)l->floats * sizeof(float)))
        abort();
    for (int64_t i = 0; i < l->floats; i++)
        memcpy(l->memory + i, &canary, sizeof canary);
}

/* Checks the guard words in front of and behind a part of memory; the padding up to the next
 * cache line counts as a guard. */
static bool check_part(const struct layout *l, int64_t at, int64_t floats, const char *what,
                       struct cr_report *report)
{
    for (int64_t i = 1; i <= GUARD; i++)
        if (memcmp(l->memory + at - i, &canary, sizeof canary) != 0)
            return cr_found(report, "float %" PRId64 " before %s was written", i, what);
    for (int64_t i = at + floats; i < (at + floats + LINE - 1) / LINE * LINE + GUARD; i++)
        if (memcmp(l->memory + i, &canary, sizeof canary) != 0)
            return cr_found(report, "float %" PRId64 " behind %s was written", i - at - floats,
                            what);
    return true;
}

void cr_outputs_free(struct cr_outputs *o)
{
    free(o->port);
    free(o->data);
    free(o->floats);
    free(o->memory);
    *o = (struct cr_outputs){0};
}

/* ---- running ---- */

static int read_data(const void *data, int64_t first, int64_t n, float *out)
{
    memcpy(out, (const float *)data + first, (size_t)n * sizeof *out);
    return 0;
}

void cr_load_case(const struct cr_case *c, const struct cr_program *p, const struct cr_runtime *rt,
                  struct cr_pool *pool, float *weights)
{
    for (int i = 0; i < p->n_params; i++) {
        const void *data = cr_case_data(c, p->params[i].name);
        const struct cr_contents contents = {.data = i % 2 ? data : NULL, .read = read_data, .context = data},
                                    *from = &contents;
        struct cr_error error;
        if (cr_pack_params(p, i, 1, &from, rt, pool, weights, &error))
            abort();
    }
}

/* Returns a pool of threads, which is kept, as starting threads takes as long as running a small
 * graph. */
static struct cr_pool *pool_of(int threads)
{
    static struct cr_pool *pools[MAX_THREADS + 1];
    if (threads < 2)
        return NULL;
    if (!pools[threads])
        pools[threads] = cr_pool_new(threads);
    return pools[threads];
}

/* Returns the program's input for the state with a name, or null. */
static const struct cr_port *state_of(const struct cr_program *p, const char *name)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].state && strcmp(p->inputs[i].name, name) == 0)
            return &p->inputs[i];
    return NULL;
}

/* Finds the ports of outputs and states; states are in the order in which the case's graph replaces
 * them. */
static void find_ports(const struct cr_program *p, const struct cr_graph *g, struct cr_outputs *o)
{
    int most = p->n_outputs + g->n_replaced;
    *o = (struct cr_outputs){.n = p->n_outputs, .n_results = p->n_outputs};
    o->port = cr_calloc((size_t)most + 1, sizeof *o->port);
    o->data = cr_calloc((size_t)most + 1, sizeof *o->data);
    o->floats = cr_calloc((size_t)most + 1, sizeof *o->floats);
    for (int i = 0; i < p->n_outputs; i++)
        o->port[i] = &p->outputs[i];
    for (int i = cr_n_results(g); i < g->n_outputs; i++) {
        const struct cr_port *port = state_of(p, g->outputs[i].name);
        if (port)
            o->port[o->n++] = port;
    }
}

static void arrange_outputs(const struct cr_program *p, const struct cr_case *c, struct layout *l,
                            struct cr_outputs *o)
{
    find_ports(p, c->graph, o);
    int64_t *at = cr_calloc((size_t)o->n + 1, sizeof *at);
    for (int i = 0; i < o->n; i++) {
        o->floats[i] = cr_elements(o->port[i]->rank, o->port[i]->shape);
        at[i] = reserve(l, o->floats[i]);
    }
    make_memory(l);
    o->memory = l->memory;
    for (int i = 0; i < o->n; i++)
        o->data[i] = l->memory + at[i];
    for (int i = o->n_results; i < o->n; i++)
        memcpy(o->data[i], cr_case_data(c, o->port[i]->name), (size_t)o->floats[i] * sizeof(float));
    free(at);
}

/* Returns the memory that is bound to an input; for a state, the memory that is compared with
 * the expected state after the run. */
static const void *input_of(const struct cr_case *c, const struct cr_outputs *o,
                            const struct cr_port *port)
{
    for (int i = o->n_results; i < o->n; i++)
        if (o->port[i] == port)
            return o->data[i];
    return cr_case_data(c, port->name);
}

/* Stores an output over the input of the same name: the input's data is put into the output's
 * memory. */
static void place_over_input(const struct cr_program *p, const struct cr_outputs *o, int i, const void **in)
{
    for (int j = 0; j < p->n_inputs; j++)
        if (strcmp(p->outputs[i].name, p->inputs[j].name) == 0) {
            memcpy(o->data[i], in[j], (size_t)o->floats[i] * sizeof(float));
            in[j] = o->data[i];
        }
}

/* Stores an output over the parameter of the same name, if kernels read that unpacked. */
static void place_over_param(const struct cr_program *p, const struct cr_outputs *o, int i, float *weights)
{
    for (int j = 0; j < p->n_params; j++) {
        bool same = strcmp(p->outputs[i].name, p->params[j].name) == 0;
        float *place = same ? cr_find_unpacked(p, j, weights) : NULL;
        if (place)
            o->data[i] = place;
    }
}

/* Stores outputs over inputs and parameters, as a training does. */
static void place_over(const struct cr_program *p, const struct cr_outputs *o, const void **in, float *weights)
{
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].in_place) {
            place_over_input(p, o, i, in);
            place_over_param(p, o, i, weights);
        }
}

static bool lies_in(const float *data, const float *part, int64_t floats)
{
    return data >= part && data < part + floats;
}

static bool check_memory(const struct layout *l, const struct cr_outputs *o, int64_t weights,
                         int64_t n_weights, int64_t arena, int64_t n_arena,
                         struct cr_report *report)
{
    for (int i = 0; i < o->n; i++)
        if (!lies_in(o->data[i], l->memory + weights, n_weights) &&
            !check_part(l, o->data[i] - l->memory, o->floats[i], "an output", report))
            return false;
    return check_part(l, weights, n_weights, "the weights", report) &&
           check_part(l, arena, n_arena, "the arena", report);
}

int cr_run_entry(const struct cr_compiled *code, int entry, const struct cr_runtime *rt, struct cr_pool *pool,
                 const float *weights, const void **in, void *const *out, float *arena)
{
    cr_execute_on_ranks *on_ranks = NULL;
    if (!cr_exchanges(code->program))
        return code->code.execute[entry](rt, pool, weights, in, out, arena);
    memcpy(&on_ranks, &code->code.execute[entry], sizeof on_ranks);
    return on_ranks(rt, pool, weights, in, out, arena, code->ranks);
}

bool cr_run(const struct cr_case *c, const struct cr_compiled *code, const char *isa, int threads,
            struct cr_outputs *o, struct cr_report *report)
{
    const struct cr_program *p = code->program;
    const struct cr_runtime *rt = cr_runtime_select(isa);
    struct cr_pool *pool = pool_of(threads);
    struct layout l = {0};
    int64_t n_weights = p->weights_bytes / 4;
    int64_t n_arena = (p->arena_bytes + cr_pool_threads(pool) * p->scratch_bytes) / 4;
    int64_t weights = reserve(&l, n_weights), arena = reserve(&l, n_arena);
    arrange_outputs(p, c, &l, o);
    cr_load_case(c, p, rt, pool, l.memory + weights);
    const void **in = cr_calloc((size_t)p->n_inputs + 1, sizeof *in);
    for (int i = 0; i < p->n_inputs; i++)
        in[i] = input_of(c, o, &p->inputs[i]);
    place_over(p, o, in, l.memory + weights);
    int status = 0;
    for (int i = 0; i < p->n_entries && status == 0; i++)
        status = cr_run_entry(code, i, rt, pool, l.memory + weights, in, (void *const *)o->data,
                              l.memory + arena);
    free(in);
    bool good = status == 0 || cr_found(report, "the run fails");
    good = good && check_memory(&l, o, weights, n_weights, arena, n_arena, report);
    if (!good)
        cr_outputs_free(o);
    return good;
}

/* ---- results ---- */

bool cr_check_same(const struct cr_outputs *expected, const struct cr_outputs *o, const char *how,
                   struct cr_report *report)
{
    for (int i = 0; i < o->n; i++)
        for (int64_t j = 0; j < o->floats[i]; j++) {
            float x = expected->data[i][j], y = o->data[i][j];
            bool number = o->port[i]->dtype != CR_I32;
            if (memcmp(&x, &y, sizeof x) != 0 && !(number && isnan(x) && isnan(y)))
                return cr_found(
                    report, "%s: output %s, element %" PRId64 ": %.9g, expected the bits of %.9g",
                    how, o->port[i]->name, j, (double)y, (double)x);
        }
    return true;
}

bool cr_check_bounds(const struct cr_case *c, cr_id id, const struct cr_outputs *o, int i,
                     const char *how, struct cr_report *report)
{
    const struct cr_bounds *b = &c->bounds[id];
    bool whole = c->graph->nodes[id].dtype == CR_I32;
    int64_t n = cr_case_is_known(c, id) ? o->floats[i] : 0;
    for (int64_t j = 0; j < n; j++) {
        double x = whole ? ((const int32_t *)o->data[i])[j] : (double)o->data[i][j];
        if (!cr_bounds_hold(b, j, x, slack))
            return cr_found(
                report, "%s: output %d (v[%d]), element %" PRId64 ": %.9g, expected %.9g +- %.2g",
                how, i, (int)id, j, x, b->value[j], slack * b->error[j]);
    }
    return true;
}
