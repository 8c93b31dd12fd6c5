/* primitives.c - the functions of the language that add one node each, except for elementwise
 * ops. */
#include "language.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "broadcast.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/shape_rules.h"
#include "composites.h"
#include "literal.h"
#include "luaapi.h"
#include "node.h"
#include "script_errors.h"
#include "script_limits.h"
#include "script_state.h"
#include "tensor.h"

static const char names_key; /* key of cr_push_kept_table: name of an input, parameter or state ->
                              * its node */
static const char calls_key; /* key of cr_push_kept_table: name of a parameter -> number of the
                              * scope call that declared it last */

static const struct cr_node *node_at(lua_State *L, cr_id id)
{
    return &cr_run_of(L)->graph->nodes[id];
}

/* Returns an i32 scalar argument as a node: a tensor, or a number, which becomes a constant. */
static cr_id read_i32(lua_State *L, int index, const char *op, const char *what)
{
    if (cr_is_tensor(L, index))
        return cr_tensor_at(L, index);
    struct cr_attr attr = {.dtype = CR_I32, .value = (double)cr_arg_integer(L, index, op, what)};
    if (!cr_is_i32(attr.value))
        cr_raise(L, "%s: %s: found %.14g, expected an i32, at most 2147483647", op, what,
                 attr.value);
    return cr_add(L, CR_OP_const, 0, NULL, &attr);
}

/* By axis of a shape: 1 + the index of the length that is the size, or 0. */
struct axis_lengths {
    signed char of[CR_MAX_RANK];
};

/* Reads the shape of a new tensor into *attr; returns the lengths among its sizes. */
static struct axis_lengths read_shape(lua_State *L, int index, const char *op, struct cr_attr *attr)
{
    struct axis_lengths lengths = {{0}};
    attr->rank = cr_arg_sizes(L, index, op, "shape", attr->shape, lengths.of);
    return lengths;
}

/* Pushes a tensor whose axes have the given lengths; returns 1, the number of Lua results. */
static int return_limited(lua_State *L, cr_id id, const struct axis_lengths *lengths)
{
    cr_push_tensor(L, cr_limited(L, id, lengths->of));
    return 1;
}

void cr_forget_declared(lua_State *L)
{
    lua_newtable(L);
    cr_set_kept(L, &names_key);
    lua_newtable(L);
    cr_set_kept(L, &calls_key);
}

/* Returns the node of the input, parameter or state called `name`, or CR_NONE.  Leaves the table
 * of names on the stack. */
static cr_id find_name(lua_State *L, const char *name)
{
    cr_push_kept_table(L, &names_key);
    lua_getfield(L, -1, name);
    cr_id id = lua_isnil(L, -1) ? CR_NONE : (cr_id)lua_tonumber(L, -1);
    lua_pop(L, 1);
    return id;
}

/* Raises an error unless a repeated declaration of a name agrees with the first one.  Both return
 * the same tensor: that is how a script ties weights. */
static void check_again(lua_State *L, enum cr_op op, const struct cr_attr *attr,
                        const struct cr_node *old)
{
    char before[200], now[200];
    cr_shape_text(before, sizeof before, old->rank, old->shape);
    cr_shape_text(now, sizeof now, attr->rank, attr->shape);
    if (old->op != op)
        cr_raise(L, "%s: '%s' is %s already (line %d), expected another name", cr_ops[op].name,
                 attr->name,
                 old->op == CR_OP_param ? "a parameter" : old->op == CR_OP_state ? "a state" : "an input",
                 old->where.line);
    if (strcmp(before, now) != 0 || old->dtype != attr->dtype)
        cr_raise(L, "%s: '%s' is %s %s here and %s %s before (line %d), expected the same",
                 cr_ops[op].name, attr->name, cr_dtype_name(attr->dtype), now,
                 cr_dtype_name(old->dtype), before, old->where.line);
    if (memcmp(old->lengths, attr->lengths, sizeof old->lengths) != 0)
        cr_raise(L, "%s: '%s' has other lengths than before (line %d), expected the same",
                 cr_ops[op].name, attr->name, old->where.line);
    if (old->init != attr->init || old->value != attr->value)
        cr_raise(L, "%s: '%s' starts with other values than before (line %d), expected the same",
                 cr_ops[op].name, attr->name, old->where.line);
}

