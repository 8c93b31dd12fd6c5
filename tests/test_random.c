/*
 * test_random.c - the compiler on random graphs, against the interpreter and against itself.
 *
 * $CRESCENT_GRAPHS says how many (default 250), $CRESCENT_SEED which comes first (default 1).
 * A graph that fails is printed as Lua, for `crescent compare` and `crescent dump`; its number
 * as the seed repeats it with the same data.
 */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/exec.h"
#include "compiler/exec/fill.h"
#include "compiler/frontend/script.h"
#include "compiler/ir/gradient.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "runtime/pool.h"
#include "runtime/select.h"
#include "support_random.h"

/* How much farther than its bound a result may be off: sums are bounded by their likely, not
 * their greatest error, and an online softmax rounds at other places. */
static const double slack = 8;

enum { EVERY_CC = 30, THREADS = 3, GUARD = 64 /* floats */ };

/* ---- the graph in hand, should it fail ---- */

static struct {
    uint64_t seed;
    char *text;
} current;

static void tell(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(9);
}

static void show_graph(void)
{
    char line[64];
    snprintf(line, sizeof line, "-- CRESCENT_SEED=%" PRIu64 "\n", current.seed);
    tell(line);
    tell(current.text);
}

/* Assertions of the compiler end here. */
static void on_signal(int number)
{
    show_graph();
    signal(number, SIG_DFL);
    raise(number);
}

/* What a check says of the graph in hand. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            show_graph();                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

static char *printed(const struct cr_graph *g)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    cr_print_graph(out, g);
    fclose(out);
    return text;
}

static struct cr_graph *copy_of(const struct cr_graph *g)
{
    struct cr_graph *copy = cr_graph_new(g->name);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        const struct cr_node *node = &g->nodes[id];
        struct cr_attr attr = cr_attr_of(node);
        if (node->name)
            attr.name = cr_intern(copy, node->name);
        copy->here = (struct cr_where){cr_intern(copy, node->where.file), node->where.line,
                                       cr_intern(copy, node->where.scope), node->where.backward};
        cr_must(copy, node->op, node->n_in, cr_inputs(g, node), &attr);
        copy->nodes[id].tap = node->tap ? cr_intern(copy, node->tap) : NULL;
    }
    for (int i = 0; i < g->n_outputs; i++)
        cr_add_output(copy, g->outputs[i].name, g->outputs[i].id);
    return copy;
}

/* ---- memory whose borders are watched, and which begins as NaN ---- */

static const uint32_t canary = 0x7fc0dead;

struct guarded {
    float *memory, *data;
    int64_t floats;
};

static struct guarded guarded_new(int64_t floats)
{
    struct guarded g = {.floats = floats};
    int64_t all = floats + 2 * GUARD;
    ck_assert_int_eq(posix_memalign((void **)&g.memory, 64, (size_t)all * sizeof(float)), 0);
    g.data = g.memory + GUARD;
    for (int64_t i = 0; i < all; i++)
        memcpy(g.memory + i, &canary, sizeof canary);
    return g;
}

static bool is_canary(const float *f)
{
    return memcmp(f, &canary, sizeof canary) == 0;
}

static void guarded_free(struct guarded *g, const char *what)
{
    for (int i = 0; i < GUARD; i++) {
        CHECK(is_canary(g->memory + i), "float %d before %s was written", GUARD - i, what);
        CHECK(is_canary(g->data + g->floats + i), "float %d behind %s was written", i, what);
    }
    free(g->memory);
}

/* ---- compiling and running ---- */

struct compiled {
    struct cr_program *program;
    struct cr_code code;
};

typedef int compiler(const struct cr_program *, struct cr_code *, struct cr_error *);

/* Uses the graph up. */
static struct compiled compile_with(struct cr_graph *g, compiler *backend,
                                    const struct cr_pass_options *options)
{
    struct compiled c;
    struct cr_error error = {""};
    struct cr_module *module = cr_module_new(g);
    CHECK(cr_run_passes(module, options, &error) == 0, "%s", error.text);
    c.program = cr_emit_program(module);
    cr_module_free(module);
    CHECK(backend(c.program, &c.code, &error) == 0, "%s", error.text);
    return c;
}

