/* term_parts.h - what the files that make terms share. */
#ifndef CR_TERM_PARTS_H
#define CR_TERM_PARTS_H

#include "term.h"

/* The most elements that are computed when a model is read: of floats, and of integers and booleans. */
enum { CR_FOLDED = 1 << 16, CR_FOLDED_WHOLE = 1 << 22 };

/* Whether a tensor can have a shape: sizes from 0 on, and fewer elements than overflow anything, also where
 * an axis of size 0 leaves none. */
bool cr_t_can_be(int rank, const int64_t *shape);

/* A term of a shape, which is refused (null) where the language has no such tensor. */
struct cr_onnx_term *cr_t_new(struct cr_translation *t, enum cr_onnx_term_kind kind,
                              enum cr_onnx_type type, int rank, const int64_t *shape);

/* Whether what is like a term can be computed: its operands are known, and of floats written down in the
 * model, not weights; or it has no elements, and its operands need not be known.  Many elements are not
 * computed once all that are kept, or all that were computed, are past a bound (elements.h). */
bool cr_t_folds(const struct cr_translation *t, const struct cr_onnx_term *like, int n,
                const cr_t *operands);

/* What operands may be of, together. */
enum { CR_OF_FLOATS = 1, CR_OF_INTEGERS = 2, CR_OF_NUMBERS = 3, CR_OF_BOOLEANS = 4, CR_OF_ANY = 7 };

/* Whether an operand is of such a type; refused if it is not. */
bool cr_t_is_of(struct cr_translation *t, cr_t x, int types);

/* Room for the elements of a term, which are 0. */
double *cr_t_room(struct cr_translation *t, const struct cr_onnx_term *x);


/* Strides of a shape. */
void cr_t_strides(int rank, const int64_t *shape, int64_t *strides);

/* The places of a view, one for each element of a term: at index i offset + sum of i[a] strides[a]. */
int64_t *cr_t_places(struct cr_translation *t, const struct cr_onnx_term *like,
                     const int64_t *strides, int64_t offset);

/* Of known elements; `like` has the type and shape of the result.  A sum or the largest, along axes that
 * have size 1 in the result; others as the functions of term.h. */
cr_t cr_t_fold_reduce(struct cr_translation *t, bool is_sum, cr_t x,
                      const struct cr_onnx_term *like);
cr_t cr_t_fold_argmax(struct cr_translation *t, cr_t x, int axis, const struct cr_onnx_term *like);
cr_t cr_t_fold_cumsum(struct cr_translation *t, cr_t x, int axis, bool reverse);
cr_t cr_t_fold_scatter(struct cr_translation *t, cr_t x, cr_t values, cr_t index, int axis);
cr_t cr_t_fold_matmul(struct cr_translation *t, cr_t a, cr_t b, const struct cr_onnx_term *like);

const char *cr_t_text(struct cr_translation *t, int64_t number);
const char *cr_t_list(struct cr_translation *t, int n, const int64_t *numbers);

#endif
