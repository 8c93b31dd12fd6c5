/* installed.h - the scripts, configurations and models that were installed with the library. */
#ifndef CR_INSTALLED_H
#define CR_INSTALLED_H

/*
 * The path of a file or a folder, to be freed: as it is if there is one, or if it is absolute.  Else
 * that of one installed, if there is one: below a folder of $CRESCENT_PATH, which has colons between
 * them, or below share/crescent in a folder that the program, or the shared library, lies in; there
 * `graphs/` may be left out.  So graphs/gpt2_block.lua and gpt2_block.lua are found from anywhere, and
 * nothing depends on where that was installed.
 */
char *cr_find_installed(const char *path);

/* Searches $CRESCENT_PATH and the installed folder, not the current one; returns null if no file is found. */
char *cr_find_on_path(const char *path);

#endif
