/* generate.c - crescent generate: continues a text with a model. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/mem.h"
#include "read_bytes.h"
#include "model.h"
#include "report.h"
#include "signals.h"
#include "texts.h"
#include "tokenizer_thread.h"
#include "verbs.h"

/* The state of one call of the verb. */
struct generate {
    const struct cr_options *options;
    crescent_generator *generator;
    crescent_model *model; /* the generator's model */
    crescent_generator_status about;
    crescent_surplus surplus;
    struct cr_tokenizer_thread reading; /* a thread that opens the tokenizer while the model is
                                         * opened */
    crescent_tokenizer *tokenizer; /* null if only ids are read and printed */
    crescent_text_stream *stream;  /* decodes the continuation; null if ids are printed */
    char printed;                  /* the last byte printed, 0 at first */
    int32_t *ids;        /* the tokens: prompt, then continuation */
    int64_t n_prompt, n; /* number of tokens of the prompt, and of the continuation */
    int64_t limit;       /* maximum number of tokens of the continuation */
    bool full;           /* true if the context, not --tokens, limits the continuation */
    float *logits;       /* logits of all positions so far, for --logits; else null */
    crescent_file *file; /* the file for the logits */
    int64_t start, started, fed, chosen, end; /* times: start of the verb, start and end of the
                                               * prompt, first token, last token */
};

/* ---- the prompt ---- */

/* Encodes a text into the prompt, with the ids that the tokenizer adds; error messages call the
 * text `name`. */
static int encode(struct generate *g, const char *name, const char *text, size_t length,
                  struct cr_error *error)
{
    size_t n;
    int status = crescent_encode(g->tokenizer, text, length, CRESCENT_FRAMED, &g->ids, &n);
    g->n_prompt = status ? 0 : (int64_t)n;
    return status ? cr_fail(error, "%.300s: %s", name, crescent_error(g->reading.context)) : 0;
}

/* Returns the maximum number of bytes of a text that can fit into the context: for each token the
 * bytes of the longest one, times 4, since normalisers may shorten letters, plus a megabyte for
 * text that they remove.  If the context can grow with the prompt, returns 16 MiB. */
static size_t most_bytes(const struct generate *g)
{
    size_t longest = 1, n;
    const char *text;
    for (int id = 0; id < crescent_tokenizer_size(g->tokenizer); id++)
        if ((text = crescent_token_text(g->tokenizer, id)) && (n = strlen(text)) > longest)
            longest = n;
    size_t most = g->about.can_grow ? 1 << 24
                                    : ((size_t)g->about.context + 1) * longest * 4 + (1 << 20);
    return most < CR_MOST_TEXT ? most : CR_MOST_TEXT;
}

/* Encodes a file into the prompt.  Reads at most most_bytes, since the input may be endless. */
static int encode_file(struct generate *g, const char *path, struct cr_error *error)
{
    struct cr_bytes bytes;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    size_t most = most_bytes(g);
    int status = cr_read_file(g->options, path, most, &bytes, error);
    if (bytes.n > most)
        cr_fail(error, "%.300s: more than %s, expected a prompt that fits the model's context", name,
                cr_bytes((int64_t)most).text);
    if (!status)
        status = encode(g, name, bytes.data, bytes.n, error);
    free(bytes.data);
    return status;
}

/* Makes a prompt of only the begin token: the model's or, if it has none, the tokenizer's. */
static int begin_text(struct generate *g, struct cr_error *error)
{
    free(g->ids);
    g->ids = NULL;
    if (g->about.begin != CRESCENT_NONE) {
        g->ids = cr_calloc(1, sizeof *g->ids);
        g->ids[0] = (int32_t)g->about.begin;
        g->n_prompt = 1;
    } else if (g->tokenizer && encode(g, "no prompt", "", 0, error)) {
        return -1;
    }
    return g->n_prompt ? 0
                       : cr_fail(error,
                                 "%.400s: no prompt, and no bos_token_id to begin with, expected "
                                 "--prompt TEXT or --prompt-ids 1,2,3",
                                 g->options->model);
}

/* Returns 0 for status 0, else the failure of a call of the tokenizer or the text stream, with
 * its error. */
static int text_passed(const struct generate *g, int status, struct cr_error *error)
{
    return status ? cr_fail(error, "%s", crescent_error(g->reading.context)) : 0;
}

/* True if text is read or printed, so that a tokenizer is needed. */
static bool has_text(const struct cr_options *o)
{
    return !o->ids || o->prompt || o->prompt_file;
}

