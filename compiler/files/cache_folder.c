/* cache_folder.c - finds the user's cache folder; see cache_folder.h. */
#include "cache_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cr_cache_folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/')
        length = snprintf(path, size, "%s/crescent", cache);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/crescent", home);
    return length >= 0 && (size_t)length < size;
}

bool cr_cache_file(char *path, size_t size, const char *name)
{
    if (!cr_cache_folder(path, size))
        return false;
    size_t folder = strlen(path);
    int length = snprintf(path + folder, size - folder, "/%s", name);
    return length >= 0 && (size_t)length < size - folder;
}

void cr_make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}
