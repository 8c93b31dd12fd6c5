/*
 * test_onnx_chains.c - random ONNX files with operators on quantised numbers and GlobalLpPool.
 *
 * A model is a chain: each step reads what the step before it gives and some constants.  All results are outputs
 * of the model, so that each step is checked alone: by a loop over the numbers that the run gives its operand.
 */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/crescent.h"
#include "onnx_writer.h"

enum { FLOAT = 1, UINT8 = 2, INT8 = 3, UINT16 = 4, INT16 = 5, INT32 = 6 };
enum { RANK = 4, MOST = 8192, MOST_TENSORS = 32, MOST_STEPS = 4, CHAINS = 60, SEEDS = 10 };

/* A tensor: the input, a constant or a result. */
struct tensor {
    char name[8];
    int type, rank;
    int64_t shape[RANK];
    float numbers[MOST]; /* floats, or integers that floats represent exactly */
    int32_t sums[MOST];  /* the numbers of an INT32 */
};

/* A step: an operator, its operands in ONNX's order (null: left out), and its results. */
struct step {
    const char *op;
    struct tensor *in[8], *out[3];
    int axis, block, groups;
    double p;
};

struct chain {
    struct tensor tensors[MOST_TENSORS];
    struct step steps[MOST_STEPS];
    int n_tensors, n_steps;
    struct message graph;
    uint64_t state;
};

static char folder[] = "/tmp/crescent-chains-XXXXXX", path[128];

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.onnx", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

/* ---- random numbers ---- */

/* Returns a random number from 0 to n - 1. */
static int pick(struct chain *c, int n)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((c->state >> 33) % (uint64_t)n);
}

static float real(struct chain *c, double low, double high)
{
    return (float)(low + (high - low) * pick(c, 1 << 20) / (1 << 20));
}

static int lowest(int type)
{
    return type == INT8 ? -128 : type == INT16 ? -32768 : 0;
}

static int highest(int type)
{
    return type == UINT8 ? 255 : type == INT8 ? 127 : type == UINT16 ? 65535 : 32767;
}

/* ---- tensors ---- */

static int count(const struct tensor *x)
{
    int n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= (int)x->shape[i];
    return n;
}

static struct tensor *new_tensor(struct chain *c, int type, int rank, const int64_t *shape)
{
    struct tensor *x = &c->tensors[c->n_tensors];
    ck_assert_int_lt(c->n_tensors, MOST_TENSORS);
    snprintf(x->name, sizeof x->name, "t%d", c->n_tensors++);
    x->type = type;
    x->rank = rank;
    for (int i = 0; i < rank; i++)
        x->shape[i] = shape[i];
    ck_assert_int_le(count(x), MOST);
    return x;
}

/* Appends a tensor as an initializer. */
static void put_constant(struct chain *c, const struct tensor *x)
{
    static unsigned char bytes[MOST * sizeof(float)];
    int n = count(x), size = x->type == FLOAT ? 4 : x->type == UINT8 || x->type == INT8 ? 1 : 2;
    for (int i = 0; i < n; i++) {
        int16_t whole = (int16_t)(int)x->numbers[i]; /* little-endian: the first byte is the low one */
        memcpy(bytes + i * size, size == 4 ? (const void *)&x->numbers[i] : &whole, (size_t)size);
    }
    put_tensor(&c->graph, x->name, x->type, x->rank, x->shape, bytes, (size_t)(n * size));
}

/* Adds a constant of random numbers from low to high. */
static struct tensor *constant(struct chain *c, int type, int rank, const int64_t *shape, double low, double high)
{
    struct tensor *x = new_tensor(c, type, rank, shape);
    for (int i = 0; i < count(x); i++)
        x->numbers[i] = type == FLOAT ? real(c, low, high) : floorf(real(c, low, high + 1));
    put_constant(c, x);
    return x;
}

/* Adds zero points: random ones, or the lowest number, which makes differences large. */
static struct tensor *zeros(struct chain *c, int type, int rank, const int64_t *shape)
{
    return constant(c, type, rank, shape, lowest(type), pick(c, 2) ? highest(type) : lowest(type));
}

/* ---- steps ---- */

