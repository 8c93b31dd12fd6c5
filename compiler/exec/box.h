/* box.h - a tensor of some sizes inside one that is laid out for larger ones. */
#ifndef CR_BOX_H
#define CR_BOX_H

#include <stddef.h>
#include <stdint.h>

struct cr_box {
    int rank;
    const int64_t *sizes, *layout; /* by axis, sizes at most the layout's */
    size_t width;                  /* bytes of an element */
};

/* Copies the elements of the box out of the layout, one after another in row-major order; and into it, where
 * others stay as they are.  Both may be done in place. */
void cr_box_pack(const struct cr_box *box, const void *laid_out, void *packed);
void cr_box_spread(const struct cr_box *box, const void *packed, void *laid_out);

#endif