/* Pushes an input, a parameter or a state: the one that already has the name, or a new one. */
static int named_leaf(lua_State *L, enum cr_op op, const struct cr_attr *attr)
{
    cr_id id = find_name(L, attr->name);
    if (id != CR_NONE) {
        check_again(L, op, attr, node_at(L, id));
    } else {
        id = cr_add(L, op, 0, NULL, attr);
        lua_pushnumber(L, id);
        cr_set_own_field(L, -2, attr->name);
    }
    cr_push_tensor(L, id);
    return 1;
}

/* Keeps one note for the user that two layers share a parameter because both declare the same
 * name. */
static void note_tied(struct cr_run *run, struct cr_line user, const char *name, int line)
{
    char text[1200];
    if (run->tied)
        return;
    snprintf(text, sizeof text, "%.400s:%d: parameter %.255s is declared again in the same scope "
             "(line %d) and would be shared, expected a scope for each layer, or {tied = true}",
             user.path ? user.path : run->path, user.number, name, line);
    run->tied = cr_strdup(text);
}

/* True if the running C function was called by the script's main chunk, not by a function in it. */
static bool is_called_by_main(lua_State *L)
{
    lua_Debug frame;
    return lua_getstack(L, 1, &frame) && lua_getinfo(L, "S", &frame) &&
           strcmp(frame.what, "main") == 0;
}

/* Records a note if one line, in a function or a library, declares a parameter twice within one
 * call of a scope: probably two layers without separate scopes.  A script that repeats a name
 * elsewhere in its main chunk ties weights on purpose. */
static void check_tied(lua_State *L, const char *name, bool tied)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_line user, inner;
    char now[600];
    cr_find_lines(L, run, &user, &inner);
    int n = snprintf(now, sizeof now, "%lld ", (long long)run->scope_call);
    snprintf(now + n, sizeof now - (size_t)n, "%.500s:%d", inner.path ? inner.path : "", inner.number);
    cr_push_kept_table(L, &calls_key);
    lua_getfield(L, -1, name);
    const char *before = lua_tostring(L, -1);
    bool in_library = inner.path != user.path;
    bool again = before && strncmp(before, now, (size_t)n) == 0 &&
                 (in_library || (strcmp(before, now) == 0 && !is_called_by_main(L)));
    lua_pop(L, 1);
    lua_pushstring(L, now);
    cr_set_own_field(L, -2, name);
    lua_pop(L, 1);
    if (!again || tied)
        return;
    cr_id id = find_name(L, name);
    lua_pop(L, 1);
    if (id != CR_NONE)
        note_tied(run, user, name, node_at(L, id)->where.line);
}

/* True if the table of a parameter's options contains tied = true; the table may contain an init,
 * too. */
static bool read_tied(lua_State *L, int index)
{
    if (!lua_istable(L, index))
        return false;
    lua_pushliteral(L, "tied");
    lua_rawget(L, index);
    bool tied = lua_isboolean(L, -1) && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return tied;
}

/* Reads an init, {uniform = bound}, {normal = std} or {fill = value}, into *attr; returns false
 * if there is none. If `tied`, the table also contains tied = true. */
static bool read_init(lua_State *L, int index, const char *op, bool tied, struct cr_attr *attr)
{
    static const char *const kinds[] = {
        [CR_INIT_UNIFORM] = "uniform", [CR_INIT_NORMAL] = "normal", [CR_INIT_FILL] = "fill"};
    if (lua_isnoneornil(L, index))
        return false;
    int found = 0, entries = 0;
    if (lua_type(L, index) == LUA_TTABLE)
        entries = cr_count_entries(L, index, 1 + tied) - tied;
    if (tied && entries == 0)
        return false;
    for (int kind = CR_INIT_UNIFORM; entries == 1 && kind <= CR_INIT_FILL; kind++) {
        lua_pushstring(L, kinds[kind]);
        lua_rawget(L, index);
        if (!lua_isnil(L, -1)) {
            found++;
            attr->init = (enum cr_init)kind;
            attr->value = cr_arg_number(L, -1, op, kinds[kind]);
        }
        lua_pop(L, 1);
    }
    if (found != 1)
        cr_raise(L, "%s: init: found another table, expected {uniform = bound}, {normal = std} or "
                 "{fill = value}", op);
    if (!isfinite(attr->value) || (attr->init != CR_INIT_FILL && attr->value < 0))
        cr_raise(L, "%s: init: found %s = %g, expected a finite number, and none below 0 for "
                 "uniform and normal", op, kinds[attr->init], attr->value);
    return true;
}

