/*
 * test_formats.c - weights in every format of formats.def, and the rules that choose formats.
 *
 * What holds for each row of formats.def: a model gives the same bits from every backend,
 * instruction set and number of threads, close to what the interpreter computes, and no format
 * but f32 is learned through.  The same holds for each arithmetic of arithmetics.def.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"
#include "compiler/ir/program.h"
#include "tests/isas.h"

enum { B = 2, T = 8, WIDTH = 48, ELEMENTS = B * T * WIDTH };

static crescent_context *context;

static void begin(void)
{
    context = crescent_context_new();
}

static void end(void)
{
    crescent_context_free(context);
}

/* Returns the name of format i; null if weights cannot be kept in it. */
static const char *format_name(int i)
{
    return cr_formats[i].pack ? cr_formats[i].name : NULL;
}

static bool is_f32(int i)
{
    return i == CR_FORMAT_f32;
}

/* ---- models ---- */

/* Models with several weights in a panel, weights in both orientations, and rows that end inside a
 * block. */
static const char *const scripts[] = {"graphs/heads_block.lua", "graphs/gpt2_block.lua",
                                      "graphs/stream_block.lua"};

static const crescent_setting settings[] = {
    {"B", "2"}, {"T", "8"}, {"n_embd", "48"}, {"n_head", "3"}, {"d_ff", "52"}};

static crescent_graph *open_graph(const char *path)
{
    int last = strstr(path, "stream") ? 5 : 4;
    const crescent_script how = {.settings = settings, .n_settings = last};
    crescent_graph *graph;
    ck_assert_msg(crescent_graph_open(context, path, &how, &graph) == CRESCENT_OK, "%s",
                  crescent_error(context));
    return graph;
}

/* Runs a graph and writes its output to y; returns false if the machine lacks the instruction
 * set. */
static bool run(const crescent_graph *graph, const crescent_config *config, float *y)
{
    crescent_model *model;
    float x[ELEMENTS];
    if (crescent_compile(graph, config, &model) != CRESCENT_OK) {
        ck_assert_msg(config->isa && strstr(crescent_error(context), "not on this machine"), "%s",
                      crescent_error(context));
        return false;
    }
    ck_assert_int_eq(crescent_draw_weights(model, 5), CRESCENT_OK);
    ck_assert_int_eq(crescent_draw_input(model, 0, 5, x), CRESCENT_OK);
    ck_assert_msg(crescent_run(model, (const void *[]){x}, (void *[]){y}) == CRESCENT_OK, "%s",
                  crescent_error(context));
    crescent_close(model);
    return true;
}

