/*
 * lengths_rules.c - rules for operations on axes that are lengths; see lengths.h.
 *
 * An axis of a length is stored with the bound as its size.  It is cut to the length if it comes
 * from an input, or meets such an axis in an operation.  Axes of iota, const and tables run to
 * the bound until then.  That is harmless for elementwise operations, but not where elements are
 * counted, reduced or output.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "infer.h"
#include "lengths.h"
#include "term_map.h"
#include "term_parts.h"

/* By axis: 1 + the number of the length that it is cut to, or 0. */
struct cuts {
    signed char of[CR_ONNX_RANK];
};

struct settling {
    struct cr_onnx_script *script;
    int node;            /* the node of the current term */
    struct cuts *values; /* by value of the graph */
    struct cr_term_map made;
    struct cr_error *error;
};

static struct cr_arena *arena_of(const struct settling *s)
{
    return &s->script->graph->arena;
}

static bool refuse(const struct settling *s, cr_t x, const char *what, int axis)
{
    char text[256];
    const struct cr_onnx_graph *g = s->script->graph;
    const struct cr_onnx_length *length = &s->script->lengths[x->lengths[axis] - 1];
    if (!s->error->text[0])
        cr_fail(s->error, "%.300s: %s: %s the length %.60s (axis %d), expected --set %.60s=N", g->path,
                s->node == CR_ONNX_NONE ? "an output"
                                        : cr_onnx_show(&g->nodes[s->node], text, sizeof text),
                what, length->name, axis + 1, length->name);
    return false;
}

/* ---- arguments ---- */

static cr_t operand(cr_t x, int i)
{
    return i < x->n_arguments ? x->arguments[i].term : NULL;
}

/* Reads the whole numbers in the text of an argument; returns how many. */
static int numbers_in(cr_t x, int argument, int64_t *out)
{
    int n = 0;
    const char *text = argument < x->n_arguments ? x->arguments[argument].text : NULL;
    for (char *end; text && *text && n < CR_ONNX_RANK; text = end) {
        text += strcspn(text, "-0123456789");
        out[n] = strtoll(text, &end, 10);
        n += end != text;
        if (end == text)
            break;
    }
    return n;
}

/* ---- which axes are cut ---- */

/* Returns the cuts that were found for an operand. */
static void cuts_of(const struct settling *s, cr_t x, struct cuts *out)
{
    if (x->kind == CR_TERM_VALUE)
        *out = s->values[x->value];
    else
        memcpy(out->of, x->cuts, sizeof out->of);
}

/* An elementwise operation: an axis is cut if it is in an operand.  Operands are broadcast. */
static bool cut_elementwise(struct settling *s, cr_t x, struct cuts *out)
{
    for (int i = 0; i < x->n_arguments; i++) {
        struct cuts in;
        cr_t y = operand(x, i);
        if (!y)
            continue;
        cuts_of(s, y, &in);
        for (int a = 0; a < y->rank; a++) {
            int to = x->rank - y->rank + a;
            if (!in.of[a])
                continue;
            if (to < 0 || (y->shape[a] != 1 && y->shape[a] != x->shape[to]))
                return refuse(s, y, "nothing is known of what it does to", a);
            out->of[to] = in.of[a];
        }
    }
    return true;
}

/* An axis that is a length has to stay one: the axes behind it keep their number of elements. */
static bool cut_reshape(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts in;
    cr_t y = operand(x, 0);
    int64_t inner = 1;
    cuts_of(s, y, &in);
    for (int a = y->rank - 1; a >= 0; inner *= y->shape[a--]) {
        int64_t behind = 1;
        int to = x->rank - 1;
        if (!y->lengths[a])
            continue;
        while (to >= 0 && (behind != inner || x->lengths[to] != y->lengths[a]))
            behind *= x->shape[to--];
        if (to < 0)
            return refuse(s, y, "it merges or cuts", a);
        out->of[to] = in.of[a];
    }
    return true;
}

