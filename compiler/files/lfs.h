/* lfs.h - detects a pointer of Git LFS: the small file that a clone contains in place of a large
 * file that was not fetched. */
#ifndef CR_LFS_H
#define CR_LFS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The first bytes of such a pointer; and the error message about one, to follow the file's name. */
#define CR_LFS_BEGIN "version https://git-lfs."
#define CR_LFS_MESSAGE "a pointer of Git LFS, expected the file that it stands for (git lfs pull)"

static inline bool cr_is_lfs(const void *bytes, size_t n)
{
    return n >= sizeof CR_LFS_BEGIN - 1 && memcmp(bytes, CR_LFS_BEGIN, sizeof CR_LFS_BEGIN - 1) == 0;
}

#endif