static struct compiled compile(struct cr_graph *g, compiler *backend, const char *const *skip,
                               int n_skip)
{
    return compile_with(g, backend, &(struct cr_pass_options){.skip = skip, .n_skip = n_skip});
}

static void compiled_free(struct compiled *c)
{
    cr_code_free(&c->code);
    cr_program_free(c->program);
}

static const void *data_of(const struct cr_random_graph *r, const char *name)
{
    for (cr_id id = 0; id < r->graph->n_nodes; id++)
        if (r->graph->nodes[id].name && strcmp(r->graph->nodes[id].name, name) == 0)
            return r->data[id];
    ck_abort_msg("no leaf is called %s", name);
    return NULL;
}

/* The outputs of one run; the caller frees them. */
struct outputs {
    struct guarded *data;
    int n;
};

static struct outputs outputs_new(const struct cr_program *p)
{
    struct outputs o = {cr_calloc((size_t)p->n_outputs, sizeof *o.data), p->n_outputs};
    for (int i = 0; i < o.n; i++)
        o.data[i] = guarded_new(cr_elements(p->outputs[i].rank, p->outputs[i].shape));
    return o;
}

static void outputs_free(struct outputs *o)
{
    for (int i = 0; i < o->n; i++)
        guarded_free(&o->data[i], "an output");
    free(o->data);
}

static void read_data(const void *data, int64_t first, int64_t n, float *out)
{
    memcpy(out, (const float *)data + first, (size_t)n * sizeof *out);
}

/* Every other parameter is handed in as elements to be read, not as memory. */
static struct guarded loaded_weights(const struct cr_random_graph *r, const struct cr_program *p,
                                     const struct cr_kernels *rt, struct cr_pool *pool)
{
    struct guarded weights = guarded_new(p->weights_bytes / (int64_t)sizeof(float));
    for (int i = 0; i < p->n_params; i++) {
        const void *data = data_of(r, p->params[i].name);
        struct cr_contents contents = {i % 2 ? data : NULL, read_data, data};
        cr_fill_weights(p, i, &contents, rt, pool, weights.data);
    }
    return weights;
}

static struct outputs run(const struct cr_random_graph *r, const struct compiled *c,
                          const char *isa, int threads)
{
    const struct cr_program *p = c->program;
    const struct cr_kernels *rt = cr_runtime_select(isa);
    struct cr_pool *pool = threads > 1 ? cr_pool_new(threads) : NULL;
    int64_t bytes = p->arena_bytes + cr_pool_threads(pool) * p->scratch_bytes;
    struct guarded weights = loaded_weights(r, p, rt, pool);
    struct guarded arena = guarded_new(bytes / (int64_t)sizeof(float));
    struct outputs o = outputs_new(p);
    const void **in = cr_calloc((size_t)p->n_inputs, sizeof *in);
    void **out = cr_calloc((size_t)o.n, sizeof *out);
    for (int i = 0; i < p->n_inputs; i++)
        in[i] = data_of(r, p->inputs[i].name);
    for (int i = 0; i < o.n; i++)
        out[i] = o.data[i].data;
    CHECK(c->code.execute(rt, pool, weights.data, in, out, arena.data) == 0, "it fails");
    guarded_free(&weights, "the weights");
    guarded_free(&arena, "the arena");
    cr_pool_free(pool);
    free(in);
    free(out);
    return o;
}

/* ---- what must hold ---- */

static void check_close(const struct cr_random_graph *r, const struct outputs *o, const char *how)
{
    for (int i = 0; i < o->n; i++) {
        const struct cr_bounds *b = &r->bounds[r->graph->outputs[i].id];
        for (int64_t j = 0; j < o->data[i].floats; j++)
            CHECK(cr_bounds_hold(b, j, (double)o->data[i].data[j], slack),
                  "%s: output %s, element %" PRId64 ": %.9g, expected %.9g +- %.2g", how,
                  r->graph->outputs[i].name, j, (double)o->data[i].data[j], b->value[j],
                  slack * b->error[j]);
    }
}

static void check_same(const struct cr_random_graph *r, const struct outputs *a,
                       const struct outputs *b, const char *how)
{
    for (int i = 0; i < a->n; i++)
        for (int64_t j = 0; j < a->data[i].floats; j++) {
            float x = a->data[i].data[j], y = b->data[i].data[j];
            CHECK(memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)),
                  "%s: output %s, element %" PRId64 ": %.9g, expected the bits of %.9g", how,
                  r->graph->outputs[i].name, j, (double)y, (double)x);
        }
}