/* transpose(x, i, j) and permute(x, {axes}) permute the cuts. */
static bool cut_permuted(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts in;
    int64_t axes[CR_ONNX_RANK], i[CR_ONNX_RANK], j[CR_ONNX_RANK];
    cuts_of(s, operand(x, 0), &in);
    for (int a = 0; a < CR_ONNX_RANK; a++)
        axes[a] = a + 1;
    if (strcmp(x->name, "permute") == 0)
        numbers_in(x, 1, axes);
    else if (numbers_in(x, 1, i) == 1 && numbers_in(x, 2, j) == 1) {
        axes[i[0] - 1] = j[0];
        axes[j[0] - 1] = i[0];
    }
    for (int a = 0; a < x->rank; a++)
        out->of[a] = in.of[axes[a] - 1];
    return true;
}

/* Refuses an axis that runs to the bound instead of the length. */
static bool must_be_cut(const struct settling *s, cr_t x, const struct cuts *cuts, int axis)
{
    return !x->lengths[axis] || cuts->of[axis] ||
           refuse(s, x, "it goes over elements that no input has, along", axis);
}

/* sum(x, axes), max and argmax: reduced axes have to be cut. */
static bool cut_reduced(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts in;
    int64_t axes[CR_ONNX_RANK];
    bool reduced[CR_ONNX_RANK] = {false};
    cr_t y = operand(x, 0);
    int n = numbers_in(x, 1, axes), to = 0;
    cuts_of(s, y, &in);
    for (int i = 0; i < n; i++) {
        reduced[axes[i] - 1] = true;
        if (!must_be_cut(s, y, &in, (int)axes[i] - 1))
            return false;
    }
    for (int a = 0; a < y->rank; a++)
        if (x->rank == y->rank || !reduced[a])
            out->of[to++] = reduced[a] ? 0 : in.of[a];
    return true;
}

static bool cut_softmax(struct settling *s, cr_t x, struct cuts *out)
{
    cr_t y = operand(x, 0);
    cuts_of(s, y, out);
    return !y->rank || must_be_cut(s, y, out, y->rank - 1);
}

/* Running sums are refused along a cut axis, or along a length if they are reversed. */
static bool cut_cumsum(struct settling *s, cr_t x, struct cuts *out)
{
    int64_t axis[CR_ONNX_RANK];
    cuts_of(s, operand(x, 0), out);
    numbers_in(x, 1, axis);
    if (x->lengths[axis[0] - 1] && (out->of[axis[0] - 1] || x->n_arguments > 2))
        return refuse(s, x, "it runs along", (int)axis[0] - 1);
    return true;
}

/* The result has the row cuts of a and the column cuts of b.  The axis that is summed over has to
 * be cut in a or b. */
static bool cut_matmul(struct settling *s, cr_t x, struct cuts *out)
{
    cr_t a = operand(x, 0), b = operand(x, 1);
    struct cuts left, right;
    cuts_of(s, a, &left);
    cuts_of(s, b, &right);
    int inner = b->rank > 1 ? b->rank - 2 : 0, batch = x->rank - 2;
    if (a->rank < 2 || b->rank < 2) {
        for (int i = 0; i < a->rank + b->rank; i++)
            if (i < a->rank ? left.of[i] : right.of[i - a->rank])
                return refuse(s, i < a->rank ? a : b, "a product of a vector by", i % a->rank);
        return true;
    }
    if (a->lengths[a->rank - 1] && !left.of[a->rank - 1] && !right.of[inner])
        return must_be_cut(s, a, &left, a->rank - 1);
    for (int i = 0; i < batch; i++) {
        int l = i - (x->rank - a->rank), r = i - (x->rank - b->rank);
        out->of[i] = l >= 0 && left.of[l] ? left.of[l] : r >= 0 ? right.of[r] : 0;
    }
    out->of[batch] = left.of[a->rank - 2];
    out->of[batch + 1] = right.of[b->rank - 1];
    return true;
}

/* Axes are cut as in the parts; the axis of concatenation may not be a length. */
static bool cut_concat(struct settling *s, cr_t x, struct cuts *out)
{
    int64_t axis[CR_ONNX_RANK];
    numbers_in(x, x->n_arguments - 1, axis);
    for (int i = 0; i < x->n_arguments; i++) {
        struct cuts in;
        cr_t y = operand(x, i);
        if (!y)
            continue;
        cuts_of(s, y, &in);
        if (y->lengths[axis[0] - 1])
            return refuse(s, y, "it puts something behind", (int)axis[0] - 1);
        for (int a = 0; a < y->rank; a++)
            out->of[a] = in.of[a] ? in.of[a] : out->of[a];
    }
    return true;
}

