/* encoders.c - runs an encoder on texts, one a line; see encoders.h. */
#include "encoders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "report.h"

/* ---- the encoder ---- */

/* Opens the folder and makes room for a vector. */
int cr_encoder_open(struct cr_encoder *e, const struct cr_options *o, crescent_classification classify,
                    struct cr_error *error)
{
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
                                               .role = o->as_query ? "query" : o->document ? "document" : NULL,
                                               .classify = classify};
    *e = (struct cr_encoder){.o = o};
    e->shows = isatty(STDERR_FILENO) == 1 && (o->out || isatty(STDOUT_FILENO) != 1);
    if (o->as_query && o->document)
        return cr_fail(error, "--query: found --document, too, expected one of them");
    crescent_cache_weights(o->context, o->cache_weights);
    if (cr_passed(o, crescent_embedder_open(o->context, o->model, &script, &config, &options, &e->embedder), error))
        return -1;
    crescent_embedder_look(e->embedder, &e->facts);
    return cr_passed(o, crescent_memory(o->context, e->facts.dimensions * (int64_t)sizeof(float), "a vector",
                                        (void **)&e->vector), error);
}

void cr_encoder_close(struct cr_encoder *e)
{
    crescent_free(e->vector);
    crescent_embedder_close(e->embedder);
}

/* ---- progress ---- */

/* Prints "1,234 texts, 567 texts/s, 8,901 tokens/s". */
static void print_speed(const struct cr_encoder *e, int64_t now)
{
    double seconds = (double)(now - e->start + 1) * 1e-9;
    fprintf(stderr, "%s text%s, %.*f texts/s", cr_thousands(e->n_texts).text, e->n_texts == 1 ? "" : "s",
            (double)e->n_texts < 100 * seconds ? 1 : 0, (double)e->n_texts / seconds);
    fprintf(stderr, ", %s tokens/s", cr_thousands((int64_t)((double)e->n_tokens / seconds)).text);
}

/* Overwrites the line of progress, ten times a second. */
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

/* Clears the line, and prints a last one if it is wanted. */
static void end_progress(const struct cr_encoder *e)
{
    if (e->written)
        fputs("\r\033[K", stderr);
    if (e->n_texts && (e->o->stats || e->written)) {
        print_speed(e, crescent_clock());
        fputc('\n', stderr);
    }
}

int cr_encoder_run(struct cr_encoder *e, const char *text, size_t n, bool paired,
                   struct cr_error *error)
{
    crescent_embedded what;
    const char *query = e->o->query;
    if (!e->start)
        e->start = crescent_clock();
    if (paired ? crescent_embed_pair(e->embedder, query, strlen(query), text, n, e->vector, &what)
               : crescent_embed(e->embedder, text, n, e->vector, &what))
        return cr_fail(error, "text %lld: %s", (long long)e->n_texts + 1, crescent_error(e->o->context));
    e->n_texts++;
    e->n_cut += what.truncated;
    e->n_repaired += what.repaired;
    e->n_tokens += (int64_t)what.tokens;
    if (e->shows)
        show_progress(e);
    return 0;
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

/* Calls the function with each line of a stream. */
static int each_line(FILE *in, const char *name, cr_text_function *function, void *context,
                     struct cr_error *error)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = 0;
    while (status == 0 && (n = getline(&line, &room, in)) >= 0) {
        n -= n > 0 && line[n - 1] == '\n';
        n -= n > 0 && line[n - 1] == '\r';
        status = function(context, line, (size_t)n, error);
    }
    if (status == 0 && ferror(in))
        status = cr_fail(error, "%.300s: cannot be read: %s", name, strerror(errno));
    free(line);
    return status;
}

int cr_each_text(const struct cr_options *o, cr_text_function *function, void *context,
                 struct cr_error *error)
{
    if (o->text && o->file)
        return cr_fail(error, "%.200s: found a file beside --text, expected one of them", o->file);
    if (o->text)
        return function(context, o->text, strlen(o->text), error);
    if (!o->file || strcmp(o->file, "-") == 0)
        return each_line(stdin, "standard input", function, context, error);
    FILE *in = fopen(o->file, "r");
    if (!in)
        return cr_fail(error, "%.300s: cannot be opened: %s", o->file, strerror(errno));
    int status = each_line(in, o->file, function, context, error);
    fclose(in);
    return status;
}
