/* ops_recurrent.c - RNN, GRU and LSTM: layers of graphs/lib/recurrent.lua, one a direction; see ops.h. */
#include <string.h>
#include <strings.h>

#include "ops.h"

enum {
    MOST_STEPS = 1024,
    MOST_ARGUMENTS = 40,
    MOST_ACTIVATIONS = 3,
    MOST_DIRECTIONS = 2,
    X = 0,
    W,
    R,
    BIAS,
    LENGTHS,
    H_FIRST,
    C_FIRST,
    PEEPHOLES
};

/* ---- activations ---- */

/* As Lua, with %s for alpha and then for beta, which an activation has or has not; `usual` if the node does
 * not say them. */
static const struct activation {
    const char *name, *text;
    int n; /* of alpha and beta */
    double usual[2];
} activations[] = {
    {"Tanh", "tanh", 0, {0}},
    {"Sigmoid", "sigmoid", 0, {0}},
    {"Relu", "nn.relu", 0, {0}},
    {"Softsign", "function(x) return x / (1 + abs(x)) end", 0, {0}},
    {"Softplus", "function(x) return maximum(x, 0) + log(1 + exp(-abs(x))) end", 0, {0}},
    {"LeakyRelu", "function(x) return where(gt(x, 0), x, %s * x) end", 1, {0.01}},
    {"ThresholdedRelu", "function(x) return where(gt(x, %s), x, 0) end", 1, {1}},
    {"Elu", "function(x) return where(gt(x, 0), x, %s * (exp(x) - 1)) end", 1, {1}},
    {"Affine", "function(x) return %s * x + %s end", 2, {1, 0}},
    {"ScaledTanh", "function(x) return %s * tanh(%s * x) end", 2, {1, 1}},
    {"HardSigmoid", "function(x) return minimum(maximum(%s * x + %s, 0), 1) end", 2, {0.2, 0.5}},
};

/* Numbers of an attribute are used up, one by each activation that has one. */
struct numbers {
    const struct cr_onnx_attribute *of;
    int next;
};

static const char *take_number(struct cr_translation *t, struct numbers *n, double usual)
{
    bool said = n->of && n->of->floats && n->next < n->of->n;
    return cr_lua_number(t->arena, said ? n->of->floats[n->next++] : usual);
}

static const struct activation *find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcasecmp(activations[i].name, name) == 0)
            return &activations[i];
    return NULL;
}

/* The text of one; refused, and that of another, if there is none such. */
static const char *activation_text(struct cr_translation *t, const char *name,
                                   struct numbers *alpha, struct numbers *beta)
{
    const struct activation *a = find_activation(name);
    if (!a) {
        cr_onnx_refuse(t, "the activation %s, expected one that the operator has", name);
        return activations[0].text;
    }
    const char *first = a->n > 0 ? take_number(t, alpha, a->usual[0]) : "";
    const char *second = a->n > 1 ? take_number(t, beta, a->usual[1]) : "";
    return cr_arena_print(t->arena, a->text, first, second);
}

/* ---- a layer ---- */

/* What one of the three operators is. */
struct cell {
    const char *function, *gates;
    int n_gates;
    const char *keys[MOST_ACTIVATIONS], *usual[MOST_ACTIVATIONS]; /* of activations */
    int n_activations, n_states;
};

struct arguments {
    struct cr_onnx_argument items[MOST_ARGUMENTS];
    int n;
};

struct layer {
    struct cr_translation *t;
    const struct cell *cell;
    cr_t x; /* [T, B, inputs] */
    int64_t T, B, H;
    int directions;
    bool batch_first, from_end;
    const char *activations[MOST_DIRECTIONS][MOST_ACTIVATIONS];
    struct arguments arguments; /* of all calls, up to what they give */
};

static void add_term(struct arguments *a, const char *key, cr_t term)
{
    if (!term)
        return;
    if (key)
        a->items[a->n++] = (struct cr_onnx_argument){NULL, key};
    a->items[a->n++] = (struct cr_onnx_argument){term, NULL};
}

static void add_text(struct arguments *a, const char *text)
{
    if (text)
        a->items[a->n++] = (struct cr_onnx_argument){NULL, text};
}

