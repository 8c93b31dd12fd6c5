/* vocabulary.c - the tokens of a model; see vocabulary.h. */
#include "vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

enum { FIRST_SLOTS = 64, ID_BITS = 23 };
_Static_assert(CR_MOST_IDS < 1 << ID_BITS, "an id + 1 fits a slot");

/* Returns a hash of a text: of 8 bytes at a time, then of two overlapping words of 4 bytes, or of
 * up to 3 single bytes. */
static uint32_t hash_of(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint64_t hash = length, word = 0;
    uint32_t first, last;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = cr_hash_word(hash, word);
    }
    if (length >= sizeof first) {
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + length - sizeof last, sizeof last);
        word = first | (uint64_t)last << 32;
    } else {
        word = length
                   ? bytes[0] | (uint64_t)bytes[length / 2] << 8 | (uint64_t)bytes[length - 1] << 16
                   : 0;
    }
    return (uint32_t)(cr_hash_word(hash, word) >> 16);
}

static bool is_token(const struct cr_vocabulary *v, int32_t id, const char *text, size_t length)
{
    const struct cr_token *token = &v->tokens[id];
    return token->length == length && memcmp(v->texts.data + token->at, text, length) == 0;
}

static uint32_t slot_of(uint32_t hash, int32_t id)
{
    return hash >> ID_BITS << ID_BITS | (uint32_t)(id + 1);
}

static int32_t id_in(uint32_t slot)
{
    return (int32_t)(slot & ((1u << ID_BITS) - 1)) - 1;
}

static int32_t find(const struct cr_vocabulary *v, uint32_t hash, const char *text, size_t length)
{
    for (uint32_t at = hash; v->n_slots; at++) {
        uint32_t slot = v->slots[at & (v->n_slots - 1)];
        if (!slot)
            break;
        if ((slot ^ hash) >> ID_BITS == 0 && is_token(v, id_in(slot), text, length))
            return id_in(slot);
    }
    return -1;
}

int32_t cr_find_word(const struct cr_vocabulary *v, const char *text, size_t length)
{
    return find(v, hash_of(text, length), text, length);
}

bool cr_has_both(const struct cr_vocabulary *v, int32_t id, const char *left, size_t left_length,
                 const char *right, size_t right_length)
{
    const char *text = cr_word_text(v, id);
    return text && v->tokens[id].length == left_length + right_length &&
           memcmp(text, left, left_length) == 0 &&
           memcmp(text + left_length, right, right_length) == 0;
}

/* Allocates zeroed memory for tokens with ids below n.  The system provides pages of large blocks
 * only when they are written. */
static void make_tokens(struct cr_vocabulary *v, int n)
{
    struct cr_token *tokens = cr_calloc((size_t)n, sizeof *tokens);
    if (v->n)
        memcpy(tokens, v->tokens, (size_t)v->n * sizeof *tokens);
    free(v->tokens);
    v->tokens = tokens;
    v->cap = n;
}

static void put_slot(struct cr_vocabulary *v, int32_t id)
{
    uint32_t at = v->tokens[id].hash;
    while (v->slots[at & (v->n_slots - 1)])
        at++;
    v->slots[at & (v->n_slots - 1)] = slot_of(v->tokens[id].hash, id);
}

/* Makes a hash table of at least 2 * n slots, with the words of the old table. */
static void make_slots(struct cr_vocabulary *v, uint32_t n)
{
    uint32_t *old = v->slots;
    uint32_t n_old = v->n_slots;
    v->n_slots = n_old ? n_old : FIRST_SLOTS;
    while (v->n_slots < 2 * n)
        v->n_slots *= 2;
    v->slots = cr_calloc(v->n_slots, sizeof *v->slots);
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i])
            put_slot(v, id_in(old[i]));
    free(old);
}

void cr_reserve_words(struct cr_vocabulary *v, int n)
{
    if (v->is_complete)
        return;
    if (n > v->cap)
        make_tokens(v, n);
    if (2 * (uint32_t)n > v->n_slots)
        make_slots(v, (uint32_t)n);
}

/* Copies a text to the vocabulary's texts and returns the token for it. */
static struct cr_token copy_word(struct cr_vocabulary *v, const char *text, size_t length, uint32_t hash)
{
    if (v->texts.length == 0)
        cr_put_bytes(&v->texts, "", 1);
    size_t at = v->texts.length;
    cr_put_bytes(&v->texts, text, length);
    v->texts.length++; /* includes the NUL */
    return (struct cr_token){(uint32_t)at, (uint32_t)length, hash};
}

int cr_add_word(struct cr_vocabulary *v, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error)
{
    if (v->is_complete)
        return 0;
    if (id < 0 || id >= CR_MOST_IDS)
        return cr_fail(error, "%s: found the id %lld of token %s, expected one from 0 to %d", path,
                       (long long)id, cr_show(text, length).text, CR_MOST_IDS - 1);
    if (length > INT32_MAX || v->texts.length > INT32_MAX)
        return cr_fail(error, "%s: found a token of %zu bytes after %zu of others, expected at most %d", path,
                       length, v->texts.length, INT32_MAX);
    if (cr_word_text(v, (int32_t)id))
        return cr_fail(error, "%s: found the id %lld of token %s, which token %s has, too, "
                       "expected an id for each", path, (long long)id, cr_show(text, length).text,
                       cr_show(cr_word_text(v, (int32_t)id), v->tokens[id].length).text);
    uint32_t hash = hash_of(text, length);
    if (find(v, hash, text, length) >= 0)
        return cr_fail(error, "%s: found token %s twice, expected it once", path,
                       cr_show(text, length).text);
    if (id >= v->cap)
        make_tokens(v, id < 2 * v->cap ? 2 * v->cap : (int)id + 1);
    if (2 * (v->n_words + 1) > v->n_slots)
        make_slots(v, v->n_words + 1);
    v->tokens[id] = copy_word(v, text, length, hash);
    v->n = id < v->n ? v->n : (int)id + 1;
    v->longest = length > v->longest ? (uint32_t)length : v->longest;
    v->n_words++;
    put_slot(v, (int32_t)id);
    return 0;
}

void cr_free_vocabulary(struct cr_vocabulary *v)
{
    free(v->tokens);
    free(v->slots);
    free(v->texts.data);
    *v = (struct cr_vocabulary){0};
}

/* Compares keys after unescaping, so that equal texts are found however JSON spells them. */
int cr_read_vocabulary(struct cr_vocabulary *v, const struct cr_document *d, int object,
                       struct cr_error *error)
{
    cr_reserve_words(v, d->values[object].count);
    for (int i = d->values[object].first; i >= 0; i = d->values[i].next) {
        const struct cr_json_value *value = &d->values[i];
        if (value->kind != CR_JSON_INTEGER)
            return cr_fail(error, "%s: found %s for token %s, expected its id", d->path,
                           cr_kind_of_value(d, i), cr_show(value->key, value->key_length).text);
        if (cr_add_word(v, value->key, value->key_length, value->integer, d->path, error))
            return -1;
    }
    return 0;
}

void cr_find_bytes(const struct cr_vocabulary *vocabulary, bool byte_fallback, int32_t ids[256])
{
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        ids[i] = byte_fallback ? cr_find_word(vocabulary, name, strlen(name)) : -1;
    }
}
