/*
 * test_incremental.c - incremental models, which keep earlier tokens in states: whatever chunks the
 * tokens come in, each token gets the bits that the model of all tokens at once gives it; and
 * models that look at later tokens are refused.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
enum { MAX_SETTINGS = 12, CONTEXT = 40 };

/* ---- models ---- */

/* Whole models, made small. */
static const struct family {
    const char *path;
    const char *settings[MAX_SETTINGS]; /* settings "key=value"; T is 40 unless it is the first */
} families[] = {
    {"graphs/gpt2.lua", {"n_layer=2", "n_embd=32", "n_head=4", "vocab_size=50", "B=2"}},
    {"graphs/gpt2.lua",
     {"n_layer=3", "n_embd=32", "n_head=1", "vocab_size=7", "tie_word_embeddings=false"}},
    {"graphs/llama.lua", {"num_key_value_heads=2", "B=2"}},
    {"graphs/llama.lua",
     {"num_key_value_heads=1", "rope_type=llama3", "rope_factor=8",
      "rope_original_max_position_embeddings=16"}},
    {"graphs/mistral.lua", {"sliding_window=9"}},
    {"graphs/qwen2.lua", {"num_key_value_heads=4", "B=2"}},
    {"graphs/qwen3.lua", {"num_key_value_heads=4", "head_dim=16"}},
    {"graphs/gemma2.lua", {"sliding_window=7", "head_dim=16", "B=2"}},
    {"graphs/gpt_neox.lua", {"B=2"}},
    {"graphs/phi.lua", {"partial_rotary_factor=0.5"}},
};

/* Families with enough tokens for several blocks of rows in attention. */
static const struct family long_ones[] = {
    {"graphs/gpt2.lua", {"T=700", "n_layer=2", "n_embd=32", "n_head=4", "vocab_size=50", "B=2"}},
    {"graphs/gpt2.lua", {"T=700", "n_layer=2", "n_embd=64", "n_head=2", "vocab_size=50"}},
    {"graphs/llama.lua", {"T=700", "num_key_value_heads=2"}},
};
static const char *const formats[] = {"bf16", "f16"};

/* A model whose layer is a function of the script: `mix` returns [B, T, C], from H heads of size
 * d. */
static const char frame[] =
    "local nn = require 'nn'\n"
    "local o = options {T = 40, B = 1}\n"
    "local B, T, H, d, V = o.B, o.T, 2, 8, 11\n"
    "local C = H * d\n"
    "local ids = input('ids', {B, T}, 'i32')\n"
    "local x = scope('wte', nn.embedding, ids, V, C, 1)\n"
    "local function heads(name)\n"
    "    return transpose(reshape(scope(name, nn.linear, x, C), {B, T, H, d}), 2, 3)\n"
    "end\n"
    "local function merged(y) return reshape(transpose(y, 2, 3), {B, T, C}) end\n"
    "local function query(shape) return iota(shape or {T, T}, 1) end\n"
    "local function key(shape) return iota(shape or {T, T}, 2) end\n"
    "local function attend(scores) return merged(matmul(nn.softmax(scores), heads 'v')) end\n"
    "local function scores() return matmul(heads 'q', transpose(heads 'k', 3, 4)) * d ^ -0.5 end\n"
    "local mix\n"
    "%s\n"
    "x = x + mix()\n"
    "return {logits = scope('head', nn.linear, x, V)}\n";

/* Definitions of `mix` that the incremental form accepts: a token reads only itself and earlier
 * ones. */
