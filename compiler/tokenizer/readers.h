/* readers.h - the readers of the formats of tokenizer files. */
#ifndef CR_READ_TOKENIZER_H
#define CR_READ_TOKENIZER_H

#include "compiler/files/gguf.h"
#include "tokenizer.h"

/* Returns the row of a table for a tokenizer_class of transformers, which may end in "Fast";
 * null if there is none.  Each of the `n` rows has `size` bytes and begins with the name of its
 * class. */
const void *cr_find_class(const char *name, const void *rows, int n, size_t size);

/* Reads a tokenizer.json. */
int cr_read_tokenizer_json(struct cr_tokenizer *tokenizer, const char *path,
                           struct cr_error *error);

/* Adds a token of added_tokens or added_tokens_decoder.  Its id is given separately, as the two
 * differ in where they have it. */
int cr_read_added_token(struct cr_tokenizer *tokenizer, const struct cr_document *document,
                        int object, int64_t id, struct cr_error *error);

/* Reads a token as cr_read_added_token does, but does not add it; its id is 0. */
int cr_read_added_flags(struct cr_added_token *token, const struct cr_document *document, int object,
                        struct cr_error *error);

/* Reads added_tokens_decoder of a tokenizer_config.json, {"ID": {"content": ...}, ...}, and sorts
 * it by id.  Returns the number of entries, or -1; the caller frees the list. */
struct cr_listed {
    int64_t id;
    int value, place;
};
int cr_read_listed(struct cr_listed **listed, const struct cr_document *document,
                   struct cr_error *error);

/* Adds the tokens of the tokenizer_config.json and the special_tokens_map.json beside a
 * tokenizer.json, as transformers does.  If a path is null, that file is not read.  The first are
 * the tokens of added_tokens_decoder, whose flags replace those of tokenizer.json.  They are
 * followed by special tokens such as eos_token; if both files have one, special_tokens_map.json
 * counts. */
int cr_read_config_tokens(struct cr_tokenizer *tokenizer, const char *config, const char *map,
                          struct cr_error *error);

/* Returns the text of a special token.  The configuration has it as a string, or as an object with
 * the member `content`; if it lacks the token, returns `otherwise`. */
const char *cr_special_of(const struct cr_document *document, const char *name, const char *otherwise);

/* Adds the parts and tokens of CLIP to a vocabulary and merges.  `config` is the open
 * tokenizer_config.json, which names the tokens. */
int cr_add_clip_parts(struct cr_tokenizer *tokenizer, const struct cr_document *config,
                      struct cr_error *error);

/* Reads GPT-2's layout: a JSON object of tokens and ids, and a text of merges.  `config`, the path
 * of a tokenizer_config.json or null, determines how text is cut, and which tokens are added. */
int cr_read_gpt2_files(struct cr_tokenizer *tokenizer, const char *vocabulary, const char *merges,
                       const char *config, struct cr_error *error);

/* Reads a vocab.txt of WordPiece.  `config`, the path of a tokenizer_config.json or null,
 * determines the class of the tokenizer, and whether text is converted to lower case.  The default
 * class is BERT's. */
int cr_read_wordpiece_files(struct cr_tokenizer *tokenizer, const char *vocabulary,
                            const char *config, struct cr_error *error);

/* Reads a tokenizer.model of SentencePiece.  `config`, the path of a tokenizer_config.json or null,
 * determines the class of the tokenizer.  Without it, ids are SentencePiece's, and no tokens are
 * put around a text. */
int cr_read_sentencepiece(struct cr_tokenizer *tokenizer, const char *path, const char *config,
                          struct cr_error *error);

/* Adds the parts of byte-level BPE: with `nfc` the normalizer NFC; cuts by `pattern`, or by GPT-2's
 * pattern if it is null.  The tokenizer takes over the pattern. */
void cr_add_byte_level_parts(struct cr_tokenizer *tokenizer, struct cr_pattern *pattern, bool nfc,
                             bool prefix_space);

/* Adds the decoders of SentencePiece's tokens.  Visible spaces become spaces.  With `bytes`, tokens
 * <0xHH> become bytes.  With `strips`, one space at the beginning of the text is removed. */
void cr_add_space_decoders(struct cr_tokenizer *tokenizer, bool bytes, bool strips);

/* Reads the tokenizer of a GGUF file, and the ids that end a text. */
int cr_read_tokenizer_gguf(struct cr_tokenizer *tokenizer, const char *path,
                           struct cr_error *error);

/* Appends the ids of the tokens that end a text according to a GGUF file. */
int cr_gguf_end_ids(const struct cr_gguf *file, struct cr_ids *ids, struct cr_error *error);

#endif