static bool cut_narrow(struct settling *s, cr_t x, struct cuts *out)
{
    int64_t axis[CR_ONNX_RANK];
    cr_t y = operand(x, 0);
    cuts_of(s, y, out);
    numbers_in(x, 1, axis);
    if (out->of[axis[0] - 1] && x->shape[axis[0] - 1] != y->shape[axis[0] - 1])
        return refuse(s, y, "it takes a part of", (int)axis[0] - 1);
    return true;
}

/* Rows of a table.  A gather along an axis is refused: the language has no lengths there. */
static bool cut_gather(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts table, index;
    cr_t a = operand(x, 0), b = operand(x, 1);
    cuts_of(s, a, &table);
    cuts_of(s, b, &index);
    if (x->n_arguments > 2) {
        for (int i = 0; i < a->rank; i++)
            if (table.of[i] || index.of[i])
                return refuse(s, table.of[i] ? a : b, "it picks single elements of", i);
        return true;
    }
    for (int i = 0; i < x->rank; i++)
        out->of[i] = i < b->rank ? index.of[i] : table.of[i - b->rank + 1];
    return true;
}

static bool cut_scatter(struct settling *s, cr_t x, struct cuts *out)
{
    for (int i = 0; i < x->n_arguments; i++) {
        cr_t y = operand(x, i);
        for (int a = 0; y && a < y->rank; a++)
            if (y->lengths[a])
                return refuse(s, y, "it writes along", a);
    }
    memset(out, 0, sizeof *out);
    return true;
}

/* A layer of the library: its last axis has to be a number.  An embedding adds an axis instead. */
static bool cut_layer(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts in;
    cr_t y = operand(x, 0);
    bool is_table = strcmp(x->name, "nn.embedding") == 0;
    cuts_of(s, y, &in);
    if (!is_table && y->lengths[y->rank - 1])
        return refuse(s, y, "a layer of", y->rank - 1);
    for (int a = 0; a < y->rank - !is_table; a++)
        out->of[a] = in.of[a];
    return true;
}

/* Heads split from [B, T, C] to [B, H, T, d], or merged: only B and T may be lengths. */
static bool cut_heads(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts in;
    cr_t y = operand(x, 0);
    bool is_split = x->rank > y->rank;
    cuts_of(s, y, &in);
    for (int a = is_split ? 2 : 3; a < y->rank; a++)
        if (y->lengths[a])
            return refuse(s, y, "heads of", a);
    if (y->rank == 4 && y->lengths[1])
        return refuse(s, y, "heads of", 1);
    out->of[0] = in.of[0];
    out->of[is_split ? 2 : 1] = in.of[is_split ? 1 : 2];
    return true;
}

/* Keys or values have to be cut, masks need not.  The result has the rows of queries. */
static bool cut_attention(struct settling *s, cr_t x, struct cuts *out)
{
    struct cuts q, k, v;
    cr_t query = operand(x, 0), key = operand(x, 1), value = operand(x, 2);
    cuts_of(s, query, &q);
    cuts_of(s, key, &k);
    cuts_of(s, value, &v);
    for (int i = 0; i < 2; i++)
        if ((i ? value : query)->lengths[query->rank - 1])
            return refuse(s, i ? value : query, "heads of", query->rank - 1);
    int rows = key->rank - 2;
    if (!v.of[rows] && !must_be_cut(s, key, &k, rows))
        return false;
    for (int a = 0; a < x->rank - 1; a++)
        out->of[a] = q.of[a] ? q.of[a] : a < rows ? k.of[a] : 0;
    return true;
}

static bool cut_nothing(struct settling *s, cr_t x, struct cuts *out)
{
    (void)s;
    (void)x;
    (void)out;
    return true;
}

static void cuts_for(const void *context, cr_t operand, signed char *cuts)
{
    struct cuts found;
    cuts_of(context, operand, &found);
    memcpy(cuts, found.of, sizeof found.of);
}