/* Another run of the same code gives the same bits. */
static void check_run(const struct cr_random_graph *r, const struct compiled *c,
                      const struct outputs *expected, const char *isa, int threads)
{
    char how[64];
    if (!cr_runtime_select(isa))
        return;
    snprintf(how, sizeof how, "%s, %d threads", isa ? isa : "best", threads);
    struct outputs o = run(r, c, isa, threads);
    check_same(r, expected, &o, how);
    outputs_free(&o);
}

/* Other code: the same bits if `expected` is not null, and the right values. */
static void check_code(const struct cr_random_graph *r, struct compiled c,
                       const struct outputs *expected, const char *how)
{
    struct outputs o = run(r, &c, NULL, 1);
    check_close(r, &o, how);
    if (expected)
        check_same(r, expected, &o, how);
    outputs_free(&o);
    compiled_free(&c);
}

/* The interpreter agrees with this test's own evaluation to double's precision. */
static void check_interpreter(const struct cr_random_graph *r)
{
    const struct cr_graph *g = r->graph;
    const float **params = cr_calloc((size_t)g->n_nodes, sizeof *params);
    const void **inputs = cr_calloc((size_t)g->n_nodes, sizeof *inputs);
    double **outputs = cr_calloc((size_t)g->n_outputs, sizeof *outputs);
    struct cr_error error;
    int n_params = 0, n_inputs = 0;
    for (cr_id id = 0; id < g->n_nodes; id++) {
        if (g->nodes[id].op == CR_OP_param)
            params[n_params++] = r->data[id];
        if (g->nodes[id].op == CR_OP_input)
            inputs[n_inputs++] = r->data[id];
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        outputs[i] = cr_calloc((size_t)cr_elements(node->rank, node->shape), sizeof(double));
    }
    CHECK(cr_interpret(g, params, inputs, outputs, &error) == 0, "interpreter: %s", error.text);
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        const struct cr_bounds *b = &r->bounds[g->outputs[i].id];
        for (int64_t j = 0; j < cr_elements(node->rank, node->shape); j++)
            CHECK(b->error[j] >= 1 || cr_bounds_hold(b, j, outputs[i][j], 1e-6),
                  "interpreter: output %s, element %" PRId64 ": %.17g, expected %.17g",
                  g->outputs[i].name, j, outputs[i][j], b->value[j]);
        free(outputs[i]);
    }
    free(outputs);
    free(params);
    free(inputs);
}

/* ---- printed graphs ---- */

/* The graph that a printed graph is read back as. */
static struct cr_graph *read_back(const char *text)
{
    char path[] = "/tmp/crescent-random-XXXXXX";
    struct cr_script script;
    struct cr_error error = {""};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    int status = cr_script_run(path, NULL, 0, &script, &error);
    unlink(path);
    CHECK(status == 0, "read back: %s", error.text);
    struct cr_graph *g = script.graph;
    script.graph = NULL;
    cr_script_free(&script);
    return g;
}

/* After a pass the graph reads back as itself, and what it computes is still the same. */
static void check_middle(const struct cr_random_graph *r, const char *pass,
                         const struct outputs *expected)
{
    struct cr_error error = {""};
    struct cr_module *module = cr_module_new(copy_of(r->graph));
    struct cr_pass_options options = {.stop_after = pass};
    if (pass)
        CHECK(cr_run_passes(module, &options, &error) == 0, "%s", error.text);
    char *text = printed(module->graph);
    struct cr_graph *g = read_back(text);
    char *again = printed(g);
    char how[64];
    if (strcmp(text, again) != 0) {
        tell("-- printed\n"), tell(text), tell("-- read back\n"), tell(again);
        CHECK(false, "after %s: the printed graph reads back as another", pass ? pass : "script");
    }
    snprintf(how, sizeof how, "from the graph after %s", pass ? pass : "script");
    check_code(r, compile(g, cr_compile_tcc, NULL, 0), expected, how);
    free(text);
    free(again);
    cr_module_free(module);
}

/* ---- one graph ---- */

