/* driver.c - the pipeline: the table of passes and the loop over it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/module/kernel_kinds.h"
#include "compiler/passes/verifier/verifier.h"
#include "compiler/passes/weights/same_formats.h"
#include "pass_list.h"
#include "passes.h"

const struct cr_pass cr_passes[] = {
#define PASS(name, needs, gives, breaks, doc) {#name, cr_pass_##name, needs, gives, breaks, doc},
#include "passes.def"
#undef PASS
};

const int cr_n_passes = sizeof cr_passes / sizeof *cr_passes;

static bool is_pass(const char *name)
{
    for (int i = 0; i < cr_n_passes; i++)
        if (strcmp(cr_passes[i].name, name) == 0)
            return true;
    return strcmp(name, "script") == 0;
}

static int check_options(const struct cr_pass_options *options, struct cr_error *error)
{
    const char *names[] = {options->dump_after, options->stop_after};
    for (int i = 0; i < 2 + options->settings.n_skip; i++) {
        const char *name = i < 2 ? names[i] : options->settings.skip[i - 2];
        if (name && (!is_pass(name) || (i >= 2 && strcmp(name, "script") == 0)))
            return cr_fail(error, "no pass is called '%s', expected one of those that 'crescent "
                           "dump' lists", name);
    }
    return 0;
}

static bool skipped(const struct cr_pass_options *options, const char *name)
{
    for (int i = 0; i < options->settings.n_skip; i++)
        if (strcmp(options->settings.skip[i], name) == 0)
            return true;
    return false;
}

/* Fails if the arena needs more than --max-arena bytes: more than the least that any order of the
 * kernels needs or, after the pass `plan`, more than that of the chosen order. */
static int check_arena(const struct cr_module *module, const struct cr_pass_options *options,
                       struct cr_error *error)
{
    int64_t least = module->least_arena_floats, limit = options->settings.max_arena;
    if (module->has & CR_HAS_PLAN && least < module->arena_floats)
        least = module->arena_floats;
    if (!limit || least * (int64_t)sizeof(float) <= limit)
        return 0;
    if (module->most_values)
        return cr_fail(error, "%.400s: --max-arena is for at most %d stored values, the model has "
                       "more, expected --max-arena of at least %lld", options->settings.path,
                       module->most_values, (long long)least * (int)sizeof(float));
    return cr_fail(error, "%.400s: the arena takes at least %lld bytes, expected --max-arena "
                   "of that or more", options->settings.path,
                   (long long)least * (int)sizeof(float));
}

/* Returns the name of a skipped pass that gives a property, or null. */
static const char *skipped_giver(const struct cr_pass_options *options, unsigned property)
{
    for (int i = 0; i < cr_n_passes; i++)
        if (cr_passes[i].gives & property && skipped(options, cr_passes[i].name))
            return cr_passes[i].name;
    return NULL;
}

/* Fails if a pass, or printing the program, needs a property that a skipped pass gives. */
static int check_needs(const struct cr_module *module, const struct cr_pass_options *options,
                       const char *pass, unsigned needs, struct cr_error *error)
{
    unsigned missing = needs & ~module->has;
    if (!missing)
        return 0;
    const char *giver = skipped_giver(options, missing);
    if (giver)
        return cr_fail(error, "--skip %s: pass %s needs it, expected it to be skipped, too", giver,
                       pass);
    return cr_fail(error,
                   "pass %s runs before a pass that it needs, expected the order of passes.def",
                   pass);
}

/* ---- verification ---- */

/* Returns the properties that no longer hold after a pass: those that it breaks, and those derived
 * from them. */
static unsigned broken_by(const struct cr_pass *pass)
{
    unsigned breaks = pass->breaks;
    if (breaks & CR_HAS_KERNELS)
        breaks |= CR_HAS_LOOPS | CR_HAS_STATES | CR_HAS_STORED;
    if (breaks & CR_HAS_LOOPS)
        breaks |= CR_HAS_PLAN;
    if (breaks & CR_HAS_PLAN)
        breaks |= CR_HAS_PROGRAM;
    return breaks;
}

