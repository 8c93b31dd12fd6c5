/* bpe.c - byte-pair encoding; see bpe.h. */
#include "bpe.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/files/utf8.h"
#include "compiler/files/utf8_put.h"
#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"

/* The order matters: each file uses those above it. */
#include "characters.inc"

#include "merge.inc"

#include "piece_hash.inc"
#include "symbols.inc"

/* ---- building ---- */

/* Finds the id of a token that a merge names; fails if the vocabulary does not have it. */
static int find_token(const struct cr_bpe *bpe, const char *text, size_t length, int32_t *id,
                      const char *path, struct cr_error *error)
{
    *id = cr_find_word(bpe->vocabulary, text, length);
    if (*id >= 0)
        return 0;
    return cr_fail(error,
                   "%s: found %s in merge %d, which is not a token, expected one of the vocabulary",
                   path, cr_show(text, length).text, bpe->n_merges);
}

/* Finds the id of the token that two tokens concatenate to.  Vocabularies usually list these tokens
 * in the order of the merges, so the id after the last one found is tried first. */
static int find_both(const struct cr_bpe *bpe, const char *left, size_t left_length,
                     const char *right, size_t right_length, int32_t *id, const char *path,
                     struct cr_error *error)
{
    char few[64], *both = few;
    size_t length = left_length + right_length;
    *id = bpe->n_merges ? bpe->made[bpe->n_merges - 1] + 1 : -1;
    if (cr_has_both(bpe->vocabulary, *id, left, left_length, right, right_length))
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
    size_t dropped = bpe->prefix_length;
    if (bpe->vocabulary->is_complete)
        return 0;
    if (find_token(bpe, left, left_length, &a, path, error) ||
        find_token(bpe, right, right_length, &b, path, error))
        return -1;
    if (right_length < dropped)
        return cr_fail(error, "%s: found %s in merge %d, expected the continuing_subword_prefix %.60s before it",
                       path, cr_show(right, right_length).text, bpe->n_merges, bpe->prefix);
    if (find_both(bpe, left, left_length, right + dropped, right_length - dropped, &made, path, error))
        return -1;
    int n = bpe->n_merges;
    *CR_PUSH(bpe->left, n, bpe->left_cap) = a;
    n = bpe->n_merges;
    *CR_PUSH(bpe->right, n, bpe->right_cap) = b;
    *CR_PUSH(bpe->made, bpe->n_merges, bpe->made_cap) = made;
    return 0;
}

/* Returns the slot of a pair of tokens in the hash table of merges, or the free slot to store it
 * in. */
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

/* True if a token consists of a single character and the prefix or suffix that tokens have at
 * `position`; sets *character. */
static bool is_letter(const struct cr_bpe *bpe, int position, int32_t id, uint32_t *character)
{
    size_t before = position & CR_CONTINUES ? bpe->prefix_length : 0;
    size_t after = position & CR_ENDS ? bpe->suffix_length : 0, bytes;
    size_t length = bpe->vocabulary->tokens[id].length;
    if (length <= before + after || length > before + after + 4)
        return false;
    const char *text = cr_word_text(bpe->vocabulary, id), *letter = text + before;
    length -= before + after;
    if ((before > 0 && memcmp(text, bpe->prefix, before) != 0) ||
        (after > 0 && memcmp(letter + length, bpe->suffix, after) != 0) ||
        cr_utf8(letter, letter + length) != length)
        return false;
    *character = cr_character(letter, 0, &bytes);
    return true;
}

/* Builds the hash table of the tokens that consist of a single character at a position in a piece
 * (CR_CONTINUES, CR_ENDS). */
static void index_letters(struct cr_bpe *bpe, int position)
{
    const struct cr_vocabulary *v = bpe->vocabulary;
    struct cr_letter_table *letters = &bpe->letters[position];
    uint32_t size = 4, n = 0, character;
    for (int id = 0; id < v->n; id++)
        n += is_letter(bpe, position, id, &character);
    while (size < 2 * n)
        size *= 2;
    letters->mask = size - 1;
    letters->slots = cr_calloc(size, sizeof *letters->slots);
    for (uint32_t i = 0; i < size; i++)
        letters->slots[i].id = -1;
    for (int id = 0; id < v->n; id++)
        if (is_letter(bpe, position, id, &character))
            letters->slots[cr_letter_slot(letters->slots, letters->mask, character)] =
                (struct cr_letter){character, id};
}

/* Returns which table of letters applies to a character: positions are distinguished only if they
 * have a prefix or suffix. */
static int position_of(const struct cr_bpe *bpe, bool continues, bool ends)
{
    return (continues && bpe->prefix_length > 0 ? CR_CONTINUES : 0) |
           (ends && bpe->suffix_length > 0 ? CR_ENDS : 0);
}

/* Builds the hash tables of merges and of letters. */
static void make_tables(struct cr_bpe *bpe)
{
    uint32_t size = 4;
    while (size < 2 * (uint32_t)bpe->n_merges)
        size *= 2;
    bpe->mask = size - 1;
    bpe->slots = cr_calloc(size, sizeof *bpe->slots);
    memset(bpe->slots, 0xff, size * sizeof *bpe->slots);
    for (int i = 0; i < bpe->n_merges; i++)
        bpe->slots[slot_of(bpe, bpe->left[i], bpe->right[i])] = i;
    for (int position = 0; position < CR_POSITIONS; position++)
        if (position == position_of(bpe, position & CR_CONTINUES, position & CR_ENDS))
            index_letters(bpe, position);
}

