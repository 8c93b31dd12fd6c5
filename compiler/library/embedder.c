/* embedder.c - computes vectors of texts with an encoder and its tokenizer; see crescent.h. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/probabilities.h"
#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "compare_files.h"
#include "handles.h"
#include "installed_files.h"
#include "model_path.h"
#include "sentence_transformers.h"

/* A tokenizer that a thread opens while the model is compiled.  The thread uses a context of its
 * own, so that it has its own error. */
struct reading {
    crescent_context *context;
    crescent_tokenizer *tokenizer;
    const char *path;
    const struct cr_sentence *sentence; /* the tokenizer gets its settings lower_case and
                                           segments */
    pthread_t thread;
    bool is_running;
    int status;
};

/* The memory for the inputs of one text. */
struct slot {
    const void *inputs[3]; /* by port: the memory that the model reads */
    int32_t *ids, *types;  /* with room for the most tokens of a text */
    int32_t length;
};

struct crescent_embedder {
    crescent_context *context;
    crescent_model *model;
    struct reading reading;
    struct cr_sentence sentence;
    int64_t dimensions;
    struct slot *slots; /* one for each text that runs at the same time */
    int n_slots;
    int input[3]; /* the index of the input of ids, of token_type_ids and of the length;
                     CRESCENT_NONE if missing */
    crescent_classification classify;
};

/* ---- the tokenizer ---- */

static void *open_tokenizer(void *reading)
{
    struct reading *r = reading;
    r->status = crescent_tokenizer_open(r->context, r->path, &r->tokenizer);
    if (r->status == CRESCENT_OK && r->sentence->lower_case)
        cr_read_in_lower_case(r->tokenizer);
    if (r->status == CRESCENT_OK && !r->sentence->segments)
        cr_read_without_segments(r->tokenizer);
    return NULL;
}

/* Starts the thread that opens the tokenizer and sets its lower_case and segments.  If no thread
 * can be started, does both at once.  `path` and `sentence` must stay valid until await_reading. */
static int begin_reading(struct reading *r, const char *path, const struct cr_sentence *sentence,
                         int64_t cache_bytes, struct cr_error *error)
{
    *r = (struct reading){.context = crescent_context_new(), .path = path, .sentence = sentence};
    if (!r->context)
        return cr_fail(error, "out of memory");
    r->context->cache_bytes = cache_bytes;
    r->is_running = pthread_create(&r->thread, NULL, open_tokenizer, r) == 0;
    if (!r->is_running)
        open_tokenizer(r);
    return 0;
}

/* Fails with the message in the error of the tokenizer's context. */
static int fail_reading(const struct reading *r, struct cr_error *error)
{
    return cr_fail(error, "%s", crescent_error(r->context));
}

/* Waits for the thread that opens the tokenizer.  If opening failed, its error replaces an error
 * set before. */
static int await_reading(struct reading *r, struct cr_error *error)
{
    if (r->is_running)
        pthread_join(r->thread, NULL);
    r->is_running = false;
    return r->status ? fail_reading(r, error) : 0;
}

/* ---- opening ---- */

/* Sets the limit of tokens of a text as cr_limit_sentence does.  Waits for the tokenizer only if
 * the limit in tokenizer.json counts, because neither the caller nor the files read so far give
 * one. */
static int find_limit(crescent_embedder *e, int64_t asked, struct cr_error *error)
{
    struct cr_sentence *s = &e->sentence;
    const bool known = asked > 0 || (!s->table && (s->max_length > 0 || s->model_max_length > 0 || s->positions > 0));
    if (!known && await_reading(&e->reading, error))
        return -1;
    return cr_limit_sentence(s, asked, known ? 0 : crescent_tokenizer_limit(e->reading.tokenizer), error);
}

/* Opens the model and loads its weights.  The script gets as settings the most tokens, and either
 * the pooling or the number of classes. */
