/*
 * open_options.h - reads the table of options to run a script and compile its graph.
 */
#ifndef CR_LUA_OPEN_OPTIONS_H
#define CR_LUA_OPEN_OPTIONS_H

#include "object.h"

/* The values of the options.  Strings and arrays live until the calling function returns. */
struct cr_lua_open_options {
    crescent_script script;
    crescent_config config;
    int64_t seed;
    const char **weights; /* safetensors files and folders */
    int n_weights;
    int grads;                /* gradients are requested */
    const char **cotangents;  /* values whose cotangents are given */
    int n_cotangents;
    const char **taps; /* values that become outputs */
    int n_taps;
    int keep; /* weights can be read back and saved; -1: not specified */
};

/* Reads the table at `index`, or nil.  The table may also have options of the null-terminated list
 * `more`; any other is an error. */
void cr_lua_read_open_options(lua_State *L, int index, const char *const *more,
                         struct cr_lua_open_options *opening);

/* Opens a graph from the value at `index`: a script's text, or a function that builds it.  `name`
 * stands for the path. */
void cr_lua_build_graph(lua_State *L, int index, const crescent_script *how, const char *name,
                        crescent_graph **graph);

/* Fails for options in neither list; a list may be null. */
void cr_lua_check_options(lua_State *L, int index, const char *const *known,
                          const char *const *more);

/* Read an option of a table, or of nil.  A string lives as long as the table is on the stack. */
const char *cr_lua_string_option(lua_State *L, int index, const char *key);
double cr_lua_number_option(lua_State *L, int index, const char *key, double otherwise);
int64_t cr_lua_integer_option(lua_State *L, int index, const char *key, int64_t otherwise);
int64_t cr_lua_cache_option(lua_State *L, int index); /* cache_weights, a number of bytes */
int cr_lua_flag_option(lua_State *L, int index, const char *key, int otherwise);

/* Returns the strings of the value at `index`: a table, one string, or nil for none. */
const char **cr_lua_strings(lua_State *L, int index, const char *what, int *n);

/* Loads the given weights, else the weights in the model's own folder, else draws weights from the
 * seed. */
void cr_lua_fill_weights(lua_State *L, crescent_model *model, const char *const *paths, int n,
                         int64_t seed);

#endif
