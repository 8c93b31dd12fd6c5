/*
 * precompiled.h - Precompiled: SentencePiece's normalizer, which replaces short texts by others.
 * The replacements are a table in its files.
 *
 * The table consists of the size of a double-array trie, the trie's units of 32 bits, and the
 * results, each terminated by a NUL.  A leaf of the trie has the offset of a result.  Source:
 * darts-clone, whose units have a label, an offset and a flag for a leaf.
 *
 * SentencePiece replaces, from left to right, the longest text that the table has.  Hugging Face's
 * Precompiled goes grapheme by grapheme, which gives the same result for most texts.
 */
#ifndef CR_PRECOMPILED_H
#define CR_PRECOMPILED_H

#include "tokenizer_part.h"

/* Reads `precompiled_charsmap`, the table in base64. */
int cr_read_precompiled(struct cr_text_part *part, const struct cr_document *document, int object,
                        const char *where, struct cr_error *error);

/* Copies a table of n bytes to *map.  Error messages begin with the path. */
int cr_set_text_map(struct cr_text_map *map, const unsigned char *bytes, size_t n, const char *path,
                    struct cr_error *error);
void cr_free_text_map(struct cr_text_map *map);

struct cr_map_tables cr_map_tables_of(const struct cr_text_map *map);

/* Returns the largest factor by which the map can lengthen a text of up to `deepest` bytes, where a
 * space counts `space` bytes; 0 if the computation takes too long. */
double cr_growth_of_map(const struct cr_text_map *map, size_t space, size_t deepest);

int cr_normalize_precompiled(const struct cr_text_part *part, const char *text, size_t n,
                             struct cr_text *out, size_t *leading, struct cr_error *error);
cr_shape_function cr_list_precompiled;

#endif
