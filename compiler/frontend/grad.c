/* grad.c - the function grad of the language. */
#include "language.h"

#include "args.h"
#include "compiler/ir/gradient.h"
#include "node.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

/* Returns the seed of the backward pass: ones in the shape of the loss. */
static cr_id one_like(lua_State *L, const struct cr_node *loss)
{
    struct cr_attr attr = {.dtype = CR_F32, .rank = loss->rank, .value = 1};
    for (int i = 0; i < loss->rank; i++)
        attr.shape[i] = 1;
    return cr_add(L, CR_OP_const, 0, NULL, &attr);
}

static void check_loss(lua_State *L, const struct cr_node *loss)
{
    char shape[200];
    cr_shape_text(shape, sizeof shape, loss->rank, loss->shape);
    if (loss->dtype != CR_F32)
        cr_raise(L, "grad: the loss is %s, expected f32", cr_dtype_name(loss->dtype));
    if (cr_elements(loss->rank, loss->shape) != 1)
        cr_raise(L, "grad: the loss has shape %s, expected a tensor of one element", shape);
}

static void check_wanted(lua_State *L, const struct cr_graph *g, int n, const cr_id *wanted)
{
    for (int i = 0; i < n; i++)
        if (g->nodes[wanted[i]].dtype != CR_F32)
            cr_raise(L, "grad: item %d is %s, expected f32", i + 1,
                     cr_dtype_name(g->nodes[wanted[i]].dtype));
}

/* grad(loss, {a, b, ...}): a list of the gradients of the loss with respect to a, b, ... */
int cr_lua_grad(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_graph *g = run->graph;
    int n;
    cr_arg_count(L, "grad", 2, 2);
    cr_id loss = cr_arg_tensor(L, 1, "grad");
    cr_id *wanted = cr_arg_tensors(L, 2, "grad", 0, &n);
    cr_id *gradients = lua_newuserdata(L, (size_t)(n + 1) * sizeof *gradients);
    check_loss(L, &g->nodes[loss]);
    check_wanted(L, g, n, wanted);
    if (g->n_lengths)
        cr_raise(L, "grad: the model has the length %s, expected fixed sizes only",
                 g->lengths[0].name);
    struct cr_seed seed = {loss, one_like(L, &g->nodes[loss])};
    cr_add_gradients(g, 1, &seed, n, wanted, gradients);
    cr_check_time(L);
    cr_check_memory(L);
    if (g->n_nodes > CR_MAX_NODES)
        cr_raise(L, "grad: found %d operations with the gradients, expected at most %d", g->n_nodes,
                 CR_MAX_NODES);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        cr_push_tensor(L, gradients[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}