/* Begins to open the tokenizer that the options name, or the model's own if text needs one. */
static void begin_tokenizer(struct generate *g)
{
    const struct cr_options *o = g->options;
    if (o->tokenizer || (has_text(o) && !cr_without_tokenizer(o->model)))
        cr_tokenizer_begin(&g->reading, o->tokenizer ? o->tokenizer : o->model, o->cache_weights);
}

/* Waits for the tokenizer, and opens the text stream if text is printed. */
static int open_tokenizer(struct generate *g, struct cr_error *error)
{
    if (!g->reading.context)
        return !has_text(g->options)
                   ? 0
                   : cr_fail(error,
                             "%.400s: %s has no tokenizer, expected --tokenizer FILE, or --ids and "
                             "--prompt-ids",
                             g->options->model, cr_without_tokenizer(g->options->model));
    int status = cr_tokenizer_wait(&g->reading);
    g->tokenizer = g->reading.tokenizer;
    if (!status && !g->options->ids)
        status = crescent_text_stream_open(g->tokenizer, CRESCENT_SPECIALS_NONE, &g->stream);
    return text_passed(g, status, error);
}

/* Encodes the prompt's text, from an option or a file. */
static int read_prompt(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    return open_tokenizer(g, error) ||
                   (o->prompt && encode(g, "--prompt", o->prompt, strlen(o->prompt), error)) ||
                   (o->prompt_file && encode_file(g, o->prompt_file, error))
               ? -1
               : 0;
}

/* Checks the options about the prompt, and parses the ids of --prompt-ids. */
static int check_prompts(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    if (!!o->prompt + !!o->prompt_file + !!o->prompt_ids > 1)
        return cr_fail(error, "--prompt, --prompt-file, --prompt-ids: more than one, expected one of "
                              "them or none");
    if (o->top_p > 1)
        return cr_fail(error, "--top-p %g: expected a number from 0 to 1", o->top_p);
    return o->prompt_ids ? cr_parse_ids(&g->ids, &g->n_prompt, o->prompt_ids, error) : 0;
}

/* Checks that the prompt fits the context; replaces an empty prompt by a begin token. */
static int check_prompt(struct generate *g, struct cr_error *error)
{
    if (!g->n_prompt && begin_text(g, error))
        return -1;
    if (g->n_prompt > g->about.context)
        return cr_fail(error,
                       "%.400s: a prompt of %" PRId64 " tokens, expected at most the %" PRId64
                       " of the context",
                       g->options->model, g->n_prompt, g->about.context);
    return 0;
}

/* ---- preparing ---- */

/* Sets the maximum number of tokens of the continuation.  The last token is not fed to the model,
 * so it needs no position in the context. */
static void set_limit(struct generate *g)
{
    int64_t room = g->about.context - g->n_prompt + 1, wanted = g->options->tokens;
    g->full = wanted > room;
    g->limit = wanted < 0 || wanted > room ? room : wanted;
}

/* Allocates memory for all tokens and their logits, since nothing is allocated between tokens. */
static int make_room(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    int64_t n = g->n_prompt + g->limit;
    void *ids, *logits = NULL;
    if (cr_passed(o, crescent_memory(o->context, n * (int64_t)sizeof *g->ids, "tokens", &ids), error))
        return -1;
    memcpy(ids, g->ids, (size_t)g->n_prompt * sizeof *g->ids);
    free(g->ids);
    g->ids = ids;
    if (!o->logits)
        return 0;
    int64_t bytes = n * g->about.vocabulary * (int64_t)sizeof(float);
    int status = crescent_memory(o->context, bytes, "logits", &logits);
    g->logits = logits;
    return cr_passed(o, status, error);
}

/* Returns the number of positions that prompt and continuation need at least. */
static int64_t needed(const struct generate *g)
{
    return g->n_prompt + (g->options->tokens > 0 ? g->options->tokens : 0);
}

/* Opens the model for one text, with at least `needed` positions. */
static int open_generator(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    const crescent_generation how = {.context = o->context_size,
                                     .chunk = o->chunk,
                                     .all_logits = o->logits != NULL,
                                     .least = needed(g)};
    crescent_generator_close(g->generator);
    if (cr_generator_load(o, &how, &g->generator, error) ||
        cr_passed(o, crescent_generator_get_status(g->generator, &g->about), error))
        return -1;
    g->model = crescent_generator_model(g->generator);
    return g->about.texts == 1 ? 0
                               : cr_fail(error, "%.400s: %" PRId64 " texts, expected one", o->model,
                                         g->about.texts);
}

/* Opens the model again if the tokens need more positions and its context can grow. */
static int grow_context(struct generate *g, struct cr_error *error)
{
    return g->about.can_grow && needed(g) > g->about.context ? open_generator(g, error) : 0;
}

/* Reads and checks everything before the computation.  A thread reads the tokenizer while the
 * model is compiled. */
