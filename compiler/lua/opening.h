/*
 * opening.h - the table of options that says how a script is run and its graph compiled.
 */
#ifndef CR_LUA_OPENING_H
#define CR_LUA_OPENING_H

#include "object.h"

/* What the options say.  Strings and arrays live until the calling function returns. */
struct cr_lua_opening {
    crescent_script script;
    crescent_config config;
    int64_t seed;
    const char **weights; /* safetensors files and folders */
    int n_weights;
    int grads;                /* gradients are wanted */
    const char **cotangents;  /* of these values they are given */
    int n_cotangents;
    const char **taps; /* values that become outputs */
    int n_taps;
    int keep; /* weights can be read back and saved; -1: nothing is said */
};

/* Reads the table at `index`, or nil.  Beside the options of this structure the table may have those
 * of the list `more`, which ends with null; others are refused. */
void cr_lua_read_opening(lua_State *L, int index, const char *const *more,
                         struct cr_lua_opening *opening);

/* Opens the graph that the value at `index` builds: a script's text, or a function.  `name` stands for
 * the path. */
void cr_lua_build_graph(lua_State *L, int index, const crescent_script *how, const char *name,
                        crescent_graph **graph);

/* Refuses options that no list has; either may be null. */
void cr_lua_check_options(lua_State *L, int index, const char *const *known,
                          const char *const *more);

/* Single options of a table, or of nil.  A string lives as long as the table is on the stack. */
const char *cr_lua_string_option(lua_State *L, int index, const char *key);
double cr_lua_number_option(lua_State *L, int index, const char *key, double otherwise);
int64_t cr_lua_integer_option(lua_State *L, int index, const char *key, int64_t otherwise);
int cr_lua_flag_option(lua_State *L, int index, const char *key, int otherwise);

/* The strings of the value at `index`: of a table, or one string, or none of nil. */
const char **cr_lua_strings(lua_State *L, int index, const char *what, int *n);

/* What the options say of weights, else the model's own folder, else numbers drawn from the seed. */
void cr_lua_fill_weights(lua_State *L, crescent_model *model, const char *const *paths, int n,
                         int64_t seed);

#endif