static double distance(const float *a, const float *b)
{
    double most = 0;
    for (int i = 0; i < ELEMENTS; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* The ways after these call a C compiler: only the first script is run by them. */
enum { QUICK_WAYS = 6 };

static const crescent_config ways[] = {
    {.backend = CRESCENT_TCC, .isa = "plain"},  {.backend = CRESCENT_TCC, .isa = "avx2"},
    {.backend = CRESCENT_TCC, .isa = "avx512"}, {.backend = CRESCENT_TCC, .isa = "vnni"},
    {.backend = CRESCENT_TCC, .isa = "amx"},    {.backend = CRESCENT_TCC, .threads = 3},
    {.backend = CRESCENT_CC, .threads = 2},     {.backend = CRESCENT_STANDALONE},
};

START_TEST(bits_are_the_same)
{
    const char *name = format_name(_i / 3);
    static float first[ELEMENTS], y[ELEMENTS];
    if (!name)
        return;
    crescent_graph *graph = open_graph(scripts[_i % 3]);
    int n = _i % 3 ? QUICK_WAYS : (int)(sizeof ways / sizeof *ways);
    for (int w = 0; w < n; w++) {
        crescent_config config = ways[w];
        config.format = name;
        if (run(graph, &config, w ? y : first) && w)
            ck_assert_msg(memcmp(y, first, sizeof y) == 0, "%s: way %d", name, w);
    }
    crescent_graph_close(graph);
}
END_TEST

/* The interpreter, which rounds the weights to the format, is as close as for f32; with unrounded
 * weights it is not. */
START_TEST(interpreter_rounds_alike)
{
    const char *name = format_name(_i / 3);
    static float y[ELEMENTS], ref[ELEMENTS], exact[ELEMENTS];
    if (!name)
        return;
    crescent_graph *graph = open_graph(scripts[_i % 3]);
    run(graph, &(crescent_config){.format = name}, y);
    run(graph, &(crescent_config){.backend = CRESCENT_REF, .format = name}, ref);
    run(graph, &(crescent_config){.backend = CRESCENT_REF}, exact);
    ck_assert_double_le(distance(y, ref), 1e-5);
    ck_assert_double_le(distance(y, exact), is_f32(_i / 3) ? 1e-5 : 1);
    if (!is_f32(_i / 3))
        ck_assert_double_ge(distance(y, exact), 4 * distance(y, ref));
    crescent_graph_close(graph);
}
END_TEST

/* ---- arithmetics ---- */

/* Sets pair i of a format and an arithmetic; returns false if the format has no products in that
 * arithmetic, or it is f32's. */
static bool pair_of(int i, crescent_config *config)
{
    enum cr_format format = (enum cr_format)(i / CR_ARITHMETIC_COUNT);
    enum cr_arithmetic arithmetic = (enum cr_arithmetic)(i % CR_ARITHMETIC_COUNT);
    config->format = cr_formats[format].name;
    config->arithmetic = cr_arithmetics[arithmetic].name;
    return arithmetic != CR_ARITHMETIC_f32 &&
           cr_product_of(format, arithmetic) != CR_CALLEE_COUNT;
}

enum { PAIRS = (int)CR_FORMAT_COUNT * (int)CR_ARITHMETIC_COUNT };

START_TEST(bits_are_the_same_in_arithmetics)
{
    static float first[ELEMENTS], y[ELEMENTS];
    crescent_config config = {0};
    if (!pair_of(_i / 3, &config))
        return;
    crescent_graph *graph = open_graph(scripts[_i % 3]);
    int n = _i % 3 ? QUICK_WAYS : (int)(sizeof ways / sizeof *ways);
    for (int w = 0; w < n; w++) {
        crescent_config way = ways[w];
        way.format = config.format;
        way.arithmetic = config.arithmetic;
        if (run(graph, &way, w ? y : first) && w)
            ck_assert_msg(memcmp(y, first, sizeof y) == 0, "%s in %s: way %d", config.format,
                          config.arithmetic, w);
    }
    crescent_graph_close(graph);
}
END_TEST

/*
 * The interpreter rounds rows to the same integers as the compiled code, so the results are as close as
 * in f32.  The exception is an element so near to half-way between two integers that its float and its
 * double are rounded differently: then a product differs by one step of the row, 1/127 of the largest of
 * 32 numbers.  The result in f32 arithmetic differs by more.
 */
START_TEST(interpreter_rounds_rows_alike)
{
    static float y[ELEMENTS], ref[ELEMENTS], plain[ELEMENTS];
    crescent_config config = {0}, as_f32 = {0}, by_ref = {.backend = CRESCENT_REF};
    if (!pair_of(_i / 3, &config))
        return;
    crescent_graph *graph = open_graph(scripts[_i % 3]);
    as_f32.format = by_ref.format = config.format;
    by_ref.arithmetic = config.arithmetic;
    run(graph, &config, y);
    run(graph, &by_ref, ref);
    run(graph, &as_f32, plain);
    double near = distance(y, ref), far = distance(y, plain);
    ck_assert_msg(near <= 2e-3, "%s in %s: %g from the interpreter", config.format,
                  config.arithmetic, near);
    ck_assert_msg(far >= 1e-4 && far <= 0.2, "%s in %s: %g from f32", config.format,
                  config.arithmetic, far);
    crescent_graph_close(graph);
}
END_TEST

/* A row has the same bits alone and as one of 37. */
START_TEST(rows_do_not_depend_on_others)
{
    static const crescent_setting one[] = {{"B", "1"}, {"T", "1"}, {"n_embd", "48"},
                                           {"n_head", "3"}};
    static const crescent_setting many[] = {{"B", "37"}, {"T", "1"}, {"n_embd", "48"},
                                            {"n_head", "3"}};
    crescent_config config = {0};
    float x[37 * WIDTH], y[37 * WIDTH], row[WIDTH];
    crescent_model *models[2];
    if (!pair_of(_i, &config))
        return;
    for (int i = 0; i < 2; i++) {
        const crescent_script how = {.settings = i ? many : one, .n_settings = 4};
        crescent_graph *graph;
        ck_assert_int_eq(crescent_graph_open(context, scripts[1], &how, &graph), CRESCENT_OK);
        ck_assert_int_eq(crescent_compile(graph, &config, &models[i]), CRESCENT_OK);
        ck_assert_int_eq(crescent_draw_weights(models[i], 5), CRESCENT_OK);
        crescent_graph_close(graph);
    }
    ck_assert_int_eq(crescent_draw_input(models[1], 0, 5, x), CRESCENT_OK);
    ck_assert_int_eq(crescent_run(models[1], (const void *[]){x}, (void *[]){y}), CRESCENT_OK);
    for (int i = 0; i < 37; i++) {
        ck_assert_int_eq(crescent_run(models[0], (const void *[]){x + i * WIDTH}, (void *[]){row}),
                         CRESCENT_OK);
        ck_assert_mem_eq(row, y + i * WIDTH, sizeof row);
    }
    crescent_close(models[0]);
    crescent_close(models[1]);
}
END_TEST

/* Formats and arithmetics, and the expected error; null: accepted. */
static const struct {
    const char *format, *arithmetic, *error;
} choices[] = {
    {NULL, "f32", NULL},
    {"q8", "int8", NULL},
    {"q4", "f32,mlp.*=int8", NULL},
    {"q8,mlp.*=f32", "int8", NULL},
    {"q8,mlp.*=f32", "int8,mlp.*=f32", NULL},
    {"f32", "int8",
     "graphs/gpt2_block.lua: --arithmetic int8: no weight is kept in a format that has products in "
     "int8"},
    {"f16", "int8", "no weight is kept in a format that has products in int8"},
    {"q8,mlp.*=f32", "mlp.*=int8", "--arithmetic mlp.*=int8: no weight of such a name is kept in"},
    {"q8", "int9", "--arithmetic: 'int9' is no arithmetic, expected one of f32, int8, bf16"},
    {"bf16", "bf16", NULL},
    {"bf16,mlp.*=q8", "bf16,mlp.*=int8", NULL},
    {"q8", "bf16", "no weight is kept in a format that has products in bf16, expected bf16"},
    {"q8", "int8,", "--arithmetic: '' is no arithmetic"},
    {"q8", "x.*=int8", "--arithmetic x.*=int8: no parameter has such a name"},
    {"q8", "=int8", "--arithmetic =int8: expected NAME or GLOB=NAME"},
};

START_TEST(arithmetics_are_read)
{
    const crescent_config config = {.format = choices[_i].format,
                                    .arithmetic = choices[_i].arithmetic};
    const char *error = choices[_i].error;
    crescent_graph *graph = open_graph("graphs/gpt2_block.lua");
    crescent_model *model;
    int status = crescent_compile(graph, &config, &model);
    ck_assert_msg(status == (error ? CRESCENT_FAILED : CRESCENT_OK), "%s",
                  status ? crescent_error(context) : "compiled");
    if (error)
        ck_assert_msg(strstr(crescent_error(context), error) != NULL, "%s",
                      crescent_error(context));
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* A comment in emitted C names the format of a product's weights and its arithmetic. */
START_TEST(comments_say_the_arithmetic)
{
    const crescent_config config = {.format = "q8,mlp.*=f16", .arithmetic = "int8"};
    crescent_graph *graph = open_graph("graphs/gpt2_block.lua");
    char *texts[2];
    ck_assert_int_eq(
        crescent_emit_text(graph, &config, CRESCENT_EMIT_RUN, "a.h", &texts[0], &texts[1]),
        CRESCENT_OK);
    ck_assert_ptr_nonnull(strstr(texts[0], "weights in q8, products in int8"));
    ck_assert_ptr_null(strstr(texts[0], "columns in q8"));
    ck_assert_ptr_nonnull(strstr(texts[0], "weights in f16, products in f32"));
    crescent_free(texts[0]);
    crescent_free(texts[1]);
    crescent_graph_close(graph);
}
END_TEST

/* ---- weights that were rounded before ---- */

/* Returns the value of the nearest f16, ties to even, computed in doubles. */
static float nearest_f16(float x)
{
    int exponent;
    if (!isfinite(x))
        return x;
    frexp(x, &exponent); /* a number of f16 has 11 bits, but no bit below 2^-24 */
    double unit = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
    double rounded = nearbyint(x / unit) * unit;
    return fabs(rounded) > 65504 ? copysignf(INFINITY, x) : (float)rounded;
}

/* Returns the value of the nearest bf16, which has 8 bits and none below 2^-133. */
static float nearest_bf16(float x)
{
    int exponent;
    if (!isfinite(x))
        return x;
    frexp(x, &exponent);
    double unit = ldexp(1, exponent - 8 < -133 ? -133 : exponent - 8);
    return (float)(nearbyint(x / unit) * unit); /* 2^128 and more become infinite */
}

static const struct {
    const char *name;
    float (*nearest)(float);
} exact_formats[] = {{"bf16", nearest_bf16}, {"f16", nearest_f16}};

/* Models with a head of its own, a head tied to the embedding, weights stored as [out, in], odd
 * widths, a vocabulary that ends inside a panel, and a gather in the prologue of a product. */
static const struct {
    const char *path;
    crescent_setting settings[6];
} models[] = {
    {"graphs/gpt2.lua",
     {{"n_layer", "2"}, {"n_embd", "36"}, {"n_head", "4"}, {"vocab_size", "71"}, {"T", "9"}}},
    {"graphs/gpt2.lua",
     {{"n_layer", "1"}, {"n_embd", "33"}, {"n_head", "1"}, {"vocab_size", "50"}, {"T", "5"},
      {"tie_word_embeddings", "false"}}},
    {"graphs/llama.lua", {{"num_hidden_layers", "2"}, {"T", "7"}, {"B", "2"}}},
};

static const char *const gathered[] = {
    "local ids = input('ids', {3, 5}, 'i32')\n"
    "local x = gather(param('table', {45, 51}), ids)\n"
    "local w, v = param('w', {51, 37}), param('v', {19, 51})\n"
    "return {y = matmul(x * x, w), z = matmul(x, transpose(v, 1, 2))}\n",
    /* gathered rows that are reshaped to heads */
    "local x = gather(param('table', {45, 52}), input('ids', {3, 5}, 'i32'))\n"
    "local h = reshape(x, {3, 5, 4, 13})\n"
    "return {y = h * rsqrt(sum(h ^ 2, 4) + 0.1)}\n",
};

enum { N_MODELS = sizeof models / sizeof *models + sizeof gathered / sizeof *gathered };

static crescent_graph *open_model(int i)
{
    crescent_graph *graph;
    int n = 0, status;
    if (i >= (int)(sizeof models / sizeof *models)) {
        const char *text = gathered[i - (int)(sizeof models / sizeof *models)];
        status = crescent_graph_open_text(context, "gathered.lua", text, strlen(text), NULL, &graph);
    } else {
        while (n < 6 && models[i].settings[n].key)
            n++;
        const crescent_script how = {.settings = models[i].settings, .n_settings = n};
        status = crescent_graph_open(context, models[i].path, &how, &graph);
    }
    ck_assert_msg(status == CRESCENT_OK, "%s", crescent_error(context));
    return graph;
}

/* Returns a weight of any magnitude: some overflow in f16, some are denormal. */
static float weight(int param, int64_t i)
{
    double x = sin((double)i * 0.7 + param);
    return (float)(i % 97 == 5 ? x * 1e-6 : i % 89 == 7 ? x * 1e-40 : x / 8);
}

/* Sets all parameters; parameters in the format are rounded to it if `nearest` is given. */
static void set_weights(crescent_model *model, const crescent_model *like, const char *name,
                        float (*nearest)(float))
{
    crescent_port port, kept;
    for (int p = 0; !crescent_port_at(model, CRESCENT_PARAM, p, &port); p++) {
        int64_t n = crescent_port_elements(&port);
        float *w = calloc((size_t)n, sizeof *w);
        crescent_port_at(like, CRESCENT_PARAM, p, &kept);
        for (int64_t i = 0; i < n; i++) {
            w[i] = weight(p, i);
            if (nearest && strcmp(kept.format, name) == 0)
                w[i] = nearest(w[i]);
        }
        ck_assert_int_eq(crescent_set_weight(model, p, w), CRESCENT_OK);
        free(w);
    }
}

/* Runs a model of ids; returns all its outputs, concatenated. */
static float *run_ids(crescent_model *model, int64_t *n)
{
    int32_t ids[64];
    void *outputs[4];
    crescent_port port;
    float *y;
    *n = 0;
    for (int i = 0; !crescent_port_at(model, CRESCENT_OUTPUT, i, &port); i++)
        *n += crescent_port_elements(&port);
    y = calloc((size_t)*n, sizeof *y);
    float *at = y;
    for (int i = 0; !crescent_port_at(model, CRESCENT_OUTPUT, i, &port); i++) {
        outputs[i] = at;
        at += crescent_port_elements(&port);
    }
    crescent_port_at(model, CRESCENT_INPUT, 0, &port);
    for (int i = 0; i < 64; i++)
        ids[i] = (i * 31 + 7) % (int)port.ids;
    ck_assert_msg(crescent_run(model, (const void *[]){ids}, outputs) == CRESCENT_OK, "%s",
                  crescent_error(context));
    return y;
}

/* Checks that matrices and tables are kept in the format, and vectors and positions are not. */
static void check_kept(const crescent_model *model, const char *name)
{
    crescent_port port;
    for (int p = 0; !crescent_port_at(model, CRESCENT_PARAM, p, &port); p++) {
        bool matrix = port.rank == 2 && !strstr(port.name, "wpe");
        ck_assert_msg(strcmp(port.format, matrix ? name : "f32") == 0, "%s is kept in %s",
                      port.name, port.format);
    }
}

/* A model in a format gives the bits of an f32 model whose weights were rounded beforehand. */
START_TEST(rounded_before_or_when_packed)
{
    int which = _i / 2, format = _i % 2;
    const char *name = exact_formats[format].name;
    crescent_graph *graph = open_model(which);
    crescent_model *first, *model;
    int64_t n, m;
    ck_assert_int_eq(crescent_compile(graph, &(crescent_config){.format = name}, &first), 0);
    check_kept(first, name);
    ck_assert_int_eq(crescent_compile(graph, NULL, &model), 0);
    set_weights(model, first, name, exact_formats[format].nearest);
    float *expected = run_ids(model, &n);
    crescent_close(model);
    for (int w = 0; w < (which ? QUICK_WAYS : (int)(sizeof ways / sizeof *ways)); w++) {
        crescent_config config = ways[w];
        config.format = name;
        if (crescent_compile(graph, &config, &model) != CRESCENT_OK)
            continue; /* the machine lacks the instruction set */
        set_weights(model, first, name, NULL);
        float *y = run_ids(model, &m);
        ck_assert_int_eq(m, n);
        ck_assert_msg(crescent_same_bits(y, expected, n), "%s: model %d, way %d", name, which, w);
        free(y);
        crescent_close(model);
    }
    free(expected);
    crescent_close(first);
    crescent_graph_close(graph);
}
END_TEST

/* A gather of rows wider than a tile: rows of floats are cut, but blocks of a format are not. */
START_TEST(wide_rows_are_gathered)
{
    static const char text[] = "local ids = input('ids', {64}, 'i32')\n"
                               "return {y = gather(param('w', {8, 4160}), ids) * 2}";
    const char *name = format_name(_i);
    int64_t n, m;
    crescent_graph *graph;
    crescent_model *ref, *model;
    if (!name)
        return;
    ck_assert_int_eq(
        crescent_graph_open_text(context, "wide.lua", text, sizeof text - 1, NULL, &graph), 0);
    const crescent_config exact = {.backend = CRESCENT_REF, .format = name};
    ck_assert_int_eq(crescent_compile(graph, &exact, &ref), 0);
    ck_assert_msg(crescent_compile(graph, &(crescent_config){.format = name}, &model) == 0, "%s",
                  crescent_error(context));
    crescent_draw_weights(ref, 1);
    crescent_draw_weights(model, 1);
    float *expected = run_ids(ref, &n), *y = run_ids(model, &m);
    ck_assert_int_eq(n, m);
    ck_assert_msg(crescent_same_bits(y, expected, n), "%s", name);
    free(y);
    free(expected);
    crescent_close(ref);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* ---- what is learned ---- */

/* Gradients, trainers and emitted steps take weights in f32 only. */
START_TEST(only_f32_is_learned)
{
    const char *name = format_name(_i);
    const crescent_config config = {.format = name};
    int expected = is_f32(_i) ? CRESCENT_OK : CRESCENT_FAILED;
    crescent_model *model;
    crescent_trainer *trainer;
    char *texts[2];
    if (!name)
        return;
    crescent_graph *graph = open_graph(scripts[0]);
    ck_assert_int_eq(crescent_graph_gradients(graph, NULL, 0), CRESCENT_OK);
    ck_assert_int_eq(crescent_compile(graph, &config, &model), expected);
    ck_assert_ptr_nonnull(expected ? strstr(crescent_error(context), "there are gradients") : "");
    crescent_close(model);
    crescent_graph_close(graph);
    ck_assert_int_eq(crescent_graph_open(context, "graphs/train_add.lua", NULL, &graph), 0);
    ck_assert_int_eq(crescent_trainer_open(graph, &config, &trainer), expected);
    ck_assert_int_eq(
        crescent_emit_text(graph, &config, CRESCENT_EMIT_STEP, "a.h", &texts[0], &texts[1]),
        expected);
    for (int i = 0; !expected && i < 2; i++)
        crescent_free(texts[i]);
    crescent_trainer_close(trainer);
    crescent_graph_close(graph);
}
END_TEST

/* In a step without gradients, parameters that the step replaces cannot have a rounded format, either. */
START_TEST(what_is_replaced_stays_f32)
{
    static const char text[] =
        "local x, w = input(\"x\", {4, 48}), param(\"w\", {48, 48})\n"
        "return {loss = sum(sum(matmul(x, w), 1), 2), w = input(\"g\", {48, 48})}\n";
    const char *name = format_name(_i);
    const crescent_config config = {.format = name};
    int expected = is_f32(_i) ? CRESCENT_OK : CRESCENT_FAILED;
    crescent_graph *graph;
    crescent_trainer *trainer;
    char *texts[2];
    if (!name)
        return;
    ck_assert_msg(crescent_graph_open_text(context, "step.lua", text, sizeof text - 1, NULL,
                                           &graph) == CRESCENT_OK,
                  "%s", crescent_error(context));
    ck_assert_int_eq(crescent_trainer_open(graph, &config, &trainer), expected);
    ck_assert_ptr_nonnull(expected ? strstr(crescent_error(context), "training replaces it") : "");
    ck_assert_int_eq(
        crescent_emit_text(graph, &config, CRESCENT_EMIT_STEP, "a.h", &texts[0], &texts[1]),
        expected);
    for (int i = 0; !expected && i < 2; i++)
        crescent_free(texts[i]);
    crescent_trainer_close(trainer);
    crescent_graph_close(graph);
}
END_TEST

/* A length can end inside a block of k, whose scale would depend on elements that do not exist, so such a
 * weight stays f32.  Blocks do not extend along columns. */
START_TEST(blocks_are_not_cut)
{
    static const char text[] =
        "local T = length(\"T\", 96)\n"
        "local x, w, v = input(\"x\", {3, T}), param(\"w\", {96, 8}), param(\"v\", {8, 96})\n"
        "return {y = matmul(matmul(x, w), v):narrow(1, 2) + const(0, {2, T})}\n";
    const char *name = format_name(_i);
    char rules[64];
    crescent_graph *graph;
    crescent_model *model;
    if (!name)
        return;
    ck_assert_msg(crescent_graph_open_text(context, "cut.lua", text, sizeof text - 1, NULL,
                                           &graph) == CRESCENT_OK,
                  "%s", crescent_error(context));
    crescent_config config = {.format = name};
    int expected = cr_formats[_i].block == 1 ? CRESCENT_OK : CRESCENT_FAILED;
    ck_assert_int_eq(crescent_compile(graph, &config, &model), expected);
    if (expected) {
        snprintf(rules, sizeof rules, "w is to be kept in %s, in blocks that the length T", name);
        ck_assert_ptr_nonnull(strstr(crescent_error(context), rules));
    }
    crescent_close(model);
    snprintf(rules, sizeof rules, "%s,w=f32", name);
    config.format = rules;
    ck_assert_msg(crescent_compile(graph, &config, &model) == CRESCENT_OK, "%s", crescent_error(context));
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* ---- rules ---- */

/* Rules of names and formats, and the expected error; null: accepted. */
static const struct {
    const char *rules, *error;
} rules[] = {
    {NULL, NULL},
    {"f32", NULL},
    {"*=f32", NULL},
    {"F32,attn.*=BF16", NULL},
    {"f32,attn.*=f32", NULL},
    {"mlp.c_f?.weight=f32", NULL},
    {"*.c_*.*t=f32,ln_1.bias=f32", NULL},
    {"float",
     "graphs/gpt2_block.lua: --format: 'float' is no format of weights, expected one of f32"},
    {"i32", "'i32' is no format of weights, expected one of f32"},
    {"", "'' is no format of weights"},
    {"f32,", "'' is no format of weights"},
    {"attn.*=", "'' is no format of weights"},
    {"attn.*=f3", "'f3' is no format of weights"},
    {"=f32", "--format =f32: expected NAME or GLOB=NAME"},
    {"f32,=f32,x", "--format =f32: expected NAME or GLOB=NAME"},
    {"attn=f32", "--format attn=f32: no parameter has such a name"},
    {"attn.?=f32", "--format attn.?=f32: no parameter has such a name"},
    {"f32,*.weigh=f32", "--format *.weigh=f32: no parameter has such a name"},
    {"a=b=f32", "--format a=b=f32: no parameter has such a name"},
};

START_TEST(rules_are_read)
{
    const crescent_config config = {.format = rules[_i].rules};
    crescent_graph *graph = open_graph("graphs/gpt2_block.lua");
    crescent_model *model;
    char *text = NULL;
    int status = crescent_compile(graph, &config, &model);
    ck_assert_int_eq(status, rules[_i].error ? CRESCENT_FAILED : CRESCENT_OK);
    if (rules[_i].error)
        ck_assert_msg(strstr(crescent_error(context), rules[_i].error) != NULL, "%s",
                      crescent_error(context));
    ck_assert_int_eq(crescent_dump(graph, &config, "schedule", &text), status);
    crescent_free(text);
    crescent_close(model);
    crescent_graph_close(graph);
}
END_TEST

/* A pattern of the greatest length is accepted, and one longer by a character is refused. */
START_TEST(globs_have_a_length)
{
    crescent_graph *graph = open_graph("graphs/gpt2_block.lua");
    crescent_model *model;
    char text[300];
    for (int more = 0; more < 2; more++) {
        memset(text, '*', sizeof text);
        snprintf(text + 255 + more, sizeof text - 256, "=f32");
        ck_assert_int_eq(crescent_compile(graph, &(crescent_config){.format = text}, &model),
                         more ? CRESCENT_FAILED : CRESCENT_OK);
        crescent_close(model);
    }
    crescent_graph_close(graph);
}
END_TEST

int main(void)
{
    report_missing_isas("test_formats");
    Suite *suite = suite_create("formats");
    TCase *tests = tcase_create("formats"), *tables = tcase_create("tables");
    SRunner *runner = srunner_create(suite);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, bits_are_the_same, 0, 3 * CR_FORMAT_COUNT);
    tcase_add_loop_test(tests, interpreter_rounds_alike, 0, 3 * CR_FORMAT_COUNT);
    tcase_add_loop_test(tests, bits_are_the_same_in_arithmetics, 0, 3 * PAIRS);
    tcase_add_loop_test(tests, interpreter_rounds_rows_alike, 0, 3 * PAIRS);
    tcase_add_loop_test(tests, rows_do_not_depend_on_others, 0, PAIRS);
    tcase_add_loop_test(tests, arithmetics_are_read, 0, (int)(sizeof choices / sizeof *choices));
    tcase_add_test(tests, comments_say_the_arithmetic);
    tcase_add_loop_test(tests, rounded_before_or_when_packed, 0,
                        2 * N_MODELS);
    tcase_add_loop_test(tests, only_f32_is_learned, 0, CR_FORMAT_COUNT);
    tcase_add_loop_test(tests, what_is_replaced_stays_f32, 0, CR_FORMAT_COUNT);
    tcase_add_loop_test(tests, rules_are_read, 0, (int)(sizeof rules / sizeof *rules));
    tcase_add_test(tests, globs_have_a_length);
    tcase_add_checked_fixture(tables, begin, end);
    tcase_add_loop_test(tables, blocks_are_not_cut, 0, CR_FORMAT_COUNT);
    tcase_add_loop_test(tables, wide_rows_are_gathered, 0, CR_FORMAT_COUNT);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, tables);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