void cr_index_bpe(struct cr_bpe *bpe)
{
    if (!bpe->vocabulary->is_complete)
        make_tables(bpe);
    cr_find_bytes(bpe->vocabulary, bpe->byte_fallback, bpe->bytes);
}

void cr_free_bpe(struct cr_bpe *bpe)
{
    free(bpe->left);
    free(bpe->right);
    free(bpe->made);
    free(bpe->levels);
    free(bpe->slots);
    for (int position = 0; position < CR_POSITIONS; position++)
        free(bpe->letters[position].slots);
    *bpe = (struct cr_bpe){0};
}

uint32_t cr_hash_piece(const char *text, size_t n)
{
    return cr_piece_hash(text, n);
}

/* ---- encoding ---- */

/* Allocates memory for the symbols of a piece of n bytes: at most one for each byte, and one for
 * the end.  With byte fallback, the bytes of prefixes and the suffix may become symbols, too. */
static void make_room(const struct cr_bpe *bpe, struct cr_bpe_work *work, size_t n)
{
    if (bpe->byte_fallback)
        n += n * bpe->prefix_length + bpe->suffix_length;
    if (n + 1 <= work->room)
        return;
    cr_free_bpe_work(work);
    work->room = n + n / 4 + 64;
    work->symbols = cr_calloc(work->room, sizeof *work->symbols);
    work->heap = cr_calloc(CR_CANDIDATES(work->room), sizeof *work->heap);
    work->ids = cr_calloc(work->room, sizeof *work->ids);
}

/* Appends the token of each byte of all parts.  Returns false, and appends nothing, if a byte has
 * no token. */
static bool add_bytes(const struct cr_bpe *bpe, struct cr_symbols *s, const char *const parts[3],
                      const size_t lengths[3])
{
    int32_t n = s->n;
    for (int part = 0; part < 3; part++)
        for (size_t i = 0; i < lengths[part]; i++)
            if ((s->items[n++].id = bpe->bytes[(unsigned char)parts[part][i]]) < 0)
                return false;
    s->n = n;
    return true;
}

/* Appends tokens for a character that does not form a token with its prefix and suffix: one for
 * each byte of all three, or the unknown token.  `text` has the `bytes` bytes of the character. */
static void add_affixed_bytes(const struct cr_bpe *bpe, const struct cr_bpe_tables *tables, struct cr_symbols *s,
                              int position, const char *text, size_t bytes)
{
    const char *const parts[] = {bpe->prefix, text, bpe->suffix};
    const size_t lengths[] = {position & CR_CONTINUES ? bpe->prefix_length : 0, bytes,
                              position & CR_ENDS ? bpe->suffix_length : 0};
    if (!add_bytes(bpe, s, parts, lengths))
        cr_add_unknown(tables, s);
}

/* Stands for an unknown token that is not in the vocabulary; no merge contains it. */
enum { MISSING = INT32_MAX };

/* Appends ids; returns false if one of them is MISSING. */
static bool append(struct cr_ids *ids, const int32_t *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i] == MISSING)
            return false;
        *CR_PUSH(ids->items, ids->n, ids->cap) = items[i];
    }
    return true;
}

bool cr_bpe_encode(const struct cr_bpe *bpe, const char *text, size_t n, struct cr_ids *ids,
                   struct cr_bpe_work *work)
{
    int32_t whole = bpe->ignore_merges ? cr_find_word(bpe->vocabulary, text, n) : -1;
    if (whole >= 0) {
        *CR_PUSH(ids->items, ids->n, ids->cap) = whole;
        return true;
    }
    make_room(bpe, work, n);
    struct cr_bpe_tables tables = {
        {bpe->left, bpe->right, bpe->made, bpe->slots, bpe->mask, bpe->levels},
        NULL, 0, bpe->bytes, bpe->missing ? MISSING : bpe->unknown, bpe->fuse_unknown};
    struct cr_symbols symbols = {.items = work->symbols};
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t character = cr_character(text, at, &bytes);
        int position = position_of(bpe, at > 0, at + bytes == n);
        const struct cr_letter_table *letters = &bpe->letters[position];
        tables.letters = letters->slots;
        tables.letter_mask = letters->mask;
        if (bpe->byte_fallback && position &&
            letters->slots[cr_letter_slot(letters->slots, letters->mask, character)].id < 0)
            add_affixed_bytes(bpe, &tables, &symbols, position, text + at, bytes);
        else
            cr_add_letter(&tables, &symbols, character);
    }
    size_t made = cr_merge_symbols(&tables, &symbols, work->heap, work->ids);
    return append(ids, work->ids, made);
}

void cr_free_bpe_work(struct cr_bpe_work *work)
{
    free(work->symbols);
    free(work->heap);
    free(work->ids);
    *work = (struct cr_bpe_work){0};
}