/* Sets of passes that can be left out. */
static const struct {
    const char *passes[2];
    int n;
    bool same; /* bits */
    const char *how;
} skips[] = {
    {{"simplify", "join"}, 2, false, "without simplify and join"},
    {{"join"}, 1, false, "without join"},
    {{"outline"}, 1, true, "without outline"},
};

static void check_graph(const struct cr_random_graph *r, bool with_cc)
{
    check_interpreter(r);
    struct compiled c = compile(copy_of(r->graph), cr_compile_tcc, NULL, 0);
    struct outputs expected = run(r, &c, NULL, 1);
    check_close(r, &expected, "tcc");
    check_run(r, &c, &expected, NULL, THREADS);
    check_run(r, &c, &expected, "avx2", 1);
    check_run(r, &c, &expected, "plain", 1);
    for (size_t i = 0; i < sizeof skips / sizeof *skips; i++)
        check_code(r, compile(copy_of(r->graph), cr_compile_tcc, skips[i].passes, skips[i].n),
                   skips[i].same ? &expected : NULL, skips[i].how);
    check_middle(r, NULL, &expected);
    for (int i = 0; i < cr_n_passes; i++)
        check_middle(r, cr_passes[i].name, &expected);
    if (with_cc)
        check_code(r, compile(copy_of(r->graph), cr_compile_cc, NULL, 0), &expected, "cc");
    outputs_free(&expected);
    compiled_free(&c);
}

/* ---- less memory ---- */

/* The graph with the gradients of the sum of its outputs as further outputs. */
static struct cr_graph *differentiated(const struct cr_graph *plain)
{
    struct cr_graph *g = copy_of(plain);
    struct cr_seed *seeds = cr_calloc((size_t)g->n_outputs, sizeof *seeds);
    cr_id *wanted = cr_calloc((size_t)g->n_nodes, sizeof *wanted);
    cr_id *gradients = cr_calloc((size_t)g->n_nodes, sizeof *gradients);
    int n_seeds = 0, n = 0;
    for (cr_id id = 0; id < plain->n_nodes; id++)
        if (g->nodes[id].name && g->nodes[id].dtype == CR_F32)
            wanted[n++] = id;
    for (int i = 0; i < g->n_outputs; i++) {
        const struct cr_node *node = &g->nodes[g->outputs[i].id];
        struct cr_attr ones = {.dtype = CR_F32, .rank = node->rank, .value = 1};
        memcpy(ones.shape, node->shape, sizeof ones.shape);
        if (node->dtype == CR_F32)
            seeds[n_seeds++] =
                (struct cr_seed){g->outputs[i].id, cr_must(g, CR_OP_const, 0, NULL, &ones)};
    }
    cr_add_gradients(g, n_seeds, seeds, n, wanted, gradients);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "gradient%d", i);
        cr_add_output(g, name, gradients[i]);
    }
    free(seeds);
    free(wanted);
    free(gradients);
    return g;
}

/* Within a limit the graph computes the same bits. */
static void check_limit(const struct cr_random_graph *r, const struct cr_graph *g, int64_t limit,
                        const struct outputs *expected)
{
    char how[64];
    snprintf(how, sizeof how, "an arena of %" PRId64, limit);
    struct compiled c = compile_with(copy_of(g), cr_compile_tcc,
                                     &(struct cr_pass_options){.max_arena = limit, .path = "g"});
    CHECK(c.program->arena_bytes <= limit, "%s: it has %" PRId64, how, c.program->arena_bytes);
    struct outputs o = run(r, &c, NULL, 1);
    for (int i = 0; i < o.n; i++)
        for (int64_t j = 0; j < o.data[i].floats; j++) {
            float x = expected->data[i].data[j], y = o.data[i].data[j];
            CHECK(memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)),
                  "%s: output %d, element %" PRId64 ": %.9g, expected the bits of %.9g", how, i, j,
                  (double)y, (double)x);
        }
    outputs_free(&o);
    compiled_free(&c);
}

/* The least arena that the passes name when they refuse a limit; the limit itself if they
 * accept it. */
static int64_t least_arena(const struct cr_graph *g, int64_t limit)
{
    struct cr_error error = {""};
    struct cr_module *module = cr_module_new(copy_of(g));
    struct cr_pass_options options = {.max_arena = limit, .path = "g"};
    int64_t least = limit;
    if (cr_run_passes(module, &options, &error))
        CHECK(sscanf(error.text, "g: the arena takes at least %" SCNd64 " bytes, ", &least) == 1,
              "%s", error.text);
    cr_module_free(module);
    return least;
}

