/* Oracles: other ways to compile and run a graph, which must give the same bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/passes/module/target.h"
#include "oracles.h"
#include "runtime/select_runtime.h"

/* Runs the same code with an instruction set and a number of threads, and compares the bits. */
static bool check_run(struct cr_subject *s, const char *isa, int threads, struct cr_report *report)
{
    char how[64];
    struct cr_outputs o;
    if (!cr_runtime_select(isa))
        return true;
    snprintf(how, sizeof how, "%s, %d threads", isa ? isa : "best", threads);
    if (!cr_run(s->c, &s->plain, isa, threads, &o, report))
        return false;
    bool good = cr_check_same(&s->expected, &o, how, report);
    cr_outputs_free(&o);
    return good;
}

bool cr_oracle_isa(struct cr_subject *s, struct cr_report *report)
{
    return check_run(s, "avx2", 1, report) && check_run(s, "neon", 1, report) &&
           check_run(s, "plain", 1, report);
}

bool cr_oracle_threads(struct cr_subject *s, struct cr_report *report)
{
    return check_run(s, NULL, 2 + (int)cr_pick(s, 2), report);
}

bool cr_oracle_again(struct cr_subject *s, struct cr_report *report)
{
    return check_run(s, NULL, 1, report);
}

/* Checks the outputs of another program against the error bounds of their nodes. */
static bool check_values(struct cr_subject *s, const struct cr_outputs *o, const char *how,
                         struct cr_report *report)
{
    for (int i = 0; i < o->n; i++)
        if (!cr_check_bounds(s->c, s->c->graph->outputs[i].id, o, i, how, report))
            return false;
    return true;
}

/* Runs with two threads. */
static int compile_standalone(const struct cr_program *p, struct cr_code *code,
                              struct cr_error *error)
{
    return cr_compile_standalone(p, 2, code, error);
}

/* Runs another program and frees it; it must give the same bits, or values within the bounds. */
static bool check_program(struct cr_subject *s, struct cr_program *program,
                          cr_backend_function *backend, bool same, const char *how,
                          struct cr_report *report)
{
    struct cr_compiled other;
    struct cr_outputs o;
    if (backend == cr_compile_tcc && cr_same_program(program, s->plain.program)) {
        cr_program_free(program);
        return true;
    }
    if (!cr_compile_program(&other, program, backend, report))
        return false;
    bool good = cr_run(s->c, &other, NULL, backend == compile_standalone ? 2 : 1, &o, report);
    if (good) {
        good =
            same ? cr_check_same(&s->expected, &o, how, report) : check_values(s, &o, how, report);
        cr_outputs_free(&o);
    }
    cr_compiled_free(&other);
    return good;
}

/* ---- passes ---- */

/* True for a pass that decides where values are stored or which kernel computes them, and changes no bit. */
static bool keeps_bits(const char *pass)
{
    return strcmp(pass, "recompute") == 0 || strcmp(pass, "join_tiles") == 0 ||
           strcmp(pass, "outline") == 0;
}

/* Compiles without a random pass; join needs simplify, so both are skipped together. */
bool cr_oracle_skip(struct cr_subject *s, struct cr_report *report)
{
    const char *name = cr_passes[cr_pick(s, cr_n_passes)].name;
    const char *skip[2] = {name, "join"};
    char how[64];
    struct cr_error error = {""};
    struct cr_pass_options options = {
        .settings = {.skip = skip, .n_skip = strcmp(name, "simplify") ? 1 : 2}};
    struct cr_program *program = NULL;
    struct cr_module *module = cr_module_new(cr_graph_copy(s->c->graph));
    if (cr_run_passes(module, &options, &error) == 0 && module->has & CR_HAS_PLAN)
        program = cr_emit_reached(module);
    cr_module_free(module);
    snprintf(how, sizeof how, "without %s", name);
    if (program)
        return check_program(s, program, cr_compile_tcc, keeps_bits(name), how, report);
    return !*error.text || strncmp(error.text, "--skip ", 7) == 0 ||
           cr_found(report, "%s: refused: %.400s", how, error.text);
}