/* Raises an error unless the init of an i32 tensor fills it with one whole number. */
static void check_integer_init(lua_State *L, const struct cr_attr *attr)
{
    if (attr->dtype == CR_I32 && (attr->init != CR_INIT_FILL || !cr_is_i32(attr->value)))
        cr_raise(L,
                 "input: init: found another value for an i32, expected {fill = a whole number}");
}

/* input(name, shape [, type [, init]]) */
static int make_input(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "input", 2, 4);
    attr.name = cr_arg_name(L, 1, "input", "name");
    attr.rank = cr_arg_sizes(L, 2, "input", "shape", attr.shape, attr.lengths);
    attr.dtype = cr_arg_dtype(L, 3, "input");
    if (attr.dtype == CR_BOOL)
        cr_raise(L, "input: found type bool, expected f32 or i32");
    if (read_init(L, 4, "input", false, &attr))
        check_integer_init(L, &attr);
    if (attr.init == CR_INIT_UNIFORM && attr.value == 0 && !lua_isnoneornil(L, 4))
        attr.init = CR_INIT_FILL; /* a uniform init of bound 0 would mean that there is no init */
    return named_leaf(L, CR_OP_input, &attr);
}

/* Reads the optional batch of a ragged length, and sets the shape of its input: a vector with a
 * size for each row.  Returns 1 + the index of the length that counts the rows; 0 if the length
 * is not ragged. */
static int read_batch(lua_State *L, int index, struct cr_attr *attr)
{
    if (lua_isnoneornil(L, index))
        return 0;
    lua_settop(L, index);
    int batch = cr_length_on_top(L);
    const struct cr_length *lengths = cr_run_of(L)->graph->lengths;
    if (batch == CR_NONE)
        cr_raise(L, "length: batch: found %s, expected a length", cr_type_name(L, index));
    if (lengths[batch].batch)
        cr_raise(L, "length: batch: found %s, which has a size for each row of %s itself, expected "
                 "one number", lengths[batch].name, lengths[lengths[batch].batch - 1].name);
    if (lengths[batch].bound == 1)
        cr_raise(L, "length: batch: found %s, whose bound is 1, expected 2 or more rows",
                 lengths[batch].name);
    attr->rank = 1;
    attr->shape[0] = lengths[batch].bound;
    attr->lengths[0] = (signed char)(batch + 1);
    return batch + 1;
}

/*
 * length(name, bound [, batch]): a size from 1 to the bound that is known only when the model
 * runs.  It is an i32 input of that name, and can be used in shapes.  `batch` is another length;
 * with it each row of the batch has a size of its own.
 */
static int make_length(lua_State *L)
{
    struct cr_graph *g = cr_run_of(L)->graph;
    struct cr_attr attr = {.dtype = CR_I32, .init = CR_INIT_FILL};
    cr_arg_count(L, "length", 2, 3);
    attr.name = cr_arg_name(L, 1, "length", "name");
    int64_t bound = cr_arg_integer(L, 2, "length", "bound");
    if (bound < 1 || bound > INT32_MAX)
        cr_raise(L, "length: found the bound %lld, expected 1 to %d", (long long)bound, INT32_MAX);
    attr.value = (double)bound;
    int batch = read_batch(L, 3, &attr);
    bool is_new = find_name(L, attr.name) == CR_NONE;
    lua_pop(L, 1);
    if (is_new && cr_graph_add_length(g, attr.name, bound, batch) < 0)
        cr_raise(L, "length: '%s' is one length too many, expected at most %d", attr.name,
                 CR_MAX_LENGTHS);
    return named_leaf(L, CR_OP_input, &attr);
}

/* Writes a full name: the prefix, the path of the scope, and the name. */
static const char *put_scope(lua_State *L, char *full, size_t size, const char *prefix,
                             const char *op, const char *name)
{
    const char *scope = cr_run_of(L)->scope;
    snprintf(full, size, "%s%s%s%s", prefix, scope, *scope ? "." : "", name);
    cr_check_name(L, full, op, "full name");
    return full;
}

