/* builtin_modules.h - the modules of graphs/lib and the models of graphs/, embedded in the
 * program. */
#ifndef CR_BUILTIN_MODULES_H
#define CR_BUILTIN_MODULES_H

#include <stddef.h>

/* Returns the text of the module called `name`, and sets *path to its path from the project's
 * root and *size to its length; null if there is no such module. */
const char *cr_builtin_module(const char *name, const char **path, size_t *size);

/* Returns the number of the module called `name`, its position in the list; -1 if there is none. */
int cr_builtin_number(const char *name);

/* Returns the bytecode of module `number`.  Returns null if Lua is a shared library, since that
 * may be another release than the bytecode's. */
const char *cr_builtin_bytecode(int number, size_t *size);

/* Returns the first module for scripts that defines a function of this name, or null. */
const char *cr_builtin_module_with(const char *function);

/* Copies the names of the functions of all modules for scripts, without the modules' names, to
 * buf, and points names[] to at most `max` of them.  Returns their number. */
int cr_builtin_functions(char *buf, size_t size, const char **names, int max);

/* Returns the text of a model's script, graphs/NAME.lua, and sets *path to its path from the
 * project's root and *size to its length; null if there is no such model.  `name` is the
 * model_type of config.json: NAME or one of its aliases. */
const char *cr_builtin_model(const char *name, const char **path, size_t *size);

/* Returns the prefix of tensor names in the files of models with a head, by model_type: the
 * model_type itself or, for an alias, the prefix in its row of CR_MODEL_ALIASES. */
const char *cr_builtin_prefix(const char *name);

enum {
    CR_MOST_MODELS = 64, /* maximum number of models and aliases */
    CR_MODELS_TEXT = 560 /* bytes for the names of all, separated by commas */
};

/* Lists the names of all models and aliases, at most `max`; returns their number. */
int cr_builtin_model_names(const char **names, int max);

/* Writes the names of all models and aliases, separated by commas, to buf of CR_MODELS_TEXT
 * bytes; returns buf. */
char *cr_builtin_models(char *buf, size_t size);

#endif
