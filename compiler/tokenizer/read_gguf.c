/*
 * read_gguf.c - the tokenizer that a GGUF file's metadata describe; see read.h.
 *
 * There are two kinds: byte-level BPE with merges, called gpt2, and SentencePiece's BPE, called
 * llama, whose tokens have scores: of all adjacent pairs that make a token, the one with the
 * highest score is merged first; of equal scores, the leftmost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/gguf.h"
#include "compiler/ir/mem.h"
#include "read.h"
#include "scored_merges.h"

#define KEY "tokenizer.ggml."
#define SPACE "\xe2\x96\x81" /* U+2581 */

/* Bounds the search for merges, which cuts each token at each of its characters. */
enum { LONGEST_TOKEN = 1024 };

/* Types of tokens, by their numbers in files. */
enum token_type { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* The state of reading a tokenizer. */
struct reading {
    struct cr_gguf file;
    struct cr_tokenizer *t;
    struct cr_error *error;
    const struct cr_gguf_value *types, *scores; /* arrays by token, or null */
};

/* ---- values ---- */

static int wrong_value(const struct reading *r, const char *key, const char *expected)
{
    const struct cr_gguf_value *value = cr_gguf_find(&r->file, key);
    return cr_fail(r->error, "%.400s: found %s for %s, expected %s", r->file.path,
                   value ? cr_gguf_kind_of(value) : "nothing", key, expected);
}

/* Finds an array of n numbers, one per token; *array is null if the key is missing. */
static int find_array(const struct reading *r, const char *key, uint64_t n,
                      const struct cr_gguf_value **array)
{
    *array = cr_gguf_find(&r->file, key);
    if (!*array || ((*array)->is_array && (*array)->n == n && (*array)->kind != CR_GGUF_STRING))
        return 0;
    return wrong_value(r, key, "an array of numbers, one for each token");
}

/* Finds an array of strings, which must exist. */
static int need_strings(const struct reading *r, const char *key,
                        const struct cr_gguf_value **array)
{
    *array = cr_gguf_find(&r->file, key);
    if (*array && (*array)->is_array && (*array)->kind == CR_GGUF_STRING)
        return 0;
    return wrong_value(r, key, "an array of strings");
}

/* Finds a string; "" if the key is missing. */
static int find_string(const struct reading *r, const char *key, char *out, size_t size)
{
    const struct cr_gguf_value *value = cr_gguf_find(&r->file, key);
    *out = '\0';
    if (!value)
        return 0;
    if (value->is_array || value->kind != CR_GGUF_STRING)
        return wrong_value(r, key, "a string");
    const unsigned char *at = value->data;
    struct cr_gguf_string s = cr_gguf_next_string(&at);
    snprintf(out, size, "%.*s", (int)(s.length < size ? s.length : size - 1), s.text);
    return 0;
}

static int find_bool(const struct reading *r, const char *key, bool *out)
{
    const struct cr_gguf_value *value = cr_gguf_find(&r->file, key);
    return !value || cr_gguf_bool(value, out) ? 0 : wrong_value(r, key, "a boolean");
}

/* Finds the id of a token; -1 if the key is missing. */
static int find_id(const struct cr_gguf *file, const char *key, int64_t *id, struct cr_error *error)
{
    const struct cr_gguf_value *value = cr_gguf_find(file, key);
    *id = -1;
    if (!value ||
        (!value->is_array && cr_gguf_integer(value, 0, id) && *id >= 0 && *id < CR_MOST_IDS))
        return 0;
    return cr_fail(error, "%.400s: found %s for %s, expected the id of a token", file->path,
                   cr_gguf_kind_of(value), key);
}

/* ---- tokens ---- */

/* Copies a token's text and terminates it with a zero. */
static int copy_text(const struct reading *r, struct cr_gguf_string from, char *to)
{
    size_t at;
    if (from.length > LONGEST_TOKEN)
        return cr_fail(r->error, "%.400s: found a token of %zu bytes, expected at most %d",
                       r->file.path, from.length, LONGEST_TOKEN);
    if (!cr_is_utf8(from.text, from.length, &at) || memchr(from.text, '\0', from.length))
        return cr_fail(r->error, "%.400s: found the token %s, expected UTF-8 without zeros",
                       r->file.path, cr_show(from.text, from.length).text);
    memcpy(to, from.text, from.length);
    to[from.length] = '\0';
    return 0;
}

static enum token_type type_of(const struct reading *r, int32_t id)
{
    int64_t type = NORMAL;
    if (r->types)
        cr_gguf_integer(r->types, (uint64_t)id, &type);
    return type >= NORMAL && type <= BYTE ? (enum token_type)type : NORMAL;
}

/* Adds the token as an added token, too, if its type says so; those are found before anything
 * else. */
static int add_found(const struct reading *r, const char *text, size_t length, int32_t id)
{
    enum token_type type = type_of(r, id);
    const struct cr_added_token token = {
        .text = text, .length = length, .id = id, .special = type != USER_DEFINED};
    if (!length || (type != CONTROL && type != USER_DEFINED && type != UNKNOWN))
        return 0;
    return cr_add_added(&r->t->added, &token, &r->t->vocabulary, r->file.path, r->error);
}

/* Reads the tokens; their strings live as long as the tokenizer. */
static int read_tokens(struct reading *r)
{
    const struct cr_gguf_value *tokens;
    if (need_strings(r, KEY "tokens", &tokens) ||
        find_array(r, KEY "token_type", tokens->n, &r->types) ||
        find_array(r, KEY "scores", tokens->n, &r->scores))
        return -1;
    const unsigned char *at = tokens->data;
    size_t size = 1;
    for (uint64_t i = 0; i < tokens->n; i++)
        size += cr_gguf_next_string(&at).length + 1;
    char *text = *CR_PUSH(r->t->strings, r->t->n_strings, r->t->strings_cap) = cr_calloc(size, 1);
    at = tokens->data;
    if (tokens->n < CR_MOST_IDS)
        cr_reserve_words(&r->t->vocabulary, (int)tokens->n);
    for (uint64_t i = 0; i < tokens->n; i++) {
        struct cr_gguf_string s = cr_gguf_next_string(&at);
        if (copy_text(r, s, text) ||
            cr_add_word(&r->t->vocabulary, text, s.length, (int64_t)i, r->file.path,
                        r->error) ||
            add_found(r, text, s.length, (int32_t)i))
            return -1;
        text += s.length + 1;
    }
    return 0;
}

/* ---- byte-level BPE ---- */

/* Pre-tokenizers by their names in files; a null pattern is GPT-2's. */
static const struct cut {
    const char *name;
    struct cr_pattern *(*pattern)(void);
    bool nfc, whole, begins; /* a piece that is a token is not split; texts begin with bos */
} cuts[] = {
    {"", NULL, false, false, false},
    {"default", NULL, false, false, false},
    {"gpt-2", NULL, false, false, false},
    {"phi-2", NULL, false, false, false},
    {"llama-bpe", cr_pattern_llama3, false, true, true},
    {"llama-v3", cr_pattern_llama3, false, true, true},
    {"llama3", cr_pattern_llama3, false, true, true},
    {"qwen2", cr_pattern_qwen2, true, false, false},
    {"deepseek-r1-qwen", cr_pattern_qwen2, true, false, false},
};
enum { N_CUTS = sizeof cuts / sizeof *cuts };

static const struct cut *find_cut(const struct reading *r)
{
    char name[64];
    if (find_string(r, KEY "pre", name, sizeof name))
        return NULL;
    for (int i = 0; i < N_CUTS; i++)
        if (strcmp(name, cuts[i].name) == 0)
            return &cuts[i];
    cr_fail(r->error, "%.400s: found %s for " KEY "pre, expected gpt-2, llama-bpe or qwen2",
            r->file.path, cr_show(name, strlen(name)).text);
    return NULL;
}

/* A merge is "LEFT RIGHT"; a token has no space within. */
static int read_merges(const struct reading *r)
{
    const struct cr_gguf_value *merges;
    if (need_strings(r, KEY "merges", &merges))
        return -1;
    const unsigned char *at = merges->data;
    for (uint64_t i = 0; i < merges->n; i++) {
        struct cr_gguf_string s = cr_gguf_next_string(&at);
        const char *space = memchr(s.text, ' ', s.length), *end = s.text + s.length;
        if (!space || memchr(space + 1, ' ', (size_t)(end - space - 1)))
            return cr_fail(r->error, "%.400s: found the merge %s, expected LEFT RIGHT",
                           r->file.path, cr_show(s.text, s.length).text);
        if (cr_add_merge(&r->t->bpe, s.text, (size_t)(space - s.text), space + 1,
                         (size_t)(end - space - 1), r->file.path, r->error))
            return -1;
    }
    return 0;
}

static int read_byte_level(struct reading *r, bool *begins)
{
    bool prefix_space = false;
    const struct cut *cut = find_cut(r);
    if (!cut || find_bool(r, KEY "add_space_prefix", &prefix_space) || read_merges(r))
        return -1;
    r->t->bpe.unknown = -1;
    r->t->bpe.ignore_merges = cut->whole;
    *begins = cut->begins;
    cr_add_byte_level_parts(r->t, cut->pattern ? cut->pattern() : NULL, cut->nfc, prefix_space);
    return 0;
}

/* ---- SentencePiece ---- */

/* Reads the scores and types of the tokens, which say how pairs merge. */
static int add_scored_merges(const struct reading *r)
{
    int n = r->t->vocabulary.n, status = 0;
    double *scores = cr_calloc((size_t)n + 1, sizeof *scores);
    bool *whole = cr_calloc((size_t)n + 1, sizeof *whole);
    for (int i = 0; i < n && !status; i++) {
        enum token_type type = type_of(r, i);
        whole[i] = type == BYTE || type == CONTROL || type == UNKNOWN;
        if (r->scores &&
            (!cr_gguf_real(r->scores, (uint64_t)i, &scores[i]) || isnan(scores[i])))
            status = wrong_value(r, KEY "scores", "an array of numbers, one for each token");
    }
    const struct cr_scored_tokens tokens = {scores, whole, n};
    if (status == 0)
        status = cr_add_scored_merges(&r->t->bpe, &tokens, r->file.path, r->error);
    free(scores);
    free(whole);
    return status;
}

/* Adds the parts that a tokenizer.json of such a tokenizer has. */
static void add_space_parts(struct cr_tokenizer *t, bool prefix)
{
    struct cr_text_part *part;
    if (prefix) {
        part = cr_add_part(&t->normalizers, &cr_normalizers, "Prepend");
        part->content = SPACE;
        part->length = strlen(SPACE);
    }
    part = cr_add_part(&t->normalizers, &cr_normalizers, "Replace");
    part->pattern = cr_pattern_literal(" ", 1);
    part->content = SPACE;
    part->length = strlen(SPACE);
    cr_add_space_decoders(t, true, prefix);
}

/* Reads SentencePiece's settings.  Fails for normalizers that do more than replace spaces. */
static int read_sentence_piece(struct reading *r, bool *begins)
{
    struct cr_bpe *bpe = &r->t->bpe;
    bool prefix = true, trims = false;
    int64_t unknown;
    if (find_bool(r, KEY "add_space_prefix", &prefix) ||
        find_bool(r, KEY "remove_extra_whitespaces", &trims) ||
        find_id(&r->file, KEY "unknown_token_id", &unknown, r->error) || add_scored_merges(r))
        return -1;
    if (trims || cr_gguf_find(&r->file, KEY "precompiled_charsmap"))
        return cr_fail(r->error, "%.400s: found " KEY "%s, which is not understood, expected none",
                       r->file.path, trims ? "remove_extra_whitespaces" : "precompiled_charsmap");
    bpe->unknown = unknown < bpe->vocabulary->n ? (int32_t)unknown : -1;
    bpe->fuse_unknown = bpe->byte_fallback = true;
    *begins = true;
    add_space_parts(r->t, prefix);
    return 0;
}

/* ---- ids around a text ---- */

int cr_gguf_end_ids(const struct cr_gguf *file, struct cr_ids *ids, struct cr_error *error)
{
    static const char *const keys[] = {KEY "eos_token_id", KEY "eot_token_id", KEY "eom_token_id"};
    int64_t id;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (find_id(file, keys[i], &id, error))
            return -1;
        if (id >= 0)
            *CR_PUSH(ids->items, ids->n, ids->cap) = (int32_t)id;
    }
    return 0;
}