static int open_model(crescent_embedder *e, const char *path, const crescent_script *how,
                      const crescent_config *config)
{
    struct cr_sentence_settings of_files;
    const crescent_script script = cr_sentence_script(&of_files, &e->sentence, how);
    int status = crescent_open(e->context, path, &script, config, &e->model);
    if (status == CRESCENT_OK) {
        e->model->is_part = true;
        cr_model_drop_code(e->model);
        const char *weights = crescent_weights_path(e->model);
        status = crescent_load_weights(e->model, &weights, 1, CRESCENT_ANY_TENSORS, NULL);
    }
    free((void *)script.settings);
    return status;
}

/* Finds the inputs (ids, segments if the model has them, and the length) and the output with the
 * vector. `asked` is the limit of tokens that the caller requested, or 0. */
static int find_ports(crescent_embedder *e, int64_t asked, struct cr_error *error)
{
    static const char *const names[] = {"ids", "token_type_ids", "T"};
    crescent_port port;
    int known = 0, n = crescent_port_count(e->model, CRESCENT_INPUT);
    for (int k = 0; k < 3; k++)
        known += (e->input[k] = crescent_port_find(e->model, CRESCENT_INPUT, names[k])) != CRESCENT_NONE;
    for (int i = 0; known < n; i++) {
        crescent_port_at(e->model, CRESCENT_INPUT, i, &port);
        if (i != e->input[0] && i != e->input[1] && i != e->input[2])
            return cr_fail(error, "found the input %s, expected a model of ids and token_type_ids", port.name);
    }
    if (e->input[0] != CRESCENT_NONE) {
        crescent_port_at(e->model, CRESCENT_INPUT, e->input[0], &port);
        if (cr_lower_sentence_limit(&e->sentence, asked, port.shape[port.rank - 1], error))
            return -1;
    }
    if (crescent_port_count(e->model, CRESCENT_OUTPUT) != 1 ||
        crescent_port_at(e->model, CRESCENT_OUTPUT, 0, &port) || port.rank != 1)
        return cr_fail(error, "found a model whose output is not one vector, expected an encoder "
                              "with the option pooling");
    e->dimensions = port.shape[0];
    return 0;
}

/* Allocates the memory for the inputs of n texts. */
static void make_slots(crescent_embedder *e, int n)
{
    size_t most = (size_t)e->sentence.max_length;
    if (n <= e->n_slots)
        return;
    struct slot *slots = cr_calloc((size_t)n, sizeof *slots);
    if (e->n_slots)
        memcpy(slots, e->slots, (size_t)e->n_slots * sizeof *slots);
    free(e->slots);
    e->slots = slots;
    for (; e->n_slots < n; e->n_slots++) {
        slots[e->n_slots].ids = cr_calloc(most, sizeof(int32_t));
        slots[e->n_slots].types = cr_calloc(most, sizeof(int32_t));
    }
    for (int i = 0; i < n; i++) {
        const void *const memory[] = {slots[i].ids, slots[i].types, &slots[i].length};
        for (int k = 0; k < 3; k++)
            if (e->input[k] != CRESCENT_NONE)
                slots[i].inputs[e->input[k]] = memory[k];
    }
}

/* Sets up a classifier or a reranking decoder: reads its prompt, and finds the outputs that are its
 * scores. */
static int read_classifier(crescent_embedder *e, const char *folder, struct cr_error *error)
{
    bool is_reranker = false;
    if (!e->sentence.score && cr_is_yes_no_reranker(folder, &is_reranker, error))
        return -1;
    if (is_reranker) {
        if (await_reading(&e->reading, error))
            return -1;
        int yes = crescent_token_id(e->reading.tokenizer, "yes"), no = crescent_token_id(e->reading.tokenizer, "no");
        if (cr_set_yes_no_reranker(&e->sentence, folder, yes, no, error))
            return -1;
    }
    return cr_read_labels(&e->sentence, folder, error);
}

/* Leaves the tokens of the prompt out of the pooling if the model's files ask for that. */
static int leave_out_prompt(crescent_embedder *e, struct cr_error *error)
{
    struct cr_sentence *s = &e->sentence;
    int64_t tokens;
    if (!s->excludes_prompt)
        return 0;
    if (await_reading(&e->reading, error) ||
        cr_count_prompt(e->reading.tokenizer, s->prompt, s->max_length, &tokens, error))
        return -1;
    cr_leave_out_prompt(s, tokens);
    return 0;
}