/* Refuses a call.  The message names a length of an operand or of the result. */
static bool refuse_call(struct settling *s, cr_t x, const char *what)
{
    struct cr_onnx_graph *g = s->script->graph;
    char node[256];
    int length = 0;
    for (int i = -1; i < x->n_arguments; i++) {
        cr_t y = i < 0 ? x : operand(x, i);
        for (int a = 0; y && a < y->rank; a++)
            length = y->lengths[a] ? y->lengths[a] - 1 : length;
    }
    if (!s->error->text[0])
        cr_fail(s->error, "%.300s: %s: %s, expected --set %.60s=N", g->path,
                cr_onnx_show(&g->nodes[s->node], node, sizeof node), what,
                s->script->lengths[length].name);
    return false;
}

/* A function of graphs/lib/onnx.lua: the front end infers the lengths of its result.  All lengths
 * of operands have to be cut, as the function may sum over any axis. */
static bool cut_lua_op(struct settling *s, cr_t x, struct cuts *out)
{
    struct cr_inferred result;
    struct cr_error error = {""};
    for (int i = 0; i < x->n_arguments; i++) {
        struct cuts in;
        cr_t y = operand(x, i);
        if (y)
            cuts_of(s, y, &in);
        for (int a = 0; y && a < y->rank; a++)
            if (!must_be_cut(s, y, &in, a))
                return false;
    }
    if (cr_onnx_infer(s->script->graph, x->name, x->arguments, x->n_arguments, s->script, cuts_for,
                      s, &result, &error))
        return refuse_call(s, x, error.text);
    for (int a = 0; a < x->rank; a++)
        if (result.lengths[a] && result.lengths[a] != x->lengths[a])
            return refuse_call(s, x, "an axis that ends where no length of the file is");
    memcpy(out->of, result.lengths, sizeof out->of);
    return true;
}

/* Functions that are not elementwise. */
static const struct {
    const char *name;
    bool (*cut)(struct settling *s, cr_t x, struct cuts *out);
} rules[] = {
    {"reshape", cut_reshape},
    {"transpose", cut_permuted},
    {"permute", cut_permuted},
    {"sum", cut_reduced},
    {"max", cut_reduced},
    {"argmax", cut_reduced},
    {"nn.mean", cut_reduced},
    {"nn.softmax", cut_softmax},
    {"nn.safe_softmax", cut_softmax},
    {"cumsum", cut_cumsum},
    {"matmul", cut_matmul},
    {"concat", cut_concat},
    {"narrow", cut_narrow},
    {"gather", cut_gather},
    {"scatter", cut_scatter},
    {"scatter_add", cut_scatter},
    {"attention.split_heads", cut_heads},
    {"attention.merge_heads", cut_heads},
    {"attention.attend", cut_attention},
    {"attention.grouped", cut_attention},
    {"iota", cut_nothing},
    {"const", cut_nothing},
    {"masks.causal", cut_nothing},
    {"rotary.angles", cut_nothing},
};

/* Sets the cuts of a new term from those of its operands; false if it is refused. */
static bool cut(struct settling *s, struct cr_onnx_term *x)
{
    struct cuts out = {0};
    bool (*rule)(struct settling *, cr_t, struct cuts *) =
        x->kind == CR_TERM_SCOPE ? cut_layer
        : cr_onnx_is_lua_op(x)   ? cut_lua_op
                                 : cut_elementwise;
    for (size_t i = 0; x->kind == CR_TERM_CALL && i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].name, x->name) == 0)
            rule = rules[i].cut;
    bool is_good = rule(s, x, &out);
    memcpy(x->cuts, out.of, sizeof x->cuts);
    return is_good;
}

/* ---- terms that are rewritten ---- */

static cr_t remade(struct settling *s, cr_t x);

/* Makes a call with the type, shape and lengths of `like`. */
static cr_t call(struct settling *s, enum cr_onnx_term_kind kind, const char *name, cr_t like,
                 const struct cr_onnx_argument *arguments, int n)
{
    struct cr_onnx_term *x = cr_arena_new(arena_of(s), 1, sizeof *x);
    *x = *like;
    x->kind = kind;
    x->name = name;
    x->arguments = memcpy(cr_arena_new(arena_of(s), (size_t)n, sizeof *arguments), arguments,
                          (size_t)n * sizeof *arguments);
    x->n_arguments = n;
    x->data = NULL;
    cut(s, x);
    return x;
}

