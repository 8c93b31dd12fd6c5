/* subarray.h - a tensor inside a larger layout, as its first elements along each axis. */
#ifndef CR_SUBARRAY_H
#define CR_SUBARRAY_H

#include <stddef.h>
#include <stdint.h>

struct cr_subarray {
    int rank;
    const int64_t *sizes, *layout; /* by axis; sizes[i] <= layout[i] */
    size_t width;                  /* bytes of an element */
};

/* cr_subarray_pack copies the elements of the box out of the layout, contiguous and row-major.
 * cr_subarray_unpack copies them back; other elements of the layout stay unchanged.  Both may work
 * in place. */
void cr_subarray_pack(const struct cr_subarray *box, const void *laid_out, void *packed);
void cr_subarray_unpack(const struct cr_subarray *box, const void *packed, void *laid_out);

#endif
