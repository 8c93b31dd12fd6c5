/* gguf_types.h - the element types of GGUF files. */
#ifndef CR_GGUF_TYPES_H
#define CR_GGUF_TYPES_H

#include "gguf.h"

/* Returns the type with a number in files, or null. */
const struct cr_gguf_type *cr_gguf_type_of(uint32_t number);

/* Writes the names of the types that can be converted to floats, separated by commas and truncated
 * to `size` bytes. */
char *cr_gguf_types_read(char *buf, size_t size);

#endif
