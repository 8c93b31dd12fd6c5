/*
 * script_state.h - the state of one run of a script, shared by all parts of the front end.
 *
 * A function that takes a lua_State may exit by a Lua error.  So such functions own no memory
 * that only they would free: memory outside Lua belongs to struct cr_run.
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
    CR_NAME_MAX = 255,             /* maximum length in bytes of a parameter's, scope's or
                                    * output's name */
    CR_MAX_NODES = 1 << 18,        /* maximum number of nodes of a graph */
    CR_KERNEL_TAKEN = CR_NONE - 1, /* value of run->kernel after that kernel got its node */
};

/* A text that was loaded as a chunk; see cr_add_chunk.  Files of a library are marked, since
 * errors are reported at lines of the user's own files. */
struct cr_chunk {
    char *path;
    bool library;
};

/* A line of a chunk; `path` is null if there is no line. */
struct cr_line {
    const char *path;
    int number;
};

/* Facts about a hosted run: its caller in this library, and the last line of the hosted
 * function. */
struct cr_host_function {
    lua_CFunction caller; /* the C function of this library that calls the hosted function; frames
                           * outside it do not belong to the run */
    struct cr_line end;
};

/* A value in the file of --config; a value in a nested table has a key with dots, "a.b". */
struct cr_config_value {
    char *key, *text; /* key: the first member, by which values are sorted; text: as for --set;
                       * null for JSON's null */
    size_t top;       /* bytes of the top-level key at the beginning of `key` */
    bool empty;       /* the value is an empty table; then `text` is null */
    int option;       /* index of the option for which the key stands; see script_options.c */
};

/* One run of a script. */
struct cr_run {
    lua_State *L; /* in a hosted run, the state of the last caller; it may be a coroutine */
    lua_Alloc allocate; /* the allocator of a state that belongs to this run alone */
    bool hosted;  /* the script is a function in the state of another program; see hosted.h */
    bool filled;  /* the state has the language already, since another text ran before */
    bool no_lines; /* nodes get no lines */
    struct cr_host_function function;
    struct cr_graph *graph;
    const char *path; /* path of the script's file */
    const char *text; /* text of a script in memory, or null */
    size_t length;
    bool builtin; /* require searches only built-in modules */
    bool quiet;   /* print writes nothing */
    char *folder; /* the script's folder with a slash at the end, or "" */
    struct cr_error *error;
    bool reported; /* the error is set */

    const struct cr_setting *settings;
    int n_settings;
    const char *config; /* the file of --config, or null */
    struct cr_document *document; /* the document in `config` if that is JSON */
    struct cr_config_value *values;
    int n_values, cap_values;
    const char *const *ignored; /* keys of `config` that the user wants to ignore */
    int n_ignored;
    char *note; /* a note for the user; see struct cr_script */
    struct cr_script_option *options;
    int n_options, cap_options;
    bool options_declared;

    struct cr_chunk *chunks;
    int n_chunks, cap_chunks;

    char scope[CR_NAME_MAX + 1]; /* path of the current scope, "h.0.attn" */
    int n_scopes;
    int64_t scope_call, n_scope_calls; /* number of the running call of scope; number of all calls
                                        * so far */
    char *tied; /* a note for the user; see struct cr_script */
    char prefix[CR_NAME_MAX + 1]; /* prefix of every parameter's name */
    bool in_dump;                 /* a printed graph runs: nodes get the origin `at`, not the
                                   * running line */
    struct cr_where at;
    int kernel, last_kernel; /* in a printed graph: the kernel of the next node; the largest
                              * kernel so far */
    struct cr_line last_kernel_line;

    /* the limits; see script_limits.c */
    struct cr_limits limits;
    struct cr_heap heap; /* the memory of a Lua state that uses the run's allocator */
    size_t memory;       /* bytes that Lua uses */
    bool collects;       /* the garbage collector is running */
    size_t largest;      /* block size up to which the hook's period is short enough */
    long instructions;
    int period;                /* instructions between two calls of the hook */
    size_t work;               /* units of cr_work since the clock was read */
    int64_t started;           /* processor time at the start of the run, in nanoseconds */
    int64_t opened, looked;    /* wall time at the start of the run and at the last check, in
                                * nanoseconds */
    bool watched;              /* the hook is set */
    bool trusted;              /* the front end fills a table, for which the size limit of a
                                * script's tables does not apply */
    bool stopping;             /* an error about a limit is being raised */
    char passed[80];           /* text of the limit that was exceeded, or "" */
    struct cr_line refused_at; /* the running line when memory was last refused */

    /* Names of entries in calls of replace, "" for a call without one.  Until the script has
     * returned its entries, cr_output.entry of a replacement is an index into this array. */
    const char *replacing[CR_MAX_ENTRIES + 1];
    struct cr_line replacing_at[CR_MAX_ENTRIES + 1]; /* by name: the first line that named the
                                                      * entry */
    int n_replacing;

    int n_calls;      /* depth of nested Lua calls from C */
    size_t n_printed; /* bytes printed so far */
    int64_t n_random; /* calls of random so far */
};

/* Key of cr_push_kept: in a hosted run, the table of the language. */
extern const char cr_language_key;

/* Connect a run to a Lua state, and disconnect it. */
void cr_bind_run(lua_State *L, struct cr_run *run);
void cr_unbind_run(lua_State *L);

/* Returns the run of a state.  Raises an error if there is none, as after the end of a hosted
 * run. */
struct cr_run *cr_run_of(lua_State *L);

/* Allocator of a state that belongs to the run alone; `data` is the run. */
void *cr_run_allocate(void *data, void *block, size_t old, size_t size);

/* Returns the run of a state; null if there is none. */
struct cr_run *cr_find_run(lua_State *L);

/* Pushes the table of one of Lua's libraries, which `open` opens.  In a hosted run it pushes the
 * host's table instead, since opening would change globals and the methods of strings. */
void cr_push_library(lua_State *L, lua_CFunction open, const char *name);

/* Records in run->passed that the memory limit was exceeded. */
void cr_note_memory(struct cr_run *run);

/* Returns the text of the limit that was exceeded; if none is recorded, of the memory limit. */
const char *cr_limit_passed(struct cr_run *run);

#endif