/* state(name, shape [, type]); the scope's path is put before the name */
static int make_state(lua_State *L)
{
    struct cr_attr attr = {0};
    char full[3 * (CR_NAME_MAX + 1)];
    cr_arg_count(L, "state", 2, 3);
    const char *name = cr_arg_name(L, 1, "state", "name");
    attr.name = put_scope(L, full, sizeof full, "", "state", name);
    attr.rank = cr_arg_list(L, 2, "state", "shape", attr.shape);
    attr.dtype = cr_arg_dtype(L, 3, "state");
    return named_leaf(L, CR_OP_state, &attr);
}

/* write(a, rows, at [, axis]); `at` is an i32 tensor or a number */
static int make_write(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "write", 3, 4);
    cr_id a = cr_arg_tensor(L, 1, "write"), rows = cr_arg_tensor(L, 2, "write");
    if (!lua_isnoneornil(L, 4))
        attr.axis = cr_arg_axis(L, 4, "write", node_at(L, a)->rank);
    cr_id in[] = {a, rows, read_i32(L, 3, "write", "at")};
    return cr_return(L, CR_OP_write, 3, in, &attr);
}

/* parameters(): returns a table of all parameters declared so far, by name */
static int all_parameters(lua_State *L)
{
    const struct cr_graph *g = cr_run_of(L)->graph;
    cr_arg_count(L, "parameters", 0, 0);
    lua_newtable(L);
    cr_check_time(L);
    for (cr_id id = 0; id < g->n_nodes; id++) {
        cr_work(L, 1);
        if (g->nodes[id].op != CR_OP_param)
            continue;
        cr_push_tensor(L, id);
        cr_set_own_field(L, -2, g->nodes[id].name);
    }
    return 1;
}

/* param(name, shape [, init]); the scope's path is put before the name; init may contain tied =
 * true */
static int make_param(lua_State *L)
{
    struct cr_run *run = cr_run_of(L);
    struct cr_attr attr = {.dtype = CR_F32};
    cr_arg_count(L, "param", 2, 3);
    const char *name = cr_arg_name(L, 1, "param", "name");
    char full[3 * (CR_NAME_MAX + 1)];
    attr.name = put_scope(L, full, sizeof full, run->prefix, "param", name);
    struct axis_lengths lengths = read_shape(L, 2, "param", &attr);
    bool tied = read_tied(L, 3);
    if (!read_init(L, 3, "param", tied, &attr))
        attr.init = CR_INIT_FILL;
    check_tied(L, attr.name, tied);
    named_leaf(L, CR_OP_param, &attr);
    return return_limited(L, cr_tensor_at(L, -1), &lengths);
}

/* const(value, shape [, type]); for many values const({...} [, shape [, type]]) */
static int make_const(lua_State *L)
{
    struct cr_attr attr = {0};
    if (lua_type(L, 1) == LUA_TTABLE)
        return cr_lua_literal(L);
    cr_arg_count(L, "const", 2, 3);
    attr.value = cr_arg_number(L, 1, "const", "value");
    attr.rank = cr_arg_sizes(L, 2, "const", "shape", attr.shape, attr.lengths);
    attr.dtype = cr_arg_dtype(L, 3, "const");
    if (attr.dtype == CR_BOOL && attr.value != 0 && attr.value != 1)
        cr_raise(L, "const: found the value %g, expected 0 or 1 for a bool", attr.value);
    return cr_return(L, CR_OP_const, 0, NULL, &attr);
}

/* iota(shape, axis) */
static int make_iota(lua_State *L)
{
    struct cr_attr attr = {.dtype = CR_I32};
    cr_arg_count(L, "iota", 2, 2);
    attr.rank = cr_arg_sizes(L, 1, "iota", "shape", attr.shape, attr.lengths);
    attr.axis = cr_arg_axis(L, 2, "iota", attr.rank);
    return cr_return(L, CR_OP_iota, 0, NULL, &attr);
}

/* Reshapes a tensor to its shape without the axes that have a bit in `axes`, which have size 1. */
static cr_id drop_axes(lua_State *L, cr_id id, unsigned axes)
{
    struct cr_attr attr = {0};
    const struct cr_node *node = node_at(L, id);
    attr.rank = cr_reduce_shape(attr.shape, node->rank, node->shape, axes, false);
    return cr_add(L, CR_OP_reshape, 1, &id, &attr);
}

/* Returns the axes of a reduction as a bit set: the argument is one axis or a list of axes;
 * without an argument, all axes. */
