/* names.h - what kernels, and the fields of their arguments, are called. */
#ifndef CR_NAMES_H
#define CR_NAMES_H

#include "compiler/passes/module.h"

/* A scope's name or a title with # for its numbers, since repetitions share their code. */
void cr_plain_scope(char *buffer, size_t size, const char *scope);

/* A path as it may stand in a comment. */
void cr_plain_path(char *buffer, size_t size, const char *path);

/* A scope's name or a title without its numbers, as part of a C identifier: "h.3.attn" is
 * h_attn, and the gradient of attn.y is d_attn_y. */
void cr_identifier(char *buffer, size_t size, const char *name);

/* Whether a field of the arguments must not be called so. */
bool cr_is_reserved(const char *name);

#endif