/* nn.mean(x, axis), which divides by the bound, becomes sum(x, axis) / float(seq). */
static cr_t mean_by_length(struct settling *s, cr_t x, int mark)
{
    struct cr_onnx_term *length = cr_arena_new(arena_of(s), 1, sizeof *length);
    *length = (struct cr_onnx_term){.kind = CR_TERM_VALUE,
                                    .type = CR_ONNX_INT64,
                                    .name = "",
                                    .value = s->script->lengths[mark - 1].value};
    struct cr_onnx_term number = {.type = x->type};
    struct cr_onnx_argument parts[] = {
        {call(s, CR_TERM_CALL, "sum", x, x->arguments, x->n_arguments), NULL},
        {call(s, CR_TERM_CALL, "float", &number, (struct cr_onnx_argument[]){{length, NULL}}, 1), NULL}};
    return call(s, CR_TERM_INFIX, "/", x, parts, 2);
}

/* Returns a term with axes 0 and `axis` exchanged. */
static cr_t exchanged(struct settling *s, cr_t x, int axis)
{
    struct cr_onnx_term like = *x;
    if (axis == 0)
        return x;
    like.shape[0] = x->shape[axis];
    like.shape[axis] = x->shape[0];
    like.lengths[0] = x->lengths[axis];
    like.lengths[axis] = x->lengths[0];
    return call(s, CR_TERM_CALL, "transpose", &like,
                (struct cr_onnx_argument[]){{x, NULL},
                                            {NULL, "1"},
                                            {NULL, cr_arena_print(arena_of(s), "%d", axis + 1)}},
                3);
}

/* Gathers elements of an axis by an index. */
static cr_t picked(struct settling *s, cr_t x, int axis, cr_t index)
{
    cr_t front = exchanged(s, x, axis);
    struct cr_onnx_term like = *front;
    like.shape[0] = index->shape[0];
    like.lengths[0] = 0;
    return exchanged(s,
                     call(s, CR_TERM_CALL, "gather", &like,
                          (struct cr_onnx_argument[]){{front, NULL}, {index, NULL}}, 2),
                     axis);
}

static const struct cr_onnx_term one_index = {
    .type = CR_ONNX_INT64, .rank = 1, .shape = {1}, .name = ""};

/* The index of a length's first element, {0}; narrow cannot take a part of such an axis. */
static cr_t first_index(struct settling *s)
{
    struct cr_onnx_term *index = cr_arena_new(arena_of(s), 1, sizeof *index);
    *index = one_index;
    index->kind = CR_TERM_DATA;
    index->data = cr_arena_new(arena_of(s), 1, sizeof *index->data);
    return index;
}

/* The index of a length's last element: expand(seq - 1, {1}). */
static cr_t last_index(struct settling *s, int length)
{
    static const double one = 1;
    struct cr_onnx_term *value = cr_arena_new(arena_of(s), 1, sizeof *value),
                        *number = cr_arena_new(arena_of(s), 1, sizeof *number);
    *number = (struct cr_onnx_term){
        .kind = CR_TERM_DATA, .type = CR_ONNX_INT64, .data = &one, .name = ""};
    *value = *number;
    value->kind = CR_TERM_VALUE;
    value->data = NULL;
    value->value = s->script->lengths[length].value;
    cr_t last = call(s, CR_TERM_INFIX, "-", value,
                     (struct cr_onnx_argument[]){{value, NULL}, {number, NULL}}, 2);
    return call(s, CR_TERM_CALL, "expand", &one_index,
                (struct cr_onnx_argument[]){{last, NULL}, {NULL, "{1}"}}, 2);
}

/* Rewrites a narrow.  Its size is a number, for a length the bound.  A part of a length may only
 * be its first or its last element, which always exist. */
static cr_t narrowed(struct settling *s, cr_t x)
{
    int64_t axis[CR_ONNX_RANK], start = 0;
    numbers_in(x, 1, axis);
    int a = (int)axis[0] - 1;
    cr_t y = operand(x, 0);
    const char *from = x->arguments[2].text;
    bool behind = *from == CR_TERM_LENGTH, part = y->lengths[a] && !x->lengths[a];
    start = strtoll(behind ? from + 2 : from, NULL, 10);
    if ((behind && (start != -1 || x->shape[a] != 1)) || (part && !behind && start + x->shape[a] > 1)) {
        struct cr_onnx_term like = *y;
        like.lengths[a] = (signed char)(behind ? from[1] - '0' + 1 : y->lengths[a]);
        refuse(s, &like, "it takes elements that are not there if it is 1, of", a);
    }
    if (part || behind)
        return picked(s, y, a, behind ? last_index(s, from[1] - '0') : first_index(s));
    struct cr_onnx_argument arguments[4];
    memcpy(arguments, x->arguments, sizeof arguments);
    arguments[3].text = cr_arena_print(arena_of(s), "%lld", (long long)x->shape[a]);
    return call(s, CR_TERM_CALL, "narrow", x, arguments, 4);
}

