/* dump.c - crescent dump: prints the graph, kernels or plan after a pass, or the C. */
#include "model.h"
#include "verbs.h"

static void list_passes(const char *model)
{
    crescent_pass pass;
    printf("passes of %s, for --after:\n", model);
    puts("  script             the graph as the script built it");
    for (int i = 0; crescent_pass_at(i, &pass) == CRESCENT_OK; i++)
        printf("  %-18s %s\n", pass.name, pass.doc);
    puts("  emit               the model as C: what TinyCC compiles, without the runtime");
}

static int dump(const crescent_graph *graph, const struct cr_options *o, struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, CRESCENT_TCC);
    char *text;
    if (cr_passed(o, crescent_dump(graph, &config, o->after, &text), error))
        return 2;
    fputs(text, stdout);
    crescent_free(text);
    return 0;
}

/* Dumps after the pass that --after names; without --after, lists the passes. */
int cr_verb_dump(const struct cr_options *o, struct cr_error *error)
{
    crescent_graph *graph;
    int status = 0;
    if (cr_grads_check_no_file(o, "dump", error) || cr_graph_load_entries(o, &graph, error))
        return 2;
    if (o->after)
        status = dump(graph, o, error);
    else
        list_passes(crescent_graph_name(graph));
    crescent_graph_close(graph);
    return status;
}
