/* evaluate.c - crescent evaluate: measures how well a model predicts a text, and how much formats
 * change that. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "report.h"
#include "texts.h"
#include "verbs.h"

/* The model in the format and arithmetic of the options, and the same model in f32. */
struct evaluate {
    const struct cr_options *options;
    crescent_generator *generator, *plain; /* `plain`, the model in f32, is null if the options
                                            * give neither format nor arithmetic */
    const char *format;                    /* name of the first model's format */
    crescent_surplus surplus;
    int32_t *ids; /* ids of the text's tokens */
    int64_t n;
    crescent_window window;
    crescent_evaluation result;
};

/* ---- preparing ---- */

/* Encodes the text by the tokenizer that the options name, or else the model folder's. */
static int encode(struct evaluate *e, struct cr_error *error)
{
    const struct cr_options *o = e->options;
    crescent_tokenizer *tokenizer = NULL;
    const char *path = o->tokenizer ? o->tokenizer : o->model;
    if (path == o->model && cr_without_tokenizer(path))
        return cr_fail(error,
                       "%.400s: %s has no tokenizer, expected --tokenizer FILE, or --prompt-ids",
                       path, cr_without_tokenizer(path));
    crescent_cache_weights(o->context, o->cache_weights);
    int status = cr_passed(o, crescent_tokenizer_open(o->context, path, &tokenizer), error);
    if (!status)
        status = cr_encode_text(o, tokenizer, CRESCENT_FRAMED, &e->ids, &e->n, error);
    crescent_tokenizer_close(tokenizer);
    return status;
}

static int read_text(struct evaluate *e, struct cr_error *error)
{
    const struct cr_options *o = e->options;
    if (!o->prompt_ids)
        return encode(e, error);
    return o->text || o->file ? cr_fail(error, "--prompt-ids: found a text, too, expected one of them")
                              : cr_parse_ids(&e->ids, &e->n, o->prompt_ids, error);
}

/* Opens the model, in f32 if `plain`, and fills its weights. */
static int open_model(struct evaluate *e, bool plain, crescent_generator **generator,
                      struct cr_error *error)
{
    struct cr_options options = *e->options;
    const crescent_generation how = {.context = options.context_size,
                                     .chunk = options.chunk,
                                     .all_logits = 1,
                                     .least = e->n};
    if (plain) {
        options.format = "f32";
        options.arithmetic = NULL;
    }
    if (cr_generator_load(&options, &how, generator, error))
        return -1;
    return cr_fill_params(crescent_generator_model(*generator), &options, &e->surplus, error);
}

/* Sets the name of the format: the option's; without the option, the format of a GGUF file's
 * weights, or f32. */
static void name_format(struct evaluate *e)
{
    crescent_port port;
    crescent_model *model = crescent_generator_model(e->generator);
    e->format = e->options->format ? e->options->format : "f32";
    for (int i = 0; !e->options->format && !crescent_port_at(model, CRESCENT_PARAM, i, &port); i++)
        if (strcmp(port.format, "f32") != 0)
            e->format = "own";
}

/* Cuts the text into windows.  If the text begins with the model's begin token, so does every
 * window. */
static int cut(struct evaluate *e, struct cr_error *error)
{
    crescent_generator_status about;
    int status = crescent_generator_get_status(e->generator, &about);
    bool framed = e->n && about.begin != CRESCENT_NONE && e->ids[0] == about.begin;
    e->window = (crescent_window){about.context, framed ? about.begin : CRESCENT_NONE};
    return cr_passed(e->options, status, error);
}

/* ---- output ---- */

static void print_row(const char *name, double loss)
{
    printf("%-10.200s %12.6g", name, exp(loss));
}

/* Prints a line for f32 and a line for the options' model, or a single line if there is only one
 * model. */
static void print_table(const struct evaluate *e)
{
    const crescent_evaluation *r = &e->result;
    printf("%s tokens predicted, in windows of %s\n", cr_thousands(r->tokens).text,
           cr_thousands(e->window.tokens).text);
    printf("%-10s %12s%s\n", "format", "perplexity",
           e->plain ? "       ratio  divergence  same token" : "");
    print_row(e->plain ? "f32" : e->format, e->plain ? r->reference : r->loss);
    putchar('\n');
    if (!e->plain)
        return;
    print_row(e->format, r->loss);
    printf(" %11.6f  %10.3g  %9.2f%%\n", exp(r->loss - r->reference), r->divergence,
           100 * r->agreement);
}

/* Prints JSON; `perplexity` is that of the f32 model if there are two models. */
static void print_json(const struct evaluate *e)
{
    const crescent_evaluation *r = &e->result;
    double plain = e->plain ? r->reference : r->loss;
    struct cr_doc d = cr_json_begin();
    cr_doc_text(&d, "model", e->options->model);
    cr_doc_integer(&d, "tokens", r->tokens);
    cr_doc_integer(&d, "window", e->window.tokens);
    cr_doc_number(&d, "perplexity", exp(plain));
    if (e->plain) {
        cr_doc_text(&d, "format", e->format);
        cr_doc_number(&d, "format_perplexity", exp(r->loss));
        cr_doc_number(&d, "ratio", exp(r->loss - plain));
        cr_doc_number(&d, "divergence", r->divergence);
        cr_doc_number(&d, "agreement", r->agreement);
    }
    cr_json_end(&d);
}

/* ---- the verb ---- */

/* Fails unless a window has at least two tokens: one that is predicted, and one before it. */
static int check_sizes(const struct evaluate *e, struct cr_error *error)
{
    const struct cr_options *o = e->options;
    if (o->context_size == 1)
        return cr_fail(error, "--context 1: expected 2 at least: a token, and one that it predicts");
    return e->n > 1 ? 0
                    : cr_fail(error, "%.400s: found a text of %" PRId64 " token%s, expected at least 2",
                              o->model, e->n, e->n == 1 ? "" : "s");
}

/* Reads the text and opens the models; all checks are made before the computation. */
static int prepare(struct evaluate *e, struct cr_error *error)
{
    const struct cr_options *o = e->options;
    return read_text(e, error) || check_sizes(e, error) ||
                   open_model(e, false, &e->generator, error) ||
                   ((o->format || o->arithmetic) && open_model(e, true, &e->plain, error)) ||
                   cut(e, error)
               ? -1
               : 0;
}

/* Evaluates the whole text, then prints the result. */
static int run(struct evaluate *e, struct cr_error *error)
{
    if (prepare(e, error))
        return 2;
    int64_t framed = e->window.begin != CRESCENT_NONE;
    int status = crescent_evaluate(e->generator, e->plain, &e->window, e->ids + framed,
                                   e->n - framed, &e->result);
    if (cr_passed(e->options, status, error))
        return 2;
    name_format(e);
    cr_note_surplus(&e->surplus);
    if (e->options->json)
        print_json(e);
    else
        print_table(e);
    cr_cache_params(crescent_generator_model(e->generator));
    return 0;
}

int cr_verb_evaluate(const struct cr_options *options, struct cr_error *error)
{
    struct evaluate e = {.options = options};
    int status = run(&e, error);
    crescent_generator_close(e.generator);
    crescent_generator_close(e.plain);
    free(e.ids);
    return status;
}
