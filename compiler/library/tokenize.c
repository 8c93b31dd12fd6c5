/* tokenize.c - converts texts to ids and back; see crescent.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/files/gguf.h"
#include "compiler/files/utf8_part.h"
#include "compiler/ir/mem.h"
#include "compiler/tokenizer/prompt_tokens.h"
#include "compiler/tokenizer/segments.h"
#include "compiler/tokenizer/tokenizer.h"
#include "compare_files.h"
#include "handles.h"
#include "installed_files.h"
#include "kept_tokenizer.h"
#include "model_path.h"

struct crescent_tokenizer {
    crescent_context *context;
    struct cr_tokenizer *tokenizer;
    struct cr_kept_image image;
    int references; /* held by the tokenizer's owner and by streams */
};

static void release(crescent_tokenizer *t)
{
    if (!t || --t->references > 0)
        return;
    cr_tokenizer_free(t->tokenizer);
    cr_free_kept_image(&t->image);
    cr_release(t->context);
    free(t);
}

/* Opens the tokenizer of a file or folder, which may be an installed one.  For a file of another
 * kind, the error names the kind instead of a syntax error in JSON. */
static struct cr_tokenizer *open_installed(const char *path, int64_t cache_bytes, struct cr_kept_image *image,
                                           struct cr_error *error)
{
    const int64_t least = 1 << 18; /* smaller files are read within milliseconds */
    char *found = cr_find_installed(path);
    const char *end = strrchr(found, '.');
    struct cr_tokenizer *tokenizer = cr_open_kept_tokenizer(found, cache_bytes, least, image, error);
    bool is_known = (end && (strcmp(end, ".json") == 0 || strcmp(end, ".model") == 0)) || cr_is_gguf(found);
    const char *what = tokenizer || is_known ? NULL : cr_other_file(found);
    if (what)
        cr_fail(error, "%.300s: %s, expected tokenizer.json, a folder that has one, or a GGUF file", found,
                what);
    free(found);
    return tokenizer;
}

/* Opens a tokenizer.  Creates the handle last, so that after a failure there is nothing to free. */
int crescent_tokenizer_open(crescent_context *context, const char *path,
                            crescent_tokenizer **tokenizer)
{
    if (tokenizer)
        *tokenizer = NULL;
    CR_REQUIRE_CONTEXT(context, path && tokenizer);
    CR_ENTER(context);
    struct cr_kept_image image;
    struct cr_tokenizer *inner = open_installed(path, context->cache_bytes, &image, guard.error);
    if (!inner)
        return cr_done(&guard, -1);
    crescent_tokenizer *t = cr_calloc(1, sizeof *t);
    *t = (crescent_tokenizer){cr_refer(context), inner, image, 1};
    int status = cr_compare_files(context, path, "tokenizer", guard.error);
    if (status)
        release(t);
    else
        *tokenizer = t;
    return cr_done(&guard, status);
}

void cr_read_in_lower_case(crescent_tokenizer *t)
{
    cr_put_lowercase_first(&t->tokenizer->normalizers);
}

void cr_read_without_segments(crescent_tokenizer *t)
{
    cr_leave_out_segments(t->tokenizer);
}

int cr_count_prompt(crescent_tokenizer *t, const char *prompt, int64_t most, int64_t *n, struct cr_error *error)
{
    return cr_count_prompt_tokens(t->tokenizer, prompt, most, n, error);
}

void crescent_tokenizer_close(crescent_tokenizer *tokenizer)
{
    release(tokenizer);
}

/* ---- tokens ---- */

int crescent_tokenizer_size(const crescent_tokenizer *t)
{
    return t ? t->tokenizer->n_ids : 0;
}

int crescent_token_id(const crescent_tokenizer *t, const char *token)
{
    return t && token ? cr_token_id(t->tokenizer, token, strlen(token)) : CRESCENT_NONE;
}

const char *crescent_token_text(const crescent_tokenizer *t, int id)
{
    size_t length;
    return t ? cr_token_text(t->tokenizer, id, &length) : NULL;
}

int crescent_end_count(const crescent_tokenizer *t)
{
    return t ? t->tokenizer->ends.n : 0;
}

int crescent_end_at(const crescent_tokenizer *t, int index)
{
    return t && index >= 0 && index < t->tokenizer->ends.n ? t->tokenizer->ends.items[index]
                                                           : CRESCENT_NONE;
}

/* ---- encoding and decoding ---- */

/* Encodes a text; *ids is allocated even if the text has no tokens. */
int crescent_encode(crescent_tokenizer *tokenizer, const char *text, size_t length,
                    crescent_framing framing, int32_t **ids, size_t *n)
{
    CR_REQUIRE(tokenizer, text && ids && n);
    CR_ENTER(tokenizer->context);
    struct cr_ids list = {0};
    if (cr_encode(tokenizer->tokenizer, text, length, framing == CRESCENT_FRAMED, &list,
                  guard.error)) {
        free(list.items);
        return cr_done(&guard, -1);
    }
    *ids = list.items ? list.items : cr_calloc(1, sizeof **ids);
    *n = (size_t)list.n;
    return CRESCENT_OK;
}