/* Mixes n bytes into a hash; n is a multiple of 8. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    uint64_t word;
    for (size_t i = 0; i < n; i += sizeof word) {
        memcpy(&word, (const char *)bytes + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    }
    return cr_hash_word(hash, n);
}

/* True if the kernels, or the set of stored nodes, changed since the last call. */
static bool have_kernels_changed(struct cr_module *m)
{
    uint64_t hash = (uint64_t)m->n_kernels, old = m->kernels_hash;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        hash = cr_hash_word(hash, 2 * (uint64_t)m->graph->nodes[id].kernel + m->materialised[id]);
    for (int i = 0; i < m->n_kernels; i++) {
        hash = hash_bytes(hash, &m->kernels[i], sizeof *m->kernels);
        const struct cr_tiles *tiles;
        for (int p = 0; (tiles = cr_program_of(&m->kernels[i], p)); p++) {
            int n = tiles->n < 0 || tiles->n > CR_MAX_VALUES ? 0 : tiles->n;
            hash = hash_bytes(hash, tiles->values, (size_t)n * sizeof *tiles->values);
        }
    }
    m->kernels_hash = hash;
    return hash != old;
}

/* Verifies all properties that the module has.  Skips the graph unless `new_graph`, and the kernels
 * unless they or the graph changed. */
static int verify(struct cr_module *m, bool new_graph, struct cr_error *error)
{
    bool new_kernels = m->has & CR_HAS_KERNELS && (have_kernels_changed(m) || new_graph);
    if (new_graph && cr_verify(m->graph, error))
        return -1;
    if (new_graph && m->has & CR_HAS_SIMPLE && cr_verify_simple(m->graph, error))
        return -1;
    if (new_graph && m->has & CR_HAS_ENTRIES && cr_verify_separate(m->graph, error))
        return -1;
    if (m->has & CR_HAS_OUTPUTS && cr_verify_outputs(m->graph, error))
        return -1;
    if (m->has & CR_HAS_GRADIENTS && cr_verify_backwards(m, error))
        return -1;
    if (new_kernels && cr_verify_kernels(m, error))
        return -1;
    if (m->has & CR_HAS_STATES && cr_verify_states(m, error))
        return -1;
    if (m->has & CR_HAS_LOOPS && cr_verify_steps(m, error))
        return -1;
    if (m->has & CR_HAS_PLAN && (cr_verify_plan(m, error) || cr_verify_weights(m, error)))
        return -1;
    if (m->has & CR_HAS_PROGRAM && cr_verify_program(m->program, error))
        return -1;
    return 0;
}

/* Adds the name of the pass after which the verifier failed to the message; returns the error. */
static int add_pass_name(const char *pass, struct cr_error *error)
{
    struct cr_error what = *error;
    return cr_bug(error, "after %s, %.900s", pass, what.text);
}

/* Returns the first node that changed since the last call; n_nodes if only the outputs changed;
 * CR_NONE if nothing did.  Each node has its own hash, so that the processor can compute several at
 * once. */
static cr_id find_change(struct cr_module *m)
{
    int n = m->graph->n_nodes + 1, old = m->n_hashes, changed = n;
    if (n > old) {
        uint64_t *more = cr_calloc((size_t)n, sizeof *more);
        if (old)
            memcpy(more, m->hashes, (size_t)old * sizeof *more);
        free(m->hashes);
        m->hashes = more;
    }
    for (cr_id id = n - 1; id >= 0; id--) {
        uint64_t hash = id == n - 1 ? cr_hash_outputs(m->graph) : cr_hash_node(m->graph, id);
        if (id >= old || m->hashes[id] != hash)
            changed = id;
        m->hashes[id] = hash;
    }
    m->n_hashes = n;
    return changed == n && n == old ? CR_NONE : changed;
}

/* Verifies the graph before the first pass. */
static int verify_script(struct cr_module *module, struct cr_error *error)
{
    module->graph->verified = true;
    find_change(module);
    return verify(module, true, error) ? add_pass_name("script", error) : 0;
}

/* In a debug build, stops at a bug for the debugger. */
static int stop_at_bug(const struct cr_error *error)
{
#ifdef CR_DEBUG
    if (cr_is_bug(error)) {
        fprintf(stderr, "crescent: %s\n", error->text);
        abort();
    }
#endif
    (void)error;
    return -1;
}

int cr_run_pass(struct cr_module *module, const struct cr_pass *pass, struct cr_error *error)
{
    if (!module->hashes && verify_script(module, error))
        return -1;
    unsigned had = module->has;
    if ((had & pass->needs) != pass->needs)
        return cr_bug(error, "pass %s lacks what it needs", pass->name);
    pass->run(module);
    module->has = (had & ~broken_by(pass)) | pass->gives;
    cr_id changed = find_change(module);
    bool rebuilt = !module->graph->verified, simple = module->has & ~had & CR_HAS_SIMPLE;
    module->graph->verified = true;
    if (changed != CR_NONE && !rebuilt && !(pass->breaks & CR_HAS_SIMPLE))
        return cr_bug(error, "after %s, node %d: it was changed in place, not by a rewrite",
                      pass->name, (int)changed);
    return verify(module, rebuilt || changed != CR_NONE || simple, error)
               ? add_pass_name(pass->name, error)
               : 0;
}