/* Opens the model with the settings that were read from its files, while a thread opens the
 * tokenizer. `error` is the context's, which functions of crescent.h set as well. */
static int open_parts(crescent_embedder *e, const char *folder, const crescent_script *how,
                      const crescent_config *config, const crescent_embedder_options *options,
                      struct cr_error *error)
{
    if (options->pooling)
        cr_set_pooling(&e->sentence, options->pooling);
    e->sentence.normalize |= options->normalize;
    e->classify = options->classify;
    if (e->classify ? read_classifier(e, folder, error) : cr_check_vectors(&e->sentence, folder, error))
        return -1;
    if (cr_check_pooling(&e->sentence, folder, error))
        return -1;
    if (e->sentence.pad && await_reading(&e->reading, error))
        return -1;
    if (e->sentence.pad)
        e->sentence.pad_id = crescent_token_id(e->reading.tokenizer, e->sentence.pad);
    if (find_limit(e, options->most, error) || leave_out_prompt(e, error))
        return -1;
    if (open_model(e, folder, how, config)) {
        if (e->classify)
            cr_name_class(folder, error);
        return -1;
    }
    return find_ports(e, options->most, error) || cr_check_token_size(&e->sentence, how, e->dimensions, error) ? -1 : 0;
}

/* Opens an encoder.  After a failure, closes the parts that are already open. */
int crescent_embedder_open(crescent_context *context, const char *path, const crescent_script *how,
                           const crescent_config *config, const crescent_embedder_options *options,
                           crescent_embedder **embedder)
{
    static const crescent_embedder_options none = {0};
    if (embedder)
        *embedder = NULL;
    CR_REQUIRE_CONTEXT(context, path && embedder);
    CR_ENTER(context);
    crescent_embedder *e = cr_calloc(1, sizeof *e);
    char *folder = cr_find_installed(path), *inner = NULL;
    e->context = cr_refer(context);
    int status = cr_check_folder_path(folder, guard.error) ||
                 cr_read_sentence(&e->sentence, folder, options ? options->role : NULL, guard.error) ||
                 cr_compare_files(context, folder, "contents", guard.error);
    if (status == 0) {
        inner = cr_sentence_folder(&e->sentence, folder);
        status = begin_reading(&e->reading, inner, &e->sentence, context->cache_bytes, guard.error);
    }
    if (status == 0) {
        context->is_compared = strcmp(inner, folder) == 0;
        int model = open_parts(e, inner, how, config, options ? options : &none, guard.error);
        context->is_compared = false;
        status = await_reading(&e->reading, guard.error) ? -1 : model;
    }
    free(folder);
    free(inner);
    if (status)
        crescent_embedder_close(e);
    else
        *embedder = e;
    return cr_done(&guard, status);
}

/* Closes an embedder, also one that was opened only in part. */
void crescent_embedder_close(crescent_embedder *e)
{
    if (!e)
        return;
    if (e->model)
        cr_model_release(e->model);
    crescent_tokenizer_close(e->reading.tokenizer);
    crescent_context_free(e->reading.context);
    cr_free_sentence(&e->sentence);
    for (int i = 0; i < e->n_slots; i++) {
        free(e->slots[i].ids);
        free(e->slots[i].types);
    }
    free(e->slots);
    cr_release(e->context);
    free(e);
}

crescent_model *crescent_embedder_model(crescent_embedder *e)
{
    return e ? e->model : NULL;
}

int crescent_embedder_get_facts(const crescent_embedder *e, crescent_embedder_facts *facts)
{
    CR_REQUIRE(e, facts);
    *facts = (crescent_embedder_facts){e->dimensions, e->sentence.max_length, e->sentence.pooling,
                                       e->sentence.normalize, e->sentence.prompt, e->sentence.n_labels,
                                       e->sentence.score != NULL};
    return CRESCENT_OK;
}

const char *crescent_embedder_label(const crescent_embedder *e, int index)
{
    return e && index >= 0 && index < e->sentence.n_labels ? e->sentence.labels[index] : NULL;
}

/* ---- a text ---- */

