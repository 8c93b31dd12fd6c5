/*
 * standalone_tokenizer.h - a tokenizer as standalone C: its tables, and functions that encode and decode.
 *
 * The text needs stdint.h, stddef.h and string.h, which it includes, and nothing else; nothing is
 * allocated.  With NAME for the model's name it defines
 *
 *     NAME_TOKENS             the greatest id + 1
 *     NAME_TOKEN_BYTES        of the longest text of a token
 *     NAME_ENCODE_IDS(n)      ids that a text of n bytes has at most
 *     NAME_ENCODE_WORK(n)     int32_t that encoding such a text works with
 *     NAME_ENDS, name_ends    how many ids end a text, and those
 *     name_encode(text, n, framed, ids, work)
 *                             the number of ids, or -1 if the text is no UTF-8; `framed`:
 *                             with <s> and the like
 *     name_decode(state, id, show, &n)
 *                             n bytes of a token behind those before, which are constant; `state`
 *                             begins as zeros; `show` is one of enum cr_specials
 */
#ifndef CR_STANDALONE_TOKENIZER_H
#define CR_STANDALONE_TOKENIZER_H

#include "compiler/ir/text.h"
#include "compiler/tokenizer/tokenizer.h"

/* Appends what callers see: macros, a structure, prototypes. */
void cr_emit_tokenizer_header(struct cr_text *out, const struct cr_tokenizer *tokenizer,
                              const char *name);

/*
 * Appends the source, which stands behind that header.  A tokenizer with parts that emitted C does
 * not have is refused by name in a line that begins with `path`; nothing is appended then.  It has
 * byte-level BPE cut by GPT-2's or Llama 3's pattern, and BPE of characters whose spaces are made
 * visible; of normal forms NFC before the former.
 */
int cr_emit_tokenizer(struct cr_text *out, const struct cr_tokenizer *tokenizer, const char *name,
                      const char *path, struct cr_error *error);

#endif