static unsigned read_axes(lua_State *L, int index, const char *op, int rank)
{
    int64_t list[CR_MAX_RANK];
    unsigned axes = 0;
    if (lua_isnoneornil(L, index))
        return (1u << rank) - 1;
    if (lua_type(L, index) != LUA_TTABLE)
        return 1u << cr_arg_axis(L, index, op, rank);
    int n = cr_arg_list(L, index, op, "axes", list);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)list[i]);
        unsigned axis = 1u << cr_arg_axis(L, -1, op, rank);
        lua_pop(L, 1);
        if (axes & axis)
            cr_raise(L, "%s: found axis %lld twice, expected each axis once", op,
                     (long long)list[i]);
        axes |= axis;
    }
    return axes;
}

/* Any reduction NAME(a [, axis [, keep]]).  Upvalue 1 is the op.  Reduced axes keep size 1 unless
 * keep is false; without an axis argument all axes are removed unless keep is true.  Reduces the
 * last axis first. */
static int reduce(lua_State *L)
{
    enum cr_op op = (enum cr_op)lua_tonumber(L, lua_upvalueindex(1));
    const char *name = cr_ops[op].name;
    cr_arg_count(L, name, 1, 3);
    cr_id id = cr_arg_tensor(L, 1, name);
    int rank = node_at(L, id)->rank;
    unsigned axes = read_axes(L, 2, name, rank);
    bool keep = !lua_isnoneornil(L, 2);
    if (!lua_isnoneornil(L, 3) && !lua_isboolean(L, 3))
        cr_raise(L, "%s: keep: found %s, expected true or false", name, cr_type_name(L, 3));
    if (lua_isboolean(L, 3))
        keep = lua_toboolean(L, 3);
    for (int axis = rank - 1; axis >= 0; axis--)
        if (axes >> axis & 1)
            id = cr_add(L, op, 1, &id, &(struct cr_attr){.axis = axis});
    cr_push_tensor(L, keep || !axes ? id : drop_axes(L, id, axes));
    return 1;
}

/* Replaces the one size that is -1 so that the shape has `elements` elements. */
static void infer_size(lua_State *L, struct cr_attr *attr, int64_t elements)
{
    int64_t known = 1;
    int unknown = CR_NONE;
    for (int i = 0; i < attr->rank; i++) {
        if (attr->shape[i] == -1 && unknown != CR_NONE)
            cr_raise(L, "reshape: found two sizes of -1, expected at most one");
        if (attr->shape[i] == -1)
            unknown = i;
        else if (attr->shape[i] < 1 || attr->shape[i] > elements / known)
            return; /* leaves the error to cr_build */
        else
            known *= attr->shape[i];
    }
    if (unknown != CR_NONE && elements % known != 0)
        cr_raise(L, "reshape: found %lld elements, expected a multiple of %lld, the product of "
                 "the other sizes", (long long)elements, (long long)known);
    if (unknown != CR_NONE)
        attr->shape[unknown] = elements / known;
}

/* reshape(a, shape); one size may be -1, which is computed from the number of elements */
static int make_reshape(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "reshape", 2, 2);
    cr_id a = cr_arg_tensor(L, 1, "reshape");
    struct axis_lengths lengths = read_shape(L, 2, "reshape", &attr);
    infer_size(L, &attr, cr_elements(node_at(L, a)->rank, node_at(L, a)->shape));
    return return_limited(L, cr_add(L, CR_OP_reshape, 1, &a, &attr), &lengths);
}

/* Raises an error unless a list has one item for each axis of `a`. */
static void check_length(lua_State *L, const char *op, const char *what, int n, cr_id a)
{
    int rank = node_at(L, a)->rank;
    if (n != rank)
        cr_raise(L, "%s: found %d %s, expected as many as the rank of the tensor, %d", op, n, what,
                 rank);
}

/* permute(a, axes) */
static int make_permute(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "permute", 2, 2);
    cr_id a = cr_arg_tensor(L, 1, "permute");
    int n = cr_arg_list(L, 2, "permute", "axes", attr.index);
    check_length(L, "permute", "axes", n, a);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)attr.index[i]);
        attr.index[i] = cr_arg_axis(L, -1, "permute", n);
        lua_pop(L, 1);
    }
    return cr_return(L, CR_OP_permute, 1, &a, &attr);
}

