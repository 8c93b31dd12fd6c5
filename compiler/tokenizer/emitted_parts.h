/*
 * emitted_parts.h - how emitted C replaces the parts of a tokenizer.
 *
 * Normalizers become a list of stages, pre-tokenizers a list of cuts, and decoders the decoded text
 * of each token, as the rows' functions say (.shape, tokenizer_part.h).  A part that emitted C does
 * not support is an error that names the part.
 */
#ifndef CR_TOKENIZER_SHAPE_H
#define CR_TOKENIZER_SHAPE_H

#include "scanner.h"
#include "tokenizer.h"

/* A stage of normalizing: its settings, and a bound on the length of its result. */
struct cr_listed_stage {
    enum cr_stage_kind kind;
    const char *from, *to;
    size_t n_from, n_to;
    const struct cr_text_map *map;
    const struct cr_trie *kept; /* null: none */
    int flags;
    double growth, more; /* the result of n bytes has at most growth * n + more bytes */
};

struct cr_listed_cut {
    struct cr_cutter cutter;
    const char *piece, *class_of; /* its functions in emitted C; class_of may be null */
    const struct cr_pattern *pattern; /* of cr_piece_by_pattern: the pattern whose program the
                                       * cutter runs; else null */
};

enum { CR_MOST_STAGES = 32 };

/* The stages and cuts of a tokenizer. */
struct cr_stage_list {
    struct cr_listed_stage stages[CR_MOST_STAGES];
    struct cr_listed_cut cuts[CR_MOST_STAGES];
    int n_stages, n_cuts;
    int spaced; /* the index of the cut before which spaces become visible, or a space is put
                 * before the text; -1: none */
    const char *piece; /* the function that encodes a piece */
    bool prefixed; /* of a ByteLevel: a space is put before a text that has none */
    double growth, more; /* n bytes of text become at most growth * n + more bytes */
    double work;         /* scratch memory of normalizing: number of uint32_t per byte of text */
};

/* The settings of emitted C; zeros at first, with the path set. */
struct cr_shape {
    const char *path; /* of the tokenizer, for messages */
    bool byte_level;   /* the symbols of byte-pair encoding are bytes */
    const char *space; /* the one character that replaces a space, in UTF-8 */
    size_t space_bytes;
    enum cr_prepending prepending;
    int64_t strips;    /* number of spaces that decoding removes at the beginning */
    bool strips_first; /* decoding removes all spaces of the first token */
    /* state while parts are read */
    const struct cr_text_parts *parts;
    int at;               /* index of the part that is read */
    const char *expected; /* the supported parts, for messages */
    struct cr_stage_list *list; /* owned by the caller */
};

/* Collects the settings of the decoders. */
int cr_shape_decoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                      struct cr_error *error);

/* Lists the stages and cuts of normalizers and pre-tokenizers. */
int cr_list_encoding(struct cr_shape *shape, const struct cr_tokenizer *tokenizer,
                     struct cr_error *error);

/* Append a stage or a cut.  A stage whose growth is 0 gets the growth of its row. */
int cr_list_stage(struct cr_shape *shape, const struct cr_listed_stage *stage, struct cr_error *error);
int cr_list_cut(struct cr_shape *shape, const struct cr_listed_cut *cut, struct cr_error *error);

/* Records that spaces become visible after the cuts so far; fails if they do already. */
int cr_list_space(struct cr_shape *shape, const char *type, struct cr_error *error);

/* Fails: emitted C does not support `what`.  A null `expected` names the parts that are
 * supported. */
int cr_refuse_shape(const struct cr_shape *shape, const char *what, const char *expected,
                    struct cr_error *error);

/* Makes the content of a part the replacement of spaces; returns false unless it is one
 * character that is not white space. */
bool cr_shape_space(struct cr_shape *shape, const struct cr_text_part *part);

#endif
