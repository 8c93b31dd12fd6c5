/* subarray.h - a part of elements in a larger row-major layout: the first sizes[i] elements along
 * each axis i. */
#ifndef CR_SUBARRAY_H
#define CR_SUBARRAY_H

#include <stddef.h>
#include <stdint.h>

struct cr_subarray {
    int rank;
    const int64_t *sizes, *layout; /* by axis: the size of the part and of the layout; sizes[i] <=
                                    * layout[i] */
    size_t width;                  /* bytes of an element */
};

/* cr_subarray_pack copies the elements of the part from the layout to contiguous row-major memory;
 * cr_subarray_unpack copies them back and leaves other elements of the layout unchanged.  Source
 * and destination may be the same memory. */
void cr_subarray_pack(const struct cr_subarray *part, const void *laid_out, void *packed);
void cr_subarray_unpack(const struct cr_subarray *part, const void *packed, void *laid_out);

#endif
