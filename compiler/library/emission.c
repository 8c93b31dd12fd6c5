/* emission.c - writes standalone C, and prints a graph or program after a pass; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/join_programs.h"
#include "compiler/emit/make_program.h"
#include "compiler/emit/micro_batches.h"
#include "compiler/emit/required_runtime.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "emission.h"
#include "option_sizes.h"
#include "targets.h"

/* Emitted code for this machine always justifies a probe of the machine. */
static const struct cr_use use = {.threads = 1, .is_long = true};

/* Returns a copy of the graph with the formats and arithmetics of the configuration, and sets the
 * options of the passes.  Returns null with an error on failure.  The default target is generic, so
 * that emitted code does not depend on the machine that emits it. */
static struct cr_graph *prepare(const crescent_graph *graph, const crescent_config *config,
                                struct cr_target *target, struct cr_pass_options *options,
                                struct cr_error *error)
{
    const char *path = graph->origin->path;
    crescent_config c;
    if (cr_take_config(config, path, &c, error) ||
        cr_choose_target(graph->context, c.target ? c.target : "generic", &use, target, error))
        return NULL;
    *options = (struct cr_pass_options){.settings = cr_settings_of(&c, path, target)};
    struct cr_graph *copy = cr_graph_copy(graph->graph);
    if (!cr_want_weights(copy, &c, path, error))
        return copy;
    cr_graph_free(copy);
    return NULL;
}

/* Makes the program of one rank, or of a single process.  If `update` names an entry, only that
 * entry of a training step is divided among the ranks.  `sizes`, which may be null, gets one more
 * user. */
static struct cr_program *program_of_rank(const crescent_graph *graph, const crescent_config *config,
                                          const char *update, struct cr_named_sizes *sizes, int rank,
                                          struct cr_error *error)
{
    struct cr_target target;
    struct cr_pass_options options;
    struct cr_graph *copy = prepare(graph, config, &target, &options, error);
    if (!copy)
        return NULL;
    options.settings.rank = rank;
    options.settings.update = update;
    if (sizes)
        sizes->users++;
    cr_take_named_sizes(copy, sizes);
    return cr_make_program(copy, &options, NULL, error);
}

/* Makes the programs of all ranks, and joins them into one. */
static struct cr_program *program_of_ranks(const crescent_graph *graph, const crescent_config *config,
                                           const char *update, struct cr_named_sizes *sizes,
                                           struct cr_error *error)
{
    int n = config->ranks, made = 0;
    struct cr_program **programs = cr_calloc((size_t)n, sizeof *programs), *joined = NULL;
    while (made < n && (programs[made] = program_of_rank(graph, config, update, sizes, made, error)))
        made++;
    if (made == n)
        joined = cr_join_programs(programs, n, update != NULL, graph->origin->path, error);
    else
        while (made > 0)
            cr_program_free(programs[--made]);
    free(programs);
    return joined;
}

static struct cr_program *program_to_emit(const crescent_graph *graph, const crescent_config *config,
                                          const char *update, struct cr_error *error)
{
    struct cr_named_sizes *sizes = cr_find_option_sizes(graph); /* this runs the script again */
    const bool by_ranks = config && config->ranks > 1;
    if (sizes && by_ranks)
        cr_name_ranks(sizes, config->ranks);
    struct cr_program *program = by_ranks ? program_of_ranks(graph, config, update, sizes, error)
                                          : program_of_rank(graph, config, NULL, sizes, 0, error);
    cr_named_sizes_drop(sizes);
    return program;
}

struct cr_program *cr_program_to_emit(const crescent_graph *graph, const crescent_config *config,
                                      struct cr_error *error)
{
    return program_to_emit(graph, config, NULL, error);
}

