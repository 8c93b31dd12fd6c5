/* table_image.c - stores the large tables of a tokenizer as one block of bytes; see
 * table_image.h. */
#include "table_image.h"

#include <string.h>

/* The header of an image: numbers of items, and sizes of tables. */
struct image_header {
    uint64_t bytes; /* the size of the whole image */
    struct cr_json_hole holes[CR_TOKENIZER_HOLES];
    uint64_t n_texts;
    double unknown_score;
    int32_t n_tokens, n_merges, n_scores, has_levels, has_longest, n_slots, n_words, longest_token;
    int32_t merge_slots, letter_slots[CR_POSITIONS]; /* the sizes of hash tables; 0: there is no
                                                        such table */
};

/* Fills a header with the numbers of a tokenizer. */
static void get_numbers(struct image_header *h, const struct cr_tokenizer *t)
{
    const struct cr_bpe *bpe = &t->bpe;
    memcpy(h->holes, t->holes, sizeof h->holes);
    h->n_texts = t->vocabulary.texts.length;
    h->longest_token = (int32_t)t->vocabulary.longest;
    h->unknown_score = t->unigram.unknown_score;
    h->n_tokens = t->vocabulary.n;
    h->n_words = (int32_t)t->vocabulary.n_words;
    h->n_slots = (int32_t)t->vocabulary.n_slots;
    h->n_merges = bpe->n_merges;
    h->has_levels = bpe->levels != NULL;
    h->merge_slots = bpe->slots ? (int32_t)bpe->mask + 1 : 0;
    for (int i = 0; i < CR_POSITIONS; i++)
        h->letter_slots[i] = bpe->letters[i].slots ? (int32_t)bpe->letters[i].mask + 1 : 0;
    h->n_scores = t->unigram.n_scores;
    h->has_longest = t->unigram.longest != NULL;
}

/* Sets the numbers of a tokenizer from a header. */
static void set_numbers(struct cr_tokenizer *t, const struct image_header *h)
{
    struct cr_bpe *bpe = &t->bpe;
    memcpy(t->holes, h->holes, sizeof h->holes);
    t->vocabulary.texts.length = h->n_texts;
    t->vocabulary.longest = (uint32_t)h->longest_token;
    t->unigram.unknown_score = h->unknown_score;
    t->vocabulary.n = h->n_tokens;
    t->vocabulary.n_words = (uint32_t)h->n_words;
    t->vocabulary.n_slots = (uint32_t)h->n_slots;
    bpe->n_merges = h->n_merges;
    bpe->mask = (uint32_t)h->merge_slots - 1;
    for (int i = 0; i < CR_POSITIONS; i++)
        bpe->letters[i].mask = (uint32_t)h->letter_slots[i] - 1;
    t->unigram.n_scores = h->n_scores;
}

/* A table: the tokenizer's pointer to it, its size, and its offset in the image. */
struct table {
    void *pointer; /* the address of the tokenizer's pointer */
    size_t bytes, at;
};

enum { MOST_TABLES = 16 };

/* The tables, in the order in which the image has them. */
struct tables {
    struct table items[MOST_TABLES];
    int n;
    size_t bytes; /* the size of the image up to here */
};

static void add_table(struct tables *tables, void *pointer, size_t n, size_t item)
{
    tables->items[tables->n++] = (struct table){pointer, n * item, tables->bytes};
    tables->bytes += (n * item + 7) / 8 * 8;
}

/* Lists the tables of a tokenizer whose numbers are those of the header. */
static struct tables list_tables(struct cr_tokenizer *t, const struct image_header *h)
{
    struct tables list = {.bytes = sizeof *h};
    struct cr_vocabulary *v = &t->vocabulary;
    struct cr_bpe *bpe = &t->bpe;
    const size_t merges = (size_t)h->n_merges;
    add_table(&list, &v->tokens, (size_t)h->n_tokens, sizeof *v->tokens);
    add_table(&list, &v->slots, (size_t)h->n_slots, sizeof *v->slots);
    add_table(&list, &v->texts.data, h->n_texts, 1);
    add_table(&list, &bpe->left, merges, sizeof *bpe->left);
    add_table(&list, &bpe->right, merges, sizeof *bpe->right);
    add_table(&list, &bpe->made, merges, sizeof *bpe->made);
    add_table(&list, &bpe->levels, h->has_levels ? merges : 0, sizeof *bpe->levels);
    add_table(&list, &bpe->slots, (size_t)h->merge_slots, sizeof *bpe->slots);
    for (int i = 0; i < CR_POSITIONS; i++)
        add_table(&list, &bpe->letters[i].slots, (size_t)h->letter_slots[i], sizeof *bpe->letters[i].slots);
    add_table(&list, &t->unigram.scores, (size_t)h->n_scores, sizeof *t->unigram.scores);
    add_table(&list, &t->unigram.longest, h->has_longest ? CR_UNIGRAM_HEADS : 0, sizeof *t->unigram.longest);
    return list;
}

/* Appends bytes, then zeros up to a multiple of 8. */
static void put_padded(struct cr_text *out, const void *bytes, size_t n)
{
    static const char zeros[8];
    cr_put_bytes(out, bytes, n);
    cr_put_bytes(out, zeros, (8 - n % 8) % 8);
}

void cr_write_image(struct cr_text *out, struct cr_tokenizer *t)
{
    struct image_header h;
    memset(&h, 0, sizeof h); /* also the padding, so that images are reproducible */
    get_numbers(&h, t);
    const struct tables list = list_tables(t, &h);
    h.bytes = list.bytes;
    put_padded(out, &h, sizeof h);
    for (int i = 0; i < list.n; i++) {
        const void *table;
        memcpy(&table, list.items[i].pointer, sizeof table);
        put_padded(out, table, list.items[i].bytes);
    }
}

/* Sets the tokenizer's pointers to the tables in an image or, if that is null, to null. */
static void set_tables(const struct tables *list, const unsigned char *image)
{
    for (int i = 0; i < list->n; i++) {
        const void *table = image && list->items[i].bytes ? image + list->items[i].at : NULL;
        memcpy(list->items[i].pointer, &table, sizeof table);
    }
}

bool cr_use_image(struct cr_tokenizer *t, const void *image, size_t bytes)
{
    struct image_header h;
    if (bytes < sizeof h)
        return false;
    memcpy(&h, image, sizeof h);
    const struct tables list = list_tables(t, &h);
    if (h.bytes != bytes || list.bytes != bytes)
        return false;
    set_numbers(t, &h);
    set_tables(&list, image);
    t->vocabulary.is_complete = true;
    return true;
}

void cr_leave_image(struct cr_tokenizer *t)
{
    static const struct image_header none;
    const struct tables list = list_tables(t, &none);
    if (t->vocabulary.is_complete)
        set_tables(&list, NULL);
}
