/* term_parts.h - what the files that make terms share. */
#ifndef CR_TERM_PARTS_H
#define CR_TERM_PARTS_H

#include "term.h"

/* The most elements that are computed when a model is read: of floats, and of integers and booleans. */
enum { CR_FOLDED = 1 << 16, CR_FOLDED_WHOLE = 1 << 22 };

/* A term of a shape, which is refused (null) where the language has no such tensor. */
struct cr_onnx_term *cr_t_new(struct cr_translation *t, enum cr_onnx_term_kind kind,
                              enum cr_onnx_type type, int rank, const int64_t *shape);

/* Whether what is like a term can be computed: its operands are known, and of floats written down in the
 * model, not weights. */
bool cr_t_folds(const struct cr_onnx_term *like, int n, const cr_t *operands);

/* Room for the elements of a term. */
double *cr_t_room(struct cr_translation *t, const struct cr_onnx_term *x);

const char *cr_t_text(struct cr_translation *t, int64_t number);
const char *cr_t_list(struct cr_translation *t, int n, const int64_t *numbers);

#endif
