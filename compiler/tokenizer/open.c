/* open.c - finds the files of a tokenizer and reads them; see tokenizer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "decoders.h"
#include "end_tokens.h"
#include "readers.h"
#include "table_image.h"

static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int read_wordpiece(struct cr_tokenizer *t, const char *vocabulary, const char *none,
                          const char *config, struct cr_error *error)
{
    (void)none;
    return cr_read_wordpiece_files(t, vocabulary, config, error);
}

static int read_sentencepiece(struct cr_tokenizer *t, const char *path, const char *none,
                              const char *config, struct cr_error *error)
{
    (void)none;
    return cr_read_sentencepiece(t, path, config, error);
}

/* The layouts of folders without a tokenizer.json: the names of their files, and a function that
 * reads them. */
static const struct layout {
    const char *vocabulary, *other; /* `other` may be "" */
    int (*read)(struct cr_tokenizer *t, const char *vocabulary, const char *other,
                const char *config, struct cr_error *error);
} layouts[] = {
    {"vocab.json", "merges.txt", cr_read_gpt2_files},
    {"encoder.json", "vocab.bpe", cr_read_gpt2_files},
    {"vocab.txt", "", read_wordpiece},
    {"tokenizer.model", "", read_sentencepiece},
    {"spiece.model", "", read_sentencepiece},
    {"sentencepiece.bpe.model", "", read_sentencepiece},
    {"spm.model", "", read_sentencepiece},
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* Reads the files of the first layout whose vocabulary exists in the folder; if `only` is not null,
 * considers only the layout with that vocabulary. */
static int read_layout(struct cr_tokenizer *t, const char *folder, const char *only,
                       struct cr_error *error)
{
    for (int i = 0; i < N_LAYOUTS; i++) {
        char vocabulary[CR_PATH_SIZE], other[CR_PATH_SIZE], config[CR_PATH_SIZE];
        if ((only && strcmp(only, layouts[i].vocabulary) != 0) ||
            cr_join_path(vocabulary, folder, layouts[i].vocabulary, error) ||
            cr_join_path(other, folder, layouts[i].other, error) ||
            cr_join_path(config, folder, "tokenizer_config.json", error))
            continue;
        if (is_there(vocabulary))
            return layouts[i].read(t, vocabulary, other, is_there(config) ? config : NULL, error);
    }
    return cr_fail(error,
                   "%s: found no tokenizer, expected tokenizer.json, vocab.json and merges.txt, "
                   "vocab.txt or tokenizer.model",
                   folder);
}

/* Reads the tokenizer.json of a folder, and the tokens that tokenizer_config.json and
 * special_tokens_map.json beside it add. */
static int read_json(struct cr_tokenizer *t, const char *folder, const char *json,
                     struct cr_error *error)
{
    char config[CR_PATH_SIZE], map[CR_PATH_SIZE];
    int older = cr_find_special_map(map, folder, error);
    return older < 0 || cr_join_path(config, folder, "tokenizer_config.json", error) ||
                   cr_read_tokenizer_json(t, json, error) ||
                   cr_read_config_tokens(t, is_there(config) ? config : NULL, older ? map : NULL,
                                         error)
               ? -1
               : 0;
}

/* Reads the tokenizer at `path`.  Writes the folder with its configuration files to `folder`, or ""
 * if there is none. */
static int read_files(struct cr_tokenizer *t, const char *path, char folder[CR_PATH_SIZE],
                      struct cr_error *error)
{
    char json[CR_PATH_SIZE];
    if (is_folder(path)) {
        if (cr_join_path(json, path, "tokenizer.json", error))
            return -1;
        snprintf(folder, CR_PATH_SIZE, "%s", path);
        return is_there(json) ? read_json(t, path, json, error) : read_layout(t, path, NULL, error);
    }
    *folder = '\0';
    if (cr_is_gguf(path))
        return cr_read_tokenizer_gguf(t, path, error);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(folder, CR_PATH_SIZE, "%.*s", slash ? (int)(slash - path) : 1,
             slash == path ? "/"
             : slash       ? path
                           : ".");
    for (int i = 0; i < N_LAYOUTS; i++)
        if (strcmp(name, layouts[i].vocabulary) == 0)
            return read_layout(t, folder, name, error);
    const char *end = strrchr(name, '.');
    return end && strcmp(end, ".model") == 0 ? cr_read_sentencepiece(t, path, NULL, error)
                                             : cr_read_tokenizer_json(t, path, error);
}

/* Fails if an id of a template does not belong to a token. */
static int check_template(const struct cr_tokenizer *t, const struct cr_template *template,
                          const char *path, struct cr_error *error)
{
    size_t length;
    for (int i = 0; i < template->n; i++)
        if (template->items[i].id >= 0 && !cr_token_text(t, template->items[i].id, &length))
            return cr_fail(error, "%s: post_processor: found the id %d, expected one of a token",
                           path, template->items[i].id);
    return 0;
}

/* Indexes the added tokens.  An error message begins with the path, because the file is at fault
 * and not a text. */
static int index_added(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_error why = {""};
    return cr_index_added(&t->added, &t->normalizers, &why)
               ? cr_fail(error, "%s: added_tokens: %.400s", path, why.text)
               : 0;
}

/* Computes everything that depends on the whole file: the number of ids, templates, indices, ids
 * that end a text. */
static int link(struct cr_tokenizer *t, const char *path, const char *folder,
                struct cr_error *error)
{
    t->n_ids = t->vocabulary.n > t->added.words.n ? t->vocabulary.n : t->added.words.n;
    t->frame = cr_frame_of(&t->post_processors);
    cr_templates_of(&t->post_processors, &t->frame, &t->single, &t->pair);
    if (t->model->index)
        t->model->index(t);
    cr_link_decoders(&t->decoders);
    return index_added(t, path, error) || check_template(t, &t->single, path, error) ||
                   check_template(t, &t->pair, path, error) ||
                   (*folder && cr_read_ends(t, folder, error))
               ? -1
               : 0;
}

bool cr_image_source(const char *path, char source[CR_PATH_SIZE])
{
    struct cr_error ignored;
    if (is_folder(path))
        return cr_join_path(source, path, "tokenizer.json", &ignored) == 0 && is_there(source);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strrchr(name, '.');
    for (int i = 0; i < N_LAYOUTS; i++)
        if (strcmp(name, layouts[i].vocabulary) == 0)
            return false;
    return snprintf(source, CR_PATH_SIZE, "%s", path) < CR_PATH_SIZE &&
           ((end && strcmp(end, ".json") == 0) || cr_is_gguf(path));
}

struct cr_tokenizer *cr_tokenizer_open(const char *path, struct cr_error *error)
{
    return cr_tokenizer_open_image(path, NULL, 0, error);
}

struct cr_tokenizer *cr_tokenizer_open_image(const char *path, const void *image, size_t bytes,
                                             struct cr_error *error)
{
    struct cr_tokenizer *t = cr_calloc(1, sizeof *t);
    char folder[CR_PATH_SIZE];
    t->model = &cr_bpe_model; /* the default; only a tokenizer.json can name another model */
    t->bpe.vocabulary = &t->vocabulary;
    if (strlen(path) >= CR_PATH_SIZE) {
        cr_fail(error, "%.100s...: a path of %zu bytes, expected fewer than %d", path, strlen(path),
                CR_PATH_SIZE);
    } else if (image && !cr_use_image(t, image, bytes)) {
        cr_fail(error, "%s: found tables whose size differs from that in their header, expected the tables of an emitted program", path);
    } else if (read_files(t, path, folder, error) == 0 && link(t, path, folder, error) == 0) {
        return t;
    }
    cr_tokenizer_free(t);
    return NULL;
}

static void free_frame(struct cr_tokenizer *t)
{
    free(t->frame.before);
    free(t->frame.after);
    free(t->single.items);
    free(t->pair.items);
}

void cr_add_no_special_ids(struct cr_tokenizer *t)
{
    cr_free_parts(&t->post_processors);
    free_frame(t);
    t->single = t->pair = (struct cr_template){0};
    t->frame = cr_frame_of(&t->post_processors);
    cr_templates_of(&t->post_processors, &t->frame, &t->single, &t->pair);
}

void cr_tokenizer_free(struct cr_tokenizer *t)
{
    if (!t)
        return;
    cr_leave_image(t);
    cr_free_parts(&t->normalizers);
    cr_free_parts(&t->pre_tokenizers);
    cr_free_parts(&t->decoders);
    cr_free_parts(&t->post_processors);
    if (t->model->release)
        t->model->release(t);
    cr_free_vocabulary(&t->vocabulary);
    cr_free_added(&t->added);
    free_frame(t);
    free(t->ends.items);
    for (int i = 0; i < t->n_strings; i++)
        free(t->strings[i]);
    free(t->strings);
    free(t);
}
