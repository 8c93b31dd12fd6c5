/* read_config.c - reads the tokens that tokenizer_config.json and special_tokens_map.json add to
 * those of a tokenizer.json; see readers.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "readers.h"

const void *cr_find_class(const char *name, const void *rows, int n, size_t size)
{
    for (int i = 0; i < n; i++) {
        const char *row = (const char *)rows + (size_t)i * size, *class = *(const char *const *)row;
        size_t length = strlen(class);
        if (strncmp(name, class, length) == 0 &&
            (!name[length] || strcmp(name + length, "Fast") == 0))
            return row;
    }
    return NULL;
}

/* ---- added_tokens_decoder ---- */

static int by_id(const void *a, const void *b)
{
    const struct cr_listed *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : x->place - y->place;
}

/* Sorts by id; entries with equal ids keep the order of the file. */
int cr_read_listed(struct cr_listed **listed, const struct cr_document *d, struct cr_error *error)
{
    int list = cr_member(d, 0, "added_tokens_decoder"), n = 0, cap = 0;
    for (int i = list < 0 ? -1 : d->values[list].first; i >= 0; i = d->values[i].next) {
        const char *key = d->values[i].key ? d->values[i].key : "";
        char *end;
        long id = strtol(key, &end, 10);
        if (end == key || *end)
            return cr_fail(error, "%s: found %s among added_tokens_decoder, expected ids", d->path,
                           cr_show(key, strlen(key)).text);
        int place = n;
        *CR_PUSH(*listed, n, cap) = (struct cr_listed){id, i, place};
    }
    if (n > 0)
        qsort(*listed, (size_t)n, sizeof **listed, by_id);
    return n;
}

/* ---- tokens of a configuration ---- */

/* The state of reading one of the two files. */
struct reading {
    struct cr_tokenizer *t;
    const struct cr_document *d;
    struct cr_error *error;
    int n_words; /* the number of tokens in the model's vocabulary */
    bool is_map; /* the file is special_tokens_map.json */
};

/* The names of special tokens, in the order in which new ones get their ids. */
static const char *const names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};
enum { N_NAMES = sizeof names / sizeof *names };

/* Returns the id for a new token, which is behind those of the vocabulary and of all added
 * tokens. */
static int32_t next_id(const struct reading *r)
{
    const struct cr_added *added = &r->t->added;
    return added->words.n > r->n_words ? added->words.n : r->n_words;
}

/* Returns the id of the token with a text or, if there is none, the next free id. */
static int32_t id_of(const struct reading *r, const char *text, size_t length)
{
    int32_t id = cr_token_id(r->t, text, length);
    return id >= 0 ? id : next_id(r);
}

/* Returns the string that a value is or has as its member "content"; CR_NO_VALUE if there is
 * none. */
static int content_of(const struct reading *r, int value)
{
    int content = cr_member(r->d, value, "content");
    content = content >= 0 ? content : value;
    return content >= 0 && r->d->values[content].kind == CR_JSON_STRING ? content : CR_NO_VALUE;
}

/* True if the file has a named special token with the text of `token`. */
static bool has_name(const struct reading *r, const struct cr_added_token *token)
{
    for (int i = 0; i < N_NAMES; i++) {
        int content = content_of(r, cr_member(r->d, 0, names[i]));
        if (content >= 0 && r->d->values[content].length == token->length &&
            memcmp(r->d->values[content].text, token->text, token->length) == 0)
            return true;
    }
    return false;
}

/* Adds a token of added_tokens_decoder.  Fails if the file gives it another id than the tokenizer
 * does, since encoding would then give ids that differ from the file. */
static int take_listed(struct reading *r, const struct cr_listed *listed)
{
    struct cr_added_token token;
    if (cr_read_added_flags(&token, r->d, listed->value, r->error))
        return -1;
    token.id = id_of(r, token.text, token.length);
    token.special |= has_name(r, &token);
    if (token.id != listed->id)
        return cr_fail(r->error,
                       "%s: added_tokens_decoder: found the id %lld of %s, expected %d, which %s",
                       r->d->path, (long long)listed->id, cr_show(token.text, token.length).text,
                       token.id,
                       cr_token_id(r->t, token.text, token.length) >= 0 ? "tokenizer.json has"
                                                                        : "is the next one");
    return cr_amend_added(&r->t->added, &token, &r->t->vocabulary, r->d->path, r->error);
}

