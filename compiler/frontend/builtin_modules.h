/* builtin_modules.h - the modules of graphs/lib and the models of graphs/, embedded in the
 * program. */
#ifndef CR_BUILTIN_MODULES_H
#define CR_BUILTIN_MODULES_H

#include <stddef.h>

/* Returns the text of the module with a name, and sets its path from the project's root and its
 * size; null if there is no such module. */
const char *cr_builtin_module(const char *name, const char **path, size_t *size);

/* Returns the number of a module in the list, or -1. */
int cr_builtin_number(const char *name);

/* Returns the bytecode of a module by its number.  Null if Lua is a shared library, which may be
 * another release than the bytecode is for. */
const char *cr_builtin_bytecode(int number, size_t *size);

/* Returns the first module for scripts that has a function MODULE.NAME, or null. */
const char *cr_builtin_module_with(const char *function);

/* Lists the names of the functions of modules for scripts, without the modules' names, at most `max`.  They are
 * copied to buf, and names[] points there.  Returns their number. */
int cr_builtin_functions(char *buf, size_t size, const char **names, int max);

/* Returns the text of a model's script, graphs/NAME.lua, and sets its path from the project's
 * root and its size; null if there is no such model.  The name is the model_type of config.json:
 * NAME or one of its aliases. */
const char *cr_builtin_model(const char *name, const char **path, size_t *size);

/* Returns the prefix of tensor names in files of a model with a head, by its model_type: the
 * model_type itself or, for an alias, the prefix in its row. */
const char *cr_builtin_prefix(const char *name);

enum {
    CR_MOST_MODELS = 64, /* an upper bound of the number of models and aliases */
    CR_MODELS_TEXT = 560 /* bytes for their names, with commas between */
};

/* Lists the names of all models and aliases, at most `max`; returns their number. */
int cr_builtin_model_names(const char **names, int max);

/* Writes the names of all models and aliases, separated by commas, to `size` bytes, CR_MODELS_TEXT;
 * returns buf. */
char *cr_builtin_models(char *buf, size_t size);

#endif
