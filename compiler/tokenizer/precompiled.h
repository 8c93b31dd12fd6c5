/*
 * precompiled.h - Precompiled: SentencePiece's normalizer, a map from texts of a few characters to
 * others, as its files have it.
 *
 * The map is the size of a double-array trie, its units, 32 bits each, and the results, each with a
 * zero behind it; the trie gives the offset of a result.  Source: darts-clone, whose units have a
 * label, an offset and a flag for a leaf.
 *
 * SentencePiece replaces, from left to right, the longest text that the map has.  Hugging Face's
 * Precompiled does the same for most texts, but grapheme by grapheme.
 */
#ifndef CR_PRECOMPILED_H
#define CR_PRECOMPILED_H

#include "part.h"

/* Reads `precompiled_charsmap`, the map in base64. */
int cr_read_precompiled(struct cr_text_part *part, const struct cr_document *document, int object,
                        const char *where, struct cr_error *error);

/* Takes a map of n bytes, which are copied.  An error begins with the path. */
int cr_set_text_map(struct cr_text_map *map, const unsigned char *bytes, size_t n, const char *path,
                    struct cr_error *error);
void cr_free_text_map(struct cr_text_map *map);

struct cr_map_tables cr_map_tables_of(const struct cr_text_map *map);

/* Returns how many times as long the map can make a text of up to `deepest` bytes, where a space
 * becomes `space` bytes; 0 if that takes too long to find. */
double cr_growth_of_map(const struct cr_text_map *map, size_t space, size_t deepest);

int cr_normalize_precompiled(const struct cr_text_part *part, const char *text, size_t n,
                             struct cr_text *out, bool *first, struct cr_error *error);
cr_shape_function cr_list_precompiled;

#endif
