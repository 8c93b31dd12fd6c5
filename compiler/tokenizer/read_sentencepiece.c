/*
 * read_sentencepiece.c - reads SentencePiece's tokenizer.model, a protocol buffer; see readers.h.
 *
 * Ids are those of SentencePiece, unless the class in tokenizer_config.json beside the file changes
 * them, as XLM-RoBERTa's does.  Field numbers are those of sentencepiece_model.proto.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/files/wire.h"
#include "compiler/ir/mem.h"
#include "precompiled.h"
#include "readers.h"
#include "scored_merges.h"
#include "sentencepiece.h"

#define VISIBLE "\xe2\x96\x81" /* U+2581 */

enum { LONGEST_TOKEN = 1024, MOST_EXTRA_IDS = 100000 };
enum piece_type { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };
enum model_type { UNIGRAM = 1, BPE = 2 };

/* A token of the file, or one that a class adds. */
struct piece {
    const char *text;
    size_t length;
    float score;
    enum piece_type type;
};

/* The contents of a file; members are named like the file's fields. */
struct file {
    const char *path;
    struct cr_tokenizer *t;
    struct cr_error *error;
    struct piece *pieces;
    int n, cap;
    int64_t model_type;
    bool byte_fallback, suffix;
    struct cr_wire charsmap;
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces;
};

/* ---- the messages ---- */

static int wrong(const struct file *f)
{
    return cr_fail(f->error, "%s: found bytes that are no message of SentencePiece, expected a "
                             "tokenizer.model",
                   f->path);
}

/* Returns a copy of a text, terminated by a NUL, that lives as long as the tokenizer. */
static const char *keep(const struct file *f, const char *text, size_t n)
{
    char *copy = *CR_PUSH(f->t->strings, f->t->n_strings, f->t->strings_cap) = cr_calloc(n + 1, 1);
    return memcpy(copy, text, n);
}

static int check_text(const struct file *f, const struct piece *piece)
{
    size_t at;
    if (piece->text && piece->length <= LONGEST_TOKEN && cr_is_utf8(piece->text, piece->length, &at) &&
        !isnan(piece->score))
        return 0;
    return cr_fail(f->error, "%s: found token %d without a text of at most %d bytes of UTF-8 and a score, "
                             "expected both",
                   f->path, f->n, LONGEST_TOKEN);
}

/* Reads a token: field 1 is its text, field 2 its score, field 3 its type. */
static int read_piece(struct file *f, struct cr_wire message)
{
    struct piece piece = {.type = NORMAL};
    struct cr_wire_field field;
    int found;
    while ((found = cr_wire_next(&message, &field)) > 0) {
        if (field.number == 1 && field.kind == CR_WIRE_BYTES) {
            piece.length = (size_t)(field.bytes.end - field.bytes.at);
            piece.text = keep(f, (const char *)field.bytes.at, piece.length);
        } else if (field.number == 2 && field.kind == CR_WIRE_4_BYTES) {
            memcpy(&piece.score, field.bytes.at, sizeof piece.score);
        } else if (field.number == 3 && field.kind == CR_WIRE_INTEGER) {
            piece.type = (enum piece_type)field.integer;
        }
    }
    if (found < 0)
        return wrong(f);
    if (check_text(f, &piece))
        return -1;
    *CR_PUSH(f->pieces, f->n, f->cap) = piece;
    return 0;
}

/* Reads those settings of training that matter for encoding. */
static int read_trainer(struct file *f, struct cr_wire message)
{
    struct cr_wire_field field;
    int found;
    while ((found = cr_wire_next(&message, &field)) > 0) {
        if (field.number == 3)
            f->model_type = (int64_t)field.integer;
        else if (field.number == 24)
            f->suffix = field.integer;
        else if (field.number == 35)
            f->byte_fallback = field.integer;
    }
    return found < 0 ? wrong(f) : 0;
}

/* Reads the map of the normalizer, and its settings for spaces. */
static int read_normalizer(struct file *f, struct cr_wire message)
{
    struct cr_wire_field field;
    int found;
    while ((found = cr_wire_next(&message, &field)) > 0) {
        if (field.number == 2 && field.kind == CR_WIRE_BYTES)
            f->charsmap = field.bytes;
        else if (field.number == 3)
            f->add_dummy_prefix = field.integer;
        else if (field.number == 4)
            f->remove_extra_whitespaces = field.integer;
        else if (field.number == 5)
            f->escape_whitespaces = field.integer;
    }
    return found < 0 ? wrong(f) : 0;
}

