/* node.c - adds nodes to the graph of a script; see node.h. */
#include "node.h"

#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

/* Sets the origin of the next node: the running lines of the user's files and of a library; in a
 * printed graph the origin given by the last call of `at`. */
static void set_origin(lua_State *L, struct cr_run *run)
{
    struct cr_graph *g = run->graph;
    if (run->in_dump) {
        g->here = run->at;
        return;
    }
    struct cr_line user = {NULL, 0}, inner = user;
    if (!run->no_lines)
        cr_find_lines(L, run, &user, &inner);
    bool library = inner.path && inner.path != user.path;
    if (!user.path)
        user = inner;
    g->here.file = cr_intern(g, user.path ? user.path : run->path);
    g->here.line = user.path ? user.number : 0;
    g->here.scope = cr_intern(g, run->scope);
    g->here.library =
        (unsigned short)(library ? cr_intern_line(g, inner.path, inner.number) : 0);
}

/* Gives a new node the kernel that a printed graph stated by kernel(i).  Raises an error if the
 * kernel has a node already, or if the op is not computed by kernels. */
static void set_kernel(lua_State *L, cr_id id)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_node *node = &run->graph->nodes[id];
    if (run->kernel == CR_KERNEL_TAKEN)
        cr_raise(L, "%s: found a second node in the same kernel, expected kernel(-1) before it",
                 cr_ops[node->op].name);
    if (run->kernel != CR_NONE && node->name)
        cr_raise(L, "%s: found an op that no kernel computes, expected kernel(-1) before it",
                 cr_ops[node->op].name);
    node->kernel = run->kernel;
    if (run->kernel != CR_NONE)
        run->kernel = CR_KERNEL_TAKEN;
}

cr_id cr_add(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr)
{
    struct cr_run *run = cr_run_of(L);
    if (run->graph->n_nodes >= CR_MAX_NODES)
        cr_raise(L, "%s: the graph has %d operations already, expected no more", cr_ops[op].name,
                 CR_MAX_NODES);
    set_origin(L, run);
    cr_id id = cr_build(run->graph, op, n, in, attr);
    if (id == CR_NONE)
        cr_raise(L, "%s", run->graph->error);
    set_kernel(L, id);
    cr_work(L, (size_t)n + 1);
    cr_check_memory(L);
    return id;
}

cr_id cr_limited(lua_State *L, cr_id id, const signed char *lengths)
{
    const struct cr_graph *g = cr_run_of(L)->graph;
    struct cr_attr attr = {0};
    bool any = false;
    for (int i = 0; i < g->nodes[id].rank; i++) {
        attr.lengths[i] = lengths[i];
        any |= lengths[i] != 0;
    }
    return any ? cr_add(L, CR_OP_limit, 1, &id, &attr) : id;
}

int cr_return(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr)
{
    cr_push_tensor(L, cr_add(L, op, n, in, attr));
    return 1;
}