/* Appends the node of a step; its last operands may be left out. */
static void put_step(struct chain *c, const struct step *s, const struct message *attributes)
{
    char in[80] = "", out[40] = "";
    int n = 8;
    while (!s->in[n - 1])
        n--;
    for (int i = 0; i < n; i++)
        strcat(strcat(in, s->in[i] ? s->in[i]->name : "-"), " ");
    for (int i = 0; i < 3 && s->out[i]; i++)
        strcat(strcat(out, s->out[i]->name), " ");
    put_node(&c->graph, s->op, in, out, attributes);
    for (int i = 0; i < 3 && s->out[i]; i++)
        put_value(&c->graph, 12, s->out[i]->name, s->out[i]->type, s->out[i]->rank, s->out[i]->shape);
}

/* Sets the shape of a step's scales: one number, alone or in a vector, one for each index of an axis, or one for
 * each block of an axis; returns its rank. */
static int scale_shape(struct chain *c, struct step *s, struct message *attributes, int64_t *shape)
{
    const struct tensor *x = s->in[0];
    int way = pick(c, 4);
    s->axis = pick(c, x->rank);
    s->block = 0;
    shape[0] = 1;
    if (way == 0 || way == 3) /* without the attribute, the axis is axis 1, which x need not have */
        return way == 3;
    put_integer_attribute(attributes, "axis", pick(c, 2) ? s->axis : s->axis - x->rank);
    shape[0] = x->shape[s->axis];
    if (way == 1)
        return 1;
    s->block = (1 + pick(c, 4)) * (count(x) > 1000 ? 16 : 1);
    put_integer_attribute(attributes, "block_size", s->block);
    memcpy(shape, x->shape, sizeof x->shape);
    shape[s->axis] = (x->shape[s->axis] + s->block - 1) / s->block;
    return x->rank;
}

/* Returns a scale that maps numbers up to `size` to the range of a type, and some beyond it. */
static double scale_for(double size, int type)
{
    return size * 1.8 / (highest(type) - lowest(type));
}

static void quantize(struct chain *c, struct step *s, double size)
{
    struct message attributes = {.n = 0};
    int64_t shape[RANK];
    int rank = scale_shape(c, s, &attributes, shape), type = UINT8 + pick(c, 4);
    double scale = scale_for(size, type);
    s->op = "QuantizeLinear";
    s->in[1] = constant(c, FLOAT, rank, shape, scale / 2, scale * 2);
    if (pick(c, 4))
        s->in[2] = zeros(c, type, rank, shape);
    else
        put_integer_attribute(&attributes, "output_dtype", type);
    s->out[0] = new_tensor(c, type, s->in[0]->rank, s->in[0]->shape);
    put_step(c, s, &attributes);
}

static void dequantize(struct chain *c, struct step *s)
{
    struct message attributes = {.n = 0};
    int64_t shape[RANK];
    int rank = scale_shape(c, s, &attributes, shape), type = s->in[0]->type;
    s->op = "DequantizeLinear";
    s->in[1] = constant(c, FLOAT, rank, shape, scale_for(1, type), scale_for(4, type));
    if (pick(c, 4))
        s->in[2] = zeros(c, type, rank, shape);
    s->out[0] = new_tensor(c, FLOAT, s->in[0]->rank, s->in[0]->shape);
    put_step(c, s, &attributes);
}

static void dynamic_quantize(struct chain *c, struct step *s)
{
    s->op = "DynamicQuantizeLinear";
    s->out[0] = new_tensor(c, UINT8, s->in[0]->rank, s->in[0]->shape);
    s->out[1] = new_tensor(c, FLOAT, 0, NULL);
    s->out[2] = new_tensor(c, UINT8, 0, NULL);
    put_step(c, s, NULL);
}

static void global_pool(struct chain *c, struct step *s)
{
    struct message attributes = {.n = 0};
    const struct tensor *x = s->in[0];
    int64_t shape[RANK] = {x->shape[0], x->shape[1], 1, 1};
    s->op = "GlobalLpPool";
    s->p = 1 + pick(c, 4);
    put_integer_attribute(&attributes, "p", (int)s->p);
    s->out[0] = new_tensor(c, FLOAT, x->rank, shape);
    put_step(c, s, &attributes);
}

