/* embed_text.c - prints an encoder of texts as standalone C: the model, its tokenizer, and
 * functions that compute the vector of a text or the scores of its labels; see embed_text.h. */
#include "embed_text.h"

#include <stdio.h>
#include <string.h>

#include "generate.h"
#include "runtime_text.h"
#include "standalone_tokenizer.h"

/* The offsets in bytes of the inputs and of the arena in the memory that a run needs. */
struct layout {
    int64_t ids, types, n, arena;
};

static int64_t place(int64_t *end, const struct cr_port *port)
{
    int64_t at = *end;
    *end += (cr_elements(port->rank, port->shape) * (int64_t)sizeof(float) + 63) / 64 * 64;
    return at;
}

/* Returns the offsets: the inputs follow one another, and the arena comes after them. */
static struct layout lay_out(const struct cr_standalone *w)
{
    const struct cr_encoder_ports *e = w->generation->encoder;
    const struct cr_port *inputs = w->p->inputs;
    struct layout l = {.types = -1};
    int64_t end = 0;
    l.ids = place(&end, &inputs[e->ids]);
    if (e->types >= 0)
        l.types = place(&end, &inputs[e->types]);
    l.n = place(&end, &inputs[e->n]);
    l.arena = end;
    return l;
}

/* Returns the number of bytes that the prompt adds to each text. */
static size_t prompt_bytes(const struct cr_encoder_ports *e)
{
    size_t n = e->prompt_parts ? 0 : strlen(e->prompt);
    for (int i = 0; i < e->n_prompt_parts; i++)
        n += e->prompt_parts[i].text ? strlen(e->prompt_parts[i].text) : 0;
    return n;
}

void cr_put_encoder_header(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    const bool scores = g->encoder->n_labels > 0;
    const char *upper = w->upper;
    char parts[32] = "";
    if (w->p->ranks)
        snprintf(parts, sizeof parts, "%dL * ", w->p->ranks);
    cr_put(
        t,
        "\n/* ---- %s of texts ---- */\n\n"
        "#define %s_%s %lldL\n#define %s_MOST_TOKENS %lldL /* tokens of a text; longer texts are cut */\n"
        "#define %s_PROMPT_BYTES %zu /* bytes of the prompt, put %s each text */\n"
        "#define %s_EMBEDDING_BYTES (%lldL + %s_ARENA_BYTES) /* bytes of memory for a run */\n"
        "#define %s_PACKED_BYTES (%dL + %s%s_PARAM_BYTES) /* bytes of a file of packed weights */\n\n",
        scores ? "scores" : "vectors", upper, scores ? "LABELS" : "DIMENSIONS",
        (long long)w->p->outputs[0].shape[0], upper, (long long)g->encoder->most, upper,
        prompt_bytes(g->encoder), g->encoder->prompt_parts ? "around" : "in front of", upper,
        (long long)lay_out(w).arena, upper, upper, CR_PACKED_HEADER, parts, upper);
    cr_emit_tokenizer_header(t, g->tokenizer, w->p->name, CR_FOR_TEXTS);
    cr_put(t, "\n");
    cr_put_named_template(t, w, "compiler/emit/embed_header.inc");
    cr_put(t, "\n");
    cr_put_named_template(t, w, scores ? "compiler/emit/embed_scores_header.inc" : "compiler/emit/embed_vector_header.inc");
    cr_put(t, "\n");
}

/* Prints the names of the labels, and the function that converts their logits to scores. */
static void put_labels(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_encoder_ports *e = w->generation->encoder;
    uint64_t done = 0;
    if (e->n_labels == 0)
        return;
    cr_put(t, "\n#define %s_SCORES_ARE_LOGITS %d\n#define %s_SCORES_ARE_SIGMOIDS %d\n\nconst char *const %s_labels[] = {",
           w->upper, e->plain, w->upper, e->sigmoid, w->p->name);
    for (int i = 0; i < e->n_labels; i++) {
        cr_put(t, i ? ", " : "");
        cr_put_string(t, e->labels[i]);
    }
    cr_put(t, "};\n\n");
    cr_add_runtime(t, "compiler/emit/probabilities.h", &done, NULL, NULL);
}

/* Prints the prompt of an encoder, or the prompt's fixed texts for a reranking decoder. */
static void put_prompt(struct cr_text *t, const struct cr_encoder_ports *e, const char *name)
{
    if (!e->prompt_parts) {
        cr_put(t, "/* The prompt that precedes each text. */\nstatic const char %s_prompt[] = ", name);
        cr_put_string(t, e->prompt);
        cr_put(t, ";\n");
        return;
    }
    cr_put(t,
           "/* The parts of the decoder's prompt: fixed texts, and the question and the document, "
           "for which `text` is\n * null. */\n"
           "static const struct %s_prompt_part {\n    const char *text;\n    size_t n;\n    int "
           "is_document;\n} %s_prompt_parts[] = {\n",
           name, name);
    for (int i = 0; i < e->n_prompt_parts; i++) {
        const struct cr_emitted_prompt_part *part = &e->prompt_parts[i];
        cr_put(t, "    {");
        if (part->text)
            cr_put_string(t, part->text);
        cr_put(t, "%s, %zu, %d},\n", part->text ? "" : "NULL", part->text ? strlen(part->text) : 0, part->is_document);
    }
    cr_put(t, "};\n");
}

void cr_put_encoder_source(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    const struct cr_encoder_ports *e = g->encoder;
    const struct layout l = lay_out(w);
    const char *upper = w->upper;
    struct cr_error error;
    cr_put(t, "\n/* ---- the tokenizer ---- */\n\n");
    cr_emit_tokenizer(t, g->tokenizer, w->p->name, CR_FOR_TEXTS, g->tokenizer_path, &error);
    cr_put(t,
           "\n/* ---- offsets of the inputs in the memory, in bytes, in the order of the arguments ---- */\n\n"
           "#define %s_INPUTS %d\n#define %s_NUMBERS %lldL /* floats of a result */\n#define %s_AT_IDS %lldL\n"
           "#define %s_AT_N %lldL\n#define %s_AT_ARENA %lldL\n",
           upper, w->p->n_inputs, upper, (long long)w->p->outputs[0].shape[0], upper, (long long)l.ids, upper, (long long)l.n,
           upper, (long long)l.arena);
    if (e->types >= 0)
        cr_put(t, "#define %s_AT_TYPES %lldL\n", upper, (long long)l.types);
    cr_put(t, "\nstatic const long %s_inputs_at[] = {", w->p->name);
    for (int i = 0; i < w->p->n_inputs; i++)
        cr_put(t, "%lldL, ", (long long)(i == e->ids ? l.ids : i == e->types ? l.types : l.n));
    cr_put(t, "};\n\n");
    put_prompt(t, e, w->p->name);
    put_labels(t, w);
}
