/*
 * emitted_parts.h - describes the parts of a tokenizer for emitted C.
 *
 * Normalizers become a list of stages, pre-tokenizers a list of cuts, and decoders become the
 * decoded text of each token.  The function `shape` of each kind (tokenizer_part.h) does this.  It
 * fails, and names the part, if emitted C does not support the part.
 */
#ifndef CR_TOKENIZER_SHAPE_H
#define CR_TOKENIZER_SHAPE_H

#include "scanner.h"
#include "tokenizer.h"

/* A stage of normalizing: its settings, and a bound of its result's length. */
struct cr_listed_stage {
    enum cr_stage_kind kind;
    const char *from, *to;
    size_t n_from, n_to;
    const struct cr_text_map *map;
    const struct cr_trie *kept; /* texts that the stage does not change; null: none */
    int flags;
    double growth, more; /* the result for n bytes has at most growth * n + more bytes */
};

struct cr_listed_cut {
    struct cr_cutter cutter;
    const char *piece, *class_of; /* the names of the cutter's functions; class_of may be null */
    const struct cr_pattern *pattern; /* for cr_piece_by_pattern: the pattern whose program the
                                         cutter runs; else null */
};

enum { CR_MOST_STAGES = 32 };

/* The stages and cuts of a tokenizer, in the order in which emitted C runs them. */
struct cr_stage_list {
    struct cr_listed_stage stages[CR_MOST_STAGES];
    struct cr_listed_cut cuts[CR_MOST_STAGES];
    int n_stages, n_cuts;
    int spaced; /* the index of the cut before which spaces are replaced by a visible character, or
                   a space is put before the text; -1 if there is none */
    const char *piece; /* the name of the function that encodes a piece */
    bool prefixed; /* for ByteLevel: a space is put before a text that does not begin with one */
    double growth, more; /* n bytes of text become at most growth * n + more bytes */
    double work;         /* the scratch memory for normalizing: uint32_t per byte of text */
};

/* The description of a tokenizer for emitted C.  Initially zeros, except for the path. */
struct cr_shape {
    const char *path; /* the path of the tokenizer, for messages */
    bool byte_level;   /* the symbols of byte-pair encoding are bytes */
    const char *space; /* the one character, in UTF-8, that replaces spaces */
    size_t space_bytes;
    enum cr_prepending prepending;
    int64_t strips;    /* the number of spaces that decoding removes at the beginning of a text */
    bool strips_first; /* decoding removes all spaces from the first token */
    /* the state while parts are read */
    const struct cr_text_parts *parts;
    int at;               /* the index of the current part */
    const char *expected; /* the names of the supported parts, for messages */
    struct cr_stage_list *list; /* the caller owns it */
};

/* Describes the decoders of a tokenizer. */
int cr_shape_decoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                      struct cr_error *error);

/* Lists the stages and cuts that normalizers and pre-tokenizers become. */
int cr_list_encoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                     struct cr_error *error);

/* Append a stage or a cut to the list.  A stage whose `growth` is 0 gets the growth of its kind's
 * row. */
int cr_list_stage(struct cr_shape *shape, const struct cr_listed_stage *stage, struct cr_error *error);
int cr_list_cut(struct cr_shape *shape, const struct cr_listed_cut *cut, struct cr_error *error);

/* Records that spaces become visible behind the cuts listed so far; fails if that is recorded
 * already. */
int cr_list_space(struct cr_shape *shape, const char *type, struct cr_error *error);

/* Fails, as emitted C does not support `what`.  If `expected` is null, the message names the
 * supported parts. */
int cr_refuse_shape(const struct cr_shape *shape, const char *what, const char *expected,
                    struct cr_error *error);

/* Makes the content of a part the character that replaces spaces.  Returns false if it is not a
 * single character, or if it is white space. */
bool cr_shape_space(struct cr_shape *shape, const struct cr_text_part *part);

#endif
