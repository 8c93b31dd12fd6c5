/* subarray.c - copies the part of a larger layout that exists in a run; see subarray.h. */
#include "subarray.h"

#include <string.h>

/* Returns the number of leading axes to iterate over, so that the elements along the remaining
 * axes are contiguous. */
static int outer_axes(const struct cr_subarray *b)
{
    int outer = b->rank;
    while (outer > 0 && b->sizes[outer - 1] == b->layout[outer - 1])
        outer--;
    return outer > 0 ? outer - 1 : 0;
}

static int64_t product(const int64_t *sizes, int first, int end)
{
    int64_t n = 1;
    for (int a = first; a < end; a++)
        n *= sizes[a];
    return n;
}

/* Returns the offset in elements of contiguous piece number i in the layout. */
static int64_t place_of(const struct cr_subarray *b, int outer, int64_t i)
{
    int64_t stride = product(b->layout, outer, b->rank), place = 0;
    for (int a = outer - 1; a >= 0; a--) {
        place += i % b->sizes[a] * stride;
        i /= b->sizes[a];
        stride *= b->layout[a];
    }
    return place;
}

/* Moves pieces in ascending order.  In place this is safe, since no piece moves to a higher
 * address and so none overwrites a later one. */
void cr_subarray_pack(const struct cr_subarray *part, const void *laid_out, void *packed)
{
    int outer = outer_axes(part);
    int64_t n = product(part->sizes, 0, outer);
    size_t piece = (size_t)product(part->sizes, outer, part->rank) * part->width;
    for (int64_t i = 0; i < n; i++)
        memmove((char *)packed + (size_t)i * piece,
                (const char *)laid_out + (size_t)place_of(part, outer, i) * part->width, piece);
}

/* Moves pieces in descending order.  In place this is safe, since no piece moves to a lower
 * address. */
void cr_subarray_unpack(const struct cr_subarray *part, const void *packed, void *laid_out)
{
    int outer = outer_axes(part);
    int64_t n = product(part->sizes, 0, outer);
    size_t piece = (size_t)product(part->sizes, outer, part->rank) * part->width;
    for (int64_t i = n - 1; i >= 0; i--)
        memmove((char *)laid_out + (size_t)place_of(part, outer, i) * part->width,
                (const char *)packed + (size_t)i * piece, piece);
}