/* An input of some shape, whose sizes below 0 are free; null if it is left out, refused if it is another. */
static cr_t input_of(const struct layer *l, int input, int rank, const int64_t *shape)
{
    cr_t x = cr_input(l->t, input);
    bool fits = x && x->rank == rank;
    for (int a = 0; fits && a < rank; a++)
        fits = shape[a] < 0 || x->shape[a] == shape[a];
    return !x || fits ? x : cr_onnx_refuse(l->t, "the shape of input %d", input);
}

/* A first state, [directions, B, H]. */
static cr_t state_of(const struct layer *l, int input)
{
    const int64_t D = l->directions, B = l->B, H = l->H;
    if (!l->batch_first)
        return input_of(l, input, 3, (int64_t[]){D, B, H});
    cr_t x = input_of(l, input, 3, (int64_t[]){B, D, H});
    return x ? cr_t_swap(l->t, x, 0, 1) : NULL;
}

/* An activation of all directions, if it is not the usual one. */
static void add_activation(const struct layer *l, int i, struct arguments *a)
{
    const char *const *first = &l->activations[0][i], *const *second = &l->activations[1][i];
    const char *key = l->cell->keys[i];
    bool same = l->directions == 1 || strcmp(*first, *second) == 0;
    if (same && strcmp(*first, find_activation(l->cell->usual[i])->text) == 0)
        return;
    add_text(a, same ? cr_arena_print(l->t->arena, "%s = %s", key, *first)
                     : cr_arena_print(l->t->arena, "%s = {%s, %s}", key, *first, *second));
}

/* What all calls begin with: tensors, and the options but for what is given. */
static void add_arguments(struct layer *l)
{
    struct cr_translation *t = l->t;
    struct arguments *a = &l->arguments;
    const int64_t D = l->directions, G = l->cell->n_gates, H = l->H;
    double clip = cr_onnx_real(t->node, "clip", 0);
    bool is_lstm = l->cell->n_states == 2, is_gru = G == 3;
    add_term(a, NULL, l->x);
    add_term(a, NULL, input_of(l, W, 3, (int64_t[]){D, G * H, l->x->shape[2]}));
    add_term(a, NULL, input_of(l, R, 3, (int64_t[]){D, G * H, H}));
    add_text(a, CR_TERM_TABLE);
    add_text(a, l->cell->gates);
    add_term(a, "bias = ", input_of(l, BIAS, 2, (int64_t[]){D, 2 * G * H}));
    add_term(a, "h = ", state_of(l, H_FIRST));
    add_term(a, "c = ", is_lstm ? state_of(l, C_FIRST) : NULL);
    add_term(a, "peepholes = ", is_lstm ? input_of(l, PEEPHOLES, 2, (int64_t[]){D, 3 * H}) : NULL);
    add_term(a, "lengths = ", input_of(l, LENGTHS, 1, (int64_t[]){l->B}));
    add_text(a, l->from_end ? "reverse = true" : NULL);
    if (is_gru && cr_onnx_integer(t->node, "linear_before_reset", 0) == 0)
        add_text(a, "reset_before = true");
    if (is_lstm && cr_onnx_integer(t->node, "input_forget", 0) != 0)
        add_text(a, "coupled = true");
    if (clip != 0)
        add_text(a, cr_arena_print(t->arena, "clip = %s", cr_lua_number(t->arena, clip)));
    for (int i = 0; i < l->cell->n_activations; i++)
        add_activation(l, i, a);
}

/* All steps, [T, directions, B, H], or a last state, [directions, B, H]; with rows first if so wanted. */
static cr_t result_of(const struct layer *l, const char *result)
{
    struct arguments a = l->arguments;
    const int64_t shape[] = {l->T, l->directions, l->B, l->H};
    bool all = strcmp(result, "y") == 0;
    if (!all)
        add_text(&a, cr_arena_print(l->t->arena, "result = \"%s\"", result));
    add_text(&a, CR_TERM_TABLE_END);
    cr_t y = cr_t_call(l->t, l->cell->function, l->x->type, all ? 4 : 3, all ? shape : shape + 1,
                       a.items, a.n);
    if (!l->batch_first)
        return y;
    return all ? cr_t_permute(l->t, y, (int[]){2, 0, 1, 3}) : cr_t_swap(l->t, y, 0, 1);
}