/* Adds a matrix of n columns to multiply by; `shape` becomes the product's shape. */
static struct tensor *matrix(struct chain *c, const struct tensor *a, int64_t *shape)
{
    int64_t sizes[2] = {a->shape[a->rank - 1], 1 + pick(c, 5)};
    memcpy(shape, a->shape, sizeof a->shape);
    shape[a->rank - 1] = sizes[1];
    int type = pick(c, 2) ? INT8 : UINT8; /* sometimes numbers so large that no float represents their sums */
    return constant(c, type, 2, sizes, pick(c, 3) ? lowest(type) : highest(type) - 9, highest(type));
}

/* Returns the zero point of an operand: none, one number, or one for each row of a or column of
 * b. */
static struct tensor *zero_point(struct chain *c, const struct tensor *x, int64_t n)
{
    int way = pick(c, 3);
    return way == 0 ? NULL : zeros(c, x->type, way - 1, &n);
}

static void matmul_integer(struct chain *c, struct step *s)
{
    int64_t shape[RANK];
    s->op = "MatMulInteger";
    s->in[1] = matrix(c, s->in[0], shape);
    s->in[2] = zero_point(c, s->in[0], s->in[0]->shape[s->in[0]->rank - 2]);
    s->in[3] = zero_point(c, s->in[1], s->in[1]->shape[1]);
    s->out[0] = new_tensor(c, INT32, s->in[0]->rank, shape);
    put_step(c, s, NULL);
}

static void matmul(struct chain *c, struct step *s)
{
    int64_t shape[RANK];
    struct tensor *a = s->in[0], *b = matrix(c, a, shape);
    int type = pick(c, 2) ? INT8 : UINT8;
    double sum = 1e4 * sqrt((double)b->shape[0]);
    int way = a->rank == 2 ? pick(c, 2) : 0; /* one scale and zero point, or one for each row */
    struct tensor *in[] = {a, constant(c, FLOAT, way, a->shape, 0.01, 0.02), zeros(c, a->type, way, a->shape),
                           b, constant(c, FLOAT, 0, NULL, 0.01, 0.02), zeros(c, b->type, 0, NULL),
                           constant(c, FLOAT, 0, NULL, scale_for(2e-4 * sum, type), scale_for(4e-4 * sum, type)),
                           zeros(c, type, 0, NULL)};
    s->op = "QLinearMatMul";
    memcpy(s->in, in, sizeof in);
    s->out[0] = new_tensor(c, type, a->rank, shape);
    put_step(c, s, NULL);
}

/* Weights [M, C / groups, k..] for a convolution of x, and the shape of its result. */
static struct tensor *kernel(struct chain *c, const struct tensor *x, int groups, int64_t *shape)
{
    int64_t sizes[RANK] = {groups * (1 + pick(c, 3)), x->shape[1] / groups};
    memcpy(shape, x->shape, sizeof x->shape);
    shape[1] = sizes[0];
    for (int i = 2; i < x->rank; i++) {
        sizes[i] = 1 + pick(c, (int)x->shape[i]);
        shape[i] = x->shape[i] - sizes[i] + 1;
    }
    int type = x->type == INT8 || pick(c, 2) ? INT8 : UINT8;
    return constant(c, type, x->rank, sizes, pick(c, 3) ? lowest(type) : highest(type) - 9, highest(type));
}