/* ---- printed graphs ---- */

/* Checks that the graph printed after a pass, or before all ("script"), reads back as the same
 * graph. */
bool cr_oracle_dump(struct cr_subject *s, struct cr_report *report)
{
    int pass = (int)cr_pick(s, cr_n_passes + 1) - 1;
    const char *name = pass < 0 ? "script" : cr_passes[pass].name;
    struct cr_error error = {""};
    struct cr_pass_options options = {.stop_after = name};
    struct cr_module *module = cr_module_new(cr_graph_copy(s->c->graph));
    char how[64];
    if (pass >= 0 && cr_run_passes(module, &options, &error))
        return cr_found(report, "after %s: %.400s", name, error.text);
    char *text = cr_graph_text(module->graph);
    cr_module_free(module);
    struct cr_graph *g = cr_graph_from_text(text, &error);
    char *again = g ? cr_graph_text(g) : NULL;
    bool good = g && strcmp(text, again) == 0;
    free(text);
    free(again);
    if (!g)
        return cr_found(report, "after %s: does not read back: %.400s", name, error.text);
    if (!good) {
        cr_graph_free(g);
        return cr_found(report, "after %s: reads back as another graph", name);
    }
    snprintf(how, sizeof how, "from the graph after %s", name);
    struct cr_program *program = cr_program_of(g, NULL, &error);
    return program ? check_program(s, program, cr_compile_tcc, true, how, report)
                   : cr_found(report, "%s: %.400s", how, error.text);
}

/* Checks that simplify is idempotent. */
bool cr_oracle_simplify(struct cr_subject *s, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_pass_options options = {.stop_after = "simplify"};
    struct cr_module *module = cr_module_new(cr_graph_copy(s->c->graph));
    char *text[2] = {NULL, NULL};
    int status = 0;
    for (int i = 0; i < 2 && !status; i++) {
        status = cr_run_passes(module, &options, &error);
        text[i] = cr_graph_text(module->graph);
    }
    bool good = !status && strcmp(text[0], text[1]) == 0;
    free(text[0]);
    free(text[1]);
    cr_module_free(module);
    return good || cr_found(report, "simplified again it is another graph%s%.400s",
                            status ? ": " : "", error.text);
}

/* ---- less memory ---- */

/* Returns the smallest possible arena, which the error of a limit that is too small contains. */
static int64_t least_arena(const struct cr_graph *g, int64_t limit, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_pass_options options = {.settings = {.max_arena = limit, .path = "g"}};
    int64_t least = limit;
    struct cr_program *program = cr_program_of(cr_graph_copy(g), &options, &error);
    if (!program &&
        sscanf(error.text, "g: the arena takes at least %" SCNd64 " bytes, ", &least) != 1)
        return cr_found(report, "%.500s", error.text), -1;
    if (program)
        cr_program_free(program);
    return least;
}

static bool check_limit(struct cr_subject *s, int64_t limit, struct cr_report *report)
{
    char how[64];
    struct cr_error error = {""};
    struct cr_pass_options options = {.settings = {.max_arena = limit, .path = "g"}};
    struct cr_program *program = cr_program_of(cr_graph_copy(s->c->graph), &options, &error);
    snprintf(how, sizeof how, "an arena of %" PRId64, limit);
    if (!program)
        return cr_found(report, "%s: %.400s", how, error.text);
    if (program->arena_bytes > limit) {
        int64_t has = program->arena_bytes;
        cr_program_free(program);
        return cr_found(report, "%s: it has %" PRId64, how, has);
    }
    return check_program(s, program, cr_compile_tcc, true, how, report);
}