/* transpose(a, i, j): a permute that swaps two axes */
static int make_transpose(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "transpose", 3, 3);
    cr_id a = cr_arg_tensor(L, 1, "transpose");
    int rank = node_at(L, a)->rank;
    for (int i = 0; i < rank; i++)
        attr.index[i] = i;
    int i = cr_arg_axis(L, 2, "transpose", rank), j = cr_arg_axis(L, 3, "transpose", rank);
    attr.index[i] = j;
    attr.index[j] = i;
    return cr_return(L, CR_OP_permute, 1, &a, &attr);
}

/* expand(a, shape) */
static int make_expand(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "expand", 2, 2);
    cr_id a = cr_arg_tensor(L, 1, "expand");
    attr.rank = cr_arg_sizes(L, 2, "expand", "shape", attr.shape, attr.lengths);
    return cr_return(L, CR_OP_expand, 1, &a, &attr);
}

/* limit(a, shape): returns `a` with lengths as sizes of axes; the bound of each length is the
 * size of its axis */
static int make_limit(lua_State *L)
{
    struct cr_attr attr = {0};
    char found[200], expected[200];
    cr_arg_count(L, "limit", 2, 2);
    cr_id a = cr_arg_tensor(L, 1, "limit");
    struct axis_lengths lengths = read_shape(L, 2, "limit", &attr);
    const struct cr_node *node = node_at(L, a);
    cr_shape_text(found, sizeof found, attr.rank, attr.shape);
    cr_shape_text(expected, sizeof expected, node->rank, node->shape);
    if (strcmp(found, expected) != 0)
        cr_raise(L, "limit: found the shape %s, expected the tensor's shape %s", found, expected);
    return return_limited(L, a, &lengths);
}

/* Raises an error if a list given to `slice` has more items than `a` has axes. */
static void check_axes(lua_State *L, const char *what, int n, cr_id a)
{
    if (n > node_at(L, a)->rank)
        check_length(L, "slice", what, n, a);
}

/* slice(a, start, size): starts count from 0, or backwards from -1.  A size of -1 means up to the
 * end; axes after the end of the lists are kept whole. */
static int make_slice(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "slice", 3, 3);
    cr_id a = cr_arg_tensor(L, 1, "slice");
    int n_starts = cr_arg_list(L, 2, "slice", "starts", attr.index);
    struct axis_lengths lengths = {{0}};
    int n_sizes = cr_arg_sizes(L, 3, "slice", "sizes", attr.shape, lengths.of);
    check_axes(L, "starts", n_starts, a);
    check_axes(L, "sizes", n_sizes, a);
    attr.rank = node_at(L, a)->rank;
    for (int i = 0; i < attr.rank; i++) {
        int64_t size = node_at(L, a)->shape[i];
        if (i < n_starts && attr.index[i] < 0)
            attr.index[i] += size;
        if (i >= n_sizes || attr.shape[i] == -1)
            attr.shape[i] = size - attr.index[i];
    }
    return return_limited(L, cr_add(L, CR_OP_slice, 1, &a, &attr), &lengths);
}

/* gather(table, index), or along an axis gather(a, index, axis) */
static int make_gather(lua_State *L)
{
    cr_arg_count(L, "gather", 2, 3);
    if (!lua_isnoneornil(L, 3))
        return cr_lua_gather_along(L);
    cr_id in[] = {cr_arg_tensor(L, 1, "gather"), cr_arg_tensor(L, 2, "gather")};
    return cr_return(L, CR_OP_gather, 2, in, NULL);
}

/* take(a, index, axis) */
static int make_take(lua_State *L)
{
    cr_arg_count(L, "take", 3, 3);
    cr_id in[] = {cr_arg_tensor(L, 1, "take"), cr_arg_tensor(L, 2, "take")};
    struct cr_attr attr = {.axis = cr_arg_axis(L, 3, "take", node_at(L, in[0])->rank)};
    return cr_return(L, CR_OP_take, 2, in, &attr);
}

/* scatter_add(rows, index, n) */
static int make_scatter_add(lua_State *L)
{
    struct cr_attr attr = {0};
    cr_arg_count(L, "scatter_add", 3, 3);
    cr_id in[] = {cr_arg_tensor(L, 1, "scatter_add"), cr_arg_tensor(L, 2, "scatter_add")};
    attr.shape[0] = cr_arg_integer(L, 3, "scatter_add", "n");
    return cr_return(L, CR_OP_scatter_add, 2, in, &attr);
}