static const char *const spellings[] = {
    "mix = function() return attend(where(le(key(), query()), scores(), -math.huge)) end",
    "mix = function() return attend(where(ge(query() - key(), 0), scores(), -math.huge)) end",
    "mix = function() return attend(where(logical_not(gt(key(), query())), scores(), -math.huge)) "
    "end",
    "mix = function() return attend(where(logical_and(lt(abs(query() - key()), 5), le(key(), "
    "query())),\n"
    "    scores(), -math.huge)) end",
    "mix = function() return attend(scores() + where(gt(key(), query()), -math.huge, 0.0)) end",
    /* a slice of a larger mask */
    "mix = function()\n"
    "    local t = {}\n"
    "    for i = 1, 64 do t[i] = {}; for j = 1, 64 do t[i][j] = j <= i end end\n"
    "    local seen = slice(const(t, {64, 64}, 'bool'), {0, 0}, {T, T})\n"
    "    return attend(where(seen, scores(), -math.huge))\n"
    "end",
    "mix = function()\n"
    "    local all = le(key {64, 64}, query {64, 64})\n"
    "    return attend(where(slice(all, {5, 5}, {T, T}), scores(), -math.huge))\n"
    "end",
    /* scores are scaled after the mask is added */
    "mix = function()\n"
    "    local s = matmul(heads 'q', transpose(heads 'k', 3, 4))\n"
    "    return attend((s + where(le(key(), query()), 0, -math.huge)) / 3)\n"
    "end",
    "mix = function() return attend((scores() + where(le(key(), query()), 0, -3e38)) * 0.3) end",
    /* a sink beside the scores, behind them or before */
    "mix = function()\n"
    "    local s = where(le(key(), query()), scores(), -math.huge)\n"
    "    local sink = expand(param('sink', {H, 1, 1}, {normal = 1}), {B, H, T, 1})\n"
    "    local p = nn.softmax(concat({s, sink}, 4))\n"
    "    return merged(matmul(slice(p, {0, 0, 0, 0}, {B, H, T, T}), heads 'v'))\n"
    "end",
    "mix = function()\n"
    "    local s = where(le(key(), query()), scores(), -math.huge)\n"
    "    local p = nn.softmax(concat({const(0, {B, H, T, 1}), s}, 4))\n"
    "    return merged(matmul(narrow(p, 4, 1), heads 'v'))\n"
    "end",
    /* GPT-2's mask: w b - 1e10 (1 - b) */
    "mix = function() local b = float(le(key(), query())); return attend(scores() * b - 1e10 * (1 "
    "- b)) end",
    /* a mask of ids replaces hidden scores by a number; each token sees itself */
    "mix = function()\n"
    "    local there = reshape(logical_and(ne(ids, 1), lt(ids, 9)), {B, 1, 1, T})\n"
    "    local sees = logical_and(le(key(), query()), logical_or(there, eq(key(), query())))\n"
    "    return attend(where(sees, scores(), -1e9))\n"
    "end",
    /* later tokens get -inf, other keys that a mask of ids hides get a large negative number */
    "mix = function()\n"
    "    local there = reshape(ne(ids, 1), {B, 1, 1, T})\n"
    "    local s = scores() + where(there, 0, -1e9)\n"
    "    return attend(where(le(key(), query()), s, -math.huge))\n"
    "end",
    /* a table of constants of the script */
    "mix = function()\n"
    "    local t = {}\n"
    "    for i = 1, T do t[i] = {}; for j = 1, T do t[i][j] = j <= i and 0 or -math.huge end end\n"
    "    return attend(scores() + const(t))\n"
    "end",
    "mix = function()\n"
    "    local t = {}\n"
    "    for i = 1, T do t[i] = {}; for j = 1, T do t[i][j] = j <= i and (i + j) % 3 ~= 1 end; "
    "t[i][i] = true end\n"
    "    return attend(where(const(t, {T, T}, 'bool'), scores(), -math.huge))\n"
    "end",
    /* no softmax */
    "mix = function() return merged(matmul(where(le(key(), query()), sigmoid(scores()), 0.0), "
    "heads 'v')) end",
    "mix = function() return merged(matmul(maximum(where(le(key(), query()), scores(), "
    "-math.huge), 0.0),\n"
    "    heads 'v')) end",
    /* scores [key, query] */
    "mix = function()\n"
    "    local s = matmul(heads 'k', transpose(heads 'q', 3, 4)) * d ^ -0.5\n"
    "    s = where(le(iota({T, T}, 1), iota({T, T}, 2)), s, -math.huge)\n"
    "    local e = exp(s - max(s, 3))\n"
    "    return merged(matmul(transpose(e / sum(e, 3), 3, 4), heads 'v'))\n"
    "end",
    /* tables of positions: a bias for each distance, a bias for each key, learned positions */
    "mix = function()\n"
    "    local bias = gather(param('bias', {8, H}, {normal = 1}), minimum(maximum(query() - key(), "
    "0), 7))\n"
    "    return attend(where(le(key(), query()), scores() + permute(bias, {3, 1, 2}), "
    "-math.huge))\n"
    "end",
    "mix = function()\n"
    "    local slope = reshape(const({0.5, 0.25}), {H, 1, 1})\n"
    "    return attend(where(le(key(), query()), scores() - slope * float(query() - key()), "
    "-math.huge))\n"
    "end",
    "mix = function()\n"
    "    x = x + slice(param('wpe', {64, C}, {normal = 1}), {0, 0}, {T, C})\n"
    "    return attend(where(le(key(), query()), scores(), -math.huge))\n"
    "end",
    "mix = function()\n"
    "    x = x + slice(param('wpe', {64, C}, {normal = 1}), {3, 0}, {T, C})\n"
    "    local t = {}\n"
    "    for i = 1, T do t[i] = math.sin(i) end\n"
    "    x = x * reshape(const(t), {T, 1})\n"
    "    return attend(where(le(key(), query()), scores(), -math.huge))\n"
    "end",
    /* a mask by ids: tokens see only tokens of the same parity */
    "mix = function()\n"
    "    local a, b = reshape(ids % 2, {B, 1, T, 1}), reshape(ids % 2, {B, 1, 1, T})\n"
    "    local same = eq(a + 0 * query({B, 1, T, T}), b)\n"
    "    return attend(where(logical_and(le(key(), query()), same), scores(), -math.huge))\n"
    "end",
    /* mixing scores of heads by a matrix (talking heads) */
    "mix = function()\n"
    "    local p = nn.softmax(where(le(key(), query()), scores(), -math.huge))\n"
    "    local mixed = matmul(permute(p, {1, 3, 4, 2}), param('talk', {H, H}, {normal = 1}))\n"
    "    return merged(matmul(permute(mixed, {1, 4, 2, 3}), heads 'v'))\n"
    "end",
    /* rotation of adjacent pairs, followed by a norm of each head's row */
    "mix = function()\n"
    "    local w = float(iota({T, d / 2}, 1)) * 0.37 ^ float(iota({T, d / 2}, 2))\n"
    "    local function turned(x)\n"
    "        local y = reshape(x, {B, H, T, d / 2, 2})\n"
    "        local a, b = reshape(narrow(y, 5, 0, 1), {B, H, T, d / 2}), reshape(narrow(y, 5, 1, 1), "
    "{B, H, T, d / 2})\n"
    "        local c, e = a * cos(w) - b * sin(w), a * sin(w) + b * cos(w)\n"
    "        c, e = reshape(c, {B, H, T, d / 2, 1}), reshape(e, {B, H, T, d / 2, 1})\n"
    "        y = reshape(concat({c, e}, 5), {B, H, T, d})\n"
    "        return y * rsqrt(sum(y ^ 2, 4) / d + 1e-5)\n"
    "    end\n"
    "    local s = matmul(turned(heads 'q'), transpose(turned(heads 'k'), 3, 4)) * 0.3\n"
    "    return attend(where(le(key(), query()), s, -math.huge))\n"
    "end",
    /* keys without a bias, queries and values with one */
    "mix = function()\n"
    "    local k = reshape(matmul(x, param('k', {C, C}, {normal = 0.3})), {B, T, H, d})\n"
    "    local s = matmul(heads 'q', permute(k, {1, 3, 4, 2})) * 0.3\n"
    "    return attend(where(le(key(), query()), s, -math.huge))\n"
    "end",
    /* keys and values that all heads share */
    "mix = function()\n"
    "    local k, v = scope('k', nn.linear, x, d), scope('v', nn.linear, x, d)\n"
    "    local s = matmul(heads 'q', transpose(reshape(k, {B, 1, T, d}), 3, 4)) * d ^ -0.5\n"
    "    local p = nn.softmax(where(le(key(), query()), s, -math.huge))\n"
    "    return merged(matmul(p, reshape(v, {B, 1, T, d})))\n"
    "end",
    /* the same scores computed twice */
    "mix = function() return attend(where(gt(key(), query()), -math.huge,\n"
    "    where(lt(query() - key(), 7), scores(), scores() * 0.5))) end",
    /* ops along an axis other than tokens: on each token's elements, or on a head of each token */
    "mix = function() return x * gather(x, argmax(x, -1, true), 3) end",
    "mix = function()\n"
    "    local own = reshape(ids, {B, T, 1}) + 3 * iota({B, T, 3}, 3) - 1\n"
    "    local some = gather(x, remainder(own, C), 3)\n"
    "    local head = gather(heads 'a', expand(reshape(ids % H, {B, 1, T, 1}), {B, 1, T, d}), 2)\n"
    "    return concat({some, reshape(head, {B, T, d}), const(1, {B, T, C - d - 3})}, 3)\n"
    "end",
    /* no attention at all */
    "mix = function() return nn.layer_norm(x, {}) end",
    /* no token sees another: x times the number of the position */
    "mix = function() return x * float(iota({B, T, C}, 2)) end",
};

