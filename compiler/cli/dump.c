/* dump.c - crescent dump: the module after a pass, or the C that becomes of it. */
#include <string.h>

#include "compiler/emit/pipeline.h"
#include "grads.h"

static void list_passes(const char *model)
{
    printf("passes of %s, for --after:\n", model);
    puts("  script     the graph as the script built it");
    for (int i = 0; i < cr_n_passes; i++)
        printf("  %-10s %s\n", cr_passes[i].name, cr_passes[i].doc);
    puts("  emit       the model as C: what TinyCC compiles, without the runtime");
}

/* Prints the module after a pass, or its C after all; the graph is used up. */
static int dump(struct cr_model *m, const struct cr_options *o, struct cr_error *error)
{
    struct cr_pass_options passes = {
        .skip = o->skip.items, .n_skip = o->skip.n, .max_arena = o->max_arena, .path = o->model};
    struct cr_graph *graph = m->script.graph;
    m->script.graph = NULL;
    return cr_dump_after(graph, o->after, &passes, stdout, error) ? 2 : 0;
}

int cr_verb_dump(const struct cr_options *o, struct cr_error *error)
{
    struct cr_model model;
    int status = 0;
    if (cr_grads_check_no_file(o, "dump", error) || cr_model_load(&model, o, error))
        return 2;
    if (o->after)
        status = dump(&model, o, error);
    else
        list_passes(model.script.graph->name);
    cr_model_free(&model);
    return status;
}
