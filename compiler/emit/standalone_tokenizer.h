/*
 * standalone_tokenizer.h - prints a tokenizer as standalone C: its tables, and functions that
 * encode and decode.
 *
 * The text includes stdint.h, stddef.h and string.h, needs nothing else, and allocates nothing.
 * With NAME for the model's name it defines
 *
 *     NAME_TOKENS             the greatest id + 1
 *     NAME_TOKEN_BYTES        bytes of the longest text of a token
 *     NAME_ENCODE_IDS(n)      the most ids of a text of n bytes
 *     NAME_ENCODE_WORK(n)     the int32_t of work memory to encode such a text
 *     NAME_ENDS, name_ends    the number of ids that end a text, and these ids
 *     name_encode(text, n, framed, ids, work)
 *                             returns the number of ids, or -1 if the text is no UTF-8; `framed`
 *                             adds <s> and the like
 *     name_decode(state, id, show, &n)
 *                             returns the n bytes, in constant memory, that a token adds after the
 *                             tokens before; `state` begins as zeros; `show` is one of enum
 *                             cr_specials
 *
 * A tokenizer of an encoder (CR_FOR_TEXTS) has besides these, or in place of them,
 *
 *     NAME_ENCODE_TEXTS_WORK(n)  the work memory for a text or a pair of n bytes together
 *     name_encode_texts(texts, work)
 *                             lays the ids of a text or a pair among special ids, with segments
 */
#ifndef CR_STANDALONE_TOKENIZER_H
#define CR_STANDALONE_TOKENIZER_H

#include "compiler/ir/text.h"
#include "compiler/tokenizer/tokenizer.h"

/* What an emitted tokenizer is for: it encodes prompts and decodes their continuation; or it
 * encodes the texts and pairs of an encoder. */
enum cr_tokenizer_use { CR_FOR_PROMPTS, CR_FOR_TEXTS };

/* Appends the public declarations: macros, structures, prototypes.  Call it only if
 * cr_emit_tokenizer succeeds for the tokenizer. */
void cr_emit_tokenizer_header(struct cr_text *out, const struct cr_tokenizer *tokenizer,
                              const char *name, enum cr_tokenizer_use use);

/* Appends the source, which comes after the public declarations.  Fails if the tokenizer has a
 * part that emitted C does not support (tokenizer/emitted_parts.h); then the message begins with
 * `path` and names the part, and nothing is appended. */
int cr_emit_tokenizer(struct cr_text *out, const struct cr_tokenizer *tokenizer, const char *name,
                      enum cr_tokenizer_use use, const char *path, struct cr_error *error);

#endif
