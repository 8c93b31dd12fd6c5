/*
 * tokenizer.h - converts text to token ids and back, as Hugging Face's tokenizers library does.
 *
 *     text -> added tokens -> normalizers -> added tokens -> pre-tokenizers -> model (BPE, ...)
 *          -> ids -> post-processors
 *
 * Text is UTF-8, which may contain NULs.  Only one thread at a time may use a tokenizer.
 */
#ifndef CR_TOKENIZER_H
#define CR_TOKENIZER_H

#include "added_tokens.h"
#include "bpe.h"
#include "model_kind.h"
#include "padding.h"
#include "post_processors.h"
#include "truncation.h"
#include "unigram.h"
#include "wordpiece.h"

enum { CR_TOKENIZER_HOLES = 2 };

struct cr_tokenizer {
    struct cr_text_parts normalizers, pre_tokenizers, decoders, post_processors;
    bool has_decoder; /* if false, decoding puts spaces between tokens */
    struct cr_vocabulary vocabulary;
    const struct cr_model_kind *model;
    struct cr_bpe bpe; /* used by a BPE model; the following members by the other kinds of models */
    struct cr_wordpiece wordpiece;
    struct cr_unigram unigram;
    const char *unknown_word; /* the text of the unknown token of a WordLevel model */
    struct cr_added added;
    struct cr_frame frame;             /* the ids around a single text */
    struct cr_template single, pair; /* the layout of a single text and of a pair; the latter is
                                        empty if pairs are not supported */
    struct cr_truncation truncation; /* the setting in the file */
    struct cr_padding padding;       /* the setting in the file */
    int n_ids;          /* the greatest id + 1 */
    struct cr_ids ends; /* the ids of the tokens that end a text, from the configuration files */
    struct cr_json_hole holes[CR_TOKENIZER_HOLES]; /* where tokenizer.json lists tokens and
                                                      merges */
    char **strings;     /* memory that texts of tokens point into */
    int n_strings, strings_cap;
    struct cr_bpe_work work;
};

/* The most bytes of a text. */
enum { CR_LONGEST_TEXT = (1 << 28) - 1 };

/*
 * Reads the tokenizer at `path`: a tokenizer.json, a GGUF file, or a folder with a tokenizer.json
 * or with the files of one of the layouts in open.c, such as vocab.json and merges.txt.  Returns
 * null with an error that names the file.
 */
struct cr_tokenizer *cr_tokenizer_open(const char *path, struct cr_error *error);
void cr_tokenizer_free(struct cr_tokenizer *tokenizer);

/* Makes the tokenizer put no special ids around texts. */
void cr_add_no_special_ids(struct cr_tokenizer *tokenizer);

/* Encodes a text and appends the ids; with `framed`, also those that the post-processors put around
 * it. */
int cr_encode(struct cr_tokenizer *tokenizer, const char *text, size_t n, bool framed,
              struct cr_ids *ids, struct cr_error *error);

/* A text or a pair of texts, and options for encoding them. */
struct cr_encoding_request {
    const char *text, *pair; /* `pair` is null for a single text */
    size_t length, pair_length;
    bool framed;
    int64_t most; /* the most ids; 0: no limit */
    const struct cr_truncation *truncation;
    const struct cr_padding *padding; /* null: no padding is added */
};

/* The result of encoding: ids, the segment of each, and whether ids were cut off.  The caller frees
 * the lists. */
struct cr_encoding {
    struct cr_ids ids, types;
    bool truncated;
};

/* Encodes a text or a pair.  The caller sets *encoding to zero before. */
int cr_encode_request(struct cr_tokenizer *tokenizer, const struct cr_encoding_request *request,
                      struct cr_encoding *encoding, struct cr_error *error);

/* Returns the text of a token as the file has it; null if there is no token with the id. */
const char *cr_token_text(const struct cr_tokenizer *tokenizer, int32_t id, size_t *length);

/* Returns the id of the token with a text, or -1. */
int32_t cr_token_id(const struct cr_tokenizer *tokenizer, const char *text, size_t length);

/* Decodes ids one after another. */
struct cr_decoder;

struct cr_decoder *cr_decoder_new(const struct cr_tokenizer *tokenizer, enum cr_specials specials);
void cr_decoder_free(struct cr_decoder *decoder);

/* Append the text that is certain after another id, and after the last one.  It may end within a
 * character. An id without a token adds nothing. */
int cr_decoder_add(struct cr_decoder *decoder, int32_t id, struct cr_text *out,
                   struct cr_error *error);
int cr_decoder_end(struct cr_decoder *decoder, struct cr_text *out, struct cr_error *error);

/* Decodes n ids and appends the text.  CR_SPECIALS_WITHIN omits the ids that the post-processors
 * put around a text. */
int cr_decode(const struct cr_tokenizer *tokenizer, const int32_t *ids, size_t n,
              enum cr_specials specials, struct cr_text *out, struct cr_error *error);

#endif