/* ---- running ---- */

struct side {
    crescent_graph *graph;
    crescent_model *model;
};

static void expect(crescent_context *context, int status)
{
    ck_assert_msg(status == CRESCENT_OK, "%s", crescent_error(context));
}

/* The format in which weights are kept; null: f32. */
static const char *format;

static void compile(crescent_context *context, struct side *side, crescent_backend backend,
                    int threads, const char *isa)
{
    const crescent_config config = {
        .backend = backend, .threads = threads, .isa = isa, .format = format};
    expect(context, crescent_compile(side->graph, &config, &side->model));
    expect(context, crescent_draw_weights(side->model, 5));
}

static void close_side(struct side *side)
{
    crescent_close(side->model);
    crescent_graph_close(side->graph);
}

/* Returns the number of tokens of a step, at most `chunk` and `left`. */
static int tokens_at(int plan, int step, int chunk, int left)
{
    int n = plan == 0   ? chunk
            : plan == 1 ? 1
            : plan == 2 ? 1 + (step * 7 + 3) % chunk
                        : 1 + (step * 171 + 199) % chunk;
    return n < left ? n : left;
}

/* Runs a model on the n tokens of one step. */
static void run_tokens(crescent_context *context, struct side *side, const int32_t *ids, int32_t n,
                       float *logits)
{
    const void *inputs[2] = {NULL, NULL};
    inputs[crescent_port_find(side->model, CRESCENT_INPUT, "ids")] = ids;
    inputs[crescent_port_find(side->model, CRESCENT_INPUT, "n")] = &n;
    expect(context, crescent_run(side->model, inputs, (void *[]){logits}));
}

/* Checks that the model `part`, which takes up to `chunk` tokens a step, has the bits of the model
 * `whole`, for B sequences. */
