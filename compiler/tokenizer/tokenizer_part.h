/*
 * tokenizer_part.h - a part of a tokenizer.json: a normalizer, a pre-tokenizer, a decoder or a
 * post-processor.
 *
 * Each kind of part is a row of a table: the kinds of normalizers are in normalizers.c, and so on.
 * A row has the functions that read a part's JSON and apply the part.  A Sequence is not a part:
 * its members are added to the list one after another.
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

/* The functions that apply normalizers and pre-tokenizers.  `leading` is the number of leading
 * bytes (leading.inc) of the text; a normalizer replaces it by that of the result. */
struct cr_text_part;
typedef int cr_normalize_function(const struct cr_text_part *part, const char *text, size_t n,
                                  struct cr_text *out, size_t *leading, struct cr_error *error);
typedef int cr_cut_function(const struct cr_text_part *part, const char *text, size_t n, size_t leading,
                            struct cr_pieces *out, struct cr_error *error);

/* The state of a decoder between two tokens. */
struct cr_decoding {
    struct cr_text_state text; /* what this decoder has shown so far */
    struct cr_text out,
        gathered; /* out: the decoder's last output; gathered: the text so far, for a decoder that
                     needs all of it, or the token held back */
    bool held, ended; /* held: a token is held back; ended: it is the last one */
    size_t taken, made; /* taken: the bytes of all tokens so far, counted by the first decoder only;
                           made: the bytes of all output of this decoder so far */
};

/* Decodes one token or, for a part that is `fused`, the next bytes of the whole text, and appends
 * the result to `out`. */
typedef int cr_decode_function(const struct cr_text_part *part, struct cr_decoding *state,
                               const char *text, size_t n, struct cr_text *out,
                               struct cr_error *error);

/* The special ids that a post-processor puts around a text. */
struct cr_frame {
    int32_t *before, *after;
    int n_before, n_after, before_cap, after_cap;
};

/* The layout of the ids of a text or a pair; see struct cr_template_item. */
struct cr_template {
    struct cr_template_item *items;
    int n, cap;
};

/* Describes a part for emitted C; fails if emitted C does not support it.  See emitted_parts.h. */
struct cr_shape;
typedef int cr_shape_function(const struct cr_text_part *part, struct cr_shape *shape,
                              struct cr_error *error);

typedef int cr_read_function(struct cr_text_part *part, const struct cr_document *document,
                             int object, const char *where, struct cr_error *error);

struct cr_part_kind {
    const char *type;       /* the name in tokenizer.json */
    cr_read_function *read; /* null if the part has no settings */
    /* The function that applies the part: normalizers have `normalize`, pre-tokenizers `cut`,
     * decoders `decode`; the others are null. */
    cr_normalize_function *normalize;
    cr_cut_function *cut;
    cr_decode_function *decode;
    /* Describes a part for emitted C (emitted_parts.h).  Null if emitted C does not support it, and
     * for post-processors. */
    cr_shape_function *shape;
    enum cr_stage_kind stage; /* for a normalizer that is a stage without settings */
    enum cr_cut_kind cutter; /* for a pre-tokenizer that cuts character by character */
    bool fuses; /* for a decoder: the parts behind it get all tokens as one text */
    bool holds; /* for a decoder: it decodes a token only when it knows whether another one
                   follows */
};

/* The settings of a BertNormalizer. */
struct cr_bert {
    bool clean, chinese, strips_accents, lowercase;
};

/* SentencePiece's settings for spaces. */
struct cr_spaces {
    bool trims;   /* removes spaces at both ends, and merges several spaces into one */
    bool prefix;  /* puts a space before the text */
    bool visible; /* replaces spaces by U+2581 */
};

/* The map of a Precompiled, see precompiled.h. */
struct cr_text_map {
    uint32_t *units; /* the units of the trie */
    char *results;   /* texts, each terminated by a NUL */
    size_t n_units, n_results;
};

/* A part and its settings; each kind uses some of them. */
struct cr_text_part {
    const struct cr_part_kind *kind;
    struct cr_pattern *pattern;
    struct cr_cutter cutter; /* for a pre-tokenizer that cuts character by character */
    const char *content; /* for Replace, Prepend, Metaspace and Strip: the text to insert or to
                            strip */
    size_t length;
    enum cr_behavior behavior;
    enum cr_prepending prepending;
    bool invert, prefix_space, by_regex, split, cleanup;
    int64_t start, stop;
    bool fused, gathers; /* for a decoder: fused: it gets all tokens as one text; gathers: it waits
                            for the end of the text */
    bool joins; /* for a ByteFallback: the decoders behind it get adjacent bytes as one token */
    struct cr_frame frame;
    struct cr_template single, pair; /* for a post-processor; empty if only its frame is known */
    struct cr_bert bert;
    struct cr_text_map map;
    struct cr_spaces spaces;
    struct cr_trie kept; /* texts that SentencePiece's normalizer does not change */
};

struct cr_text_parts {
    struct cr_text_part *items;
    int n, cap;
};

/* A table of the kinds of parts with one role.  `role` is the part's name in tokenizer.json,
 * `members` that of the list in a Sequence. */
struct cr_part_table {
    const char *role, *members;
    const struct cr_part_kind *kinds;
    int n;
};

extern const struct cr_part_table cr_normalizers, cr_pre_tokenizers, cr_decoders,
    cr_post_processors;

/* Reads the part that is the document's member table->role, if it exists, into a list.  Fails for
 * an unknown kind. */
int cr_read_parts(struct cr_text_parts *parts, const struct cr_part_table *table,
                  const struct cr_document *document, struct cr_error *error);

/* Appends a part of the kind `type` in which all settings are zero; returns it. */
struct cr_text_part *cr_add_part(struct cr_text_parts *parts, const struct cr_part_table *table,
                                 const char *type);
void cr_free_parts(struct cr_text_parts *parts);

/* Fails if `made` bytes are too many for a text of n bytes.  So a small file and a small text
 * cannot fill the memory. */
int cr_check_growth(size_t made, size_t n, struct cr_error *error);

/* Reads a pattern, {"String": ...} or {"Regex": ...}. */
struct cr_pattern *cr_read_pattern(const struct cr_document *document, int object,
                                   const char *where, struct cr_error *error);

/* Runs a text through all normalizers and appends the result to `out`. */
int cr_normalize(const struct cr_text_parts *normalizers, const char *text, size_t n,
                 struct cr_text *out, size_t *leading, struct cr_error *error);

/* Puts a Lowercase before all normalizers, unless one of them is a Lowercase. */
void cr_put_lowercase_first(struct cr_text_parts *normalizers);

/* Cuts all pieces that are not tokens by all pre-tokenizers. */
int cr_pre_tokenize(const struct cr_text_parts *pre_tokenizers, struct cr_pieces *pieces,
                    struct cr_error *error);

#endif
