/* unigram_model.c - the unigram language model as the model of a tokenizer; see model_kind.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "emitted_parts.h"
#include "model_kind.h"
#include "tokenizer.h"

/* ---- scores ---- */

/* A decimal number, digits * 10 ^ exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
};

/* Appends decimal digits to a number as long as they fit in 64 bits; further digits only change the
 * exponent.  Returns the end of the digits. */
static const char *take_digits(const char *at, bool fraction, struct decimal *number)
{
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (number->digits <= (UINT64_MAX - digit) / 10) {
            number->digits = number->digits * 10 + digit;
            number->exponent -= fraction;
        } else {
            number->exponent += !fraction;
        }
    }
    return at;
}

/* Returns a score as the tokenizers library reads it.  It rounds the digits to a double, divides
 * that by a power of ten, and rounds again.  So the last bit may differ from the correctly rounded
 * score; it decides between paths that are equally likely. */
static double score_of(const struct cr_document *d, int value)
{
    enum { EXACT = 22 }; /* powers of ten up to this one are exact doubles */
    struct decimal number = {0, 0};
    const char *at = (const char *)d->file.bytes + d->values[value].at;
    at += strspn(at, " \n\t\r");
    bool minus = *at == '-';
    double power = 1, score;
    at = take_digits(at + minus, false, &number);
    if (*at == '.')
        at = take_digits(at + 1, true, &number);
    if (*at == 'e' || *at == 'E')
        number.exponent += (int)strtol(at + 1, NULL, 10);
    if (number.exponent > 0 || number.exponent < -EXACT)
        return cr_real_of(&d->values[value]);
    for (int i = 0; i > number.exponent; i--)
        power *= 10;
    score = (double)number.digits / power;
    return minus ? -score : score;
}

/* ---- reading ---- */

/* Reads a token ["TOKEN", SCORE]. */
static int read_entry(struct cr_tokenizer *t, const struct cr_document *d, int entry,
                      struct cr_error *error)
{
    const struct cr_json_value *pair = &d->values[entry];
    int text = pair->kind == CR_JSON_ARRAY && pair->count == 2 ? pair->first : CR_NO_VALUE;
    int score = text >= 0 ? d->values[text].next : CR_NO_VALUE;
    if (text < 0 || d->values[text].kind != CR_JSON_STRING ||
        (d->values[score].kind != CR_JSON_REAL && d->values[score].kind != CR_JSON_INTEGER))
        return cr_fail(error, "%s: model: found %s for the token of id %d, expected [\"TOKEN\", SCORE]",
                       d->path, cr_kind_of_value(d, entry), t->unigram.n_scores);
    return cr_add_unigram(&t->unigram, &t->vocabulary, d->values[text].text, d->values[text].length,
                          score_of(d, score), d->path, error);
}

/* Reads the id of the unknown token, which a model need not have. */
static int read_unknown(struct cr_unigram *u, const struct cr_document *d, int model,
                        struct cr_error *error)
{
    int64_t id = -1;
    if (cr_read_integer(d, model, "model", "unk_id", &id, error))
        return -1;
    if (cr_member(d, model, "unk_id") >= 0 && (id < 0 || id >= u->n_scores))
        return cr_fail(error, "%s: model: found the unk_id %lld, expected one of %d tokens", d->path,
                       (long long)id, u->n_scores);
    u->unknown = (int32_t)id;
    return 0;
}

/* Reads the list of tokens, whose indices are their ids, and the settings. */
static int read_unigram(struct cr_tokenizer *t, const struct cr_document *d, int model,
                        struct cr_error *error)
{
    static const char where[] = "model";
    struct cr_unigram *u = &t->unigram;
    int list = cr_need_member(d, model, where, "vocab", CR_JSON_ARRAY, error);
    if (list < 0)
        return -1;
    u->vocabulary = &t->vocabulary;
    cr_reserve_words(&t->vocabulary, d->values[list].count);
    for (int i = d->values[list].first; i >= 0; i = d->values[i].next)
        if (read_entry(t, d, i, error))
            return -1;
    return read_unknown(u, d, model, error) ||
                   cr_read_bool(d, model, where, "byte_fallback", &u->byte_fallback, error)
               ? -1
               : 0;
}

static void index_unigram(struct cr_tokenizer *t)
{
    cr_index_unigram(&t->unigram);
}

static int encode_unigram(struct cr_tokenizer *t, const char *text, size_t n, struct cr_ids *ids,
                          struct cr_error *error)
{
    return cr_unigram_encode(&t->unigram, text, n, ids, error);
}

static void release_unigram(struct cr_tokenizer *t)
{
    cr_free_unigram(&t->unigram);
}

const struct cr_model_kind cr_unigram_model = {.type = "Unigram",
                                               .read = read_unigram,
                                               .index = index_unigram,
                                               .encode = encode_unigram,
                                               .release = release_unigram,
                                               .piece = "cr_piece_of_unigram"};