static void check_same(crescent_context *context, struct side *whole, struct side *part, int chunk,
                       int plan, int last_only)
{
    crescent_port in, out;
    expect(context, crescent_port_at(whole->model, CRESCENT_INPUT, 0, &in));
    expect(context, crescent_port_at(whole->model, CRESCENT_OUTPUT, 0, &out));
    int B = (int)in.shape[0], V = (int)out.shape[2], length = (int)in.shape[1];
    int32_t *ids = calloc((size_t)(B * length), 4), *now = calloc((size_t)(B * chunk), 4);
    float *all = calloc((size_t)(B * length * V), 4), *some = calloc((size_t)(B * chunk * V), 4);
    for (int i = 0; i < B * length; i++)
        ids[i] = (int)((unsigned)i * 2654435761u >> 7) % (int)in.ids;
    expect(context, crescent_run(whole->model, (const void *[]){ids}, (void *[]){all}));
    for (int at = 0, step = 0, n; at < length; at += n, step++) {
        n = tokens_at(plan, step, chunk, length - at);
        memset(now, 0x55, (size_t)(B * chunk) * 4); /* what follows the length is no token */
        for (int b = 0; b < B; b++)
            memcpy(now + b * chunk, ids + b * length + at, (size_t)n * 4);
        run_tokens(context, part, now, n, some);
        for (int b = 0; b < B; b++)
            for (int t = last_only ? n - 1 : 0; t < n; t++)
                ck_assert_msg(crescent_same_bits(all + (b * length + at + t) * V,
                                                 some + (last_only ? b : b * chunk + t) * V, V),
                              "token %d of sequence %d, chunks of %d, plan %d", at + t, b, chunk,
                              plan);
    }
    free(ids), free(now), free(all), free(some);
}

/* ---- families ---- */

static void open_family(crescent_context *context, const struct family *family, struct side *side)
{
    crescent_setting settings[MAX_SETTINGS + 1] = {{"T", "40"}};
    char text[MAX_SETTINGS][64];
    int n = strncmp(family->settings[0], "T=", 2) != 0;
    for (int i = 0; i < MAX_SETTINGS && family->settings[i]; i++) {
        snprintf(text[i], sizeof text[i], "%s", family->settings[i]);
        char *equals = strchr(text[i], '=');
        *equals = '\0';
        settings[n++] = (crescent_setting){text[i], equals + 1};
    }
    const crescent_script how = {.settings = settings, .n_settings = n};
    expect(context, crescent_graph_open(context, family->path, &how, &side->graph));
}

static void check_family(const struct family *family, int chunk, int plan, int last_only,
                         crescent_backend backend, const char *isa)
{
    crescent_context *context = crescent_context_new();
    struct side whole = {0}, part = {0};
    open_family(context, family, &whole);
    open_family(context, family, &part);
    expect(context,
           crescent_graph_incremental(part.graph, &(crescent_incremental){chunk, last_only}));
    compile(context, &whole, CRESCENT_TCC, 1, NULL);
    compile(context, &part, backend, 2, isa);
    check_same(context, &whole, &part, chunk, plan, last_only);
    close_side(&whole);
    close_side(&part);
    crescent_context_free(context);
}

START_TEST(families_in_chunks)
{
    const struct family *family = &families[_i];
    check_family(family, 16, 0, 0, CRESCENT_TCC, NULL);
    check_family(family, 13, 2, 1, CRESCENT_TCC, NULL);
    check_family(family, CONTEXT, 0, 0, CRESCENT_TCC, NULL);
}
END_TEST

/* Weights in rounded formats: both models keep the same rounded weights. */
START_TEST(families_in_formats)
{
    format = formats[_i % COUNT(formats)];
    check_family(&families[_i / COUNT(formats)], 13, 2, 0, CRESCENT_TCC, NULL);
    check_family(&families[_i / COUNT(formats)], 1, 1, 1, CRESCENT_TCC, "plain");
    format = NULL;
}
END_TEST

START_TEST(families_token_by_token)
{
    check_family(&families[_i], 1, 1, 1, CRESCENT_TCC, NULL);
    check_family(&families[_i], 8, 1, 0, CRESCENT_TCC, "plain");
    check_family(&families[_i], 8, 2, 0, CRESCENT_TCC, "avx2");
}
END_TEST

START_TEST(families_by_a_compiler)
{
    check_family(&families[_i], 9, 2, 1, _i % 2 ? CRESCENT_CC : CRESCENT_STANDALONE, NULL);
}
END_TEST

/* Models of long texts: a run of one row divides work among threads in other blocks than a run of
 * many. */
START_TEST(long_families)
{
    const struct family *family = &long_ones[_i];
    check_family(family, 600, 3, 0, CRESCENT_TCC, NULL);
    check_family(family, 600, 0, 1, CRESCENT_TCC, NULL);
}
END_TEST

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* In the last layer, which computes one row, the mask is computed from indices; and cosines are
 * computed once for all heads and layers, except for that row. */