/* A convolution; its result is quantised or of i32. */
static void convolve(struct chain *c, struct step *s, bool quantised)
{
    struct message attributes = {.n = 0};
    int64_t shape[RANK], channels;
    struct tensor *x = s->in[0];
    s->groups = pick(c, 2) ? (int)x->shape[1] : 1;
    struct tensor *w = kernel(c, x, s->groups, shape), *zero_x = zeros(c, x->type, 0, NULL);
    int type = x->type, way = pick(c, 2);
    channels = w->shape[0];
    struct tensor *zero_w = zeros(c, w->type, way, &channels);
    put_integer_attribute(&attributes, "group", s->groups);
    if (quantised) {
        double size = 4 * sqrt((double)count(w) / (double)channels);
        struct tensor *in[] = {x, constant(c, FLOAT, 0, NULL, 0.01, 0.02), zero_x,
                               w, constant(c, FLOAT, way, &channels, 0.01, 0.02), zero_w,
                               constant(c, FLOAT, 0, NULL, scale_for(size / 2, type), scale_for(size, type)),
                               zeros(c, type, 0, NULL)};
        memcpy(s->in, in, sizeof in);
    } else {
        s->in[1] = w;
        s->in[2] = zero_x;
        s->in[3] = zero_w;
    }
    s->op = quantised ? "QLinearConv" : "ConvInteger";
    s->out[0] = new_tensor(c, quantised ? type : INT32, x->rank, shape);
    put_step(c, s, &attributes);
}

/* Appends a step that reads a tensor; false if the chain has to end there. */
static bool add_step(struct chain *c, struct tensor *x, bool first)
{
    struct step *s = &c->steps[c->n_steps];
    *s = (struct step){.in = {x}};
    if (x->type == INT32)
        return false;
    c->n_steps++;
    if (x->type == FLOAT && x->rank > 2 && x->shape[2] > 1 && !pick(c, 3))
        global_pool(c, s);
    else if (x->type == FLOAT && !pick(c, 3))
        dynamic_quantize(c, s);
    else if (x->type == FLOAT)
        quantize(c, s, first ? 4 : 2);
    else if (x->type > INT8 || x->rank == 1 || !pick(c, 3))
        dequantize(c, s);
    else if (x->rank > 2 && pick(c, 2))
        convolve(c, s, pick(c, 3) > 0);
    else if (pick(c, 2))
        matmul_integer(c, s);
    else
        matmul(c, s);
    return true;
}

/* Makes a chain that begins with an input of floats. */
static void make_chain(struct chain *c, uint64_t seed)
{
    int64_t shape[RANK];
    memset(c, 0, sizeof *c);
    c->state = seed;
    for (int i = 0; i < 8; i++)
        pick(c, 2);
    int rank = pick(c, 2) ? 2 : 1 + pick(c, 4);
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + pick(c, 5);
    if (rank == 2 && pick(c, 2))
        shape[0] = 1 + pick(c, 2), shape[1] = 250 + pick(c, 1200); /* a product with a k of several blocks */
    struct tensor *x = new_tensor(c, FLOAT, rank, shape);
    put_value(&c->graph, 11, x->name, FLOAT, rank, shape);
    double low = pick(c, 3) ? -4 : 3;
    for (int i = 0; i < count(x); i++)
        x->numbers[i] = pick(c, 8) ? real(c, low, 4) : floorf(real(c, low, 4));
    for (int i = 0; i < MOST_STEPS && add_step(c, x, i == 0); i++)
        x = c->steps[i].out[0];
}

/* ---- the run ---- */

/* Runs a chain, and stores the numbers of its results. */
static void run(struct chain *c)
{
    static float outputs[MOST_TENSORS][MOST];
    struct message model = model_of(&c->graph, 21);
    crescent_context *context = crescent_context_new();
    crescent_model *compiled;
    void *out[MOST_TENSORS];
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(model.at, 1, model.n, file), model.n);
    fclose(file);
    ck_assert_msg(crescent_open(context, path, NULL, NULL, &compiled) == CRESCENT_OK, "%s", crescent_error(context));
    const char *weights = crescent_weights_path(compiled);
    if (weights)
        ck_assert_int_eq(crescent_load_weights(compiled, &weights, 1, CRESCENT_ANY_TENSORS, NULL), CRESCENT_OK);
    for (int i = 0; i < MOST_TENSORS; i++)
        out[i] = outputs[i];
    ck_assert_int_eq(crescent_run(compiled, (const void *[]){c->tensors[0].numbers}, out), CRESCENT_OK);
    for (int i = 0; i < c->n_tensors; i++) {
        struct tensor *x = &c->tensors[i];
        int port = crescent_port_find(compiled, CRESCENT_OUTPUT, x->name);
        for (int k = 0; port >= 0 && k < count(x); k++) {
            memcpy(&x->sums[k], &outputs[port][k], sizeof x->sums[k]);
            x->numbers[k] = x->type == FLOAT ? outputs[port][k] : (float)x->sums[k];
        }
    }
    crescent_close(compiled);
    crescent_context_free(context);
}