/* Puts the id of a key before or behind all texts. */
static int frame(const struct reading *r, const char *key, bool behind)
{
    struct cr_text_parts *parts = &r->t->post_processors;
    int64_t id;
    if (find_id(&r->file, key, &id, r->error))
        return -1;
    if (id < 0 || id >= r->t->vocabulary.n)
        return wrong_value(r, key, "the id of a token, which is put around texts");
    struct cr_frame *f = &cr_add_part(parts, &cr_post_processors, "TemplateProcessing")->frame;
    if (behind)
        *CR_PUSH(f->after, f->n_after, f->after_cap) = (int32_t)id;
    else
        *CR_PUSH(f->before, f->n_before, f->before_cap) = (int32_t)id;
    return 0;
}

/* Adds the begin and end ids.  The file decides, or else the default of its kind of tokenizer. */
static int read_frame(const struct reading *r, bool begins)
{
    bool ends = false, parts = false;
    if (find_bool(r, KEY "add_bos_token", &begins) || find_bool(r, KEY "add_eos_token", &ends) ||
        find_bool(r, KEY "add_sep_token", &parts))
        return -1;
    if (parts)
        return cr_fail(r->error,
                       "%.400s: found " KEY "add_sep_token, which is not understood, "
                       "expected none",
                       r->file.path);
    return (begins && frame(r, KEY "bos_token_id", false)) ||
                   (ends && frame(r, KEY "eos_token_id", true))
               ? -1
               : 0;
}