START_TEST(one_row_has_a_mask)
{
    static const struct family llama = {"graphs/llama.lua", {"num_key_value_heads=2"}};
    crescent_context *context = crescent_context_new();
    struct side side = {0};
    char *text;
    open_family(context, &llama, &side);
    expect(context, crescent_graph_incremental(side.graph, &(crescent_incremental){16, 1}));
    expect(context, crescent_dump(side.graph, NULL, "emit", &text));
    ck_assert_int_eq(count(text, "->le_"), 0);
    ck_assert_int_eq(count(text, "rt->dots("), 2);
    ck_assert_int_eq(count(text, "rt->cos_v("), 2);
    crescent_free(text);
    close_side(&side);
    crescent_context_free(context);
}
END_TEST

/* ---- spellings ---- */

static int open_spelling(crescent_context *context, const char *mix, struct side *side,
                         const char *B)
{
    char text[4096];
    const crescent_setting settings[] = {{"B", B}};
    const crescent_script how = {.settings = settings, .n_settings = 1};
    int length = snprintf(text, sizeof text, frame, mix);
    return crescent_graph_open_text(context, "layer.lua", text, (size_t)length, &how, &side->graph);
}

static void check_spelling(const char *mix, const char *B, int chunk, int plan, int last_only)
{
    crescent_context *context = crescent_context_new();
    struct side whole = {0}, part = {0};
    expect(context, open_spelling(context, mix, &whole, B));
    expect(context, open_spelling(context, mix, &part, B));
    expect(context,
           crescent_graph_incremental(part.graph, &(crescent_incremental){chunk, last_only}));
    compile(context, &whole, CRESCENT_TCC, 1, NULL);
    compile(context, &part, CRESCENT_TCC, 2, NULL);
    check_same(context, &whole, &part, chunk, plan, last_only);
    close_side(&whole);
    close_side(&part);
    crescent_context_free(context);
}

START_TEST(spellings_go_on)
{
    check_spelling(spellings[_i], "1", 7, 2, 0);
    check_spelling(spellings[_i], "2", 16, 2, 1);
    check_spelling(spellings[_i], "1", 1, 1, 1);
}
END_TEST

/* ---- lengths ---- */

/* A script whose number of tokens and number of texts are constants or lengths. */
static const char sized[] =
    "local nn, attention, masks = require 'nn', require 'attention', require 'masks'\n"
    "local B, T = %s, %s\n"
    "local x = scope('wte', nn.embedding, input('ids', {B, T}, 'i32'), 23, 16)\n"
    "x = x + scope('wpe', nn.embedding, iota({1, T}, 2), 40, 16)\n"
    "local heads = function(name) return attention.split_heads(scope(name, nn.linear, x, 16), 2) end\n"
    "local y = attention.attend(heads 'q', heads 'k', heads 'v', masks.causal(T))\n"
    "return {logits = scope('head', nn.linear, x + attention.merge_heads(y), 23) %s}";

static int open_sized(crescent_context *context, const char *B, const char *T, const char *more,
                      struct side *side)
{
    char text[1024];
    int n = snprintf(text, sizeof text, sized, B, T, more);
    return crescent_graph_open_text(context, "sized.lua", text, (size_t)n, NULL, &side->graph);
}

/* In the incremental form, the context is the bound of T, and there is one text. */
START_TEST(lengths_go_on)
{
    crescent_context *context = crescent_context_new();
    struct side whole = {0}, part = {0};
    const char *const B[] = {"1", "length('B', 3)"};
    expect(context, open_sized(context, "1", "40", "", &whole));
    expect(context, open_sized(context, B[_i], "length('T', 40)", "", &part));
    expect(context, crescent_graph_incremental(part.graph, &(crescent_incremental){7, 0}));
    compile(context, &whole, CRESCENT_TCC, 1, NULL);
    compile(context, &part, CRESCENT_TCC, 2, NULL);
    check_same(context, &whole, &part, 7, 2, 0);
    close_side(&whole);
    close_side(&part);
    crescent_context_free(context);
}
END_TEST

/* A script that reads the number of tokens as a number is refused: an incremental model does not know it. */
START_TEST(lengths_as_numbers_are_refused)
{
    crescent_context *context = crescent_context_new();
    struct side side = {0};
    expect(context, open_sized(context, "1", "length('T', 40)", "* float(T)", &side));
    ck_assert_int_eq(crescent_graph_incremental(side.graph, &(crescent_incremental){7, 0}),
                     CRESCENT_FAILED);
    ck_assert_ptr_nonnull(strstr(crescent_error(context),
                                 "sized.lua: found the length T read as a number"));
    close_side(&side);
    crescent_context_free(context);
}
END_TEST

/* ---- training ---- */

/* A model of the frame above followed by a step of gradient descent. */
static const char training[] = "mix = function() return attend(where(le(key(), query()), scores(), "
                               "-math.huge)) end\n"
                               "%s";
static const char step[] =
    "x = x + mix()\n"
    "local logits = scope('head', nn.linear, x, V)\n"
    "local targets = input('targets', {B, T}, 'i32')\n"
    "local top = max(logits, 3)\n"
    "local logs = logits - (top + log(sum(exp(logits - top), 3)))\n"
    "local hit = eq(iota(logs.shape, 3), reshape(targets, {B, T, 1}))\n"
    "local loss = -nn.total(where(hit, logs, 0)) / (B * T)\n"
    "local list, names = {}, {}\n"
    "for name, p in pairs(parameters()) do table.insert(names, name) end\n"
    "table.sort(names)\n"
    "for i, name in ipairs(names) do list[i] = parameters()[name] end\n"
    "local out = {logits = logits, logs = logs, loss = loss}\n"
    "for i, g in ipairs(grad(loss, list)) do out['new' .. i] = list[i] - 0.1 * g end\n"
    "do return out end\n";