static void check_limits(const struct cr_random_graph *r)
{
    struct cr_graph *g = differentiated(r->graph);
    struct compiled c = compile(copy_of(g), cr_compile_tcc, NULL, 0);
    struct outputs expected = run(r, &c, NULL, 1);
    int64_t plain = c.program->arena_bytes, least = plain ? least_arena(g, 1) : 0;
    if (plain) {
        CHECK(least > 1 && least <= plain, "%" PRId64 " of %" PRId64, least, plain);
        CHECK(least_arena(g, least - 1) == least, "%" PRId64 " is refused differently", least - 1);
        check_limit(r, g, least, &expected);
        check_limit(r, g, (least + plain) / 2, &expected);
        check_limit(r, g, plain, &expected);
    }
    outputs_free(&expected);
    compiled_free(&c);
    cr_graph_free(g);
}

/* A number from the environment. */
static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(a_random_graph)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    current.seed = setting("CRESCENT_SEED", 1) + (uint64_t)_i;
    struct cr_random_graph *r = cr_random_graph_new(current.seed);
    current.text = printed(r->graph);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], on_signal);
    check_graph(r, current.seed % EVERY_CC == 0);
    check_limits(r);
    free(current.text);
    cr_random_graph_free(r);
}
END_TEST

/* ---- what the graphs reach ---- */

static bool has_source(const struct cr_tiles *tiles, enum cr_source source)
{
    for (int i = 0; i < tiles->n; i++)
        if (tiles->values[i].source == source)
            return true;
    return false;
}

static bool is_gather(const struct cr_kernel *k)
{
    return has_source(&k->program, CR_GATHER) || has_source(&k->prologue, CR_GATHER);
}

static bool is_scatter(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_SCATTER;
}

static bool is_random(const struct cr_kernel *k)
{
    return has_source(&k->program, CR_RANDOM);
}

static bool is_reduction(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && has_source(&k->program, CR_REDUCE);
}

static bool is_long_row(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_TILE && k->col >= 0 && k->atoms.extent[k->col] > 1024;
}

static bool is_nest(const struct cr_kernel *k)
{
    return k->n_outer > 1;
}

static bool is_part(const struct cr_kernel *k)
{
    return k->buffer != k->root && k->kind != CR_KERNEL_TILE;
}

static bool is_packed(const struct cr_kernel *k)
{
    return k->packed != CR_NONE;
}

static bool is_unpacked(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && k->packed == CR_NONE;
}

static bool is_norm_product(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_GEMM && has_source(&k->prologue, CR_REDUCE);
}

static bool is_attention(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION;
}

static bool is_window(const struct cr_kernel *k)
{
    return is_attention(k) && k->n_bounds == 2;
}

static bool is_long_attention(const struct cr_kernel *k)
{
    return is_attention(k) && k->keys > 128 && k->n_bounds > 0;
}

static bool is_backward(const struct cr_kernel *k)
{
    return k->kind == CR_KERNEL_ATTENTION_BACKWARD;
}

static bool is_long_backward(const struct cr_kernel *k)
{
    return is_backward(k) && k->keys > 128;
}

static bool has_dropout(const struct cr_kernel *k)
{
    return is_attention(k) && k->dropout.n > 0;
}

static bool has_dropout_backward(const struct cr_kernel *k)
{
    return is_backward(k) && has_source(&k->dropout, CR_RANDOM);
}

static bool is_backward_in_place(const struct cr_kernel *k)
{
    return is_backward(k) && k->row >= 0 && k->dest.coef[k->row] != k->K;
}

static bool is_attention_with_more(const struct cr_kernel *k)
{
    return is_attention(k) && has_source(&k->program, CR_MAP) && k->prologue.n > 0;
}