/* Rewrites a term and its operands into forms that the language has. */
static cr_t remake(struct settling *s, cr_t x)
{
    struct cr_onnx_term *copy = cr_arena_new(arena_of(s), 1, sizeof *copy);
    struct cr_onnx_argument *arguments =
        cr_arena_new(arena_of(s), (size_t)x->n_arguments + 1, sizeof *arguments);
    int64_t axis[CR_ONNX_RANK];
    *copy = *x;
    copy->arguments = arguments;
    for (int i = 0; i < x->n_arguments; i++) {
        arguments[i] = x->arguments[i];
        if (arguments[i].term)
            arguments[i].term = remade(s, arguments[i].term);
    }
    if (copy->kind == CR_TERM_CALL && strcmp(copy->name, "narrow") == 0 && x->n_arguments == 4)
        return narrowed(s, copy);
    if (copy->kind == CR_TERM_CALL && strcmp(copy->name, "nn.mean") == 0) {
        numbers_in(copy, 1, axis);
        int mark = arguments[0].term->lengths[axis[0] - 1];
        if (mark)
            return mean_by_length(s, copy, mark);
    }
    cut(s, copy);
    return copy;
}

/* Rewrites each term once, so that shared terms stay shared. */
static cr_t remade(struct settling *s, cr_t x)
{
    cr_t done = cr_term_map_find(&s->made, x);
    if (done || x->kind == CR_TERM_VALUE || x->kind == CR_TERM_DATA)
        return done ? done : x;
    done = remake(s, x);
    cr_term_map_add(&s->made, x, done);
    return done;
}

/* ---- the whole ---- */

/* Sets the cuts of inputs: their sizes that are symbols of lengths. */
static void settle_inputs(struct settling *s)
{
    const struct cr_onnx_graph *g = s->script->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const struct cr_onnx_value *v = &g->values[g->inputs[i]];
        for (int a = 0; !v->tensor && a < v->rank; a++)
            for (int l = 0; v->info->sizes[a].name && l < s->script->n_lengths; l++)
                if (strcmp(v->info->sizes[a].name, s->script->lengths[l].name) == 0)
                    s->values[g->inputs[i]].of[a] = (signed char)(l + 1);
    }
}

/* Rewrites the outputs; refuses an output with an axis that runs to the bound. */
static bool settle_outputs(struct settling *s)
{
    const struct cr_onnx_graph *g = s->script->graph;
    s->node = CR_ONNX_NONE;
    for (int i = 0; i < g->n_outputs; i++) {
        struct cuts cuts;
        cr_t *x = &s->script->terms[g->outputs[i]];
        *x = remade(s, *x);
        cuts_of(s, *x, &cuts);
        for (int a = 0; a < (*x)->rank; a++)
            if (!must_be_cut(s, *x, &cuts, a))
                return false;
    }
    return true;
}

static bool settle_statements(struct settling *s)
{
    for (int i = 0; i < s->script->n_statements; i++) {
        struct cr_onnx_statement *x = &s->script->statements[i];
        s->node = x->node;
        x->term = remade(s, x->term);
        if (s->error->text[0])
            return false;
        cuts_of(s, x->term, &s->values[x->value]);
    }
    return true;
}

int cr_onnx_settle_lengths(struct cr_onnx_script *script, struct cr_error *error)
{
    size_t n = (size_t)script->graph->n_values;
    struct settling s = {.script = script, .values = cr_calloc(n, sizeof *s.values), .error = error};
    error->text[0] = '\0';
    settle_inputs(&s);
    bool is_good = settle_statements(&s) && settle_outputs(&s);
    cr_term_map_free(&s.made);
    free(s.values);
    return is_good && !error->text[0] ? 0 : -1;
}
