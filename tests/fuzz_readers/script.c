/* script.c - fuzz target: any text as a model script is refused with a line, or gives a graph whose
 * printed text reads back as a graph with the same text. */
#include "compiler/frontend/script.h"
#include "compiler/ir/print_graph.h"

#include "target.h"

/* Runs a text; the caller owns the graph.  Returns null if it is refused. */
static struct cr_graph *run_text(const void *text, size_t size, struct cr_error *error)
{
    struct cr_script script = {0};
    char path[32];
    int fd = memory_file(text, size, path);
    int status = cr_script_run(&(struct cr_script_source){.path = path}, NULL, 0, &script, error);
    struct cr_graph *graph = script.graph;
    close(fd);
    if (status != 0) {
        promise_message(error->text);
        return NULL;
    }
    PROMISE(graph);
    script.graph = NULL;
    cr_script_free(&script);
    return graph;
}

static char *print_graph(const struct cr_graph *graph, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    PROMISE(out);
    cr_print_graph(out, graph);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_error error = {""};
    size_t length, length_again;
    struct cr_graph *graph = run_text(data, size, &error);
    if (!graph)
        return 0;
    char *text = print_graph(graph, &length);
    cr_graph_free(graph);
    graph = length < 1000000 ? run_text(text, length, &error) : NULL; /* the limit of a script */
    PROMISE(graph || length >= 1000000);
    if (graph) {
        char *again = print_graph(graph, &length_again);
        PROMISE(length == length_again && memcmp(text, again, length) == 0);
        free(again);
        cr_graph_free(graph);
    }
    free(text);
    return 0;
}