/* Reads the file: field 1 has the tokens, field 2 the trainer's settings, field 3 the
 * normalizer's. */
static int read_message(struct file *f, struct cr_wire message)
{
    struct cr_wire_field field;
    int found, status = 0;
    while (status == 0 && (found = cr_wire_next(&message, &field)) > 0) {
        if (field.kind != CR_WIRE_BYTES)
            continue;
        status = field.number == 1   ? read_piece(f, field.bytes)
                 : field.number == 2 ? read_trainer(f, field.bytes)
                 : field.number == 3 ? read_normalizer(f, field.bytes)
                                     : 0;
    }
    if (status)
        return -1;
    if (found < 0 || f->n == 0)
        return wrong(f);
    if ((f->model_type != UNIGRAM && f->model_type != BPE) || f->suffix)
        return cr_fail(f->error, "%s: found %s, expected a unigram or BPE model with spaces in front of words",
                       f->path, f->suffix ? "spaces as suffixes" : "a model of words or characters");
    return 0;
}

/* ---- classes ---- */

/* A tokenizer class of transformers: the tokens around a text, or null, and a function that changes
 * ids or parts. */
struct class
{
    const char *name;
    const char *before, *after;
    int separators; /* how many `after` tokens are between the texts of a pair; 0: pairs are not
                       supported */
    int32_t second_type;
    int (*change)(struct file *f, const struct cr_document *d); /* may be null */
};

static void add_piece(struct file *f, const char *text, enum piece_type type)
{
    *CR_PUSH(f->pieces, f->n, f->cap) = (struct piece){text, strlen(text), 0, type};
}

/* Changes the ids to XLM-RoBERTa's: four special tokens, the file's tokens without the first three,
 * and <mask>. */
static int change_xlm_roberta(struct file *f, const struct cr_document *d)
{
    static const struct piece first[] = {
        {"<s>", 3, 0, CONTROL}, {"<pad>", 5, 0, CONTROL}, {"</s>", 4, 0, CONTROL}, {"<unk>", 5, 0, UNKNOWN}};
    (void)d;
    if (f->n < 3)
        return wrong(f);
    add_piece(f, "", NORMAL);
    memmove(f->pieces + 4, f->pieces + 3, (size_t)(f->n - 4) * sizeof *f->pieces);
    memcpy(f->pieces, first, sizeof first);
    add_piece(f, "<mask>", CONTROL);
    return 0;
}

/* Appends T5's special tokens <extra_id_99> to <extra_id_0>. */
static int change_t5(struct file *f, const struct cr_document *d)
{
    int64_t n = 100;
    if (d && cr_read_integer(d, 0, "tokenizer", "extra_ids", &n, f->error))
        return -1;
    if (n < 0 || n > MOST_EXTRA_IDS)
        return cr_fail(f->error, "%s: found extra_ids %lld, expected at most %d", d->path, (long long)n,
                       MOST_EXTRA_IDS);
    while (n-- > 0) {
        char name[40];
        int length = snprintf(name, sizeof name, "<extra_id_%lld>", (long long)n);
        add_piece(f, keep(f, name, (size_t)length), CONTROL);
    }
    return 0;
}

static void add_replace(struct cr_text_parts *normalizers, const char *from)
{
    struct cr_text_part *part = cr_add_part(normalizers, &cr_normalizers, "Replace");
    part->pattern = cr_pattern_literal(from, strlen(from));
    part->content = "\"";
    part->length = 1;
}

/* Adds ALBERT's normalizers: plain quotation marks, no accents, lower case. */
static int change_albert(struct file *f, const struct cr_document *d)
{
    struct cr_text_parts *parts = &f->t->normalizers;
    bool lowercase = true, accents = false;
    if (d && (cr_read_bool(d, 0, "tokenizer", "do_lower_case", &lowercase, f->error) ||
              cr_read_bool(d, 0, "tokenizer", "keep_accents", &accents, f->error)))
        return -1;
    add_replace(parts, "``");
    add_replace(parts, "''");
    if (!accents) {
        cr_add_part(parts, &cr_normalizers, "NFKD");
        cr_add_part(parts, &cr_normalizers, "StripAccents");
    }
    if (lowercase)
        cr_add_part(parts, &cr_normalizers, "Lowercase");
    return 0;
}