/* Encodes a text or a pair of texts; ids and segments are in one allocation. */
int crescent_encode_text(crescent_tokenizer *tokenizer, const crescent_text *text,
                         crescent_encoding *encoding)
{
    CR_REQUIRE(tokenizer, text && text->text && encoding);
    CR_ENTER(tokenizer->context);
    struct cr_encoding made = {{0}, {0}, false};
    struct cr_encoding_request request = {.text = text->text,
                                          .pair = text->pair,
                                          .length = text->length,
                                          .pair_length = text->pair_length,
                                          .framed = text->framing == CRESCENT_FRAMED,
                                          .most = text->most,
                                          .truncation = &tokenizer->tokenizer->truncation,
                                          .padding = text->pads ? &tokenizer->tokenizer->padding : NULL};
    int status = cr_encode_request(tokenizer->tokenizer, &request, &made, guard.error);
    if (status == 0) {
        size_t n = (size_t)made.ids.n, bytes = n * sizeof *encoding->ids;
        *encoding = (crescent_encoding){cr_calloc(2 * n + 1, sizeof *encoding->ids), NULL, n, made.truncated};
        encoding->types = encoding->ids + n;
        memcpy(encoding->ids, n ? made.ids.items : encoding->ids, bytes);
        memcpy(encoding->types, n ? made.types.items : encoding->ids, bytes);
    }
    free(made.ids.items);
    free(made.types.items);
    return cr_done(&guard, status);
}

int64_t crescent_tokenizer_limit(const crescent_tokenizer *t)
{
    return t ? t->tokenizer->truncation.most : 0;
}

/* Decodes ids; the text is null-terminated, also if it is empty. */
int crescent_decode(crescent_tokenizer *tokenizer, const int32_t *ids, size_t n,
                    crescent_specials specials, char **text, size_t *length)
{
    CR_REQUIRE(tokenizer, (ids || n == 0) && text && length);
    CR_ENTER(tokenizer->context);
    struct cr_text out = {0};
    cr_put_bytes(&out, "", 0);
    if (cr_decode(tokenizer->tokenizer, ids, n, (enum cr_specials)specials, &out, guard.error)) {
        free(out.data);
        return cr_done(&guard, -1);
    }
    *text = out.data;
    *length = out.length;
    return CRESCENT_OK;
}

/* ---- streams ---- */

struct crescent_text_stream {
    crescent_tokenizer *tokenizer;
    struct cr_decoder *decoder;
    struct cr_text text;
    size_t given; /* the number of bytes of `text` that the last call returned */
};

/* Opens a stream; it holds a reference to its tokenizer. */
int crescent_text_stream_open(crescent_tokenizer *tokenizer, crescent_specials specials,
                              crescent_text_stream **stream)
{
    if (stream)
        *stream = NULL;
    CR_REQUIRE(tokenizer, stream);
    CR_ENTER(tokenizer->context);
    crescent_text_stream *s = cr_calloc(1, sizeof *s);
    s->decoder = cr_decoder_new(tokenizer->tokenizer, (enum cr_specials)specials);
    s->tokenizer = tokenizer;
    tokenizer->references++;
    *stream = s;
    return CRESCENT_OK;
}

void crescent_text_stream_close(crescent_text_stream *s)
{
    if (!s)
        return;
    cr_decoder_free(s->decoder);
    free(s->text.data);
    release(s->tokenizer);
    free(s);
}

/* Removes the bytes that the last call returned from the buffer. */
static void forget(crescent_text_stream *s)
{
    if (s->given)
        memmove(s->text.data, s->text.data + s->given, s->text.length - s->given);
    s->text.length -= s->given;
    s->given = 0;
}

int crescent_text_stream_add(crescent_text_stream *stream, int id, const char **text,
                             size_t *length)
{
    CR_REQUIRE(stream ? stream->tokenizer : NULL, text && length);
    CR_ENTER(stream->tokenizer->context);
    forget(stream);
    if (cr_decoder_add(stream->decoder, id, &stream->text, guard.error))
        return cr_done(&guard, -1);
    *text = stream->text.data ? stream->text.data : "";
    *length = stream->given = cr_utf8_without_part(*text, stream->text.length);
    return CRESCENT_OK;
}

int crescent_text_stream_end(crescent_text_stream *stream, const char **text, size_t *length)
{
    CR_REQUIRE(stream ? stream->tokenizer : NULL, text && length);
    CR_ENTER(stream->tokenizer->context);
    forget(stream);
    if (cr_decoder_end(stream->decoder, &stream->text, guard.error))
        return cr_done(&guard, -1);
    *text = stream->text.data ? stream->text.data : "";
    *length = stream->given = stream->text.length;
    return CRESCENT_OK;
}
