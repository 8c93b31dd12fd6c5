/* encoders.c - runs an encoder on texts, one text in each line; see encoders.h. */
#include "encoders.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "model.h"
#include "report.h"
#include "texts.h"

/* ---- the encoder ---- */

/* Number of texts in a batch: one thread runs no faster with many, which only take more memory. */
enum { DEFAULT_BATCH = 32, BATCH_OF_ONE_THREAD = 4 };

/* True for the process that reads texts and prints results: with several ranks, the first one. */
static bool is_first(const struct cr_options *o)
{
    return crescent_ranks_of(o->context).rank == 0;
}

/* Opens the file of the texts; done before the model is loaded, so that a missing file is found
 * early. */
static int open_texts(struct cr_encoder *e, struct cr_error *error)
{
    const struct cr_options *o = e->o;
    if (o->text && o->file)
        return cr_fail(error, "%.200s: found a file beside --text, expected one of them", o->file);
    if (o->text || !is_first(o))
        return 0;
    e->in = o->file && strcmp(o->file, "-") != 0 ? fopen(o->file, "r") : stdin;
    return e->in ? 0 : cr_fail(error, "%.300s: cannot be opened: %s", o->file, strerror(errno));
}

/* Returns freed memory to the system: after a compilation more than half of the heap is free. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Opens the texts and the model, and allocates a batch. */
int cr_encoder_open(struct cr_encoder *e, const struct cr_options *o, crescent_classification classify,
                    struct cr_error *error)
{
    const crescent_config config = cr_config_of(o, cr_backend_of(o));
    const crescent_script script = cr_script_of(o);
    const crescent_embedder_options options = {.pooling = o->pooling,
                                               .normalize = o->normalize,
                                               .most = o->max_length,
                                               .role = o->as_query ? "query" : o->document ? "document" : NULL,
                                               .classify = classify};
    *e = (struct cr_encoder){.o = o};
    e->shows = is_first(o) && isatty(STDERR_FILENO) == 1 && (o->out || isatty(STDOUT_FILENO) != 1);
    if (o->as_query && o->document)
        return cr_fail(error, "--query: found --document, too, expected one of them");
    if (open_texts(e, error))
        return -1;
    crescent_cache_weights(o->context, o->cache_weights);
    if (cr_passed(o, crescent_embedder_open(o->context, o->model, &script, &config, &options, &e->embedder), error))
        return -1;
    give_memory_back();
    crescent_embedder_get_facts(e->embedder, &e->facts);
    e->batch = o->batch ? (int)o->batch : config.threads > 1 ? DEFAULT_BATCH : BATCH_OF_ONE_THREAD;
    e->vectors = cr_calloc((size_t)e->batch * (size_t)e->facts.dimensions, sizeof *e->vectors);
    e->texts = cr_calloc((size_t)e->batch, sizeof *e->texts);
    e->what = cr_calloc((size_t)e->batch, sizeof *e->what);
    return 0;
}

/* Frees the texts that were read but not yet encoded. */
static void drop_texts(struct cr_encoder *e)
{
    for (; e->n > 0; e->n--)
        free((char *)(e->texts[e->n - 1].pair ? e->texts[e->n - 1].pair : e->texts[e->n - 1].text));
}

void cr_encoder_close(struct cr_encoder *e)
{
    drop_texts(e);
    if (e->in && e->in != stdin)
        fclose(e->in);
    free(e->vectors);
    free(e->texts);
    free(e->what);
    crescent_embedder_close(e->embedder);
}

/* ---- progress ---- */

/* Prints the speed so far: "1,234 texts, 567 texts/s, 8,901 tokens/s". */
static void print_speed(const struct cr_encoder *e, int64_t now)
{
    double seconds = (double)(now - e->start + 1) * 1e-9;
    fprintf(stderr, "%s text%s, %.*f texts/s", cr_thousands(e->n_texts).text, e->n_texts == 1 ? "" : "s",
            (double)e->n_texts < 100 * seconds ? 1 : 0, (double)e->n_texts / seconds);
    fprintf(stderr, ", %s tokens/s", cr_thousands((int64_t)((double)e->n_tokens / seconds)).text);
}

/* Overwrites the line of progress, at most ten times a second. */
static void show_progress(struct cr_encoder *e)
{
    enum { REWRITE_NS = 100000000 };
    int64_t now = crescent_clock();
    if (now - (e->written ? e->written : e->start) < REWRITE_NS)
        return;
    e->written = now;
    fputc('\r', stderr);
    print_speed(e, now);
    fputs("\033[K", stderr);
}

/* Clears the line of progress, and prints a final line if the options request one. */
static void end_progress(const struct cr_encoder *e)
{
    if (e->written)
        fputs("\r\033[K", stderr);
    if (e->n_texts && (e->o->stats || e->written) && is_first(e->o)) {
        print_speed(e, crescent_clock());
        fputc('\n', stderr);
    }
}

void cr_encoder_end(const struct cr_encoder *e)
{
    end_progress(e);
    if (e->n_cut)
        cr_note("cut %lld of %lld texts to %lld tokens", (long long)e->n_cut, (long long)e->n_texts,
                (long long)e->facts.most);
    if (e->n_repaired)
        cr_note("replaced bytes that are no UTF-8 by U+FFFD in %lld of %lld texts",
                (long long)e->n_repaired, (long long)e->n_texts);
    cr_cache_params(crescent_embedder_model(e->embedder));
}

/* ---- texts ---- */

