/* end_tokens.c - reads the ids of the tokens that end a text; see end_tokens.h. */
#include "end_tokens.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "compiler/json/config_file.h"

int cr_join_path(char path[CR_PATH_SIZE], const char *folder, const char *name,
                 struct cr_error *error)
{
    int n = snprintf(path, CR_PATH_SIZE, "%s/%s", folder, name);
    if (n < CR_PATH_SIZE)
        return 0;
    return cr_fail(error, "%.100s...: a path of %d bytes, expected fewer than %d", folder, n,
                   CR_PATH_SIZE);
}

/* Reads the member {"eos_token_id": 2} or {"eos_token_id": [2, 3]} of a file. */
static int read_ids(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    enum { MOST = 64 };
    int64_t ids[MOST];
    int n;
    if (cr_config_integers(path, "eos_token_id", ids, MOST, &n, error))
        return -1;
    for (int i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] > INT32_MAX)
            return cr_fail(error, "%s: found a number out of bounds for \"eos_token_id\", expected ids",
                           path);
        *CR_PUSH(t->ends.items, t->ends.n, t->ends.cap) = (int32_t)ids[i];
    }
    return 0;
}

/* Reads the member {"eos_token": "</s>"} or {"eos_token": {"content": "</s>"}} of a document. */
static int take_token(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    int member = cr_member(d, 0, "eos_token");
    if (cr_member(d, member, "content") >= 0)
        member = cr_member(d, member, "content");
    if (member < 0)
        return 0;
    if (d->values[member].kind != CR_JSON_STRING)
        return cr_fail(error, "%s: found %s for \"eos_token\", expected a string", d->path,
                       cr_kind_of_value(d, member));
    int32_t id = cr_token_id(t, d->values[member].text, d->values[member].length);
    if (id >= 0)
        *CR_PUSH(t->ends.items, t->ends.n, t->ends.cap) = id;
    return 0;
}

static int read_token(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_document d;
    if (cr_document_read_zeros(&d, path, error))
        return -1;
    int status = take_token(t, &d, error);
    cr_document_free(&d);
    return status;
}

int cr_find_special_map(char path[CR_PATH_SIZE], const char *folder, struct cr_error *error)
{
    char config[CR_PATH_SIZE];
    struct cr_document d;
    if (cr_join_path(path, folder, "special_tokens_map.json", error) ||
        cr_join_path(config, folder, "tokenizer_config.json", error))
        return -1;
    if (access(path, F_OK) != 0)
        return 0;
    if (access(config, F_OK) != 0)
        return 1;
    if (cr_document_read_zeros(&d, config, error))
        return -1;
    bool newer = cr_member(&d, 0, "added_tokens_decoder") >= 0;
    cr_document_free(&d);
    return !newer;
}

static const struct source {
    const char *file;
    int (*read)(struct cr_tokenizer *t, const char *path, struct cr_error *error);
} sources[] = {
    {"generation_config.json", read_ids},
    {"config.json", read_ids},
    {"special_tokens_map.json", read_token},
    {"tokenizer_config.json", read_token},
};

int cr_read_ends(struct cr_tokenizer *t, const char *folder, struct cr_error *error)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources && t->ends.n == 0; i++) {
        char path[CR_PATH_SIZE];
        int there = strcmp(sources[i].file, "special_tokens_map.json") == 0
                        ? cr_find_special_map(path, folder, error)
                    : cr_join_path(path, folder, sources[i].file, error) ? -1
                                                                         : access(path, F_OK) == 0;
        if (there < 0)
            return -1;
        if (there && sources[i].read(t, path, error))
            return -1;
    }
    int32_t id = t->ends.n ? -1 : cr_token_id(t, "<|endoftext|>", 13);
    if (id >= 0)
        *CR_PUSH(t->ends.items, t->ends.n, t->ends.cap) = id;
    return 0;
}