/* Kernels that must occur among the graphs: a test that misses them would prove little. */
static const struct {
    const char *name;
    bool (*is)(const struct cr_kernel *);
} kinds[] = {
    {"gather", is_gather},
    {"scatter", is_scatter},
    {"random numbers", is_random},
    {"row reduction", is_reduction},
    {"rows cut into tiles", is_long_row},
    {"nested loops", is_nest},
    {"product into a concat", is_part},
    {"product with packed weights", is_packed},
    {"product with packing", is_unpacked},
    {"product of normalised rows", is_norm_product},
    {"attention", is_attention},
    {"attention to a window", is_window},
    {"masked attention in blocks", is_long_attention},
    {"gradient of attention", is_backward},
    {"gradient of attention in blocks", is_long_backward},
    {"gradient of attention into that of one projection", is_backward_in_place},
    {"attention with dropout", has_dropout},
    {"gradient of attention with dropout", has_dropout_backward},
    {"attention with a prologue and an epilogue", is_attention_with_more},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* What loops over layers may be, told by an operand of the second iteration. */

static const struct cr_kernel *second(const struct cr_module *m, const struct cr_loop *loop, int at)
{
    return &m->kernels[loop->first + loop->period + at];
}

/* The kernel that makes a node, or -1. */
static int maker_of(const struct cr_module *m, cr_id id)
{
    int maker = m->n_kernels - 1;
    while (maker >= 0 && m->kernels[maker].buffer != id)
        maker--;
    return maker;
}

/* How many values of the first iteration the second one reads. */
static int handed_on(const struct cr_module *m, const struct cr_loop *loop)
{
    int n = 0;
    for (int made = loop->first; made < loop->first + loop->period; made++) {
        bool read = false;
        for (int at = 0; at < loop->period; at++)
            for (int r = 0; r < second(m, loop, at)->n_refs; r++)
                read |= second(m, loop, at)->refs[r] == m->kernels[made].buffer;
        n += read;
    }
    return n;
}

static bool is_down(const struct cr_module *m, const struct cr_loop *loop)
{
    (void)m;
    return loop->direction < 0;
}

static bool is_handing_on(const struct cr_module *m, const struct cr_loop *loop)
{
    return handed_on(m, loop) > 0;
}

static bool is_handing_on_two(const struct cr_module *m, const struct cr_loop *loop)
{
    return handed_on(m, loop) > 1;
}

/* Whether a loop reads in the arena what another one kept. */
static bool is_reading_kept(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++) {
        for (int r = 0; r < second(m, loop, at)->n_refs; r++) {
            cr_id id = second(m, loop, at)->refs[r];
            int maker = maker_of(m, id);
            const struct cr_loop *made = maker < 0 ? NULL : cr_loop_of(m, maker);
            if (made && made != loop && m->storage[id].space == CR_SPACE_ARENA && made->count > 2)
                return true;
        }
    }
    return false;
}

/* Whether the last iteration makes an output, and the others do not. */
static bool is_ending_in_output(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++) {
        int last = loop->first + (loop->count - 1) * loop->period + at;
        if (m->storage[m->kernels[last].buffer].space == CR_SPACE_OUTPUT &&
            m->storage[second(m, loop, at)->buffer].space == CR_SPACE_ARENA)
            return true;
    }
    return false;
}

/* Whether each iteration makes an output. */
static bool is_making_outputs(const struct cr_module *m, const struct cr_loop *loop)
{
    for (int at = 0; at < loop->period; at++)
        if (m->storage[m->kernels[loop->first + at].buffer].space == CR_SPACE_OUTPUT &&
            m->storage[second(m, loop, at)->buffer].space == CR_SPACE_OUTPUT)
            return true;
    return false;
}

static const struct {
    const char *name;
    bool (*is)(const struct cr_module *, const struct cr_loop *);
} loops[] = {
    {"down the layers", is_down},
    {"that hands on a value", is_handing_on},
    {"that hands on two values", is_handing_on_two},
    {"that reads what another kept", is_reading_kept},
    {"whose last iteration makes an output", is_ending_in_output},
    {"that makes outputs", is_making_outputs},
};

enum { N_LOOPS = sizeof loops / sizeof *loops };

/* What was seen of kernels, and of loops. */
struct reach {
    int kinds[N_KINDS], loops[N_LOOPS];
    int again[CR_KERNEL_ATTENTION_BACKWARD + 1], parts_again;
};

