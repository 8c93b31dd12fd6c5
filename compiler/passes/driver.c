/* The pipeline: the table of passes and the loop over it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
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
    for (int i = 0; i < 2 + options->n_skip; i++) {
        const char *name = i < 2 ? names[i] : options->skip[i - 2];
        if (name && !is_pass(name))
            return cr_fail(error, "no pass is called '%s'; 'crescent dump' lists them", name);
    }
    return 0;
}

static bool skipped(const struct cr_pass_options *options, const char *name)
{
    for (int i = 0; i < options->n_skip; i++)
        if (strcmp(options->skip[i], name) == 0)
            return true;
    return false;
}

/* The arena that was asked for may be too small: for any order of the kernels, or for this one,
 * if recompute was left out. */
static int check_arena(const struct cr_module *module, const struct cr_pass_options *options,
                       struct cr_error *error)
{
    int64_t least = module->least_arena_floats, limit = options->max_arena;
    if (module->has & CR_HAS_PLAN && least < module->arena_floats)
        least = module->arena_floats;
    if (!limit || least * (int64_t)sizeof(float) <= limit)
        return 0;
    if (module->most_values)
        return cr_fail(error,
                       "%.400s: --max-arena orders at most %d stored values, there are more, "
                       "expected --max-arena of no less than %lld",
                       options->path, module->most_values, (long long)least * (int)sizeof(float));
    return cr_fail(error,
                   "%.400s: the arena takes at least %lld bytes, expected --max-arena of no less",
                   options->path, (long long)least * (int)sizeof(float));
}

int cr_run_passes(struct cr_module *module, const struct cr_pass_options *options,
                  struct cr_error *error)
{
    static const struct cr_pass_options none;
    const struct cr_pass_options *o = options ? options : &none;
    if (check_options(o, error) < 0)
        return -1;
    cr_verify(module->graph, "script");
    module->max_arena = o->max_arena;
    if (o->dump_after && strcmp(o->dump_after, "script") == 0)
        cr_dump(o->dump_to, module, "script");
    for (int i = 0; i < cr_n_passes; i++) {
        const struct cr_pass *pass = &cr_passes[i];
        if (skipped(o, pass->name))
            continue;
        if ((module->has & pass->needs) != pass->needs)
            return cr_fail(error, "pass %s lacks what it needs: %s", pass->name,
                           o->n_skip ? "a pass was skipped" : "see the order in passes.def");
        const struct cr_graph *graph = module->graph;
        int n_nodes = graph->n_nodes;
        pass->run(module);
        module->has = (module->has & ~pass->breaks) | pass->gives;
        if (module->graph != graph || n_nodes != module->graph->n_nodes)
            cr_verify(module->graph, pass->name);
        cr_verify_module(module, pass->name);
        if (check_arena(module, o, error))
            return -1;
        if (o->dump_after && strcmp(o->dump_after, pass->name) == 0)
            cr_dump(o->dump_to, module, pass->name);
        if (o->stop_after && strcmp(o->stop_after, pass->name) == 0)
            break;
    }
    return 0;
}
