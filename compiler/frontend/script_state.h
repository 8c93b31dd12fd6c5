/*
 * script_state.h - the state of one run of a script, which all of the front end works on.
 *
 * A function that takes a lua_State may leave by a Lua error, so none of them
 * holds memory that nobody else would free: what is allocated outside Lua hangs
 * on struct cr_run.
 */
#ifndef CR_SCRIPT_STATE_H
#define CR_SCRIPT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "luaapi.h"
#include "script.h"

enum {
    CR_NAME_MAX = 255,             /* bytes of a parameter's, scope's or output's name */
    CR_MAX_NODES = 1 << 18,        /* nodes of a graph */
    CR_KERNEL_TAKEN = CR_NONE - 1, /* run->kernel: the node of the kernel is made */
};

/* A text that was loaded as a chunk; see cr_add_chunk.  Mistakes are blamed on the user's own
 * lines, so the files of a library are told apart. */
struct cr_chunk {
    char *path;
    bool library;
};

/* A line of a chunk; path is null if there is none. */
struct cr_line {
    const char *path;
    int number;
};

/* The function of a hosted run, and where its last line is. */
struct cr_host_function {
    lua_CFunction caller; /* of ours, below which are frames that have nothing to do with the run */
    struct cr_line end;
};

/* A value of the file of --config; those of tables within have names with dots, "a.b". */
struct cr_config_value {
    char *key, *text; /* as --set would have it; null where JSON says null */
    size_t top;       /* bytes of `key` that are the key at the top of the file */
    bool empty;       /* a table without values; `text` is null */
    int option;       /* that it is for; see script_options.c */
};

/* One run of a script. */
struct cr_run {
    lua_State *L; /* of a hosted run the one that called last: a coroutine's, maybe */
    bool hosted;  /* the script is a function, and the state not ours; see hosted.h */
    bool filled;  /* the state has the language: it ran a text before */
    bool no_lines; /* nodes do not say which lines they are of */
    struct cr_host_function function;
    struct cr_graph *graph;
    const char *path; /* of the script */
    const char *text; /* the script's own, if it is in memory */
    size_t length;
    bool builtin; /* modules are found among those built in only */
    char *folder; /* it lies in, with a slash behind, or "" */
    struct cr_error *error;
    bool reported; /* the error has its text */

    const struct cr_setting *settings;
    int n_settings;
    const char *config; /* a file of values for options, or null */
    struct cr_document *document; /* the file of `config`, if it is JSON */
    struct cr_config_value *values;
    int n_values, cap_values;
    const char *const *ignored; /* keys of `config` that are passed over */
    int n_ignored;
    char *note; /* see struct cr_script */
    struct cr_script_option *options;
    int n_options, cap_options;
    bool options_declared;

    struct cr_chunk *chunks;
    int n_chunks, cap_chunks;

    char scope[CR_NAME_MAX + 1]; /* "h.0.attn" */
    int n_scopes;
    int64_t scope_call, n_scope_calls; /* the number of the running call of scope, and how many there were */
    char *tied; /* see struct cr_script */
    char prefix[CR_NAME_MAX + 1]; /* before every parameter's name */
    bool in_dump;                 /* nodes come from `at`, not from the running line */
    struct cr_where at;
    int kernel, last_kernel; /* of a dump: of the nodes to come, and the largest so far */
    struct cr_line last_kernel_line;

    /* limits.c */
    struct cr_limits limits;
    size_t memory;  /* bytes that Lua holds */
    size_t largest; /* bytes of a block for which the hook need not be called sooner */
    long instructions;
    int period;                /* instructions from one call of the hook to the next */
    size_t work;               /* since the clock was read */
    int64_t started;           /* nanoseconds of processor time */
    int64_t opened, looked;    /* nanoseconds of the clock on the wall */
    bool watched;              /* the hook is set */
    bool trusted;              /* the front end fills a table, by keys that are no numbers */
    bool stopping;             /* an error that says which limit was passed is on its way */
    char passed[80];           /* the limit that was passed, or "" */
    struct cr_line refused_at; /* where the script was when memory was refused */

    /* Names of entries that replace was called with, "" for none.  Until the script has returned its
     * entries, what replaces a state is of the entry of such a number. */
    const char *replacing[CR_MAX_ENTRIES + 1];
    struct cr_line replacing_at[CR_MAX_ENTRIES + 1]; /* first */
    int n_replacing;

    int n_calls;      /* calls of Lua from C within each other */
    size_t n_printed; /* bytes */
    int64_t n_random; /* calls of random */
};

/* Kept of a hosted run: the table of the language. */
extern const char cr_language_key;

/* Ties a state to its run, and unties it. */
void cr_bind_run(lua_State *L, struct cr_run *run);
void cr_unbind_run(lua_State *L);

/* The run a state belongs to; raises if there is none, as behind the end of a hosted one. */
struct cr_run *cr_run_of(lua_State *L);

/* The same, or null. */
struct cr_run *cr_find_run(lua_State *L);

/* Pushes the table of one of Lua's libraries: opened, or in a hosted run that of the host, as opening it
 * would change globals and the methods of strings. */
void cr_push_library(lua_State *L, lua_CFunction open, const char *name);

/* Notes in run->passed that the limit of memory was passed. */
void cr_note_memory(struct cr_run *run);

/* The limit that was passed, in words; memory if none is noted. */
const char *cr_limit_passed(struct cr_run *run);

#endif
