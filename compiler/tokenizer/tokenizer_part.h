/*
 * tokenizer_part.h - a normalizer, a pre-tokenizer, a decoder or a post-processor of a
 * tokenizer.json.
 *
 * Each kind of part is a row of a table: kinds of normalizers in normalizers.c, and so on.  A row
 * has the functions that read the part's JSON and apply the part.  A Sequence is not a part: its
 * members are put into the list one after another.
 */
#ifndef CR_TOKENIZER_PART_H
#define CR_TOKENIZER_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/json/document.h"
#include "cutters.h"
#include "lookup_tables.h"
#include "pattern.h"
#include "pieces.h"
#include "stages.h"
#include "text_state.h"
#include "trie.h"
#include "unicode.h"
#include "vocabulary.h"

/* The functions of normalizers and pre-tokenizers.  `leading` is the number of leading bytes, as in struct cr_piece:
 * a normalizer gets that of the text, and replaces it by that of the result. */
struct cr_text_part;
typedef int cr_normalize_function(const struct cr_text_part *part, const char *text, size_t n,
                                  struct cr_text *out, size_t *leading, struct cr_error *error);
typedef int cr_cut_function(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                            struct cr_pieces *out, struct cr_error *error);

/* The state of a decoder between tokens. */
struct cr_decoding {
    struct cr_text_state text; /* of this part */
    struct cr_text out,
        gathered; /* its last output; the text so far, for a part that must see all of it; or the
                     token held back */
    bool held, ended; /* a token is held back; it is the last one */
    size_t taken, made; /* taken: the bytes of all tokens so far, counted by the first part only; made: the bytes of
                           this part's output so far */
};

/* Decodes one token, or with `fused` the next bytes of the whole text, and appends to `out`. */
typedef int cr_decode_function(const struct cr_text_part *part, struct cr_decoding *state,
                               const char *text, size_t n, struct cr_text *out,
                               struct cr_error *error);

/* The ids that a post-processor puts around a text. */
struct cr_frame {
    int32_t *before, *after;
    int n_before, n_after, before_cap, after_cap;
};

/* The layout of the ids of one text or of two; see struct cr_template_item. */
struct cr_template {
    struct cr_template_item *items;
    int n, cap;
};

/* Describes a part to emitted C, or fails if emitted C does not support it; see emitted_parts.h. */
struct cr_shape;
typedef int cr_shape_function(const struct cr_text_part *part, struct cr_shape *shape,
                              struct cr_error *error);

typedef int cr_read_function(struct cr_text_part *part, const struct cr_document *document,
                             int object, const char *where, struct cr_error *error);

struct cr_part_kind {
    const char *type;       /* in tokenizer.json */
    cr_read_function *read; /* null: no member matters */
    /* Normalizers have `normalize`, pre-tokenizers `cut`, decoders `decode`; the others are
     * null. */
    cr_normalize_function *normalize;
    cr_cut_function *cut;
    cr_decode_function *decode;
    /* Describes a part to emitted C (emitted_parts.h).  Null: emitted C does not support it.  Not
     * used for post-processors. */
    cr_shape_function *shape;
    enum cr_stage_kind stage; /* of a normalizer that is a stage without settings */
    enum cr_cut_kind cutter; /* of a pre-tokenizer that cuts character by character */
    bool fuses; /* of a decoder: the parts after it see all tokens as one text */
    bool holds; /* of a decoder: it decodes a token once it knows whether it is the last one */
};

/* The settings of a BertNormalizer. */
struct cr_bert {
    bool clean, chinese, strips_accents, lowercase;
};

/* The settings of SentencePiece's normalizer for spaces. */
struct cr_spaces {
    bool trims;   /* removes spaces at the ends, and merges several spaces into one */
    bool prefix;  /* one in front of the text */
    bool visible; /* they become U+2581 */
};

/* The map of a Precompiled. */
struct cr_text_map {
    uint32_t *units; /* of the trie */
    char *results;   /* texts terminated by zeros */
    size_t n_units, n_results;
};

/* A part and its settings; each kind uses some of them. */
struct cr_text_part {
    const struct cr_part_kind *kind;
    struct cr_pattern *pattern;
    struct cr_cutter cutter; /* of a pre-tokenizer that cuts character by character */
    const char *content; /* the text to insert or strip: of Replace, Prepend, Metaspace, Strip */
    size_t length;
    enum cr_behavior behavior;
    enum cr_prepending prepending;
    bool invert, prefix_space, by_regex, split, cleanup;
    int64_t start, stop;
    bool fused, gathers; /* of a decoder: all tokens come as one text; it waits for the end of
                            them */
    bool joins; /* of a ByteFallback: the decoders after it see adjacent bytes as one token */
    struct cr_frame frame;
    struct cr_template single, pair; /* of a post-processor; if empty, only the frame is known */
    struct cr_bert bert;
    struct cr_text_map map;
    struct cr_spaces spaces;
    struct cr_trie kept; /* texts that SentencePiece's normalizer does not change */
};

struct cr_text_parts {
    struct cr_text_part *items;
    int n, cap;
};

/* A table of kinds; `role` and `members` are names in tokenizer.json: of the part, and of the list
 * in a Sequence. */
struct cr_part_table {
    const char *role, *members;
    const struct cr_part_kind *kinds;
    int n;
};

extern const struct cr_part_table cr_normalizers, cr_pre_tokenizers, cr_decoders,
    cr_post_processors;

/* Reads the member `role` of the document, if it exists, into a list.  Fails for an unknown
 * kind. */
int cr_read_parts(struct cr_text_parts *parts, const struct cr_part_table *table,
                  const struct cr_document *document, struct cr_error *error);

/* Appends a part of that kind with all settings zero. */
struct cr_text_part *cr_add_part(struct cr_text_parts *parts, const struct cr_part_table *table,
                                 const char *type);
void cr_free_parts(struct cr_text_parts *parts);

/* Fails if parts make too many bytes of a text of n bytes, so that a small file and a small text
 * cannot fill the memory. */
int cr_check_growth(size_t made, size_t n, struct cr_error *error);

/* Reads {"String": ...} or {"Regex": ...}. */
struct cr_pattern *cr_read_pattern(const struct cr_document *document, int object,
                                   const char *where, struct cr_error *error);

/* Runs the text through all normalizers and appends the result to `out`. */
int cr_normalize(const struct cr_text_parts *normalizers, const char *text, size_t n,
                 struct cr_text *out, size_t *leading, struct cr_error *error);

/* Puts a Lowercase in front of the normalizers, unless one of them is one. */
void cr_put_lowercase_first(struct cr_text_parts *normalizers);

/* Applies all pre-tokenizers to all pieces that are not tokens. */
int cr_pre_tokenize(const struct cr_text_parts *pre_tokenizers, struct cr_pieces *pieces,
                    struct cr_error *error);

#endif
