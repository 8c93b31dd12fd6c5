/* installed_files.h - the scripts, configurations and models installed with the library. */
#ifndef CR_INSTALLED_FILES_H
#define CR_INSTALLED_FILES_H

/*
 * Returns the path of a file or a folder; the caller frees it.  A path that exists or is absolute
 * is returned as is.  Else it is searched below the folders of $CRESCENT_PATH, a colon-separated
 * list, then below share/crescent in the folders around the program or the shared library; there
 * `graphs/` may be left out.  If nothing is found, the path is returned as is.  So
 * graphs/gpt2_block.lua and gpt2_block.lua are found from anywhere, whatever the prefix of the
 * installation.
 */
char *cr_find_installed(const char *path);

/* Searches $CRESCENT_PATH and the installed folder, but not the current folder; returns null if
 * no file is found. */
char *cr_find_on_path(const char *path);

#endif