enum { V = 11 };

/* Runs a training step; returns logits and their log-probabilities. */
static void run_step(crescent_context *context, const int32_t *ids, float *logits, float *logs)
{
    char mix[4096];
    struct side side = {0};
    const void *inputs[2];
    void *outputs[64] = {NULL};
    int32_t targets[CONTEXT];
    crescent_port port;
    for (int i = 0; i < CONTEXT; i++)
        targets[i] = ids[(i + 1) % CONTEXT];
    snprintf(mix, sizeof mix, training, step);
    expect(context, open_spelling(context, mix, &side, "1"));
    compile(context, &side, CRESCENT_TCC, 2, NULL);
    inputs[crescent_port_find(side.model, CRESCENT_INPUT, "ids")] = ids;
    inputs[crescent_port_find(side.model, CRESCENT_INPUT, "targets")] = targets;
    int n = crescent_port_count(side.model, CRESCENT_OUTPUT);
    ck_assert_int_lt(n, COUNT(outputs));
    for (int i = 0; i < n; i++) {
        expect(context, crescent_port_at(side.model, CRESCENT_OUTPUT, i, &port));
        outputs[i] = calloc((size_t)crescent_port_elements(&port), sizeof(float));
    }
    expect(context, crescent_run(side.model, inputs, outputs));
    memcpy(logits, outputs[crescent_port_find(side.model, CRESCENT_OUTPUT, "logits")],
           CONTEXT * V * sizeof *logits);
    memcpy(logs, outputs[crescent_port_find(side.model, CRESCENT_OUTPUT, "logs")],
           CONTEXT * V * sizeof *logs);
    for (int i = 0; i < n; i++)
        free(outputs[i]);
    close_side(&side);
}

/* The logits of a training step and of generation have the same bits. */
START_TEST(training_says_the_same)
{
    crescent_context *context = crescent_context_new();
    struct side part = {0};
    char mix[4096];
    int32_t ids[CONTEXT];
    float logits[CONTEXT * V], logs[CONTEXT * V], some[8 * V];
    for (int i = 0; i < CONTEXT; i++)
        ids[i] = (i * 7 + i * i) % V;
    run_step(context, ids, logits, logs);
    for (int logarithms = 0; logarithms < 2; logarithms++) {
        snprintf(mix, sizeof mix, training,
                 logarithms
                     ? "x = x + mix()\n"
                       "local logits = scope('head', nn.linear, x, V)\n"
                       "local top = max(logits, 3)\n"
                       "do return {logits = logits - (top + log(sum(exp(logits - top), 3)))} "
                       "end\n"
                     : "");
        expect(context, open_spelling(context, mix, &part, "1"));
        expect(context, crescent_graph_incremental(part.graph, &(crescent_incremental){8, 0}));
        compile(context, &part, CRESCENT_TCC, 1, NULL);
        for (int at = 0, i = 0, n; at < CONTEXT; at += n, i++) {
            n = tokens_at(2, i, 8, CONTEXT - at);
            run_tokens(context, &part, ids + at, n, some);
            ck_assert_msg(
                crescent_same_bits((logarithms ? logs : logits) + at * V, some, (size_t)n * V),
                "token %d, logarithms %d", at, logarithms);
        }
        close_side(&part);
    }
    crescent_context_free(context);
}
END_TEST

/* ---- what is refused ---- */

/* With T = 1, the axis of tokens cannot be told from other axes of size 1. */
START_TEST(one_token_is_refused)
{
    static const char text[] =
        "local ids = input('ids', {1, 1}, 'i32')\n"
        "local x = gather(param('wte', {8, 4}, {normal = 1}), ids):reshape{1, 1, 2, 2}\n"
        "return {logits = x:reshape{1, 1, 4}}\n";
    crescent_context *context = crescent_context_new();
    crescent_graph *graph;
    expect(context, crescent_graph_open_text(context, "one.lua", text, sizeof text - 1, NULL, &graph));
    ck_assert_int_eq(crescent_graph_incremental(graph, &(crescent_incremental){1, 0}),
                     CRESCENT_FAILED);
    ck_assert_str_eq(crescent_error(context), "one.lua: found ids of 1 token, expected 2 at least");
    crescent_graph_close(graph);
    crescent_context_free(context);
}
END_TEST