/* ---- the loop ---- */

static void dump_after(const struct cr_module *module, const struct cr_pass_options *options,
                       const char *pass)
{
    if (options->dump_after && strcmp(options->dump_after, pass) == 0)
        cr_dump(options->dump_to, module, pass);
}

/* Clears the kernel number of each node: a graph read back from a dump may have some, and fuse sets
 * them. */
static void forget_kernels(struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        g->nodes[id].kernel = CR_NONE;
}

/* Runs the passes in order; the options have been checked. */
static int run_passes(struct cr_module *module, const struct cr_pass_options *o, struct cr_error *error)
{
    if (verify_script(module, error))
        return stop_at_bug(error);
    module->settings = o->settings;
    dump_after(module, o, "script");
    forget_kernels(module->graph);
    for (int i = 0; i < cr_n_passes; i++) {
        const struct cr_pass *pass = &cr_passes[i];
        if (skipped(o, pass->name))
            continue;
        if (check_needs(module, o, pass->name, pass->needs, error))
            return -1;
        if (cr_run_pass(module, pass, error))
            return stop_at_bug(error);
        if (check_arena(module, o, error))
            return -1;
        dump_after(module, o, pass->name);
        if (o->after)
            o->after(o->context, pass, module);
        if (o->stop_after && strcmp(o->stop_after, pass->name) == 0)
            return 0;
    }
    return check_needs(module, o, "emit", CR_HAS_PROGRAM, error);
}

/* ---- formats on several ranks ---- */

/* Copies the graph and runs the passes up to the choice of formats, for a rank or, if `ranks` is 0,
 * for one process.  Returns the module, or null if a pass fails. */
static struct cr_module *choose_formats(const struct cr_graph *g, const struct cr_pass_options *options, int rank,
                                        int ranks, struct cr_error *error)
{
    struct cr_pass_options o = {.settings = options->settings, .stop_after = "supported_formats"};
    struct cr_module *module = cr_module_new(cr_graph_copy(g));
    o.settings.rank = rank;
    o.settings.ranks = ranks;
    if (run_passes(module, &o, error) == 0)
        return module;
    cr_module_free(module);
    return NULL;
}

/*
 * Makes ranks that run a model together keep its weights in the formats of one process.  The kernels that read a weight
 * decide which formats it can have, and a rank's kernels may differ from those of one process: it may have a single
 * matrix of a batch of them.  So parameters that one process keeps in f32 lose the requested format.  If a rank cannot
 * keep the formats of the others, the model is not divided among ranks.  All ranks test the same few ranks, so they
 * decide alike.
 */
static int settle_formats(struct cr_module *module, const struct cr_pass_options *o, struct cr_error *error)
{
    int ranks = o->settings.ranks, tried[] = {0, 1, ranks / 2, ranks - 1};
    struct cr_module *whole = choose_formats(module->graph, o, 0, 0, error);
    if (!whole)
        return -1;
    cr_take_formats(module->graph, whole->graph);
    cr_module_free(whole);
    for (int i = 0; i < 4 && !module->uncut; i++) {
        if (i > 0 && tried[i] <= tried[i - 1])
            continue;
        struct cr_module *part = choose_formats(module->graph, o, tried[i], ranks, error);
        if (!part)
            return -1;
        module->uncut = !cr_have_same_formats(module->graph, part->graph);
        cr_module_free(part);
    }
    return 0;
}

/* Runs the passes for one rank of several that run a model with rounded weights together. */
static int run_passes_of_rank(struct cr_module *module, const struct cr_pass_options *o, struct cr_error *error)
{
    if (settle_formats(module, o, error))
        return -1;
    struct cr_graph *settled = cr_graph_copy(module->graph);
    int status = run_passes(module, o, error);
    if (!status && module->has & CR_HAS_FORMATS && !cr_have_same_formats(settled, module->graph))
        status = cr_fail(error,
                         "%.400s: rank %d of %d cannot keep the weights in the formats of one process, expected "
                         "another number of ranks or --format f32",
                         o->settings.path, o->settings.rank, o->settings.ranks);
    cr_graph_free(settled);
    return status;
}

int cr_run_passes(struct cr_module *module, const struct cr_pass_options *options, struct cr_error *error)
{
    static const struct cr_pass_options none;
    const struct cr_pass_options *o = options ? options : &none;
    if (check_options(o, error) < 0)
        return -1;
    if (o->settings.ranks > 1 && !o->settings.update && cr_any_rounded(module->graph))
        return run_passes_of_rank(module, o, error);
    return run_passes(module, o, error);
}