/* Returns a copy of a text in which bytes that are not UTF-8 are replaced by U+FFFD; sets *repaired
 * if there are any. */
static struct cr_text repair(const char *text, size_t n, bool *repaired)
{
    struct cr_text out = {0};
    cr_put_bytes(&out, "", 0);
    for (size_t at = 0, bytes; at < n; at += bytes ? bytes : 1) {
        bytes = cr_utf8(text + at, text + n);
        cr_put_bytes(&out, bytes ? text + at : "\xef\xbf\xbd", bytes ? bytes : 3);
        *repaired |= bytes == 0;
    }
    return out;
}

/* Returns the prompt followed by the text, which is repaired. */
static struct cr_text prepare(const crescent_embedder *e, const char *text, size_t n, bool *repaired)
{
    struct cr_text out = {0}, own = repair(text, n, repaired);
    if (e->sentence.prompt)
        cr_put_bytes(&out, e->sentence.prompt, strlen(e->sentence.prompt));
    cr_put_bytes(&out, own.data, own.length);
    free(own.data);
    return out;
}

/* Copies ids and segments of an encoding into the inputs of a text. */
static void take_ids(struct slot *slot, const crescent_encoding *encoding)
{
    slot->length = (int32_t)encoding->n;
    memcpy(slot->ids, encoding->ids, encoding->n * sizeof *slot->ids);
    memcpy(slot->types, encoding->types, encoding->n * sizeof *slot->types);
}

/* Shortens the ids of a reranking prompt to the limit by removing the last ids of the document.
 * The ids of `after`, the text that follows the document, are kept: they are the longest common
 * suffix of `ids` and of the encoding of `after` alone. */
static int cut_prompt(const crescent_embedder *e, const char *after, size_t length, crescent_encoding *ids,
                      struct cr_error *error)
{
    const crescent_text request = {.text = after, .length = length};
    const size_t most = (size_t)e->sentence.max_length;
    crescent_encoding alone;
    size_t kept = 0;
    if (crescent_encode_text(e->reading.tokenizer, &request, &alone))
        return fail_reading(&e->reading, error);
    while (kept < alone.n && kept < ids->n && alone.ids[alone.n - 1 - kept] == ids->ids[ids->n - 1 - kept])
        kept++;
    crescent_free(alone.ids);
    if (kept >= most)
        return cr_fail(error, "found a limit of %zu tokens, expected more than the %zu of the template after a document",
                       most, kept);
    memmove(ids->ids + most - kept, ids->ids + ids->n - kept, kept * sizeof *ids->ids);
    ids->n = most;
    ids->truncated = 1;
    return 0;
}

/* Encodes a reranking prompt into `slot`; shortens its document if the prompt exceeds the limit.
 * The text after the document begins at offset `end`. */
static int encode_prompt(const crescent_embedder *e, const struct cr_text *prompt, size_t end, struct slot *slot,
                         crescent_embedded *what, struct cr_error *error)
{
    const crescent_text request = {.text = prompt->data, .length = prompt->length};
    crescent_encoding ids;
    if (crescent_encode_text(e->reading.tokenizer, &request, &ids))
        return fail_reading(&e->reading, error);
    int status = (int64_t)ids.n > e->sentence.max_length
                     ? cut_prompt(e, prompt->data + end, prompt->length - end, &ids, error)
                     : 0;
    if (status == 0) {
        *what = (crescent_embedded){ids.n, ids.truncated, what->repaired};
        take_ids(slot, &ids);
    }
    crescent_free(ids.ids);
    return status;
}

/* Encodes the prompt that a reranking decoder gets for a question and a document. */
static int encode_question(const crescent_embedder *e, const crescent_embed_text *texts, struct slot *slot,
                           crescent_embedded *what, struct cr_error *error)
{
    bool repaired = false;
    size_t end = 0;
    if (!texts->pair)
        return cr_fail(error, "found a single text, expected a question and a document, as the decoder ranks");
    struct cr_text query = repair(texts->text, texts->length, &repaired);
    struct cr_text document = repair(texts->pair, texts->pair_length, &repaired);
    struct cr_text prompt = cr_fill_ranking_prompt(&e->sentence.template, &query, &document, &end);
    *what = (crescent_embedded){.repaired = repaired};
    int status = encode_prompt(e, &prompt, end, slot, what, error);
    free(query.data);
    free(document.data);
    free(prompt.data);
    return status;
}

