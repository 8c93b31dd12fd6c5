/* classify.c - crescent classify: prints the labels of texts with their probabilities. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/json/json_writer.h"
#include "encoders.h"
#include "verbs.h"

struct label {
    float probability;
    int number;
};

/* Compares two labels for qsort: the likelier first, equal ones by number, NaN last. */
static int by_probability(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    int nan = (x->probability != x->probability) - (y->probability != y->probability);
    int order = (x->probability < y->probability) - (x->probability > y->probability);
    return nan ? nan : order ? order : x->number - y->number;
}

static void write_label(struct cr_doc *d, const char *name, double score)
{
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "label", name);
    cr_doc_number(d, "score", score);
    cr_doc_end(d, '}');
}

/* Prints one line: [{"label": NAME, "score": P}, ...], or NAME P, separated by tabs. */
static void print_labels(const struct cr_encoder *e, const struct label *labels)
{
    struct cr_doc d = {.out = stdout, .style = CR_DOC_LINE};
    if (e->o->json)
        cr_doc_begin(&d, NULL, '[');
    for (int i = 0; i < e->facts.labels; i++) {
        const char *name = crescent_embedder_label(e->embedder, labels[i].number);
        if (e->o->json)
            write_label(&d, name, (double)labels[i].probability);
        else
            printf("%s%s %.9g", i ? "\t" : "", name, (double)labels[i].probability);
    }
    if (e->o->json)
        cr_doc_end(&d, ']');
    putchar('\n');
}

/* Prints the labels of the current text, the likeliest first. */
static int take_labels(void *context, struct cr_error *error)
{
    struct cr_encoder *e = context;
    (void)error;
    struct label *labels = cr_calloc((size_t)e->facts.labels, sizeof *labels);
    for (int i = 0; i < e->facts.labels; i++)
        labels[i] = (struct label){e->vector[i], i};
    qsort(labels, (size_t)e->facts.labels, sizeof *labels, by_probability);
    print_labels(e, labels);
    free(labels);
    return 0;
}

/* Prints a line of labels for each text. */
int cr_verb_classify(const struct cr_options *o, struct cr_error *error)
{
    struct cr_encoder e;
    int status = cr_encoder_open(&e, o, CRESCENT_PROBABILITIES, error);
    if (status == 0 && e.facts.pairs)
        status = cr_fail(
            error,
            "%.300s: found a reranking decoder, expected a classifier (crescent rank takes it)",
            o->model);
    if (status == 0)
        status = cr_encode_texts(&e, false, take_labels, &e, error);
    if (status == 0)
        cr_encoder_end(&e);
    cr_encoder_close(&e);
    return status ? 2 : 0;
}
