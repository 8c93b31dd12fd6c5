/*
 * read_gguf.c - reads the tokenizer in the metadata of a GGUF file; see readers.h.
 *
 * There are four kinds.  gpt2 is byte-level BPE with merges.  llama is SentencePiece's BPE: its
 * tokens have scores; of all adjacent pairs that form a token, the one with the highest score is
 * merged first, and of equal scores the leftmost.  t5 is SentencePiece's unigram model.  bert is
 * WordPiece; in the file its words begin with a visible space, and its other tokens lack the "##".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/gguf.h"
#include "compiler/ir/mem.h"
#include "precompiled.h"
#include "readers.h"
#include "scored_merges.h"
#include "sentencepiece.h"

#define KEY "tokenizer.ggml."
#define SPACE "\xe2\x96\x81" /* U+2581 */

/* Bounds the search for merges, which splits each token at each of its characters. */
enum { LONGEST_TOKEN = 1024 };

/* The types of tokens, by their numbers in the file. */
enum token_type { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* The state of reading a tokenizer. */
struct reading {
    struct cr_gguf file;
    struct cr_tokenizer *t;
    struct cr_error *error;
    const struct cr_gguf_value *types, *scores; /* by token; null if the file has no such array */
    bool words;  /* the model is WordPiece */
    bool scored; /* the unigram model itself finds user-defined tokens, by their scores */
    int separators; /* for an encoder with byte-level BPE: how many separators are between the texts
                       of a pair; else 0 */
};

/* ---- values ---- */

static int wrong_value(const struct reading *r, const char *key, const char *expected)
{
    const struct cr_gguf_value *value = cr_gguf_find(&r->file, key);
    return cr_fail(r->error, "%.400s: found %s for %s, expected %s", r->file.path,
                   value ? cr_gguf_kind_of(value) : "nothing", key, expected);
}

/* Finds an array with a number for each of n tokens; sets *array to null if the key is missing. */
static int find_array(const struct reading *r, const char *key, uint64_t n,
                      const struct cr_gguf_value **array)
{
    *array = cr_gguf_find(&r->file, key);
    if (!*array || ((*array)->is_array && (*array)->n == n && (*array)->kind != CR_GGUF_STRING))
        return 0;
    return wrong_value(r, key, "an array of numbers, one for each token");
}

/* Finds an array of strings; fails if the key is missing. */
static int need_strings(const struct reading *r, const char *key,
                        const struct cr_gguf_value **array)
{
    *array = cr_gguf_find(&r->file, key);
    if (*array && (*array)->is_array && (*array)->kind == CR_GGUF_STRING)
        return 0;
    return wrong_value(r, key, "an array of strings");
}

/* Reads a string to `out`; "" if the key is missing. */
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

/* Reads the id of a token; sets *id to -1 if the key is missing. */
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

/* Writes a token of WordPiece in the form that vocab.txt has, and a NUL; returns its length. */
static size_t write_word(struct cr_gguf_string from, char *to)
{
    bool special = from.length > 1 && from.text[0] == '[' && from.text[from.length - 1] == ']';
    size_t space = strlen(SPACE), skipped = 0, length = 0;
    if (from.length > space && memcmp(from.text, SPACE, space) == 0)
        skipped = space;
    else if (!special)
        length = (size_t)sprintf(to, "##");
    memcpy(to + length, from.text + skipped, from.length - skipped);
    length += from.length - skipped;
    to[length] = '\0';
    return length;
}

/* Copies a token's text and a NUL to `to`; fails if the text is too long or not valid UTF-8. */
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

/* If the token's type demands that it is found before anything else, makes it an added token,
 * too. */
static int add_found(const struct reading *r, const char *text, size_t length, int32_t id)
{
    enum token_type type = type_of(r, id);
    const struct cr_added_token token = {
        .text = text, .length = length, .id = id, .special = type != USER_DEFINED};
    if (!length || (type != CONTROL && type != USER_DEFINED && type != UNKNOWN) ||
        (type == USER_DEFINED && r->scored))
        return 0;
    return cr_add_added(&r->t->added, &token, &r->t->vocabulary, r->file.path, r->error);
}

/* Reads the texts of all tokens; they live as long as the tokenizer. */
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
        size += cr_gguf_next_string(&at).length + sizeof "##";
    char *text = *CR_PUSH(r->t->strings, r->t->n_strings, r->t->strings_cap) = cr_calloc(size, 1);
    at = tokens->data;
    if (tokens->n < CR_MOST_IDS)
        cr_reserve_words(&r->t->vocabulary, (int)tokens->n);
    for (uint64_t i = 0; i < tokens->n; i++) {
        struct cr_gguf_string s = cr_gguf_next_string(&at);
        if (r->t->vocabulary.is_complete && type_of(r, (int32_t)i) == NORMAL)
            continue;
        if (copy_text(r, s, text))
            return -1;
        size_t length = r->words ? write_word(s, text) : s.length;
        if (cr_add_word(&r->t->vocabulary, text, length, (int64_t)i, r->file.path, r->error) ||
            add_found(r, text, length, (int32_t)i))
            return -1;
        text += length + 1;
    }
    return 0;
}

