/* rank.c - crescent rank: orders documents by how well they answer a question. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/mem.h"
#include "compiler/json/json_writer.h"
#include "encoders.h"
#include "verbs.h"

struct ranked {
    float score;
    int64_t number; /* number of the document's line, from 1 on */
};

struct ranking {
    struct cr_encoder encoder;
    struct ranked *items;
    int n, cap;
};

static int take_score(void *context, struct cr_error *error)
{
    struct ranking *r = context;
    (void)error;
    *CR_PUSH(r->items, r->n, r->cap) = (struct ranked){r->encoder.vector[0], r->encoder.n_texts};
    return 0;
}

/* Compares two documents for qsort: the better first, equal ones by number, NaN last. */
static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int nan = (x->score != x->score) - (y->score != y->score);
    int order = (x->score < y->score) - (x->score > y->score);
    return nan ? nan : order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Prints one document as a line: {"score": S, "number": N}. */
static void print_json(const struct ranked *item)
{
    struct cr_doc d = {.out = stdout, .style = CR_DOC_LINE};
    cr_doc_begin(&d, NULL, '{');
    cr_doc_number(&d, "score", (double)item->score);
    cr_doc_integer(&d, "number", item->number);
    cr_doc_end(&d, '}');
    putchar('\n');
}

static void print_ranking(struct ranking *r)
{
    if (r->n)
        qsort(r->items, (size_t)r->n, sizeof *r->items, by_score);
    for (int i = 0; i < r->n; i++)
        if (r->encoder.o->json)
            print_json(&r->items[i]);
        else
            printf("%.9g %lld\n", (double)r->items[i].score, (long long)r->items[i].number);
}

/* Scores each line as a pair with the question; prints scores and line numbers, the best first. */
int cr_verb_rank(const struct cr_options *o, struct cr_error *error)
{
    struct ranking r = {.items = NULL};
    int status = o->query ? cr_encoder_open(&r.encoder, o, CRESCENT_PROBABILITIES, error)
                          : cr_fail(error, "--query: found no question, expected one");
    if (status == 0 && r.encoder.facts.labels != 1)
        status = cr_fail(error, "%.300s: found a classifier with %d labels, expected 1 label, as a reranker has",
                         o->model, r.encoder.facts.labels);
    if (status == 0)
        status = cr_encode_texts(&r.encoder, true, take_score, &r, error);
    if (status == 0) {
        print_ranking(&r);
        cr_encoder_end(&r.encoder);
    }
    free(r.items);
    cr_encoder_close(&r.encoder);
    return status ? 2 : 0;
}
