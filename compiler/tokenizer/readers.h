/* readers.h - readers of the formats of tokenizer files. */
#ifndef CR_READ_TOKENIZER_H
#define CR_READ_TOKENIZER_H

#include "compiler/files/gguf.h"
#include "tokenizer.h"

/* Returns the row of a table for a tokenizer_class of transformers, with or without "Fast" at its
 * end, or null.  Each of the `n` rows has `size` bytes and begins with the name of its class. */
const void *cr_find_class(const char *name, const void *rows, int n, size_t size);

/* Reads a tokenizer.json. */
int cr_read_tokenizer_json(struct cr_tokenizer *tokenizer, const char *path,
                           struct cr_error *error);

/* Adds a token of added_tokens or added_tokens_decoder, whose id is given separately. */
int cr_read_added_token(struct cr_tokenizer *tokenizer, const struct cr_document *document,
                        int object, int64_t id, struct cr_error *error);

/* Reads such a token, without adding it; its id is 0. */
int cr_read_added_flags(struct cr_added_token *token, const struct cr_document *document, int object,
                        struct cr_error *error);

/* Reads added_tokens_decoder of a tokenizer_config.json, {"ID": {"content": ...}, ...}, sorted by
 * id.  Returns the number of entries, or -1; the caller frees the list. */
struct cr_listed {
    int64_t id;
    int value, place;
};
int cr_read_listed(struct cr_listed **listed, const struct cr_document *document,
                   struct cr_error *error);

/* Adds the tokens of the tokenizer_config.json and the special_tokens_map.json beside a
 * tokenizer.json, as transformers does.  A null path means that the file is not read.  First come
 * the tokens of added_tokens_decoder, whose flags replace those of tokenizer.json, then special
 * tokens such as eos_token; of one that both files have, the map's is taken. */
int cr_read_config_tokens(struct cr_tokenizer *tokenizer, const char *config, const char *map,
                          struct cr_error *error);

/* Returns the text of a special token.  The configuration may have it as a string or as an object
 * with the member `content`; otherwise it is `otherwise`. */
const char *cr_special_of(const struct cr_document *document, const char *name, const char *otherwise);

/* Adds the parts and tokens of CLIP's class to a vocabulary and merges, as tokenizer_config.json,
 * which is read already, names the tokens. */
int cr_add_clip_parts(struct cr_tokenizer *tokenizer, const struct cr_document *config,
                      struct cr_error *error);

/* Reads GPT-2's layout: a JSON object of tokens and ids, and a text of merges.  `config`, a
 * tokenizer_config.json or null, says how text is cut, and which tokens were added. */
int cr_read_gpt2_files(struct cr_tokenizer *tokenizer, const char *vocabulary, const char *merges,
                       const char *config, struct cr_error *error);

/* Reads a vocab.txt of WordPiece.  `config`, a tokenizer_config.json or null, says of which class
 * the tokenizer is, and whether it lower-cases; without it it is BERT's. */
int cr_read_wordpiece_files(struct cr_tokenizer *tokenizer, const char *vocabulary,
                            const char *config, struct cr_error *error);

/* Reads a tokenizer.model of SentencePiece.  `config`, a tokenizer_config.json or null, says of
 * which class the tokenizer is; without it ids are SentencePiece's, and nothing is put around a
 * text. */
int cr_read_sentencepiece(struct cr_tokenizer *tokenizer, const char *path, const char *config,
                          struct cr_error *error);

/* Adds the parts of byte-level BPE: NFC, if `nfc`, and cutting by `pattern`, or by GPT-2's if it is
 * null.  The tokenizer owns the pattern. */
void cr_add_byte_level_parts(struct cr_tokenizer *tokenizer, struct cr_pattern *pattern, bool nfc,
                             bool prefix_space);

/* Adds the decoders of SentencePiece's tokens.  Visible spaces become spaces.  With `bytes`,
 * tokens <0xHH> become bytes.  With `strips`, one space at the beginning of the text is removed. */
void cr_add_space_decoders(struct cr_tokenizer *tokenizer, bool bytes, bool strips);

/* Reads the tokenizer of a GGUF file, and the ids that end a text. */
int cr_read_tokenizer_gguf(struct cr_tokenizer *tokenizer, const char *path,
                           struct cr_error *error);

/* Appends the ids that end a text according to a GGUF file. */
int cr_gguf_end_ids(const struct cr_gguf *file, struct cr_ids *ids, struct cr_error *error);

#endif