/* ---- what is right ---- */

/* Returns the scale or zero point for element i of a step's operand; 0 if there is none. */
static float at(const struct step *s, const struct tensor *by, int i)
{
    const struct tensor *x = s->in[0];
    int index[RANK], place = 0;
    if (!by || count(by) == 1)
        return by ? by->numbers[0] : 0;
    for (int a = x->rank - 1; a >= 0; i /= (int)x->shape[a--])
        index[a] = i % (int)x->shape[a];
    if (!s->block)
        return by->numbers[index[s->axis]];
    for (int a = 0; a < x->rank; a++)
        place = place * (int)by->shape[a] + (a == s->axis ? index[a] / s->block : index[a]);
    return by->numbers[place];
}

static float saturated(float y, float zero, int type)
{
    return fminf(fmaxf(rintf(y) + zero, (float)lowest(type)), (float)highest(type));
}

static void check_quantized(const struct step *s)
{
    const struct tensor *x = s->in[0], *y = s->out[0];
    for (int i = 0; i < count(x); i++)
        ck_assert_float_eq(y->numbers[i], saturated(x->numbers[i] / at(s, s->in[1], i), at(s, s->in[2], i), y->type));
}

static void check_dequantized(const struct step *s)
{
    const struct tensor *x = s->in[0], *y = s->out[0];
    for (int i = 0; i < count(x); i++)
        ck_assert_float_eq(y->numbers[i], (x->numbers[i] - at(s, s->in[2], i)) * at(s, s->in[1], i));
}

static void check_dynamic(const struct step *s)
{
    const struct tensor *x = s->in[0], *y = s->out[0];
    float low = 0, high = 0, scale = s->out[1]->numbers[0], zero = s->out[2]->numbers[0];
    for (int i = 0; i < count(x); i++) {
        low = fminf(low, x->numbers[i]);
        high = fmaxf(high, x->numbers[i]);
    }
    ck_assert_float_eq(scale, high > low ? (high - low) / 255 : 1);
    ck_assert_float_eq(zero, saturated(-low / scale, 0, UINT8));
    for (int i = 0; i < count(x); i++)
        ck_assert_float_eq(y->numbers[i], saturated(x->numbers[i] / scale, zero, UINT8));
}

static void check_pool(const struct step *s)
{
    const struct tensor *x = s->in[0], *y = s->out[0];
    int channels = count(y), n = count(x) / channels;
    for (int i = 0; i < channels; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += pow(fabs((double)x->numbers[i * n + k]), s->p);
        double norm = pow(sum, 1 / s->p);
        ck_assert_double_eq_tol((double)y->numbers[i], norm, 1e-5 * norm + 1e-7);
    }
}

/* Returns the sum of products of row r of a and column j of b, each less its zero point. */
static int64_t product(const struct tensor *a, const struct tensor *b, const struct tensor *zero_a,
                       const struct tensor *zero_b, int r, int j)
{
    int size = (int)b->shape[0], columns = (int)b->shape[1], rows = (int)a->shape[a->rank - 2];
    float of_a = !zero_a ? 0 : zero_a->numbers[zero_a->rank ? r % rows : 0],
          of_b = !zero_b ? 0 : zero_b->numbers[zero_b->rank ? j : 0];
    int64_t sum = 0;
    for (int k = 0; k < size; k++)
        sum += (int64_t)(a->numbers[r * size + k] - of_a) * (int64_t)(b->numbers[k * columns + j] - of_b);
    return sum;
}

static void check_sums(const struct step *s)
{
    int columns = (int)s->in[1]->shape[1];
    for (int i = 0; i < count(s->out[0]); i++)
        ck_assert_int_eq(s->out[0]->sums[i],
                         product(s->in[0], s->in[1], s->in[2], s->in[3], i / columns, i % columns));
}

/* Checks element i of a quantised product, whose operands have the scales a and b.  ONNX does not fix the order in
 * which scales are multiplied, so near a half both neighbours are accepted. */