/* Encodes a text, or a pair of texts, into the inputs `slot`. */
static int encode(const crescent_embedder *e, const crescent_embed_text *texts, struct slot *slot,
                  crescent_embedded *what, struct cr_error *error)
{
    if (e->sentence.score)
        return encode_question(e, texts, slot, what, error);
    bool repaired = false;
    struct cr_text whole = prepare(e, texts->text, texts->length, &repaired), pair = {0};
    crescent_encoding encoding;
    if (texts->pair)
        pair = repair(texts->pair, texts->pair_length, &repaired);
    const crescent_text request = {.text = whole.data,
                                   .length = whole.length,
                                   .pair = pair.data,
                                   .pair_length = pair.length,
                                   .framing = e->sentence.table ? CRESCENT_PLAIN : CRESCENT_FRAMED,
                                   .most = e->sentence.max_length};
    int status = crescent_encode_text(e->reading.tokenizer, &request, &encoding);
    free(whole.data);
    free(pair.data);
    if (status)
        return fail_reading(&e->reading, error);
    *what = (crescent_embedded){encoding.n, encoding.truncated, repaired};
    take_ids(slot, &encoding);
    crescent_free(encoding.ids);
    return CRESCENT_OK;
}

/* Encodes texts and runs the model on their ids.  The vector of a text without ids is all zeros;
 * that happens with a tokenizer that adds no tokens of its own. */
static int embed(crescent_embedder *e, const crescent_embed_text *texts, int n, float *vectors,
                 crescent_embedded *what, struct cr_error *error)
{
    size_t dimensions = (size_t)e->dimensions;
    crescent_embedded unasked;
    struct cr_tensors *runs = cr_calloc((size_t)n, sizeof *runs);
    void **outputs = cr_calloc((size_t)n, sizeof *outputs);
    int n_runs = 0, status = 0;
    make_slots(e, n);
    for (int i = 0; i < n && status == 0; i++) {
        float *vector = outputs[i] = vectors + (size_t)i * dimensions;
        status = encode(e, &texts[i], &e->slots[i], what ? &what[i] : &unasked, error);
        if (status == 0 && e->slots[i].length)
            runs[n_runs++] = (struct cr_tensors){e->slots[i].inputs, &outputs[i]};
        else
            memset(vector, 0, dimensions * sizeof *vector);
    }
    if (status == 0 && n_runs)
        status = cr_run_many(e->model, runs, n_runs, error);
    const bool scores = e->classify == CRESCENT_PROBABILITIES && !e->sentence.plain;
    for (int i = 0; i < n && status == 0 && scores; i++)
        cr_make_probabilities(outputs[i], e->sentence.n_labels, e->sentence.sigmoid);
    free(runs);
    free(outputs);
    return status;
}

int crescent_embed_texts(crescent_embedder *e, const crescent_embed_text *texts, int n, float *vectors,
                         crescent_embedded *what)
{
    CR_REQUIRE(e, texts && vectors && n >= 0);
    CR_ENTER(e->context);
    for (int i = 0; i < n; i++)
        if (!texts[i].text)
            return cr_refuse(e->context, __func__, "found a null text, expected one");
    return cr_done(&guard, embed(e, texts, n, vectors, what, guard.error));
}

int crescent_embed(crescent_embedder *e, const char *text, size_t length, float *vector,
                   crescent_embedded *what)
{
    const crescent_embed_text one = {text, NULL, length, 0};
    CR_REQUIRE(e, text && vector);
    return crescent_embed_texts(e, &one, 1, vector, what);
}

int crescent_embed_pair(crescent_embedder *e, const char *text, size_t length, const char *pair,
                        size_t pair_length, float *vector, crescent_embedded *what)
{
    const crescent_embed_text one = {text, pair, length, pair_length};
    CR_REQUIRE(e, text && pair && vector);
    return crescent_embed_texts(e, &one, 1, vector, what);
}
