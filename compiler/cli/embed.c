/* embed.c - crescent embed: prints the vectors of texts, or writes them to a .npy file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model.h"
#include "outfiles.h"
#include "report.h"
#include "verbs.h"

/* The state of a run. */
struct embedding {
    const struct cr_options *o;
    crescent_embedder *embedder;
    int64_t dimensions, most;
    float *vector;
    FILE *rows; /* of a .npy file, until all are there; or null */
    int64_t n_texts, n_cut, n_repaired;
};

/* ---- a vector ---- */

/* Prints a vector as a line of JSON, which has no NaN and no infinity: they are null. */
static void print_vector(const float *vector, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(vector[i]))
            printf("%s%.9g", i ? ", " : "[", (double)vector[i]);
        else
            printf("%snull", i ? ", " : "[");
    puts("]");
}

/* Makes the vector of a text, and prints or keeps it. */
static int embed_text(struct embedding *e, const char *text, size_t n, struct cr_error *error)
{
    crescent_embedded what;
    if (crescent_embed(e->embedder, text, n, e->vector, &what))
        return cr_fail(error, "text %lld: %s", (long long)e->n_texts + 1, crescent_error(e->o->context));
    e->n_texts++;
    e->n_cut += what.truncated;
    e->n_repaired += what.repaired;
    if (!e->rows)
        print_vector(e->vector, e->dimensions);
    else if (fwrite(e->vector, sizeof *e->vector, (size_t)e->dimensions, e->rows) != (size_t)e->dimensions)
        return cr_fail(error, "a temporary file cannot be written: %s", strerror(errno));
    return 0;
}

/* ---- texts ---- */

/* Embeds each line of a stream, without the end of the line. */
static int embed_lines(struct embedding *e, FILE *in, const char *name, struct cr_error *error)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = 0;
    while (status == 0 && (n = getline(&line, &room, in)) >= 0) {
        n -= n > 0 && line[n - 1] == '\n';
        n -= n > 0 && line[n - 1] == '\r';
        status = embed_text(e, line, (size_t)n, error);
    }
    if (status == 0 && ferror(in))
        status = cr_fail(error, "%.300s: cannot be read: %s", name, strerror(errno));
    free(line);
    return status;
}

/* Embeds --text, or the lines of the file, or of standard input. */
static int embed_all(struct embedding *e, struct cr_error *error)
{
    const char *path = e->o->file;
    if (e->o->text && path)
        return cr_fail(error, "%.200s: found a file beside --text, expected one of them", path);
    if (e->o->text)
        return embed_text(e, e->o->text, strlen(e->o->text), error);
    if (!path || strcmp(path, "-") == 0)
        return embed_lines(e, stdin, "standard input", error);
    FILE *in = fopen(path, "r");
    if (!in)
        return cr_fail(error, "%.300s: cannot be opened: %s", path, strerror(errno));
    int status = embed_lines(e, in, path, error);
    fclose(in);
    return status;
}

/* ---- the .npy file ---- */

/* Writes the rows as an array [texts, dimensions]. */
static int write_array(struct embedding *e, struct cr_error *error)
{
    crescent_port port = {.name = "embedding", .type = CRESCENT_F32, .rank = 2, .shape = {e->n_texts, e->dimensions}};
    size_t bytes = (size_t)(e->n_texts * e->dimensions) * sizeof(float);
    crescent_file *file = NULL;
    void *rows = e->vector;
    if (fflush(e->rows))
        return cr_fail(error, "a temporary file cannot be written: %s", strerror(errno));
    if (bytes)
        rows = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(e->rows), 0);
    if (rows == MAP_FAILED)
        return cr_fail(error, "a temporary file cannot be read: %s", strerror(errno));
    int status = crescent_file_open(e->o->context, e->o->out, &file) ||
                 crescent_file_put_npy(file, &port, rows) || crescent_file_finish(file) ||
                 crescent_file_commit(file);
    if (status)
        cr_fail(error, "%.500s", crescent_error(e->o->context));
    crescent_file_close(file);
    if (bytes)
        munmap(rows, bytes);
    return status ? -1 : 0;
}

/* ---- the verb ---- */

/* Opens the encoder that the options name, and makes room for a vector. */
static int open_embedder(struct embedding *e, struct cr_error *error)
{
    const struct cr_options *o = e->o;
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    const crescent_script script = {.settings = o->set.items,
                                    .n_settings = o->set.n,
                                    .script = o->script,
                                    .config = o->config,
                                    .ignored = o->ignore_config.items,
                                    .n_ignored = o->ignore_config.n};
    const crescent_embedder_options options = {.pooling = o->pooling,
                                               .normalize = o->normalize,
                                               .most = o->max_length,
                                               .role = o->query ? "query" : o->document ? "document" : NULL};
    crescent_embedder_facts facts;
    if (o->query && o->document)
        return cr_fail(error, "--query: found --document, too, expected one of them");
    if (cr_passed(o, crescent_embedder_open(o->context, o->model, &script, &config, &options, &e->embedder), error))
        return -1;
    crescent_embedder_look(e->embedder, &facts);
    e->dimensions = facts.dimensions;
    e->most = facts.most;
    return cr_passed(o, crescent_memory(o->context, facts.dimensions * (int64_t)sizeof(float), "a vector",
                                        (void **)&e->vector), error);
}

/* Says what happened to texts, once for all of them. */
static void note(const struct embedding *e)
{
    if (e->n_cut)
        cr_note("cut %lld of %lld texts to %lld tokens", (long long)e->n_cut, (long long)e->n_texts,
                (long long)e->most);
    if (e->n_repaired)
        cr_note("replaced bytes that are no UTF-8 by U+FFFD in %lld of %lld texts",
                (long long)e->n_repaired, (long long)e->n_texts);
}

/* Opens the encoder, embeds all texts, and writes the file if one is wanted. */
int cr_verb_embed(const struct cr_options *o, struct cr_error *error)
{
    struct embedding e = {.o = o};
    const struct cr_named_file files[] = {{"-o", o->out, true, 0}, {"the texts", o->file, false, 0}};
    int status = cr_check_files(o, files, o->file && strcmp(o->file, "-") != 0 ? 2 : 1, error);
    if (status == 0)
        status = open_embedder(&e, error);
    if (status == 0 && o->out && !(e.rows = tmpfile()))
        status = cr_fail(error, "a temporary file cannot be made: %s", strerror(errno));
    if (status == 0)
        status = embed_all(&e, error);
    if (status == 0 && o->out)
        status = write_array(&e, error);
    if (status == 0)
        note(&e);
    if (e.rows)
        fclose(e.rows);
    crescent_free(e.vector);
    crescent_embedder_close(e.embedder);
    return status ? 2 : 0;
}