/* Appends DeBERTa's token [MASK]. */
static int change_deberta(struct file *f, const struct cr_document *d)
{
    (void)d;
    add_piece(f, "[MASK]", CONTROL);
    return 0;
}

static const struct class classes[] = {
    {"", NULL, NULL, 0, 0, NULL},
    {"PreTrainedTokenizer", NULL, NULL, 0, 0, NULL},
    {"LlamaTokenizer", "<s>", NULL, 0, 0, NULL},
    {"T5Tokenizer", NULL, "</s>", 1, 0, change_t5},
    {"XLMRobertaTokenizer", "<s>", "</s>", 2, 0, change_xlm_roberta},
    {"AlbertTokenizer", "[CLS]", "[SEP]", 1, 1, change_albert},
    {"DebertaV2Tokenizer", "[CLS]", "[SEP]", 1, 1, change_deberta},
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

/* Returns the class that the configuration names; null with an error if it is not supported. */
static const struct class *find_class(const struct file *f, const struct cr_document *d)
{
    const char *name = "";
    if (d && cr_read_string(d, 0, "tokenizer", "tokenizer_class", &name, f->error))
        return NULL;
    const struct class *class = cr_find_class(name, classes, N_CLASSES, sizeof *classes);
    if (!class)
        cr_fail(f->error,
                "%s: found the tokenizer_class %.60s beside %s, expected LlamaTokenizer, T5Tokenizer, "
                "XLMRobertaTokenizer, AlbertTokenizer or DebertaV2Tokenizer",
                d->path, name, f->path);
    return class;
}

/* Finds a token that is put around texts; *id is -1 if `text` is null. */
static int find_special(const struct file *f, const char *text, int32_t *id)
{
    *id = text ? cr_find_word(&f->t->vocabulary, text, strlen(text)) : -1;
    return !text || *id >= 0
               ? 0
               : cr_fail(f->error, "%s: found no token %s, which is put around texts, expected it", f->path, text);
}

/* Puts the special tokens of a class around texts. */
static int add_template(const struct file *f, const struct class *class)
{
    struct cr_pair_template template = {.separators = class->separators, .second_type = class->second_type};
    if (find_special(f, class->before, &template.cls) || find_special(f, class->after, &template.sep))
        return -1;
    if (class->before || class->after)
        cr_add_pair_template(&f->t->post_processors, &template);
    return 0;
}

/* ---- the model ---- */

/* Adds the tokens to the vocabulary.  Special tokens also become added tokens, which are found in a
 * text before anything else.  A unigram model itself finds user-defined tokens, by their scores;
 * for BPE, normalized text is cut at user-defined tokens. */
static int add_tokens(struct file *f)
{
    struct cr_tokenizer *t = f->t;
    cr_reserve_words(&t->vocabulary, f->n);
    for (int i = 0; i < f->n; i++) {
        const struct piece *p = &f->pieces[i];
        bool whole = p->type == CONTROL || p->type == UNKNOWN ||
                     (p->type == USER_DEFINED && f->model_type == BPE);
        const struct cr_added_token token = {
            .text = p->text, .length = p->length, .id = i, .special = p->type != USER_DEFINED,
            .normalized = p->type == USER_DEFINED, .kept = p->type == USER_DEFINED};
        if (cr_add_word(&t->vocabulary, p->text, p->length, i, f->path, f->error) ||
            (whole && cr_add_added(&t->added, &token, &t->vocabulary, f->path, f->error)))
            return -1;
    }
    return 0;
}

static int32_t unknown_of(const struct file *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->pieces[i].type == UNKNOWN)
            return i;
    return -1;
}

/* Sets the scores of a unigram model.  Only normal and user-defined tokens keep a finite score, as
 * only these are searched for in texts. */
static void set_unigram(struct file *f)
{
    struct cr_unigram *u = &f->t->unigram;
    double least = INFINITY;
    f->t->model = &cr_unigram_model;
    for (int i = 0; i < f->n; i++)
        if (f->pieces[i].type == NORMAL)
            least = fmin(least, f->pieces[i].score);
    for (int i = 0; i < f->n; i++) {
        const struct piece *p = &f->pieces[i];
        *CR_PUSH(u->scores, u->n_scores, u->scores_cap) =
            p->type == NORMAL         ? p->score
            : p->type == USER_DEFINED ? cr_user_defined_score(p->length)
                                      : -INFINITY;
    }
    u->vocabulary = &f->t->vocabulary;
    u->unknown_score = least - 10;
    u->unknown = unknown_of(f);
    u->byte_fallback = f->byte_fallback;
    u->single = true;
}

