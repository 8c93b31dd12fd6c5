/* open_options.h - reads the table of options for running a script and compiling its graph. */
#ifndef CR_LUA_OPEN_OPTIONS_H
#define CR_LUA_OPEN_OPTIONS_H

#include "object.h"

/* The values of the options.  Strings and arrays stay valid until the calling function returns. */
struct cr_lua_open_options {
    crescent_script script;
    crescent_config config;
    int64_t seed;
    const char **weights; /* paths of files and folders of weights */
    int n_weights;
    int grads;                /* true if gradients are requested */
    const char **cotangents;  /* names of values whose cotangents are given */
    int n_cotangents;
    const char **taps; /* names of tapped values that become outputs */
    int n_taps;
    int keep; /* 1: weights can be read back and saved; 0: they cannot; -1: not specified */
};

/* Reads the table at `index`; nil means no options.  The table may also contain the options in
 * the null-terminated list `more`; any other option raises an error. */
void cr_lua_read_open_options(lua_State *L, int index, const char *const *more,
                         struct cr_lua_open_options *opening);

/* Opens a graph from the value at `index`: a script's text, or a function that builds the graph.
 * `name` stands for the path. */
void cr_lua_build_graph(lua_State *L, int index, const crescent_script *how, const char *name,
                        crescent_graph **graph);

/* Raises an error for an option in neither list; a list may be null. */
void cr_lua_check_options(lua_State *L, int index, const char *const *known,
                          const char *const *more);

/* Read an option of the table at `index`; without a table, no option is set.  A string lives as
 * long as the table is on the stack. */
const char *cr_lua_string_option(lua_State *L, int index, const char *key);
double cr_lua_number_option(lua_State *L, int index, const char *key, double otherwise);
int64_t cr_lua_integer_option(lua_State *L, int index, const char *key, int64_t otherwise);
int64_t cr_lua_cache_option(lua_State *L, int index); /* Returns the option cache_weights, a
                                                       * number of bytes. */
int cr_lua_flag_option(lua_State *L, int index, const char *key, int otherwise);

/* Returns the strings in the value at `index`, and sets *n to their number: the value is a table
 * of strings, one string, or nil. */
const char **cr_lua_strings(lua_State *L, int index, const char *what, int *n);

/* Fills the weights: from the n given paths, else from the model's own folder, else with random
 * numbers by the seed. */
void cr_lua_fill_weights(lua_State *L, crescent_model *model, const char *const *paths, int n,
                         int64_t seed);

#endif