int cr_model_to_emit(const crescent_graph *graph, const crescent_config *config, int rank,
                     crescent_model **model, struct cr_error *error)
{
    struct cr_origin *origin = graph->origin;
    struct cr_target target;
    crescent_config c;
    if (cr_take_config(config, origin->path, &c, error) ||
        cr_choose_target(graph->context, c.target ? c.target : "generic", &use, &target, error))
        return -1;
    c.backend = CRESCENT_TCC;
    c.isa = NULL;
    return cr_compile_for(graph->context, origin, cr_graph_copy(graph->graph), &c, &target, CR_TO_PACK, rank, model,
                          error);
}

/* ---- files ---- */

int cr_check_emit_path(const char *path, struct cr_error *error)
{
    size_t length = strlen(path);
    if (length < 3 || strcmp(path + length - 2, ".c") != 0 || path[length - 3] == '/')
        return cr_fail(error, "-o %.400s: expected a name that ends in .c", path);
    return 0;
}

/* Prepares the entries of a graph to be emitted.  If it is a training step over micro-batches,
 * keeps all its entries and sets *micro_batches to their number; else chooses its only entry. */
static int choose_step(struct cr_graph *g, const char *path, int *micro_batches,
                       struct cr_error *error)
{
    if (!cr_has_micro_batches(g) && cr_choose_entry(g, "", path, error))
        return -1;
    return cr_find_micro_batches(g, path, micro_batches, error);
}

/* Returns a copy of a program's ports in which the shapes are those of the graph's nodes with the
 * same names. */
static struct cr_port *whole_ports(const struct cr_port *ports, int n, const struct cr_graph *g, const cr_id *nodes,
                                   const struct cr_names *names)
{
    struct cr_port *whole = cr_calloc((size_t)n + 1, sizeof *whole);
    for (int i = 0; i < n; i++) {
        int at = cr_names_find(names, ports[i].name);
        CR_CHECK(at != CR_NONE);
        whole[i] = ports[i];
        memcpy(whole[i].shape, g->nodes[nodes[at]].shape, sizeof whole[i].shape);
    }
    return whole;
}

/* Sets the whole shapes of inputs and outputs of a program whose ranks have shares of them. */
static void set_whole_ports(struct cr_program *p, const struct cr_graph *g)
{
    struct cr_names inputs = {0}, outputs = {0};
    cr_id *nodes = cr_calloc((size_t)g->n_nodes + 1, sizeof *nodes);
    char **owned = cr_calloc((size_t)g->n_outputs + 1, sizeof *owned);
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input) {
            nodes[inputs.n] = id;
            cr_names_add(&inputs, g->nodes[id].name);
        }
    p->whole_inputs = whole_ports(p->inputs, p->n_inputs, g, nodes, &inputs);
    for (int i = 0; i < cr_n_results(g); i++) {
        nodes[i] = g->outputs[i].id;
        cr_names_add(&outputs, owned[i] = cr_output_name(g, i));
    }
    p->whole_outputs = whole_ports(p->outputs, p->n_outputs, g, nodes, &outputs);
    for (int i = 0; i < cr_n_results(g); i++)
        free(owned[i]);
    cr_names_free(&inputs);
    cr_names_free(&outputs);
    free(owned);
    free(nodes);
}

/* Fails if a training step has fewer micro-batches than there are ranks. */
static int check_ranks(const crescent_config *config, int micro_batches, const char *path, struct cr_error *error)
{
    int ranks = config ? config->ranks : 0, n = micro_batches ? micro_batches : 1;
    return ranks <= 1 || ranks <= n
               ? 0
               : cr_fail(error,
                         "%.400s: found %d ranks for a step of %d micro-batch%s, expected at least one for "
                         "each rank (optim.micro_batches)",
                         path, ranks, n, n == 1 ? "" : "es");
}

/* Makes the program to emit for a graph; `is_step`: the graph is a training step. */
static struct cr_program *program_of(const crescent_graph *graph, const crescent_config *config,
                                     bool is_step, struct cr_error *error)
{
    crescent_graph own = *graph;
    struct cr_program *p = NULL;
    int micro_batches;
    if (!is_step)
        return cr_program_to_emit(graph, config, error);
    own.graph = cr_graph_copy(graph->graph);
    if (!choose_step(own.graph, graph->origin->path, &micro_batches, error) &&
        !check_ranks(config, micro_batches, graph->origin->path, error))
        p = program_to_emit(&own, config, CR_UPDATE, error);
    if (p)
        p->micro_batches = micro_batches;
    if (p && p->ranks)
        set_whole_ports(p, own.graph);
    cr_graph_free(own.graph);
    return p;
}