static int prepare(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    if (check_prompts(g, error))
        return -1;
    begin_tokenizer(g);
    if (open_generator(g, error) || read_prompt(g, error) || grow_context(g, error) ||
        check_prompt(g, error))
        return -1;
    set_limit(g);
    bool writes = o->logits && crescent_ranks_of(o->context).rank == 0;
    if ((writes && cr_passed(o, crescent_file_open(o->context, o->logits, &g->file), error)) ||
        make_room(g, error))
        return -1;
    return cr_fill_params(g->model, o, &g->surplus, error);
}

/* ---- feeding ---- */

/* Feeds n tokens to the model, starting at index `first`. */
static int feed(struct generate *g, int64_t first, int64_t n, struct cr_error *error)
{
    float *logits = g->logits ? g->logits + first * g->about.vocabulary : NULL;
    return cr_passed(g->options, crescent_generator_feed(g->generator, g->ids + first, n, logits),
                     error);
}

/* Feeds the prompt in chunks, so that a signal can stop it between two chunks. */
static int feed_prompt(struct generate *g, struct cr_error *error)
{
    int64_t n = g->n_prompt, some;
    for (int64_t first = 0; first < n && !cr_is_stopped(); first += some) {
        some = n - first < g->about.chunk ? n - first : g->about.chunk;
        if (feed(g, first, some, error))
            return -1;
    }
    g->fed = crescent_clock();
    return 0;
}

/* ---- output ---- */

static void print_bytes(struct generate *g, const char *text, size_t n)
{
    if (!n)
        return;
    fwrite(text, 1, n, stdout);
    fflush(stdout);
    g->printed = text[n - 1];
}

/* Feeds the prompt to the text stream without printing it: decoding the continuation depends on
 * earlier tokens. */
static int skip_text(struct generate *g, struct cr_error *error)
{
    const char *text;
    size_t n;
    int status = 0;
    for (int64_t i = 0; g->stream && i < g->n_prompt && !status; i++)
        status = crescent_text_stream_add(g->stream, g->ids[i], &text, &n);
    return text_passed(g, status, error);
}

/* Prints an id, or the text that is complete with it. */
static int print_token(struct generate *g, int32_t id, struct cr_error *error)
{
    char number[16];
    const char *text = number;
    size_t n;
    int status = 0;
    if (g->stream)
        status = crescent_text_stream_add(g->stream, id, &text, &n);
    else
        n = (size_t)snprintf(number, sizeof number, g->n ? " %" PRId32 : "%" PRId32, id);
    if (!status)
        print_bytes(g, text, n);
    return text_passed(g, status, error);
}

/* Prints the rest of the text, and a final newline. */
static int print_rest(struct generate *g, struct cr_error *error)
{
    const char *text;
    size_t n = 0;
    int status = g->stream && g->n ? crescent_text_stream_end(g->stream, &text, &n) : 0;
    if (!status)
        print_bytes(g, text, n);
    if (g->printed && g->printed != '\n')
        print_bytes(g, "\n", 1);
    return text_passed(g, status, error);
}

/* ---- the continuation ---- */

/* True if a token ends the text: it is one of the model's end tokens or, if the model has none,
 * of the tokenizer's. */
static bool is_end(const struct generate *g, int32_t id)
{
    int n = g->tokenizer && !g->about.ends ? crescent_end_count(g->tokenizer) : 0;
    for (int i = 0; i < n; i++)
        if (crescent_end_at(g->tokenizer, i) == id)
            return true;
    return crescent_generator_is_end(g->generator, id);
}

/* Generates until a token ends the text, a limit is reached, output fails, or a signal arrives. */
static int generate_tokens(struct generate *g, struct cr_error *error)
{
    const struct cr_options *o = g->options;
    const crescent_sampling sampling = {o->temperature, o->top_k, o->top_p, o->seed};
    bool ended = g->limit == 0;
    while (!ended && !cr_is_stopped() && !ferror(stdout)) {
        int32_t *id = &g->ids[g->n_prompt + g->n];
        if (cr_passed(o, crescent_generator_choose(g->generator, &sampling, id), error))
            return -1;
        g->end = crescent_clock();
        if (!g->n)
            g->chosen = g->end;
        if (print_token(g, *id, error))
            return -1;
        g->n++;
        ended = g->n == g->limit || (!o->ignore_eos && is_end(g, *id));
        if (!ended && feed(g, g->n_prompt + g->n - 1, 1, error))
            return -1;
    }
    g->full = g->full && g->n == g->limit;
    return 0;
}

/* ---- after the last token ---- */

