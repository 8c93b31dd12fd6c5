/*
 * recognise_module_paths.c - completes the module paths in the names of nodes, in which some
 * exporters omit containers.
 */
#include <string.h>

#include "pattern_match.h"
#include "recognise.h"

enum { MOST = 64 };

/* Maps the first name of a path to the path of the modules that contain it: "h" to
 * "transformer.". */
struct containers {
    const char *first[MOST], *prefix[MOST];
    int n;
};

static const char *first_of(struct cr_arena *arena, const char *path)
{
    return cr_arena_text(arena, path, strcspn(path, "."));
}

/* Compares the path in a weight's name with the path of the node that reads it; if the weight's
 * path is longer at the front, stores that prefix. */
static void learn(struct cr_onnx_graph *g, struct containers *c, const struct cr_onnx_node *n)
{
    const char *scope = cr_onnx_scope(&g->arena, n);
    for (int i = 0; i < n->n_inputs && *scope && c->n < MOST; i++) {
        const char *path = cr_match_weight(g, n->inputs[i])
                               ? cr_match_path(&g->arena, g->values[n->inputs[i]].name, ".weight")
                               : NULL;
        size_t longer = path ? strlen(path) : 0, shorter = strlen(scope);
        if (longer <= shorter + 1 || strcmp(path + longer - shorter, scope) != 0 ||
            path[longer - shorter - 1] != '.')
            continue;
        c->first[c->n] = first_of(&g->arena, scope);
        c->prefix[c->n++] = cr_arena_text(&g->arena, path, longer - shorter);
    }
}

/* Adds omitted containers to names of nodes: "/h.0/attn/Add" becomes "/transformer.h.0/attn/Add".
 * Names omit ModuleDict and ModuleList of torch.nn. */
void cr_recognise_scopes(struct cr_onnx_graph *g)
{
    struct containers c = {.n = 0};
    for (int i = 0; i < g->n_nodes; i++)
        if (!*g->nodes[i].scope)
            learn(g, &c, &g->nodes[i]);
    for (int i = 0; i < g->n_nodes; i++) {
        struct cr_onnx_node *n = &g->nodes[i];
        const char *scope = *n->scope ? "" : cr_onnx_scope(&g->arena, n),
                   *first = first_of(&g->arena, scope);
        for (int k = 0; *first && k < c.n; k++)
            if (strcmp(c.first[k], first) == 0) {
                n->name = cr_arena_print(&g->arena, "/%s%s", c.prefix[k], n->name + 1);
                break;
            }
    }
}
