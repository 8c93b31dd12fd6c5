/* builtin_modules.h - the files of graphs/lib, and the scripts of whole models in graphs/, built into
 * the program. */
#ifndef CR_BUILTIN_MODULES_H
#define CR_BUILTIN_MODULES_H

#include <stddef.h>

/* The text of a module, with its path from the project's root and its bytes; null if there is
 * none of that name. */
const char *cr_builtin_module(const char *name, const char **path, size_t *size);

/* The number of a module in the list of them, or -1. */
int cr_builtin_number(const char *name);

/* The bytecode of a module, by its number; null where Lua is a shared library, which need not be the Lua that
 * the bytecode was made with. */
const char *cr_builtin_bytecode(int number, size_t *size);

/* The first module that has a function of that name, MODULE.NAME, or null. */
const char *cr_builtin_module_with(const char *function);

/* The names of the modules' functions, without the modules', at most `max`: copied into buf, and names[]
 * points at them.  Returns how many. */
int cr_builtin_functions(char *buf, size_t size, const char **names, int max);

/* The same for the script of a model, graphs/NAME.lua; its name is the model_type of config.json. */
const char *cr_builtin_model(const char *name, const char **path, size_t *size);

/* The names of all models, at most `max`; how many. */
int cr_builtin_model_names(const char **names, int max);

/* The names of all models with commas between, cut to `size` bytes; returns buf. */
char *cr_builtin_models(char *buf, size_t size);

#endif
