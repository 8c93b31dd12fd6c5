/* emit_generator.c - emits a model that generates text as standalone C; see crescent.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/required_runtime.h"
#include "compiler/exec/id_limits.h"
#include "compiler/ir/incremental.h"
#include "compiler/ir/mem.h"
#include "emission.h"
#include "emit_writing.h"
#include "generator_ports.h"

/* ---- ports ---- */

/* Returns the number that ids are below: the rows of the table that they select from, or else
 * `vocabulary`. */
static int64_t limit_of_ids(const struct cr_graph *g, int64_t vocabulary)
{
    int64_t *limits = cr_find_id_limits(g), limit = 0;
    for (int id = 0, i = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CR_OP_input) {
            if (strcmp(g->nodes[id].name, CR_IDS) == 0)
                limit = limits[i];
            i++;
        }
    free(limits);
    return limit ? limit : vocabulary;
}

/* Finds the ports of the program; fails unless its batch is one text. */
static int find_ports(struct cr_writing *w, struct cr_text_ends *ends, struct cr_error *error)
{
    const struct cr_program *p = w->program;
    const struct cr_ports ports = {NULL, p->inputs, p->outputs, 0, p->n_inputs, p->n_outputs};
    struct cr_generator_ports g;
    if (cr_find_generator_ports(&g, &ports, false, w->origin->path, error) ||
        cr_read_text_ends(ends, w->origin, g.vocabulary, error))
        return -1;
    if (g.texts != 1)
        return cr_fail(error, "%.400s: %" PRId64 " texts, expected one", w->origin->path, g.texts);
    w->generation.ids = g.ids;
    w->generation.n = g.n;
    w->generation.logits = g.logits;
    w->generation.context = w->made.context;
    w->generation.chunk = w->made.chunk;
    w->generation.id_limit = limit_of_ids(w->made.graph->graph, g.vocabulary);
    return 0;
}

/* ---- the tokenizer ---- */

static void add_id(struct cr_ids *ids, int64_t id)
{
    *CR_PUSH(ids->items, ids->n, ids->cap) = (int32_t)id;
}

/* Opens the caller's tokenizer, or else the one in the model's folder. */
static int open_tokenizer(struct cr_writing *w, struct cr_error *error)
{
    const struct cr_origin *origin = w->origin;
    const char *own = origin->imported ? NULL : origin->folder;
    const char *path = w->what->tokenizer ? w->what->tokenizer : own;
    if (w->what->ids_only)
        return 0;
    if (!path)
        return cr_fail(error, "%.400s: %s has no tokenizer, expected --tokenizer FILE, or --ids",
                       origin->path, origin->imported ? "an ONNX file" : "a script");
    w->tokenizer = cr_tokenizer_open(path, error);
    w->generation.tokenizer = w->tokenizer;
    w->generation.tokenizer_path = path;
    return w->tokenizer ? 0 : -1;
}

/* Sets the ids at which a text begins and ends: from the model's files, or else from the
 * tokenizer. */
static int find_ends(struct cr_writing *w, const struct cr_text_ends *ends, struct cr_error *error)
{
    struct cr_tokenizer *t = w->tokenizer;
    for (int i = 0; i < ends->n; i++)
        if (ends->items[i] >= 0 && ends->items[i] <= INT32_MAX)
            add_id(&w->ends, ends->items[i]);
    for (int i = 0; t && !ends->n && i < t->ends.n; i++)
        add_id(&w->ends, t->ends.items[i]);
    if (ends->begin != CRESCENT_NONE)
        add_id(&w->begin, ends->begin);
    else if (t && cr_encode(t, "", 0, true, &w->begin, error))
        return -1;
    w->generation.begin = w->begin.items;
    w->generation.n_begin = w->begin.n;
    w->generation.ends = w->ends.items;
    w->generation.n_ends = w->ends.n;
    return 0;
}

/* ---- the whole ---- */

/* Emits a generator to a file or to texts.  Checks paths before the script runs. */
static int emit(struct cr_writing *w, crescent_context *context, const char *path,
                const crescent_script *how, const crescent_config *config,
                const crescent_generation *generation, struct cr_emit_output *out, struct cr_error *error)
{
    static const crescent_generation plain;
    const struct cr_script_text script = {.path = path};
    struct cr_text_ends ends;
    if ((out->path && cr_check_emit_path(out->path, error)) ||
        cr_read_isas(config ? config->isa : NULL, &out->isas, error) || cr_writing_check(w->what, error) ||
        cr_continuation_open(context, &script, how, generation ? generation : &plain, &w->made,
                             error))
        return -1;
    w->origin = w->made.graph->origin;
    if (open_tokenizer(w, error) || cr_writing_program(w, config, how ? how->seed : 0, error) ||
        find_ports(w, &ends, error) || find_ends(w, &ends, error))
        return -1;
    cr_writing_names(w);
    return cr_writing_files(w, out, error);
}

/* Emits a generator to files.  The report's name is null, as the graph that owns it is closed. */
int crescent_emit_generator(crescent_context *context, const char *path, const crescent_script *how,
                            const crescent_config *config, const crescent_generation *generation,
                            const crescent_generator_source *what, const char *out,
                            crescent_report *report)
{
    static const crescent_generator_source nothing;
    CR_REQUIRE_CONTEXT(context, path && out);
    CR_ENTER(context);
    struct cr_writing w = {.what = what ? what : &nothing};
    struct cr_emit_output file = {.path = out};
    int status = emit(&w, context, path, how, config, generation, &file, guard.error);
    if (!status && report) {
        *report = cr_report_of(w.program);
        report->name = NULL;
    }
    cr_writing_free(&w);
    return cr_done(&guard, status);
}

/* Emits the source and the header as texts.  Sets *source and *header only if both succeed. */
int crescent_emit_generator_text(crescent_context *context, const char *path,
                                 const crescent_script *how, const crescent_config *config,
                                 const crescent_generation *generation,
                                 const crescent_generator_source *what, const char *header_name,
                                 char **source, char **header)
{
    static const crescent_generator_source nothing;
    CR_REQUIRE_CONTEXT(context, path && header_name && source && header);
    CR_ENTER(context);
    struct cr_text texts[2] = {{0}, {0}};
    struct cr_writing w = {.what = what ? what : &nothing};
    struct cr_emit_output output = {.header = header_name, .texts = texts};
    int status = emit(&w, context, path, how, config, generation, &output, guard.error);
    cr_writing_free(&w);
    if (!status) {
        *source = texts[0].data;
        *header = texts[1].data;
    } else {
        free(texts[0].data);
        free(texts[1].data);
    }
    return cr_done(&guard, status);
}