static const struct {
    const char *mix, *message;
} refused[] = {
    {"mix = function() return attend(scores()) end",
     ": matmul: found tokens that depend on later ones, expected a causal model"},
    {"mix = function() return attend(where(le(key(), query() + 1), scores(), -math.huge)) end",
     "found tokens that depend on later ones"},
    {"mix = function() return attend(where(lt(abs(query() - key()), 3), scores(), -math.huge)) end",
     "found tokens that depend on later ones"},
    {"mix = function() return attend(where(ge(key(), query()), scores(), -math.huge)) end",
     "found tokens that depend on later ones"},
    {"mix = function() return attend(where(le(key(), query()), scores(), -1e4)) end",
     "found tokens that depend on later ones"},
    /* a query without visible keys gets the mean of all values, later tokens included; hidden by
     * ids with a choice, by ids with a factor, or by positions */
    {"mix = function()\n"
     "    local there = reshape(ne(ids, 1), {B, 1, 1, T})\n"
     "    return attend(where(logical_and(le(key(), query()), there), scores(), -1e9))\n"
     "end",
     ": max: found a mask by a finite number, which may hide all tokens that one token sees, expected -inf "
     "for later tokens, or each token to see itself"},
    {"mix = function()\n"
     "    local there = float(reshape(ne(ids, 1), {B, 1, 1, T}))\n"
     "    local s = scores() + (1 - there) * -1e9\n"
     "    return attend(s + where(le(key(), query()), 0, -1e9))\n"
     "end",
     "found a mask by a finite number"},
    {"mix = function() return attend(where(lt(key(), query()), scores(), -1e9)) end",
     "found a mask by a finite number"},
    /* a slice of a larger mask at another offset */
    {"mix = function()\n"
     "    local all = le(key {64, 64}, query {64, 64})\n"
     "    return attend(where(slice(all, {6, 5}, {T, T}), scores(), -math.huge))\n"
     "end",
     "found tokens that depend on later ones"},
    /* positions that wrap around, or that float32 rounds to the same number */
    {"mix = function()\n"
     "    local a, b = key() * 2147483647, query() * 2147483647\n"
     "    return attend(where(le(a, b), scores(), -math.huge))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local a, b = float(key()) + 3e8, float(query()) + 3e8\n"
     "    return attend(where(le(a, b), scores(), -math.huge))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local a, b = float(key()) * 1e-30 * 1e-30, float(query()) * 1e-30 * 1e-30\n"
     "    return attend(where(le(a, b), scores(), -math.huge))\n"
     "end",
     "found tokens that depend on later ones"},
    /* ops by which hidden scores become finite again */
    {"mix = function()\n"
     "    return attend(scores() + where(le(key(), query()), 0, -1e9) + 1e9)\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    return attend(maximum(where(le(key(), query()), scores(), -math.huge), -5))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function() return attend(where(logical_or(le(key(), query()), lt(key(), 4)), scores(), "
     "-math.huge)) end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local t = {}\n"
     "    for i = 1, T do t[i] = {}; for j = 1, T do t[i][j] = (j <= i or j == 40) and 0 or "
     "-math.huge end end\n"
     "    return attend(scores() + const(t))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function() return merged(matmul(sigmoid(where(le(key(), query()), scores(), 0.0)), "
     "heads 'v')) end",
     "found tokens that depend on later ones"},
    /* a choice, by the scores, between 0 and: an unknown value, another number, a number that grows
     * with the query, one that grows with the key */
    {"mix = function()\n"
     "    local p = where(gt(scores(), 0), 0.0, scores())\n"
     "    return merged(matmul(p, heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local p = where(gt(scores(), 0), 0.0, 2.0)\n"
     "    return merged(matmul(p, heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local p = where(gt(scores(), 0), 0.0, float(query()))\n"
     "    return merged(matmul(p, heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local p = where(gt(scores(), 0), 0.0, float(key() - query() - 1))\n"
     "    return merged(matmul(p, heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    /* a comparison of the scores with the key's position, as the left or the right operand, is no
     * mask */
    {"mix = function()\n"
     "    return merged(matmul(where(le(scores(), float(key())), 0.0, scores()), heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    {"mix = function()\n"
     "    return merged(matmul(where(le(float(key()), scores()), scores(), 0.0), heads 'v'))\n"
     "end",
     "found tokens that depend on later ones"},
    /* the axis of keys is concatenated, sliced or merged with another */
    {"mix = function()\n"
     "    local all = sum(concat({exp(scores()), const(1, {B, H, T, 1})}, 4), 4)\n"
     "    return merged(expand(all, {B, H, T, d}))\n"
     "end",
     ": concat: found tokens that depend on later ones"},
    {"mix = function()\n"
     "    return merged(expand(slice(scores(), {0, 0, 0, T - 1}, {B, H, T, 1}), {B, H, T, d}))\n"
     "end",
     ": slice: found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local s = reshape(permute(scores(), {1, 3, 2, 4}), {B, T, H * T})\n"
     "    return scope('z', nn.linear, s, C)\n"
     "end",
     ": reshape: found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local z = cumsum(scores(), 4)\n"
     "    return merged(matmul(z * float(le(key(), query())), heads 'v'))\n"
     "end",
     ": cumsum: found cumulative sums over tokens"},
    {"mix = function() return reshape(x, {B, 1, T, C}) * reshape(x, {B, T, 1, C}) end",
     "found logits of pairs of tokens"},
    {"mix = function()\n"
     "    local all = sum(x, 2)\n"
     "    return expand(all * 0.5, {B, T, C})\n"
     "end",
     "layer.lua:17: sum: found tokens that depend on later ones"},
    {"mix = function()\n"
     "    local flat = reshape(x, {B * T * C})\n"
     "    return expand(narrow(flat, 1, 0, 1), {B, T, C})\n"
     "end",
     "layer.lua:17: reshape: found an op that cuts, joins or merges the axis of tokens"},
    {"mix = function() return gather(x, T - 1 - query({B, T, C}), 2) end",
     ": gather: found tokens chosen by a constant index"},
    {"mix = function() return cumsum(x, 2) end", ": cumsum: found cumulative sums over tokens"},
    {"mix = function() return concat({slice(x, {0, 1, 0}, {B, T - 1, C}), const(0, {B, 1, C})}, 2) "
     "end",
     "found an op that cuts, joins or merges the axis of tokens"},
    {"mix = function() return cumsum(x, 3) end",
     ": cumsum: cannot take running sums beside the length n (axis 2), expected it to stay an axis of its own"},
    {"mix = function() return x + input('z', {B, T, C}) end",
     "layer.lua: found the input z, expected the only input to be ids"},
    {"local s = state('s', {B, T, C}); replace(s, s + 1); mix = function() return x + s end",
     "layer.lua: found entries, lengths or states"},
    {"mix = function() return x + param('n', {C}) end",
     ": param: found the name n or at, expected another one"},
};

START_TEST(what_looks_ahead_is_refused)
{
    crescent_context *context = crescent_context_new();
    struct side side = {0};
    expect(context, open_spelling(context, refused[_i].mix, &side, "1"));
    ck_assert_int_eq(crescent_graph_incremental(side.graph, &(crescent_incremental){4, 0}),
                     CRESCENT_FAILED);
    ck_assert_msg(strstr(crescent_error(context), refused[_i].message), "%s",
                  crescent_error(context));
    /* the graph is as it was */
    compile(context, &side, CRESCENT_TCC, 1, NULL);
    close_side(&side);
    crescent_context_free(context);
}
END_TEST

START_TEST(chunks_out_of_bounds)
{
    static const int64_t bad[] = {0, -1, CONTEXT + 1, INT64_MAX};
    crescent_context *context = crescent_context_new();
    struct side side = {0};
    expect(context, open_spelling(context, spellings[0], &side, "1"));
    for (int i = 0; i < COUNT(bad); i++) {
        ck_assert_int_eq(crescent_graph_incremental(side.graph, &(crescent_incremental){bad[i], 0}),
                         CRESCENT_FAILED);
        ck_assert_ptr_nonnull(strstr(crescent_error(context), "expected 1 to 40"));
    }
    close_side(&side);
    crescent_context_free(context);
}
END_TEST

/* Tokens beyond the context are refused, and the earlier ones stay. */
START_TEST(tokens_beyond_the_context)
{
    crescent_context *context = crescent_context_new();
    struct side side = {0};
    int32_t ids[16] = {0};
    float logits[16 * 11];
    expect(context, open_spelling(context, spellings[0], &side, "1"));
    expect(context, crescent_graph_incremental(side.graph, &(crescent_incremental){16, 0}));
    compile(context, &side, CRESCENT_TCC, 1, NULL);
    run_tokens(context, &side, ids, 16, logits);
    run_tokens(context, &side, ids, 16, logits);
    const void *inputs[2];
    int32_t n = 9;
    inputs[crescent_port_find(side.model, CRESCENT_INPUT, "ids")] = ids;
    inputs[crescent_port_find(side.model, CRESCENT_INPUT, "n")] = &n;
    ck_assert_int_eq(crescent_run(side.model, inputs, (void *[]){logits}), CRESCENT_FAILED);
    run_tokens(context, &side, ids, 8, logits);
    close_side(&side);
    crescent_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("incremental");
    TCase *tests = tcase_create("tests"), *refusals = tcase_create("refusals");
    tcase_set_timeout(tests, 120);
    tcase_set_timeout(refusals, 120);
    tcase_add_loop_test(tests, families_in_chunks, 0, COUNT(families));
    tcase_add_loop_test(tests, families_in_formats, 0, COUNT(families) * COUNT(formats));
    tcase_add_loop_test(tests, families_token_by_token, 0, COUNT(families));
    tcase_add_loop_test(tests, families_by_a_compiler, 0, COUNT(families));
    tcase_add_loop_test(tests, long_families, 0, COUNT(long_ones));
    tcase_add_test(tests, one_row_has_a_mask);
    tcase_add_loop_test(tests, lengths_go_on, 0, 2);
    tcase_add_test(tests, lengths_as_numbers_are_refused);
    tcase_add_loop_test(tests, spellings_go_on, 0, COUNT(spellings));
    tcase_add_test(tests, training_says_the_same);
    tcase_add_loop_test(refusals, what_looks_ahead_is_refused, 0, COUNT(refused));
    tcase_add_test(tests, one_token_is_refused);
    tcase_add_test(tests, chunks_out_of_bounds);
    tcase_add_test(tests, tokens_beyond_the_context);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, refusals);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