bool cr_oracle_arena(struct cr_subject *s, struct cr_report *report)
{
    int64_t plain = s->plain.program->arena_bytes;
    if (!plain)
        return true;
    int64_t least = least_arena(s->c->graph, 1, report);
    if (least < 0)
        return false;
    if (least > plain)
        return cr_found(report, "the least arena is %" PRId64 ", without a limit it is %" PRId64,
                        least, plain);
    if (cr_pick(s, 8) == 0 && least_arena(s->c->graph, least - 1, report) != least)
        return cr_found(report, "an arena of %" PRId64 " is refused differently", least - 1);
    int64_t way = cr_pick(s, 5); /* mostly the least */
    return check_limit(s, least + (way > 2 ? way - 2 : 0) * (plain - least) / 2, report);
}

/* ---- outputs over inputs and parameters ---- */

static bool same_type(const struct cr_node *a, const struct cr_node *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Returns an input or parameter with the type and shape of an output whose name is not yet an
 * output's, or CR_NONE. */
static cr_id free_leaf(struct cr_subject *s, const struct cr_graph *g, cr_id output, const bool *taken)
{
    cr_id start = (cr_id)cr_pick(s, g->n_nodes);
    for (cr_id i = 0; i < g->n_nodes; i++) {
        cr_id id = (start + i) % g->n_nodes;
        const struct cr_node *node = &g->nodes[id];
        bool is_leaf = node->op == CR_OP_input || node->op == CR_OP_param;
        if (is_leaf && !taken[id] && same_type(node, &g->nodes[output]))
            return id;
    }
    return CR_NONE;
}

/* Gives outputs the names of inputs and parameters, as a training does, and lets cr_run store
 * outputs over their namesakes where the compiler allows it. */
bool cr_oracle_over(struct cr_subject *s, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_graph *g = cr_graph_copy(s->c->graph);
    bool *taken = cr_calloc((size_t)g->n_nodes, sizeof *taken);
    for (int i = 0; i < cr_n_results(g); i++) {
        cr_id leaf = free_leaf(s, g, g->outputs[i].id, taken);
        if (leaf == CR_NONE)
            continue;
        taken[leaf] = true;
        g->outputs[i].name = g->nodes[leaf].name;
    }
    free(taken);
    struct cr_program *program = cr_program_of(g, NULL, &error);
    return program ? check_program(s, program, cr_compile_tcc, true, "outputs over inputs and parameters", report)
                   : cr_found(report, "outputs over inputs and parameters: %.400s", error.text);
}

/* ---- other machines ---- */

/* Draws the sizes of a target, mostly small ones, so that small graphs have loops over blocks and
 * steps. */
static struct cr_target draw_target(struct cr_subject *s)
{
    struct cr_target target = cr_target_generic;
    for (int i = 0; i < cr_n_target_sizes; i++) {
        const struct cr_target_size *size = &cr_target_sizes[i];
        int64_t drawn = size->least + cr_pick(s, (int64_t)1 << cr_pick(s, 9));
        if (cr_pick(s, 2))
            *cr_target_field(&target, i) = drawn < size->most ? drawn : size->most;
    }
    return target;
}

bool cr_oracle_target(struct cr_subject *s, struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_target target = draw_target(s);
    struct cr_pass_options options = {.settings = {.target = &target}};
    struct cr_program *program = cr_program_of(cr_graph_copy(s->c->graph), &options, &error);
    return program ? check_program(s, program, cr_compile_tcc, true, "another target", report)
                   : cr_found(report, "another target: %.400s", error.text);
}

/* ---- other compilers ---- */

static bool check_backend(struct cr_subject *s, cr_backend_function *backend, const char *how,
                          struct cr_report *report)
{
    struct cr_error error = {""};
    struct cr_program *program = cr_program_of(cr_graph_copy(s->c->graph), NULL, &error);
    return program ? check_program(s, program, backend, true, how, report)
                   : cr_found(report, "%s: %.400s", how, error.text);
}

bool cr_oracle_cc(struct cr_subject *s, struct cr_report *report)
{
    return check_backend(s, cr_compile_cc, "cc", report);
}

bool cr_oracle_standalone(struct cr_subject *s, struct cr_report *report)
{
    return check_backend(s, compile_standalone, "standalone", report);
}