/* An encoder, and the caller's function for each vector. */
struct stream {
    struct cr_encoder *encoder;
    cr_vector_function *take;
    void *context;
    bool paired;
};

/* Fails if the text of --query alone cannot be encoded, so that no pair with it can be. */
static int check_query(struct cr_encoder *e, float *vector, struct cr_error *error)
{
    const char *query = e->o->query;
    return crescent_embed_pair(e->embedder, query, strlen(query), "", 0, vector, NULL)
               ? cr_fail(error, "--query: %s", crescent_error(e->o->context))
               : 0;
}

/* Handles a failure for text i.  Ends the run if the text is from --text, if the fault lies with
 * --query, or if ranks differ; any other text gets a vector of NaNs and a note with its line
 * number. */
static int skip_text(struct cr_encoder *e, int i, float *vector, struct cr_error *error)
{
    char why[400];
    snprintf(why, sizeof why, "%s", crescent_error(e->o->context));
    if (crescent_ranks_of(e->o->context).differ)
        return cr_fail(error, "%s", why);
    if (e->o->text)
        return cr_fail(error, "--text: %s", why);
    if (e->texts[i].pair && check_query(e, vector, error))
        return -1;
    cr_note("text %lld: %s", (long long)e->n_texts + i + 1, why);
    for (int64_t k = 0; k < e->facts.dimensions; k++)
        vector[k] = NAN;
    return 0;
}

/* Computes the vectors of a batch one by one, after the batch as a whole failed. */
static int run_singly(struct cr_encoder *e, struct cr_error *error)
{
    for (int i = 0; i < e->n; i++) {
        float *vector = e->vectors + (int64_t)i * e->facts.dimensions;
        e->what[i] = (crescent_embedded){0, 0, 0};
        if (crescent_embed_texts(e->embedder, &e->texts[i], 1, vector, &e->what[i]) && skip_text(e, i, vector, error))
            return -1;
    }
    return 0;
}

/* Adds the tokens of one text, and whether it was cut or repaired, to the totals. */
static void count(struct cr_encoder *e, const crescent_embedded *what)
{
    e->n_texts++;
    e->n_cut += what->truncated;
    e->n_repaired += what->repaired;
    e->n_tokens += (int64_t)what->tokens;
}

/* Computes the vectors of the batch, and calls the caller's function for each. */
static int run_batch(struct stream *s, struct cr_error *error)
{
    struct cr_encoder *e = s->encoder;
    int status = 0;
    if (!e->start)
        e->start = crescent_clock();
    if (crescent_embed_texts(e->embedder, e->texts, e->n, e->vectors, e->what) && run_singly(e, error))
        return -1;
    for (int i = 0; i < e->n && status == 0; i++) {
        e->vector = e->vectors + (int64_t)i * e->facts.dimensions;
        count(e, &e->what[i]);
        status = s->take(s->context, error);
    }
    drop_texts(e);
    if (e->shows)
        show_progress(e);
    return status;
}

/* Adds a text to the batch, which then owns it.  Runs the batch if it is full. */
static int add_text(struct stream *s, char *text, size_t n, struct cr_error *error)
{
    struct cr_encoder *e = s->encoder;
    const char *query = s->paired ? e->o->query : NULL;
    e->texts[e->n++] = query ? (crescent_embed_text){query, text, strlen(query), n}
                             : (crescent_embed_text){text, NULL, n, 0};
    return e->n < e->batch ? 0 : run_batch(s, error);
}

/* Reads a line of the file, without its newline; returns its length, or -1 at the end of the
 * file. */
static ssize_t read_line(FILE *in, char **line, size_t *room)
{
    ssize_t n = getline(line, room, in);
    n -= n > 0 && (*line)[n - 1] == '\n';
    n -= n > 0 && (*line)[n - 1] == '\r';
    return n;
}

/* Returns the next line, which the caller frees; null at the end of the file.  With several
 * ranks, the first rank reads the line and sends it to the others. */
static char *next_line(const struct cr_encoder *e, char **line, size_t *room, size_t *length)
{
    const crescent_context *context = e->o->context;
    ssize_t n = e->in ? read_line(e->in, line, room) : 0;
    crescent_ranks_share(context, &n, sizeof n);
    if (n < 0)
        return NULL;
    char *text = cr_calloc((size_t)n + 1, 1);
    if (e->in)
        memcpy(text, *line, (size_t)n);
    if (n > 0)
        crescent_ranks_share(context, text, (size_t)n);
    *length = (size_t)n;
    return text;
}

/* Adds each line of the file to batches. */
static int add_lines(struct stream *s, struct cr_error *error)
{
    const struct cr_encoder *e = s->encoder;
    char *line = NULL, *text;
    size_t room = 0, n;
    int status = 0;
    while (status == 0 && (text = next_line(e, &line, &room, &n)) != NULL)
        status = add_text(s, text, n, error);
    if (status == 0 && e->in && ferror(e->in))
        status = cr_fail(error, "%.300s: cannot be read: %s", cr_text_name(e->o), strerror(errno));
    free(line);
    return status;
}

int cr_encode_texts(struct cr_encoder *e, bool paired, cr_vector_function *take, void *context,
                    struct cr_error *error)
{
    const char *text = e->o->text;
    struct stream s = {e, take, context, paired};
    int status = text ? add_text(&s, cr_strdup(text), strlen(text), error) : add_lines(&s, error);
    return status == 0 && e->n ? run_batch(&s, error) : status;
}