/* ---- byte-level BPE ---- */

/* The pre-tokenizers, by their names in the file; a null pattern stands for GPT-2's. */
static const struct cut {
    const char *name;
    struct cr_pattern *(*pattern)(void);
    bool nfc, whole, begins; /* whole: a piece that is a token is not split; begins: texts begin
                                with bos */
    int separators;          /* for an encoder: how many separators are between the texts of a pair;
                                0: the model is not an encoder */
} cuts[] = {
    {"", NULL, false, false, false, 0},
    {"default", NULL, false, false, false, 0},
    {"gpt-2", NULL, false, false, false, 0},
    {"phi-2", NULL, false, false, false, 0},
    {"llama-bpe", cr_pattern_llama3, false, true, true, 0},
    {"llama-v3", cr_pattern_llama3, false, true, true, 0},
    {"llama3", cr_pattern_llama3, false, true, true, 0},
    {"qwen2", cr_pattern_qwen2, true, false, false, 0},
    {"deepseek-r1-qwen", cr_pattern_qwen2, true, false, false, 0},
    {"roberta-bpe", NULL, false, false, true, 2},
    {"modern-bert", NULL, true, false, true, 1},
};
enum { N_CUTS = sizeof cuts / sizeof *cuts };

/* Returns the row of the pre-tokenizer that the file names, or null with an error. */
static const struct cut *find_cut(const struct reading *r)
{
    char name[64];
    if (find_string(r, KEY "pre", name, sizeof name))
        return NULL;
    for (int i = 0; i < N_CUTS; i++)
        if (strcmp(name, cuts[i].name) == 0)
            return &cuts[i];
    cr_fail(r->error, "%.400s: found %s for " KEY "pre, expected gpt-2, llama-bpe, qwen2, roberta-bpe "
                       "or modern-bert",
            r->file.path, cr_show(name, strlen(name)).text);
    return NULL;
}