/* cumsum(a, axis [, reverse]) */
static int make_cumsum(lua_State *L)
{
    cr_arg_count(L, "cumsum", 2, 3);
    cr_id a = cr_arg_tensor(L, 1, "cumsum");
    struct cr_attr attr = {.axis = cr_arg_axis(L, 2, "cumsum", node_at(L, a)->rank)};
    if (!lua_isnoneornil(L, 3) && !lua_isboolean(L, 3))
        cr_raise(L, "cumsum: reverse: found %s, expected true or false", cr_type_name(L, 3));
    attr.index[0] = lua_toboolean(L, 3);
    return cr_return(L, CR_OP_cumsum, 1, &a, &attr);
}

/* Raises an error for a length after an axis of more than one element: the index of an element,
 * and so its random number, would depend on the length's value. */
static void check_random_lengths(lua_State *L, const struct cr_attr *attr,
                                 const struct axis_lengths *lengths)
{
    int64_t before = 1;
    for (int i = 0; i < attr->rank; before *= attr->shape[i++])
        if (lengths->of[i] && before > 1)
            cr_raise(L, "random: axis %d is the length %s, expected sizes of 1 before it, as "
                     "random numbers depend on their index", i + 1,
                     cr_run_of(L)->graph->lengths[lengths->of[i] - 1].name);
}

/* random(seed, shape [, stream]) */
static int make_random(lua_State *L)
{
    struct cr_attr attr = {.dtype = CR_F32};
    cr_arg_count(L, "random", 2, 3);
    cr_id seed = read_i32(L, 1, "random", "seed");
    struct axis_lengths lengths = read_shape(L, 2, "random", &attr);
    check_random_lengths(L, &attr, &lengths);
    bool given = !lua_isnoneornil(L, 3);
    int64_t before = cr_run_of(L)->n_random++; /* each call gets a separate stream of numbers */
    int64_t stream = given ? cr_arg_integer(L, 3, "random", "stream") : before;
    if (stream < 0)
        cr_raise(L, "random: stream: found %lld, expected 0 or more", (long long)stream);
    attr.value = (double)stream;
    return return_limited(L, cr_add(L, CR_OP_random, 1, &seed, &attr), &lengths);
}

/* detach(a) */
static int make_detach(lua_State *L)
{
    cr_arg_count(L, "detach", 1, 1);
    cr_id a = cr_arg_tensor(L, 1, "detach");
    return cr_return(L, CR_OP_detach, 1, &a, NULL);
}

/* concat({a, b, ...}, axis) */
static int make_concat(lua_State *L)
{
    int n;
    cr_arg_count(L, "concat", 2, 2);
    cr_id *in = cr_arg_tensors(L, 1, "concat", 1, &n);
    struct cr_attr attr = {.axis = cr_arg_axis(L, 2, "concat", node_at(L, in[0])->rank)};
    return cr_return(L, CR_OP_concat, n, in, &attr);
}

/* Adds all functions of this file.  The op table does not describe the arguments of these ops, so
 * each has a function of its own here. */
void cr_add_primitives(lua_State *L)
{
    static const luaL_Reg functions[] = {{"input", make_input},
                                         {"length", make_length},
                                         {"param", make_param},
                                         {"state", make_state},
                                         {"replace", cr_lua_replace},
                                         {"write", make_write},
                                         {"const", make_const},
                                         {"iota", make_iota},
                                         {"matmul", cr_lua_matmul},
                                         {"reshape", make_reshape},
                                         {"permute", make_permute},
                                         {"transpose", make_transpose},
                                         {"expand", make_expand},
                                         {"limit", make_limit},
                                         {"slice", make_slice},
                                         {"concat", make_concat},
                                         {"gather", make_gather},
                                         {"take", make_take},
                                         {"detach", make_detach},
                                         {"scatter_add", make_scatter_add},
                                         {"grad", cr_lua_grad},
                                         {"random", make_random},
                                         {"cumsum", make_cumsum},
                                         {"scatter", cr_lua_scatter},
                                         {"argmax", cr_lua_argmax},
                                         {"narrow", cr_lua_narrow},
                                         {"parameters", all_parameters},
                                         {NULL, NULL}};
    cr_add_functions(L, functions);
    cr_add_kind(L, CR_KIND_REDUCE, reduce);
}