/* ---- files ---- */

/* Reads tokens first: merges, scores and the ids around texts refer to them. */
static int read_all(struct reading *r)
{
    char model[64];
    bool begins = false;
    if (find_string(r, KEY "model", model, sizeof model))
        return -1;
    bool byte_level = strcmp(model, "gpt2") == 0;
    if (strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0)
        return cr_fail(r->error, "%.400s: the file has no vocabulary (" KEY "model is %s), expected one "
                                 "of gpt2 or llama, or --prompt-ids instead of text",
                       r->file.path, model);
    if (!byte_level && strcmp(model, "llama") != 0)
        return cr_fail(r->error, "%.400s: found %s for " KEY "model, expected gpt2 or llama",
                       r->file.path, *model ? cr_show(model, strlen(model)).text : "nothing");
    if (read_tokens(r) || (byte_level ? read_byte_level : read_sentence_piece)(r, &begins) ||
        read_frame(r, begins))
        return -1;
    return cr_gguf_end_ids(&r->file, &r->t->ends, r->error);
}

int cr_read_tokenizer_gguf(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct reading r = {.t = t, .error = error};
    if (cr_gguf_open(&r.file, path, error->text, sizeof error->text))
        return -1;
    int status = read_all(&r);
    cr_gguf_close(&r.file);
    return status;
}
