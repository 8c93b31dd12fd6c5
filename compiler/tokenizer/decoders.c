/* decoders.c - the kinds of decoders, and decoding token by token; see decoders.h. */
#include "decoders.h"

#include <stdlib.h>
#include <string.h>

#include "byte_letters.h"
#include "compiler/files/utf8.h"
#include "compiler/ir/mem.h"
#include "emitted_parts.h"
#include "metaspace.h"
#include "replace.h"
#include "wordpiece.h"

#include "stripping.inc"

/* Decodes letters that represent bytes.  A token with a character that is not such a letter is
 * copied unchanged. */
static int byte_level(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                      size_t n, struct cr_text *out, struct cr_error *error)
{
    (void)part, (void)state, (void)error;
    if (!cr_put_letters_bytes(out, text, n))
        cr_put_bytes(out, text, n);
    return 0;
}

static int replace(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                   size_t n, struct cr_text *out, struct cr_error *error)
{
    (void)state;
    size_t leading = 0;
    return cr_put_replaced(part, text, n, out, &leading, error);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes a token <0xHH> to the byte; returns false for any other token. */
static bool is_byte(const char *text, size_t n, char *byte)
{
    if (n != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>' || hex(text[3]) < 0 || hex(text[4]) < 0)
        return false;
    *byte = (char)(hex(text[3]) * 16 + hex(text[4]));
    return true;
}

static int byte_fallback(const struct cr_text_part *part, struct cr_decoding *state,
                         const char *text, size_t n, struct cr_text *out, struct cr_error *error)
{
    char byte;
    (void)part, (void)state, (void)error;
    if (is_byte(text, n, &byte))
        cr_put_bytes(out, &byte, 1);
    else
        cr_put_bytes(out, text, n);
    return 0;
}

static int fuse(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                size_t n, struct cr_text *out, struct cr_error *error)
{
    (void)part, (void)state, (void)error;
    cr_put_bytes(out, text, n);
    return 0;
}

/* ---- Strip ---- */

static int read_strip(struct cr_text_part *part, const struct cr_document *d, int object,
                      const char *where, struct cr_error *error)
{
    return cr_read_character(part, d, object, where, "content", error) ||
                   cr_read_integer(d, object, where, "start", &part->start, error) ||
                   cr_read_integer(d, object, where, "stop", &part->stop, error)
               ? -1
               : 0;
}

/* Removes at most `start` copies of the character at the begin of each token, and at most `stop` at
 * its end. */
static int strip(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                 size_t n, struct cr_text *out, struct cr_error *error)
{
    (void)error;
    if (!part->fused)
        state->text = (struct cr_text_state){0};
    int32_t most = part->start > INT32_MAX ? INT32_MAX : (int32_t)part->start;
    size_t front = cr_stripped_bytes(&state->text, most, text, n, part->content, part->length);
    text += front;
    n -= front;
    state->text.begun = state->text.begun || n > 0;
    for (int64_t i = 0; i < part->stop && n >= part->length; i++) {
        if (memcmp(text + n - part->length, part->content, part->length) != 0)
            break;
        n -= part->length;
    }
    cr_put_bytes(out, text, n);
    return 0;
}

/* ---- BPEDecoder ---- */

static int read_bpe(struct cr_text_part *part, const struct cr_document *d, int object,
                    const char *where, struct cr_error *error)
{
    if (cr_read_content(part, d, object, where, "suffix", error))
        return -1;
    return part->length > 0 ? 0
                            : cr_fail(error, "%s: %s: found an empty suffix, expected some text", d->path, where);
}

/* Replaces each suffix by a space; in the last token, removes it. */
static int bpe(const struct cr_text_part *part, struct cr_decoding *state, const char *text, size_t n,
               struct cr_text *out, struct cr_error *error)
{
    (void)error;
    for (size_t at = 0; at < n;) {
        bool ends = n - at >= part->length && memcmp(text + at, part->content, part->length) == 0;
        if (!ends)
            cr_put_bytes(out, text + at, 1);
        else if (!state->ended)
            cr_put_bytes(out, " ", 1);
        at += ends ? part->length : 1;
    }
    return 0;
}

/* ---- in emitted C ---- */

/* Accepts a part if it decodes a token to the same bytes whatever token precedes it. */
static int shape_token(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    return part->gathers || part->joins ? cr_refuse_shape(s, part->kind->type, NULL, error) : 0;
}

/* Accepts a Strip behind a Fuse only if all it removes are spaces at the beginning of the text. */
static int shape_strip(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    if (!part->fused)
        return 0;
    if (part->gathers || part->length != 1 || *part->content != ' ' || s->strips > 0)
        return cr_refuse_shape(s, part->kind->type, NULL, error);
    s->strips = part->start;
    return s->strips <= INT32_MAX ? 0 : cr_refuse_shape(s, "Strip of more than 2^31 characters", "fewer", error);
}

/* ---- the table ---- */

static const struct cr_part_kind kinds[] = {
    {.type = "ByteLevel", .decode = byte_level, .shape = shape_token, .fuses = true},
    {.type = "Metaspace",
     .read = cr_read_metaspace,
     .decode = cr_decode_metaspace,
     .shape = cr_shape_decode_metaspace},
    {.type = "Replace", .read = cr_read_replace, .decode = replace, .shape = shape_token},
    {.type = "ByteFallback", .decode = byte_fallback, .shape = shape_token},
    {.type = "Fuse", .decode = fuse, .shape = shape_token, .fuses = true},
    {.type = "Strip", .read = read_strip, .decode = strip, .shape = shape_strip},
    {.type = "WordPiece", .read = cr_read_wordpiece_decoder, .decode = cr_decode_wordpiece},
    {.type = "BPEDecoder", .read = read_bpe, .decode = bpe, .holds = true},
};

const struct cr_part_table cr_decoders = {"decoder", "decoders", kinds,
                                          sizeof kinds / sizeof *kinds};

/* ---- decoding a token ---- */

static bool is_one_character(const char *text, size_t length)
{
    return text && length > 0 && cr_utf8(text, text + length) == length;
}

/* True if a part behind a Fuse gives the same bytes whether it gets the text as a whole or in
 * pieces. */
static bool takes_pieces(const struct cr_text_part *part)
{
    size_t length = 0;
    const char *string = part->pattern ? cr_pattern_string(part->pattern, &length) : NULL;
    if (part->kind->decode == replace)
        return is_one_character(string, length);
    return part->kind->decode == fuse || part->kind->decode == cr_decode_metaspace ||
           (part->kind->decode == strip && part->stop == 0);
}

void cr_link_decoders(struct cr_text_parts *decoders)
{
    bool fused = false;
    for (int i = 0; i < decoders->n; i++) {
        struct cr_text_part *part = &decoders->items[i];
        part->fused = fused;
        part->gathers = fused && !takes_pieces(part);
        part->joins = !fused && part->kind->decode == byte_fallback && i + 1 < decoders->n &&
                      !decoders->items[i + 1].kind->fuses;
        fused = fused || part->kind->fuses;
    }
}

struct cr_decoding *cr_new_decodings(const struct cr_text_parts *decoders)
{
    return cr_calloc((size_t)decoders->n, sizeof(struct cr_decoding));
}

void cr_free_decodings(const struct cr_text_parts *decoders, struct cr_decoding *states)
{
    for (int i = 0; states && i < decoders->n; i++) {
        free(states[i].out.data);
        free(states[i].gathered.data);
    }
    free(states);
}

static int decode_gathered(const struct cr_text_part *part, struct cr_decoding *state,
                           struct cr_error *error)
{
    const struct cr_text *text = &state->gathered;
    state->out.length = 0;
    return part->kind->decode(part, state, text->data ? text->data : "", text->length, &state->out, error);
}

/* Decodes the token that was held back, if there is one, and then holds back this one. */
static int decode_held(const struct cr_text_part *part, struct cr_decoding *state, const char *text,
                       size_t n, struct cr_error *error)
{
    int status = state->held ? decode_gathered(part, state, error) : 0;
    state->gathered.length = 0;
    cr_put_bytes(&state->gathered, text, n);
    state->held = true;
    return status;
}

static int decode_from(const struct cr_text_parts *decoders, struct cr_decoding *states, int i,
                       const char *text, size_t n, struct cr_text *out, struct cr_error *error);

/* Passes the bytes that decoder i has gathered to the decoders behind it: as one token if they are
 * valid UTF-8, else each byte as a token of its own. */
static int decode_bytes(const struct cr_text_parts *decoders, struct cr_decoding *states, int i, struct cr_text *out,
                        struct cr_error *error)
{
    struct cr_text *bytes = &states[i].gathered;
    size_t at = 0, invalid, step = cr_is_utf8(bytes->data, bytes->length, &invalid) ? bytes->length : 1;
    int status = 0;
    for (; at < bytes->length && status == 0; at += step)
        status = decode_from(decoders, states, i + 1, bytes->data + at, step, out, error);
    bytes->length = 0;
    return status;
}

/* Runs a text through decoder i and all decoders behind it, and appends the result to `out`. */
static int decode_from(const struct cr_text_parts *decoders, struct cr_decoding *states, int i,
                       const char *text, size_t n, struct cr_text *out, struct cr_error *error)
{
    for (; i < decoders->n; i++) {
        const struct cr_text_part *part = &decoders->items[i];
        struct cr_decoding *state = &states[i];
        char byte;
        if (part->gathers || (part->joins && is_byte(text, n, &byte))) {
            cr_put_bytes(&state->gathered, part->joins ? &byte : text, part->joins ? 1 : n);
            return 0;
        }
        if (part->joins && decode_bytes(decoders, states, i, out, error))
            return -1;
        bool first = part->kind->holds && !state->held;
        state->out.length = 0;
        if (part->kind->holds ? decode_held(part, state, text, n, error)
                              : part->kind->decode(part, state, text, n, &state->out, error))
            return -1;
        if (first)
            return 0;
        state->made += state->out.length;
        if (cr_check_growth(state->made, states->taken, error))
            return -1;
        text = state->out.data ? state->out.data : "";
        n = state->out.length;
    }
    cr_put_bytes(out, text, n);
    return 0;
}

int cr_decode_token(const struct cr_text_parts *decoders, struct cr_decoding *states,
                    const char *text, size_t n, struct cr_text *out, struct cr_error *error)
{
    if (decoders->n > 0)
        states->taken += n;
    return decode_from(decoders, states, 0, text, n, out, error);
}

int cr_decode_end(const struct cr_text_parts *decoders, struct cr_decoding *states,
                  struct cr_text *out, struct cr_error *error)
{
    for (int i = 0; i < decoders->n; i++) {
        const struct cr_text_part *part = &decoders->items[i];
        struct cr_decoding *state = &states[i];
        if (part->joins && decode_bytes(decoders, states, i, out, error))
            return -1;
        if (!part->gathers && !state->held)
            continue;
        state->ended = true;
        if (decode_gathered(part, state, error) ||
            cr_check_growth(state->out.length, states->taken, error) ||
            decode_from(decoders, states, i + 1, state->out.data ? state->out.data : "",
                        state->out.length, out, error))
            return -1;
    }
    return 0;
}