/* Writes the logits of all tokens that were fed to the model. */
static int write_logits(struct generate *g, struct cr_error *error)
{
    int status = crescent_generator_get_status(g->generator, &g->about);
    const crescent_port port = {.name = "logits",
                                .type = CRESCENT_F32,
                                .rank = 2,
                                .shape = {g->about.used, g->about.vocabulary}};
    if (!g->file)
        return 0;
    status = status || crescent_file_put_npy(g->file, &port, g->logits) ||
             crescent_file_finish(g->file) || crescent_file_commit(g->file);
    return cr_passed(g->options, status, error);
}

/* Returns the average number of bytes that a token reads: the weights, and the cached keys and
 * values. */
static double bytes_of_a_token(const struct generate *g)
{
    double bytes = 0, used = (double)(g->n_prompt + g->n / 2);
    crescent_kernel k;
    for (int i = 0; !crescent_kernel_at(g->model, i, &k); i++)
        bytes += k.bytes_weights * k.calls;
    for (int i = 0; i < crescent_port_count(g->model, CRESCENT_STATE); i++) {
        crescent_port port = cr_port_of(g->model, CRESCENT_STATE, i);
        if (port.rank > 1)
            bytes += (double)crescent_port_elements(&port) * sizeof(float) * used /
                     (double)g->about.context;
    }
    return bytes;
}

/* Prints the speed of all tokens but the first, and its ratio to the speed at which all weights
 * can be read once for each token.  The measurement reads the weights in place and allocates
 * nothing. */
static void print_speed(const struct generate *g)
{
    double seconds = (double)(g->end - g->chosen) / 1e9, each = (double)(g->n - 1) / seconds;
    double bytes = bytes_of_a_token(g), speed = each * bytes / 1e9;
    crescent_machine *machine;
    fprintf(stderr, "%" PRId64 " tokens in %s: ", g->n, cr_duration(g->end - g->fed).text);
    if (each < 100)
        fprintf(stderr, "%.3g tokens a second", each);
    else
        fprintf(stderr, "%s tokens a second", cr_thousands((int64_t)(each + 0.5)).text);
    if (cr_report_of_model(g->model).compiled && !crescent_machine_open(g->model, &machine)) {
        fprintf(stderr, ", reading %.3g GB/s, %.0f%% of the speed of reading the weights alone", speed,
                100 * speed / crescent_machine_read_weights(machine, (int64_t)bytes));
        crescent_machine_close(machine);
    }
    fputc('\n', stderr);
}

/* Prints times and speed, the formats of weights, and the arithmetic of products. */
static void print_statistics(const struct generate *g)
{
    crescent_ranks ranks = crescent_ranks_of(g->options->context);
    if (ranks.rank || (!g->options->stats && !isatty(STDERR_FILENO)))
        return;
    fprintf(stderr, "first token after %s, ", cr_duration(g->chosen - g->start).text);
    fprintf(stderr, "of which %s for %" PRId64 " token%s of the prompt\n",
            cr_duration(g->fed - g->started).text, g->n_prompt, g->n_prompt == 1 ? "" : "s");
    if (g->n > 1)
        print_speed(g);
    cr_print_formats(g->model, stderr);
    crescent_report report = cr_report_of_model(g->model);
    cr_print_products(stderr, &report, g->options->arithmetic);
    if (ranks.count > 1)
        fprintf(stderr, "%d ranks, of which the first one has sent %s bytes\n", ranks.count,
                cr_thousands(ranks.sent).text);
}

/* ---- the verb ---- */

/* Generates.  Prints the text so far and writes its logits even after a signal. */
static int run(struct generate *g, struct cr_error *error)
{
    g->start = crescent_clock();
    if (prepare(g, error))
        return 2;
    cr_catch_signals();
    g->started = crescent_clock();
    struct cr_error later;
    int status = skip_text(g, error) || feed_prompt(g, error) || generate_tokens(g, error);
    if (print_rest(g, status ? &later : error) || status || write_logits(g, error))
        return 2;
    cr_note_surplus(&g->surplus);
    if (g->full)
        cr_note("%.400s: the context of %" PRId64 " tokens is full, %" PRId64 " of %" PRId64
                " tokens were made",
                g->options->model, g->about.context, g->n, g->options->tokens);
    if (g->n)
        print_statistics(g);
    cr_cache_params(g->model);
    return cr_is_stopped() ? CR_INTERRUPTED : 0;
}

int cr_verb_generate(const struct cr_options *options, struct cr_error *error)
{
    struct generate g = {.options = options};
    int status = run(&g, error);
    crescent_file_close(g.file);
    crescent_text_stream_close(g.stream);
    cr_tokenizer_end(&g.reading);
    crescent_generator_close(g.generator);
    free(g.ids);
    free(g.logits);
    return status;
}
