/* gguf_types.h - the table of GGUF's element types. */
#ifndef CR_GGUF_TYPES_H
#define CR_GGUF_TYPES_H

#include "gguf.h"

/* Returns the type with this number in files; null if there is none. */
const struct cr_gguf_type *cr_gguf_type_of(uint32_t number);

/* Writes the names of all types that can be converted to floats, separated by commas and cut to
 * `size` bytes; returns buf. */
char *cr_gguf_types_read(char *buf, size_t size);

#endif