/* Emits C to a file.  Checks the path before anything is compiled. */
static int emit(const crescent_graph *graph, const crescent_config *config, crescent_emit_kind kind,
                const char *path, crescent_report *report, struct cr_error *error)
{
    const char *script = graph->origin->path;
    if (cr_check_emit_path(path, error))
        return -1;
    unsigned isas;
    if (cr_read_isas(config ? config->isa : NULL, &isas, error))
        return -1;
    struct cr_program *p = program_of(graph, config, kind == CRESCENT_EMIT_STEP, error);
    if (!p)
        return -1;
    int status = kind == CRESCENT_EMIT_STEP ? cr_write_standalone_step(p, isas, script, path, error)
                                            : cr_write_standalone(p, isas, path, error);
    if (!status && report) {
        *report = cr_report_of(p);
        report->name = graph->graph->name;
    }
    cr_program_free(p);
    return status;
}

int crescent_emit(const crescent_graph *graph, const crescent_config *config,
                  crescent_emit_kind kind, const char *path, crescent_report *report)
{
    CR_REQUIRE(graph, path);
    CR_ENTER(graph->context);
    return cr_done(&guard, emit(graph, config, kind, path, report, guard.error));
}

/* ---- texts ---- */

/* Emits C as two texts: the source and the header. */
static int emit_text(const crescent_graph *graph, const crescent_config *config,
                     crescent_emit_kind kind, const char *header_name, struct cr_text texts[2],
                     struct cr_error *error)
{
    const char *script = kind == CRESCENT_EMIT_STEP ? graph->origin->path : NULL;
    unsigned isas;
    if (cr_read_isas(config ? config->isa : NULL, &isas, error))
        return -1;
    struct cr_program *p = program_of(graph, config, script != NULL, error);
    int status = p ? cr_standalone_texts(p, isas, script, header_name, texts, error) : -1;
    cr_program_free(p);
    return status;
}

/* Emits the source and the header as texts.  Sets *source and *header only if both succeed. */
int crescent_emit_text(const crescent_graph *graph, const crescent_config *config,
                       crescent_emit_kind kind, const char *header_name, char **source,
                       char **header)
{
    CR_REQUIRE(graph, header_name && source && header);
    CR_ENTER(graph->context);
    struct cr_text texts[2] = {{0}, {0}};
    int status = emit_text(graph, config, kind, header_name, texts, guard.error);
    if (!status) {
        *source = texts[0].data;
        *header = texts[1].data;
    }
    return cr_done(&guard, status);
}

/* ---- after a pass ---- */

/* Returns the text of the graph or program as it is after a pass. */
static int dump(const crescent_graph *graph, const crescent_config *config, const char *pass,
                char **text, struct cr_error *error)
{
    struct cr_target target;
    struct cr_pass_options options;
    char *memory = NULL;
    size_t length;
    struct cr_graph *copy = prepare(graph, config, &target, &options, error);
    if (!copy)
        return -1;
    FILE *out = open_memstream(&memory, &length);
    if (!out) {
        cr_graph_free(copy);
        return cr_fail(error, "out of memory");
    }
    int status = cr_dump_after(copy, pass, &options, out, error);
    bool written = !ferror(out);
    if ((fclose(out) != 0 || !written) && !status)
        status = cr_fail(error, "out of memory");
    if (status)
        free(memory);
    else
        *text = memory;
    return status;
}

int crescent_dump(const crescent_graph *graph, const crescent_config *config, const char *pass,
                  char **text)
{
    CR_REQUIRE(graph, pass && text);
    CR_ENTER(graph->context);
    return cr_done(&guard, dump(graph, config, pass, text, guard.error));
}
