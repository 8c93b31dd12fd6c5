/* samples.h - the parts of a file that are read to compare it with another one. */
#ifndef CR_SAMPLES_H
#define CR_SAMPLES_H

#include <stddef.h>

enum { CR_SAMPLES = 258 };

struct cr_file_sample {
    size_t at, bytes;
};

/* Returns part i of a file of `size` bytes: part 0 is the first 16 MiB, and the others are pieces of 4 KiB at equal
 * distances in the rest, of which the last one ends the file. */
static inline struct cr_file_sample cr_get_sample(size_t size, size_t i)
{
    const size_t whole = (size_t)1 << 24, first = size < whole ? size : whole, rest = size - first;
    struct cr_file_sample sample = {0, first};
    if (i > 0) {
        sample.bytes = rest < 4096 ? rest : 4096;
        sample.at = i == CR_SAMPLES - 1 ? size - sample.bytes : first + (rest - sample.bytes) / 256 * i;
    }
    return sample;
}

#endif
