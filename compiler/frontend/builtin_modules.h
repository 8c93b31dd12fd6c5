/* builtin_modules.h - the files of graphs/lib, built into the program. */
#ifndef CR_BUILTIN_MODULES_H
#define CR_BUILTIN_MODULES_H

#include <stddef.h>

/* The text of a module, with its path from the project's root and its bytes; null if there is
 * none of that name. */
const char *cr_builtin_module(const char *name, const char **path, size_t *size);

#endif