/* ---- the operators ---- */

/* The activations of all directions, which are said together or not at all. */
static void read_activations(struct layer *l)
{
    const struct cr_onnx_attribute *names = cr_onnx_typed(l->t->node, "activations", CR_ONNX_A_STRINGS);
    struct numbers alpha = {cr_onnx_typed(l->t->node, "activation_alpha", CR_ONNX_A_FLOATS), 0};
    struct numbers beta = {cr_onnx_typed(l->t->node, "activation_beta", CR_ONNX_A_FLOATS), 0};
    const struct cell *c = l->cell;
    if (names && names->n && (!names->strings || names->n != c->n_activations * l->directions)) {
        cr_onnx_refuse(l->t, "%d activations, expected %d", names->n,
                       c->n_activations * l->directions);
        return;
    }
    for (int d = 0; d < l->directions; d++)
        for (int i = 0; i < c->n_activations; i++) {
            bool said = names && names->n;
            const char *name = said ? names->strings[d * c->n_activations + i] : c->usual[i];
            l->activations[d][i] = activation_text(l->t, name, &alpha, &beta);
        }
}

/* What is said of a layer, but for its activations. */
static struct layer read_layer(struct cr_translation *t, const struct cell *cell)
{
    const char *direction = cr_string(t, "direction", "forward");
    cr_t r = cr_input(t, R), x = t->in[X];
    struct layer l = {.t = t,
                      .cell = cell,
                      .H = r && r->rank == 3 ? r->shape[2] : 0,
                      .directions = strcasecmp(direction, "bidirectional") == 0 ? 2 : 1,
                      .from_end = strcasecmp(direction, "reverse") == 0,
                      .batch_first = cr_onnx_integer(t->node, "layout", 0) == 1};
    if (x->rank != 3 || !cr_input(t, W) || !l.H) {
        cr_onnx_refuse(
            t, "expected x [T, B, n], w [directions, gates H, n] and r [directions, gates H, H]");
        return l;
    }
    if (cr_onnx_integer(t->node, "hidden_size", l.H) != l.H)
        cr_onnx_refuse(t, "a hidden_size of another number than r has, which is %lld", (long long)l.H);
    l.x = l.batch_first ? cr_t_swap(t, x, 0, 1) : x;
    l.T = l.x ? l.x->shape[0] : 0;
    l.B = l.x ? l.x->shape[1] : 0;
    if (l.T > MOST_STEPS)
        cr_onnx_refuse(t, "%lld steps, expected at most %d", (long long)l.T, MOST_STEPS);
    return l;
}

/* What is wanted of the outputs, each a call of its own: equal nodes are shared. */
static void translate(struct cr_translation *t, const struct cell *cell)
{
    static const char *const results[] = {"y", "h", "c"};
    if (t->failed || !t->in[X])
        return;
    struct layer l = read_layer(t, cell);
    if (!t->failed)
        read_activations(&l);
    if (!t->failed)
        add_arguments(&l);
    for (int i = 0; i <= cell->n_states && !t->failed; i++)
        if (cr_wants(t, i))
            cr_give(t, i, result_of(&l, results[i]));
}

void cr_op_rnn(struct cr_translation *t)
{
    static const struct cell cell = {"recurrent.rnn", NULL, 1, {"f"}, {"Tanh"}, 1, 1};
    translate(t, &cell);
}

void cr_op_gru(struct cr_translation *t)
{
    static const struct cell cell = {
        "recurrent.gru", "gates = {\"z\", \"r\", \"n\"}", 3, {"f", "g"}, {"Sigmoid", "Tanh"}, 2, 1};
    translate(t, &cell);
}

void cr_op_lstm(struct cr_translation *t)
{
    static const struct cell cell = {"recurrent.lstm",
                                     "gates = {\"i\", \"o\", \"f\", \"g\"}",
                                     4,
                                     {"f", "g", "h_act"},
                                     {"Sigmoid", "Tanh", "Tanh"},
                                     3,
                                     2};
    translate(t, &cell);
}