/* Derives the merges of a BPE model from its scores. */
static int set_bpe(struct file *f)
{
    struct cr_bpe *bpe = &f->t->bpe;
    double *scores = cr_calloc((size_t)f->n, sizeof *scores);
    bool *whole = cr_calloc((size_t)f->n, sizeof *whole);
    for (int i = 0; i < f->n; i++) {
        scores[i] = f->pieces[i].score;
        whole[i] = f->pieces[i].type != NORMAL && f->pieces[i].type != UNUSED;
    }
    const struct cr_scored_tokens tokens = {scores, whole, f->n};
    int status = cr_add_scored_merges(bpe, &tokens, f->path, f->error);
    bpe->unknown = unknown_of(f);
    bpe->fuse_unknown = true;
    bpe->byte_fallback = f->byte_fallback;
    free(scores);
    free(whole);
    return status;
}

/* ---- parts ---- */

/* Adds SentencePiece's normalizer. */
static int add_normalizer(struct file *f)
{
    struct cr_text_part *part = cr_add_sentencepiece(&f->t->normalizers);
    part->spaces = (struct cr_spaces){.trims = f->remove_extra_whitespaces,
                                      .prefix = f->add_dummy_prefix,
                                      .visible = f->escape_whitespaces};
    for (int i = 0; i < f->n; i++)
        if (f->pieces[i].type == USER_DEFINED)
            cr_trie_add(&part->kept, f->pieces[i].text, f->pieces[i].length, i);
    size_t n = (size_t)(f->charsmap.end - f->charsmap.at);
    return n ? cr_set_text_map(&part->map, f->charsmap.at, n, f->path, f->error) : 0;
}

void cr_add_space_decoders(struct cr_tokenizer *t, bool bytes, bool strips)
{
    struct cr_text_parts *parts = &t->decoders;
    struct cr_text_part *part = cr_add_part(parts, &cr_decoders, "Replace");
    part->pattern = cr_pattern_literal(VISIBLE, strlen(VISIBLE));
    part->content = " ";
    part->length = 1;
    if (bytes)
        cr_add_part(parts, &cr_decoders, "ByteFallback");
    cr_add_part(parts, &cr_decoders, "Fuse");
    if (strips) {
        part = cr_add_part(parts, &cr_decoders, "Strip");
        part->content = " ";
        part->length = part->start = 1;
    }
    t->has_decoder = true;
}

/* ---- the file ---- */

static int make(struct file *f, const struct cr_document *d)
{
    const struct class *class = find_class(f, d);
    return !class || (class->change && class->change(f, d)) || add_tokens(f) ||
                   (f->model_type == BPE ? set_bpe(f) : (set_unigram(f), 0)) || add_normalizer(f) ||
                   add_template(f, class)
               ? -1
               : 0;
}

/* Completes the tokenizer by the configuration at a path, which may be missing. */
static int make_by_config(struct file *f, const char *config)
{
    struct cr_document d;
    if (!config)
        return make(f, NULL);
    if (cr_document_read_zeros(&d, config, f->error))
        return -1;
    int status = make(f, d.values[0].kind == CR_JSON_OBJECT ? &d : NULL);
    cr_document_free(&d);
    return status || cr_read_config_tokens(f->t, config, NULL, f->error) ? -1 : 0;
}

int cr_read_sentencepiece(struct cr_tokenizer *t, const char *path, const char *config,
                          struct cr_error *error)
{
    struct cr_mapping mapping;
    struct file f = {.path = path,
                     .t = t,
                     .error = error,
                     .model_type = UNIGRAM,
                     .add_dummy_prefix = true,
                     .remove_extra_whitespaces = true,
                     .escape_whitespaces = true};
    if (cr_map_file(&mapping, path, error->text, sizeof error->text))
        return -1;
    int status = read_message(&f, (struct cr_wire){mapping.bytes, mapping.bytes + mapping.size});
    if (status == 0)
        status = make_by_config(&f, config);
    if (status == 0)
        cr_add_space_decoders(t, f.byte_fallback, f.add_dummy_prefix);
    free(f.pieces);
    cr_unmap_file(&mapping);
    return status;
}
