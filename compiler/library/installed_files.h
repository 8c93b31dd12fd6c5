/* installed_files.h - the scripts, configurations and models installed with the library. */
#ifndef CR_INSTALLED_FILES_H
#define CR_INSTALLED_FILES_H

/*
 * Returns the path of a file or a folder; the caller frees it.  A path that exists or is absolute
 * is returned unchanged.  Otherwise it is searched in the folders of $CRESCENT_PATH, a
 * colon-separated list, then in share/crescent of the folders around the program or the shared
 * library; for a model `graphs/` may be omitted there.  If nothing is found, the path is returned
 * unchanged.  So graphs/gpt2_block.lua and gpt2_block.lua are found from any current folder and for
 * any prefix of the installation.
 */
char *cr_find_installed(const char *path);

/* Searches $CRESCENT_PATH and the installed folders, but not the current folder; returns null if
 * the file is not found. */
char *cr_find_on_path(const char *path);

#endif