static int take_list(struct reading *r)
{
    struct cr_listed *listed = NULL;
    int n = cr_read_listed(&listed, r->d, r->error), status = n < 0 ? -1 : 0;
    for (int i = 0; i < n && status == 0; i++)
        status = take_listed(r, &listed[i]);
    free(listed);
    return status;
}

/* Adds a special token, which is a string or an object.  Does not change a token that was added
 * before. */
static int take_special(struct reading *r, int value, const char *name)
{
    int content = content_of(r, value);
    if (content < 0)
        return cr_fail(r->error, "%s: found %s for \"%s\", expected tokens", r->d->path,
                       cr_kind_of_value(r->d, value), name);
    struct cr_added_token token = {.text = r->d->values[content].text,
                                   .length = r->d->values[content].length};
    if (token.length == 0 || cr_find_word(&r->t->added.words, token.text, token.length) >= 0)
        return 0;
    if (content != value && cr_read_added_flags(&token, r->d, value, r->error))
        return -1;
    token.normalized &= !r->is_map || cr_member(r->d, value, "normalized") >= 0;
    token.special = true;
    token.id = id_of(r, token.text, token.length);
    return cr_add_added(&r->t->added, &token, &r->t->vocabulary, r->d->path, r->error);
}

/* Adds the named special tokens.  If both files have a name, special_tokens_map.json counts. */
static int take_names(struct reading *config, struct reading *map)
{
    for (int i = 0; i < N_NAMES; i++) {
        struct reading *r = map->d && cr_member(map->d, 0, names[i]) >= 0 ? map : config;
        int value = r->d ? cr_member(r->d, 0, names[i]) : CR_NO_VALUE;
        if (value >= 0 && take_special(r, value, names[i]))
            return -1;
    }
    return 0;
}

static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};

/* Adds the tokens in the members lists[first] and later ones. */
static int take_lists(struct reading *r, int first)
{
    for (int i = first; r->d && i < 2; i++) {
        int list = cr_member(r->d, 0, lists[i]);
        for (int k = list < 0 ? -1 : r->d->values[list].first; k >= 0; k = r->d->values[k].next)
            if (take_special(r, k, lists[i]))
                return -1;
    }
    return 0;
}

/* True if a file has one of the lists; if tokenizer_config.json has, additional_special_tokens of
 * the other file is ignored. */
static bool has_list(const struct reading *r)
{
    return r->d && (cr_member(r->d, 0, lists[0]) >= 0 || cr_member(r->d, 0, lists[1]) >= 0);
}

/* Reads a file unless the path is null.  Its strings live as long as the tokenizer. */
static int open_document(struct reading *r, struct cr_document *d, const char *path)
{
    if (!path)
        return 0;
    if (cr_document_read_zeros(d, path, r->error))
        return -1;
    *CR_PUSH(r->t->strings, r->t->n_strings, r->t->strings_cap) = d->strings;
    r->d = d;
    return 0;
}

static void close_document(struct reading *r, struct cr_document *d)
{
    if (!r->d)
        return;
    cr_document_keep_strings(d);
    cr_document_free(d);
}

int cr_read_config_tokens(struct cr_tokenizer *t, const char *config, const char *map,
                          struct cr_error *error)
{
    struct cr_document documents[2];
    const int n_words = (int)t->vocabulary.n_words;
    struct reading first = {t, NULL, error, n_words, false}, second = {t, NULL, error, n_words, true};
    int status = open_document(&first, &documents[0], config) ||
                         open_document(&second, &documents[1], map) ||
                         (first.d && take_list(&first)) || take_names(&first, &second) ||
                         take_lists(&first, 0) || take_lists(&second, has_list(&first) ? 1 : 0)
                     ? -1
                     : 0;
    close_document(&first, &documents[0]);
    close_document(&second, &documents[1]);
    return status;
}

/* ---- special tokens by their names ---- */

const char *cr_special_of(const struct cr_document *d, const char *name, const char *otherwise)
{
    int value = d ? cr_member(d, 0, name) : CR_NO_VALUE;
    int content = value >= 0 ? cr_member(d, value, "content") : CR_NO_VALUE;
    value = content >= 0 ? content : value;
    return value >= 0 && d->values[value].kind == CR_JSON_STRING ? d->values[value].text : otherwise;
}
