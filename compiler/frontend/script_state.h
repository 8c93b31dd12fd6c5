/*
 * script_state.h - the state of one run of a script, which all of the front end works on.
 *
 * A function that takes a lua_State may exit by a Lua error.  So such functions hold no memory that
 * only they would free: memory outside Lua belongs to struct cr_run.
 */
#ifndef CR_SCRIPT_STATE_H
#define CR_SCRIPT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "luaapi.h"
#include "script.h"

enum {
    CR_NAME_MAX = 255,             /* bytes of a parameter's, scope's or output's name */
    CR_MAX_NODES = 1 << 18,        /* nodes of a graph */
    CR_KERNEL_TAKEN = CR_NONE - 1, /* run->kernel: its node exists already */
};

/* A text that was loaded as a chunk; see cr_add_chunk.  Errors are reported at the user's own
 * lines, so files of a library are marked. */
struct cr_chunk {
    char *path;
    bool library;
};

/* A line of a chunk; path is null if there is none. */
struct cr_line {
    const char *path;
    int number;
};

/* The function of a hosted run, and its last line. */
struct cr_host_function {
    lua_CFunction caller; /* the C function of this library that calls the script; frames below
                             it do not belong to the run */
    struct cr_line end;
};

/* A value in the file of --config; in a nested table its key has dots, "a.b". */
struct cr_config_value {
    char *key, *text; /* key: the first member, which values are sorted by; text: as for --set; null
                       * where JSON has null */
    size_t top;       /* bytes of the top-level key in `key` */
    bool empty;       /* an empty table; `text` is null */
    int option;       /* number of the option that it sets; see script_options.c */
};

/* One run of a script. */
struct cr_run {
    lua_State *L; /* in a hosted run, the state of the last caller, possibly a coroutine */
    lua_Alloc allocate; /* the allocator of a state that belongs to the run */
    bool hosted;  /* the script is a function, and the state is its program's; see hosted.h */
    bool filled;  /* the state has the language: another text ran before */
    bool no_lines; /* nodes get no lines */
    struct cr_host_function function;
    struct cr_graph *graph;
    const char *path; /* of the script */
    const char *text; /* the script, if it is in memory */
    size_t length;
    bool builtin; /* only built-in modules are searched */
    bool quiet;   /* print writes nothing */
    char *folder; /* its folder with a slash at the end, or "" */
    struct cr_error *error;
    bool reported; /* the error is set */

    const struct cr_setting *settings;
    int n_settings;
    const char *config; /* a file of values for options, or null */
    struct cr_document *document; /* the file of `config`, if it is JSON */
    struct cr_config_value *values;
    int n_values, cap_values;
    const char *const *ignored; /* keys of `config` that are ignored */
    int n_ignored;
    char *note; /* see struct cr_script */
    struct cr_script_option *options;
    int n_options, cap_options;
    bool options_declared;

    struct cr_chunk *chunks;
    int n_chunks, cap_chunks;

    char scope[CR_NAME_MAX + 1]; /* "h.0.attn" */
    int n_scopes;
    int64_t scope_call, n_scope_calls; /* the running call of scope; count of all calls */
    char *tied; /* see struct cr_script */
    char prefix[CR_NAME_MAX + 1]; /* prefix of every parameter's name */
    bool in_dump;                 /* nodes get the origin `at`, not the running line */
    struct cr_where at;
    int kernel, last_kernel; /* in a dump: the kernel of the nodes that follow; largest so far */
    struct cr_line last_kernel_line;

    /* script_limits.c */
    struct cr_limits limits;
    struct cr_heap heap; /* the memory of a state with the run's allocator */
    size_t memory;       /* bytes that Lua uses */
    bool collects;       /* the garbage collector runs */
    size_t largest;      /* size of a block up to which the hook's period is short enough */
    long instructions;
    int period;                /* instructions between two calls of the hook */
    size_t work;               /* work since the clock was read */
    int64_t started;           /* processor time at the start, in nanoseconds */
    int64_t opened, looked;    /* wall time at the start and at the last check, in nanoseconds */
    bool watched;              /* the hook is set */
    bool trusted;              /* the front end fills a table, with keys that are not numbers */
    bool stopping;             /* an error about the limit is being raised */
    char passed[80];           /* the limit that was exceeded, or "" */
    struct cr_line refused_at; /* the line that ran when memory was refused */

    /* Names of the entries in calls of replace, "" for none.  Until the script has returned its
     * entries, a replacement's `entry` is an index here. */
    const char *replacing[CR_MAX_ENTRIES + 1];
    struct cr_line replacing_at[CR_MAX_ENTRIES + 1]; /* first line that named it */
    int n_replacing;

    int n_calls;      /* nesting of Lua calls from C */
    size_t n_printed; /* bytes */
    int64_t n_random; /* calls of random so far */
};

/* kept in a hosted run: the table of the language */
extern const char cr_language_key;

/* Bind a run to a state, and unbind it. */
void cr_bind_run(lua_State *L, struct cr_run *run);
void cr_unbind_run(lua_State *L);

/* Returns the run of a state; raises an error if there is none, as after the end of a hosted
 * run. */
struct cr_run *cr_run_of(lua_State *L);

/* The allocator of a state that belongs to the run alone; `data` is the run. */
void *cr_run_allocate(void *data, void *block, size_t old, size_t size);

/* Returns the run of a state, or null. */
struct cr_run *cr_find_run(lua_State *L);

/* Pushes the table of one of Lua's libraries, after opening the library.  In a hosted run it pushes
 * the host's table, since opening would change globals and the methods of strings. */
void cr_push_library(lua_State *L, lua_CFunction open, const char *name);

/* Records in run->passed that the limit of memory was exceeded. */
void cr_note_memory(struct cr_run *run);

/* Returns the limit that was exceeded, in words; memory if none is recorded. */
const char *cr_limit_passed(struct cr_run *run);

#endif
