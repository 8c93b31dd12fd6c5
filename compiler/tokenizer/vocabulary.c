/* vocabulary.c - the tokens of a model; see vocabulary.h. */
#include "vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = length;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = cr_hash_word(hash, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, text, length);
    return cr_hash_word(hash, rest);
}

/* What is looked for, and where. */
struct wanted {
    const struct cr_vocabulary *vocabulary;
    const char *text;
    size_t length;
};

static bool is_wanted(const void *context, int id)
{
    const struct wanted *w = context;
    const struct cr_token *token = &w->vocabulary->tokens[id];
    return token->length == w->length && memcmp(token->text, w->text, w->length) == 0;
}

static int32_t find(const struct cr_vocabulary *v, uint64_t hash, const char *text, size_t length)
{
    struct wanted wanted = {v, text, length};
    return cr_table_find(&v->table, hash, is_wanted, &wanted);
}

int32_t cr_find_word(const struct cr_vocabulary *v, const char *text, size_t length)
{
    return find(v, hash_of(text, length), text, length);
}

int32_t cr_find_word_near(const struct cr_vocabulary *v, const char *text, size_t length, int32_t id)
{
    if (id >= 0 && id < v->n && v->tokens[id].text && is_wanted(&(struct wanted){v, text, length}, id))
        return id;
    return cr_find_word(v, text, length);
}

int cr_add_word(struct cr_vocabulary *v, const char *text, size_t length, int64_t id,
                const char *path, struct cr_error *error)
{
    if (id < 0 || id >= CR_MOST_IDS)
        return cr_fail(error, "%s: found the id %lld of token %s, expected one from 0 to %d", path,
                       (long long)id, cr_show(text, length).text, CR_MOST_IDS - 1);
    while (v->n <= id)
        *CR_PUSH(v->tokens, v->n, v->cap) = (struct cr_token){0};
    if (v->tokens[id].text)
        return cr_fail(error,
                       "%s: found the id %lld of token %s, which token %s has, too; "
                       "expected an id each",
                       path, (long long)id, cr_show(text, length).text,
                       cr_show(v->tokens[id].text, v->tokens[id].length).text);
    uint64_t hash = hash_of(text, length);
    if (find(v, hash, text, length) >= 0)
        return cr_fail(error, "%s: found token %s twice, expected it once", path,
                       cr_show(text, length).text);
    v->tokens[id] = (struct cr_token){text, length};
    cr_table_add(&v->table, hash, (int)id);
    return 0;
}

void cr_free_vocabulary(struct cr_vocabulary *v)
{
    free(v->tokens);
    cr_table_free(&v->table);
    *v = (struct cr_vocabulary){0};
}
