/* added_tokens.c - tokens that are found in the text before anything else; see added_tokens.h. */
#include "added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "scanner.h"

/* The order matters: each file uses those above it. */
#include "leading.inc"

#include "characters.inc"

#include "step_back.inc"

#include "trie.inc"

#include "added_tokens.inc"

/* Refuses a token if the vocabulary has its text under another id, or another text under its id. */
static int check(const struct cr_added_token *token, const struct cr_vocabulary *v,
                 const char *path, struct cr_error *error)
{
    int32_t id = cr_find_word(v, token->text, token->length);
    if (id >= 0 && id != token->id)
        return cr_fail(error,
                       "%s: found the id %d of added token %s, expected %d as in the vocabulary",
                       path, token->id, cr_show(token->text, token->length).text, id);
    if (id < 0 && cr_word_text(v, token->id))
        return cr_fail(error,
                       "%s: found the id %d of added token %s, which the vocabulary has for %s, expected another id",
                       path, token->id, cr_show(token->text, token->length).text,
                       cr_show(cr_word_text(v, token->id), v->tokens[token->id].length).text);
    return 0;
}

/* Bounds the search, which tries the longest token at each position of a text. */
enum { LONGEST = 1024 };

int cr_add_added(struct cr_added *a, const struct cr_added_token *token,
                 const struct cr_vocabulary *v, const char *path, struct cr_error *error)
{
    if (token->length == 0)
        return cr_fail(error, "%s: found an added token without text, expected some", path);
    if (token->length > LONGEST)
        return cr_fail(error, "%s: found the added token %s of %zu bytes, expected at most %d", path,
                       cr_show(token->text, token->length).text, token->length, LONGEST);
    if (check(token, v, path, error) ||
        cr_add_word(&a->words, token->text, token->length, token->id, path, error))
        return -1;
    while (a->n_places <= token->id)
        *CR_PUSH(a->places, a->n_places, a->places_cap) = 0;
    a->places[token->id] = a->n;
    *CR_PUSH(a->tokens, a->n, a->cap) = *token;
    return 0;
}

int cr_amend_added(struct cr_added *a, const struct cr_added_token *token,
                   const struct cr_vocabulary *v, const char *path, struct cr_error *error)
{
    int32_t id = cr_find_word(&a->words, token->text, token->length);
    if (id < 0)
        return cr_add_added(a, token, v, path, error);
    if (id != token->id)
        return cr_fail(error, "%s: found the id %d of added token %s, expected %d as it has already",
                       path, token->id, cr_show(token->text, token->length).text, id);
    a->tokens[a->places[id]] = *token;
    return 0;
}

const struct cr_added_token *cr_find_added(const struct cr_added *a, int32_t id)
{
    return cr_word_text(&a->words, id) ? &a->tokens[a->places[id]] : NULL;
}

/* ---- the tries ---- */

/* Sets `shown` to the token's text as the normalizers change it. */
static int normalize(struct cr_added_token *token, const struct cr_text_parts *normalizers,
                     struct cr_error *error)
{
    static const struct cr_text_parts none = {0};
    struct cr_text normal = {0};
    size_t leading = 0;
    int status = cr_normalize(token->kept ? &none : normalizers, token->text, token->length, &normal, &leading,
                              error);
    token->shown = normal.data;
    token->shown_length = normal.length;
    return status;
}

/* True if decoding hides a token when it hides special tokens.  As in Hugging Face's library, it
 * does if the text that decoding shows for the token is the text of a special token.  So a special
 * token whose text the normalizers change is not hidden. */
static bool is_hidden(const struct cr_added *a, const struct cr_added_token *token)
{
    const char *text = token->shown ? token->shown : token->text;
    int32_t id = cr_find_word(&a->words, text, token->shown ? token->shown_length : token->length);
    return id >= 0 && a->tokens[a->places[id]].special;
}

static struct cr_added_rule rule_of(const struct cr_added_token *token)
{
    return (struct cr_added_rule){token->id, (token->hidden ? CR_ADDED_SPECIAL : 0) |
                                                 (token->single_word ? CR_ADDED_SINGLE_WORD : 0) |
                                                 (token->lstrip ? CR_ADDED_LSTRIP : 0) |
                                                 (token->rstrip ? CR_ADDED_RSTRIP : 0)};
}

/* Adds special tokens to the tries before the others.  Limits the total length to which the
 * normalizers may extend the texts of all tokens, in the same way as for an input text. */
int cr_index_added(struct cr_added *a, const struct cr_text_parts *normalizers,
                   struct cr_error *error)
{
    size_t taken = 0, made = 0;
    int status = 0;
    cr_trie_begin(&a->raw);
    cr_trie_begin(&a->normalized);
    a->rules = cr_calloc((size_t)a->n, sizeof *a->rules);
    for (int special = 1; special >= 0; special--)
        for (int i = 0; i < a->n && status == 0; i++) {
            struct cr_added_token *token = &a->tokens[i];
            if (token->special != special)
                continue;
            if (!token->normalized) {
                cr_trie_add(&a->raw, token->text, token->length, i);
                continue;
            }
            status = normalize(token, normalizers, error);
            taken += token->length;
            made += token->shown_length;
            if (status == 0)
                status = cr_check_growth(made, taken, error);
            cr_trie_add(&a->normalized, token->shown, token->shown_length, i);
        }
    for (int i = 0; i < a->n; i++) {
        a->tokens[i].hidden = is_hidden(a, &a->tokens[i]);
        a->rules[i] = rule_of(&a->tokens[i]);
    }
    return status;
}

void cr_free_added(struct cr_added *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->tokens[i].shown);
    cr_free_vocabulary(&a->words);
    free(a->tokens);
    free(a->places);
    free(a->rules);
    cr_free_trie(&a->raw);
    cr_free_trie(&a->normalized);
    *a = (struct cr_added){0};
}

/* ---- finding ---- */

void cr_cut_added(const struct cr_added *a, const struct cr_trie *trie, const char *text, size_t n,
                  size_t leading, struct cr_pieces *out)
{
    struct cr_added_cut cut = {
        .trie = trie->nodes, .rules = a->rules, .class_of = cr_class_of, .text = text, .n = n};
    bool more;
    do {
        more = cr_next_added(&cut);
        if (cut.end > cut.begin)
            cr_add_piece(out, text + cut.begin, cut.end - cut.begin, cr_leading_from(leading, cut.begin));
        if (more)
            cr_add_token(out, cut.id);
    } while (more);
}