static void look_at(const struct cr_module *m, struct reach *reach)
{
    for (int i = 0; i < m->n_kernels; i++)
        for (int k = 0; k < N_KINDS; k++)
            reach->kinds[k] += kinds[k].is(&m->kernels[i]);
    for (int i = 0; i < m->n_loops; i++)
        for (int k = 0; k < N_LOOPS; k++)
            reach->loops[k] += loops[k].is(m, &m->loops[i]);
}

/* The kernels from which to which a value in the arena is alive; false if it is elsewhere. */
static bool is_alive(const struct cr_module *m, cr_id id, int *first, int *last)
{
    *first = *last = -1;
    for (int i = 0; i < m->n_kernels; i++) {
        bool uses = m->kernels[i].buffer == id;
        for (int r = 0; r < m->kernels[i].n_refs; r++)
            uses |= m->kernels[i].refs[r] == id;
        if (uses && *first < 0)
            *first = i;
        if (uses)
            *last = i;
    }
    return m->storage[id].space == CR_SPACE_ARENA;
}

/* Values of the arena that are alive at once lie apart. */
static void check_arena(const struct cr_module *m)
{
    struct value {
        int64_t begin, end;
        int first, last;
    } *values = cr_calloc((size_t)m->graph->n_nodes, sizeof *values);
    int n = 0;
    for (cr_id id = 0; id < m->graph->n_nodes; id++) {
        struct value *v = &values[n];
        if (!is_alive(m, id, &v->first, &v->last))
            continue;
        v->begin = m->storage[id].offset;
        v->end = v->begin + cr_elements(m->graph->nodes[id].rank, m->graph->nodes[id].shape);
        ck_assert_int_le(v->end, m->arena_floats);
        for (int i = 0; i < n; i++)
            ck_assert_msg(v->first > values[i].last || values[i].first > v->last ||
                              v->begin >= values[i].end || values[i].begin >= v->end,
                          "v[%d] lies over a value that is alive", (int)id);
        n++;
    }
    free(values);
}

/* What the least arena of the graph's gradients has to make again. */
static void look_again(const struct cr_random_graph *r, struct reach *reach)
{
    struct cr_graph *g = differentiated(r->graph);
    struct cr_pass_options options = {.max_arena = least_arena(g, 1), .path = "g"};
    struct cr_module *m = cr_module_new(g);
    struct cr_error error;
    ck_assert_int_eq(cr_run_passes(m, &options, &error), 0);
    for (int i = 0; i < m->n_kernels; i++) {
        reach->again[m->kernels[i].kind] += m->kernels[i].again;
        reach->parts_again += m->kernels[i].again && m->kernels[i].buffer != m->kernels[i].root;
    }
    check_arena(m);
    cr_module_free(m);
}

START_TEST(graphs_reach_everything)
{
    struct reach reach = {0};
    struct cr_error error;
    for (uint64_t seed = 1; seed <= 800; seed++) {
        struct cr_random_graph *r = cr_random_graph_new(seed);
        struct cr_module *m = cr_module_new(copy_of(r->graph));
        ck_assert_int_eq(cr_run_passes(m, NULL, &error), 0);
        look_at(m, &reach);
        check_arena(m);
        if (seed % 10 == 0)
            look_again(r, &reach);
        cr_module_free(m);
        cr_random_graph_free(r);
    }
    for (int k = 0; k < N_KINDS; k++)
        ck_assert_msg(reach.kinds[k] > 0, "no graph has a %s", kinds[k].name);
    for (int k = 0; k < N_LOOPS; k++)
        ck_assert_msg(reach.loops[k] > 0, "no graph has a loop %s", loops[k].name);
    ck_assert_msg(reach.again[CR_KERNEL_TILE] && reach.again[CR_KERNEL_GEMM] &&
                      reach.again[CR_KERNEL_COLUMNS] && reach.parts_again,
                  "made again: tile %d, gemm %d, columns %d, parts %d", reach.again[CR_KERNEL_TILE],
                  reach.again[CR_KERNEL_GEMM], reach.again[CR_KERNEL_COLUMNS], reach.parts_again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("random");
    int n = (int)setting("CRESCENT_GRAPHS", 250);
    if (n >= 100) /* a few are a look at a few, under valgrind for one */
        tcase_add_test(tests, graphs_reach_everything);
    tcase_add_loop_test(tests, a_random_graph, 0, n);
    tcase_set_timeout(tests, 600); /* under sanitizers, on a busy machine */
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
