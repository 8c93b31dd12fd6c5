/* bpe.c - byte-pair encoding; see bpe.h. */
#include "bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "merge.inc"
#include "piece_hash.inc"

/* ---- making ---- */

/* The id of a token of a merge, or an error. */
static int find_token(const struct cr_bpe *bpe, const char *text, size_t length, int32_t *id,
                      const char *path, struct cr_error *error)
{
    *id = cr_find_word(&bpe->vocabulary, text, length);
    if (*id >= 0)
        return 0;
    return cr_fail(error,
                   "%s: found %s in merge %d, which is no token, expected one of the vocabulary",
                   path, cr_show(text, length).text, bpe->n_merges);
}

/* The id of the token that two make together.  Vocabularies list these tokens in the order of the
 * merges, so that it is likely to be the next one. */
static int find_both(const struct cr_bpe *bpe, const char *left, size_t left_length,
                     const char *right, size_t right_length, int32_t *id, const char *path,
                     struct cr_error *error)
{
    char few[64], *both = few;
    size_t length = left_length + right_length;
    *id = bpe->n_merges ? bpe->made[bpe->n_merges - 1] + 1 : -1;
    if (cr_has_both(&bpe->vocabulary, *id, left, left_length, right, right_length))
        return 0;
    if (length > sizeof few)
        both = cr_calloc(length, 1);
    memcpy(both, left, left_length);
    memcpy(both + left_length, right, right_length);
    int status = find_token(bpe, both, length, id, path, error);
    if (both != few)
        free(both);
    return status;
}

int cr_add_merge(struct cr_bpe *bpe, const char *left, size_t left_length, const char *right,
                 size_t right_length, const char *path, struct cr_error *error)
{
    int32_t a, b, made;
    if (find_token(bpe, left, left_length, &a, path, error) ||
        find_token(bpe, right, right_length, &b, path, error) ||
        find_both(bpe, left, left_length, right, right_length, &made, path, error))
        return -1;
    int n = bpe->n_merges;
    *CR_PUSH(bpe->left, n, bpe->left_cap) = a;
    n = bpe->n_merges;
    *CR_PUSH(bpe->right, n, bpe->right_cap) = b;
    *CR_PUSH(bpe->made, bpe->n_merges, bpe->made_cap) = made;
    return 0;
}

/* The slot of a pair, or the free one where it goes. */
static uint32_t slot_of(const struct cr_bpe *bpe, int32_t left, int32_t right)
{
    uint32_t at = cr_merge_hash(left, right) & bpe->mask;
    for (; bpe->slots[at] >= 0; at = (at + 1) & bpe->mask) {
        int32_t rank = bpe->slots[at];
        if (bpe->left[rank] == left && bpe->right[rank] == right)
            break;
    }
    return at;
}

void cr_index_bpe(struct cr_bpe *bpe)
{
    uint32_t size = 4;
    while (size < 2 * (uint32_t)bpe->n_merges)
        size *= 2;
    bpe->mask = size - 1;
    bpe->slots = cr_calloc(size, sizeof *bpe->slots);
    memset(bpe->slots, 0xff, size * sizeof *bpe->slots);
    for (int i = 0; i < bpe->n_merges; i++)
        bpe->slots[slot_of(bpe, bpe->left[i], bpe->right[i])] = i;
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        bpe->bytes[i] = bpe->byte_fallback ? cr_find_word(&bpe->vocabulary, name, 6) : -1;
    }
}

void cr_free_bpe(struct cr_bpe *bpe)
{
    cr_free_vocabulary(&bpe->vocabulary);
    free(bpe->left);
    free(bpe->right);
    free(bpe->made);
    free(bpe->levels);
    free(bpe->slots);
    *bpe = (struct cr_bpe){0};
}

uint32_t cr_hash_piece(const char *text, size_t n)
{
    return cr_piece_hash(text, n);
}

/* ---- encoding ---- */

/* The symbols of a piece as it is taken apart. */
struct taking {
    const struct cr_bpe *bpe;
    struct cr_symbol *symbols;
    int32_t n;
    bool unknown; /* one is due: it goes in front of the next token that the vocabulary has */
};

static void add_symbol(struct taking *t, int32_t id)
{
    t->symbols[t->n++].id = id;
}

static void add_due(struct taking *t)
{
    if (t->unknown)
        add_symbol(t, t->bpe->unknown);
    t->unknown = false;
}

/* Adds the bytes of a character, if each of them is a token. */
static bool add_bytes(struct taking *t, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (t->bpe->bytes[(unsigned char)text[i]] < 0)
            return false;
    for (size_t i = 0; i < bytes; i++)
        add_symbol(t, t->bpe->bytes[(unsigned char)text[i]]);
    return true;
}

/* Adds a character: its token, or its bytes, or what stands for the unknown, of which several in a
 * row may be one.  A model without such a token leaves the character out. */
static void add_character(struct taking *t, const char *text, size_t bytes)
{
    int32_t id = cr_find_word(&t->bpe->vocabulary, text, bytes);
    if (id >= 0) {
        add_due(t);
        add_symbol(t, id);
    } else if (!add_bytes(t, text, bytes) && t->bpe->unknown >= 0) {
        if (!t->bpe->fuse_unknown)
            add_due(t);
        t->unknown = true;
    }
}

static size_t character_bytes(const char *text)
{
    unsigned char c = (unsigned char)*text;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Each byte is a symbol at most, and one more is due at the end. */
static void make_room(struct cr_bpe_work *work, size_t n)
{
    if (n + 1 <= work->room)
        return;
    cr_free_bpe_work(work);
    work->room = n + n / 4 + 64;
    work->symbols = cr_calloc(work->room, sizeof *work->symbols);
    work->heap = cr_calloc(CR_CANDIDATES(work->room), sizeof *work->heap);
}

void cr_bpe_encode(const struct cr_bpe *bpe, const char *text, size_t n, struct cr_ids *ids,
                   struct cr_bpe_work *work)
{
    int32_t whole = bpe->ignore_merges ? cr_find_word(&bpe->vocabulary, text, n) : -1;
    if (whole >= 0) {
        *CR_PUSH(ids->items, ids->n, ids->cap) = whole;
        return;
    }
    make_room(work, n);
    struct taking taking = {.bpe = bpe, .symbols = work->symbols};
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bytes = character_bytes(text + at);
        add_character(&taking, text + at, bytes);
    }
    add_due(&taking);
    struct cr_merges merges = {bpe->left, bpe->right, bpe->made, bpe->slots, bpe->mask,
                               bpe->levels};
    cr_merge(&merges, work->symbols, taking.n, work->heap);
    for (int32_t i = taking.n ? 0 : -1; i >= 0; i = work->symbols[i].next)
        *CR_PUSH(ids->items, ids->n, ids->cap) = work->symbols[i].id;
}

void cr_free_bpe_work(struct cr_bpe_work *work)
{
    free(work->symbols);
    free(work->heap);
    *work = (struct cr_bpe_work){0};
}
