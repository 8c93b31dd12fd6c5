/*
 * cache_folder.h - finds the user's cache folder, for files that can be made again.
 *
 * It is $XDG_CACHE_HOME/crescent or, if that variable is not set, $HOME/.cache/crescent.  A
 * variable that does not contain an absolute path is ignored, as the XDG base directory
 * specification says.
 */
#ifndef CR_CACHE_FOLDER_H
#define CR_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

enum { CR_CACHE_PATH = 4096 }; /* size of a buffer for a path */

/* Write the path of the folder, or of a file in it; return false if neither variable is set to a
 * path. */
bool cr_cache_folder(char *path, size_t size);
bool cr_cache_file(char *path, size_t size, const char *name);

/* Makes all missing folders of a path.  Reports no errors: they show when a file there is
 * opened. */
void cr_make_folders(char *path);

#endif