/* Reads the merges, "LEFT RIGHT"; tokens contain no spaces. */
static int read_merges(const struct reading *r)
{
    const struct cr_gguf_value *merges;
    if (r->t->vocabulary.is_complete)
        return 0;
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

/* Reads byte-level BPE.  Sets r->separators from the name of the pre-tokenizer, which tells whether
 * the model is an encoder, and *begins to whether texts begin with bos. */
static int read_byte_level(struct reading *r, bool *begins)
{
    bool prefix_space = false;
    const struct cut *cut = find_cut(r);
    if (!cut || find_bool(r, KEY "add_space_prefix", &prefix_space) || read_merges(r))
        return -1;
    r->t->bpe.unknown = -1;
    r->t->bpe.ignore_merges = cut->whole;
    *begins = cut->begins;
    r->separators = cut->separators;
    cr_add_byte_level_parts(r->t, cut->pattern ? cut->pattern() : NULL, cut->nfc, prefix_space);
    return 0;
}

/* ---- SentencePiece ---- */

/* Derives the merges from the scores and types of the tokens. */
static int add_scored_merges(const struct reading *r)
{
    int n = r->t->vocabulary.n, status = 0;
    if (r->t->vocabulary.is_complete)
        return 0;
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

/* Adds the normalizers, pre-tokenizers and decoders that a tokenizer.json of the same tokenizer
 * lists. */
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

/* Reads the settings of SentencePiece's BPE.  Fails if the normalizer does more than replace
 * spaces. */
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

/* ---- SentencePiece's unigram model ---- */

/* Reads the scores.  Only normal and user-defined tokens keep a finite score, as only these are
 * searched for in texts. */
static int read_scores(const struct reading *r)
{
    struct cr_unigram *u = &r->t->unigram;
    double least = INFINITY;
    for (int i = 0; i < r->t->vocabulary.n && !r->t->vocabulary.is_complete; i++) {
        enum token_type type = type_of(r, i);
        double score = 0;
        if (r->scores && (!cr_gguf_real(r->scores, (uint64_t)i, &score) || isnan(score)))
            return wrong_value(r, KEY "scores", "an array of numbers, one for each token");
        if (type == NORMAL)
            least = fmin(least, score);
        else
            score = type == USER_DEFINED ? cr_user_defined_score(r->t->vocabulary.tokens[i].length) : -INFINITY;
        *CR_PUSH(u->scores, u->n_scores, u->scores_cap) = score;
    }
    if (!r->t->vocabulary.is_complete)
        u->unknown_score = least - 10;
    return 0;
}

/* Adds SentencePiece's normalizer, which does not change user-defined tokens. */
static int add_normalizer(const struct reading *r, const struct cr_spaces *spaces)
{
    static const char key[] = KEY "precompiled_charsmap";
    struct cr_text_part *part = cr_add_sentencepiece(&r->t->normalizers);
    const struct cr_gguf_value *map = cr_gguf_find(&r->file, key);
    part->spaces = *spaces;
    for (int i = 0; i < r->t->vocabulary.n; i++)
        if (type_of(r, i) == USER_DEFINED)
            cr_trie_add(&part->kept, cr_word_text(&r->t->vocabulary, i), r->t->vocabulary.tokens[i].length, i);
    if (!map)
        return 0;
    if (!map->is_array || (map->kind != CR_GGUF_U8 && map->kind != CR_GGUF_I8))
        return wrong_value(r, key, "an array of bytes");
    return map->n ? cr_set_text_map(&part->map, map->data, (size_t)map->n, r->file.path, r->error) : 0;
}

/* Reads the unigram model and the settings of its normalizer; the default of the unknown token is
 * T5's. */
static int read_unigram(struct reading *r, bool *begins)
{
    struct cr_unigram *u = &r->t->unigram;
    struct cr_spaces spaces = {.prefix = true, .trims = true, .visible = true};
    int64_t unknown;
    (void)begins;
    r->t->model = &cr_unigram_model;
    if (find_bool(r, KEY "add_space_prefix", &spaces.prefix) ||
        find_bool(r, KEY "remove_extra_whitespaces", &spaces.trims) ||
        find_id(&r->file, KEY "unknown_token_id", &unknown, r->error) || read_scores(r))
        return -1;
    u->vocabulary = &r->t->vocabulary;
    u->unknown = (int32_t)(unknown >= 0 ? unknown : 2);
    u->unknown = u->unknown < r->t->vocabulary.n ? u->unknown : -1;
    u->byte_fallback = cr_find_word(&r->t->vocabulary, "<0x00>", strlen("<0x00>")) >= 0;
    u->single = true;
    cr_add_space_decoders(r->t, u->byte_fallback, spaces.prefix);
    return add_normalizer(r, &spaces);
}

/* ---- WordPiece ---- */

/* True if only special tokens have capital letters.  Then text is converted to lower case, and its
 * accents are stripped. */
static bool is_uncased(const struct reading *r)
{
    for (int i = 0; i < r->t->vocabulary.n; i++) {
        const char *text = cr_word_text(&r->t->vocabulary, i);
        if (type_of(r, i) == NORMAL && *text != '[' && text[strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
            return false;
    }
    return true;
}

/* Adds the parts that a tokenizer.json of BERT lists. */
static void add_word_parts(struct cr_tokenizer *t, bool uncased)
{
    cr_add_part(&t->normalizers, &cr_normalizers, "BertNormalizer")->bert =
        (struct cr_bert){.clean = true, .chinese = true, .strips_accents = uncased, .lowercase = uncased};
    cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "BertPreTokenizer");
    struct cr_text_part *decoder = cr_add_part(&t->decoders, &cr_decoders, "WordPiece");
    decoder->content = t->wordpiece.prefix;
    decoder->length = strlen(t->wordpiece.prefix);
    decoder->cleanup = t->has_decoder = true;
}

/* Reads the unknown token of a WordPiece model, and adds its parts. */
static int read_word_pieces(struct reading *r, bool *begins)
{
    int64_t unknown;
    struct cr_tokenizer *t = r->t;
    (void)begins;
    t->model = &cr_wordpiece_model;
    t->wordpiece = (struct cr_wordpiece){"[UNK]", "##", 100};
    if (find_id(&r->file, KEY "unknown_token_id", &unknown, r->error))
        return -1;
    if (unknown >= 0 && unknown < t->vocabulary.n)
        t->wordpiece.unknown = cr_word_text(&t->vocabulary, (int32_t)unknown);
    add_word_parts(t, is_uncased(r));
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

/* Adds a part that puts the token of a key before all texts or, if `behind`, after them. */
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

/* Adds the tokens at the begin and end of texts.  If the file does not tell whether there is a
 * begin token, `begins` counts. */
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

/* Finds the token whose id one of the keys gives; the keys are ended by null.  If the file has none
 * of them, finds the token with the text.  Fails if there is none. */
static int find_special(const struct reading *r, const char *const *keys, const char *text, int32_t *out)
{
    int64_t id = -1;
    for (int i = 0; keys[i] && id < 0; i++)
        if (find_id(&r->file, keys[i], &id, r->error))
            return -1;
    if (id < 0)
        id = cr_find_word(&r->t->vocabulary, text, strlen(text));
    *out = (int32_t)id;
    return id >= 0 && id < r->t->vocabulary.n ? 0 : wrong_value(r, keys[0], "the id of a token, which is put around texts");
}

/* Adds the tokens that an encoder puts around a text or a pair; the file may lack them. Segments
 * are BERT's: 0 for the first text, 1 for the second. */
static int read_pair_frame(const struct reading *r, bool begins)
{
    static const char *const first[] = {KEY "bos_token_id", KEY "cls_token_id", NULL},
                             *const words_last[] = {KEY "seperator_token_id", KEY "separator_token_id",
                                                    KEY "eos_token_id", NULL},
                             *const pieces_last[] = {KEY "eos_token_id", NULL};
    struct cr_pair_template pair = {.cls = -1, .sep = -1, .second_type = r->words};
    const bool brackets = r->words || r->separators == 1; /* the special tokens have BERT's names */
    bool ends = true;
    if (find_bool(r, KEY "add_bos_token", &begins) || find_bool(r, KEY "add_eos_token", &ends) ||
        (begins && find_special(r, first, brackets ? "[CLS]" : "<s>", &pair.cls)) ||
        (ends && find_special(r, brackets ? words_last : pieces_last, brackets ? "[SEP]" : "</s>", &pair.sep)))
        return -1;
    pair.separators = !ends ? 0 : r->separators ? r->separators : 1 + (begins && !r->words);
    cr_add_pair_template(&r->t->post_processors, &pair);
    return 0;
}

/* Adds the special tokens around a text, as an encoder or as another model has them. */
static int read_byte_frame(const struct reading *r, bool begins)
{
    return r->separators ? read_pair_frame(r, begins) : read_frame(r, begins);
}

/* ---- files ---- */

/* The kinds of tokenizers, by their names in the file. */
static const struct kind {
    const char *name;
    int (*read)(struct reading *r, bool *begins);
    int (*frame)(const struct reading *r, bool begins);
    bool words, scored, begins;
} kinds[] = {
    {"gpt2", read_byte_level, read_byte_frame, false, false, false},
    {"llama", read_sentence_piece, read_frame, false, false, false},
    {"t5", read_unigram, read_pair_frame, false, true, false},
    {"bert", read_word_pieces, read_pair_frame, true, false, true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *find_kind(const char *name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* Reads the tokens first, as merges, scores and special tokens refer to them. */
static int read_all(struct reading *r)
{
    char model[64];
    if (find_string(r, KEY "model", model, sizeof model))
        return -1;
    const struct kind *kind = find_kind(model);
    if (strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0)
        return cr_fail(r->error, "%.400s: the file has no vocabulary (" KEY "model is %s), expected one "
                                 "of gpt2, llama, t5 or bert, or --prompt-ids instead of text",
                       r->file.path, model);
    if (!kind)
        return cr_fail(r->error, "%.400s: found %s for " KEY "model, expected gpt2, llama, t5 or bert",
                       r->file.path, *model ? cr_show(model, strlen(model)).text : "nothing");
    bool begins = kind->begins;
    r->words = kind->words;
    r->scored = kind->scored;
    if (read_tokens(r) || kind->read(r, &begins) || kind->frame(r, begins))
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