static void check_rounded(const struct step *s, int i, int64_t sum, float a, float b)
{
    double exact = (double)sum * ((double)a * (double)b / (double)s->in[6]->numbers[0]), slack = fabs(exact) * 1e-6;
    float zero = s->in[7]->numbers[0], y = s->out[0]->numbers[i];
    ck_assert_float_ge(y, saturated((float)rint(exact - slack), zero, s->out[0]->type));
    ck_assert_float_le(y, saturated((float)rint(exact + slack), zero, s->out[0]->type));
}

static void check_product(const struct step *s)
{
    int columns = (int)s->in[3]->shape[1];
    for (int i = 0; i < count(s->out[0]); i++) {
        int row = i / columns;
        check_rounded(s, i, product(s->in[0], s->in[3], s->in[2], s->in[5], row, i % columns),
                      s->in[1]->numbers[s->in[1]->rank ? row : 0], s->in[4]->numbers[0]);
    }
}

/* Returns element i of a convolution of x by w; both have zero points, w perhaps one for each channel. */
static int64_t convolved(const struct step *s, const struct tensor *w, const struct tensor *zero_x,
                         const struct tensor *zero_w, int i)
{
    const struct tensor *x = s->in[0], *y = s->out[0];
    int index[RANK], parts = (int)w->shape[1], k = count(w) / (int)w->shape[0];
    int64_t sum = 0;
    for (int a = y->rank - 1; a >= 0; i /= (int)y->shape[a--])
        index[a] = i % (int)y->shape[a];
    int group = index[1] / (int)(w->shape[0] / s->groups);
    for (int p = 0; p < k; p++) {
        int place = p, at[RANK], element = 0;
        for (int a = w->rank - 1; a > 0; place /= (int)w->shape[a--])
            at[a] = place % (int)w->shape[a] + (a == 1 ? group * parts : index[a]);
        at[0] = index[0];
        for (int a = 0; a < x->rank; a++)
            element = element * (int)x->shape[a] + at[a];
        sum += (int64_t)(x->numbers[element] - zero_x->numbers[0]) *
               (int64_t)(w->numbers[index[1] * k + p] - zero_w->numbers[zero_w->rank ? index[1] : 0]);
    }
    return sum;
}

static void check_convolved(const struct step *s)
{
    for (int i = 0; i < count(s->out[0]); i++)
        ck_assert_int_eq(s->out[0]->sums[i], convolved(s, s->in[1], s->in[2], s->in[3], i));
}

static void check_quantised_convolution(const struct step *s)
{
    const struct tensor *y = s->out[0], *scale = s->in[4];
    int channels = (int)y->shape[1], places = count(y) / (int)(y->shape[0] * y->shape[1]);
    for (int i = 0; i < count(y); i++)
        check_rounded(s, i, convolved(s, s->in[3], s->in[2], s->in[5], i), s->in[1]->numbers[0],
                      scale->numbers[scale->rank ? i / places % channels : 0]);
}

static void check(const struct step *s)
{
    static const struct {
        const char *op;
        void (*check)(const struct step *s);
    } checks[] = {{"QuantizeLinear", check_quantized}, {"DequantizeLinear", check_dequantized},
                  {"DynamicQuantizeLinear", check_dynamic}, {"GlobalLpPool", check_pool},
                  {"MatMulInteger", check_sums}, {"QLinearMatMul", check_product},
                  {"ConvInteger", check_convolved}, {"QLinearConv", check_quantised_convolution}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (strcmp(checks[i].op, s->op) == 0)
            checks[i].check(s);
}

START_TEST(gives_what_a_loop_gives)
{
    static struct chain c;
    for (int i = 0; i < CHAINS; i++) {
        make_chain(&c, (uint64_t)(_i * CHAINS + i));
        run(&c);
        for (int k = 0; k < c.n_steps; k++)
            check(&c.steps[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onnx_chains");
    TCase *chains = tcase_create("chains");
    tcase_add_checked_fixture(chains, make_folder, remove_folder);
    tcase_add_loop_test(chains, gives_what_a_loop_gives, 0, SEEDS);
    suite_add_tcase(suite, chains);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
