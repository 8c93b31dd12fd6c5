/*
 * script.h - runs a model script in a sandboxed Lua state and returns its graph.
 */
#ifndef CR_SCRIPT_H
#define CR_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/* A setting KEY=VALUE, given by --set. */
struct cr_setting {
    const char *key, *value;
    bool optional; /* the setting is ignored if the script declares no such option */
};

/* An option that the script declared. */
struct cr_script_option {
    char *name, *value; /* name: the first member, by which options are sorted; value: as text */
};

struct cr_script {
    struct cr_graph *graph;
    struct cr_script_option *options; /* sorted by name */
    int n_options;
    char *note; /* a line for the user that lists ignored keys of a config.json; or null */
    char *tied; /* a line for the user about a parameter declared by two layers of a scope; or
                 * null */
};

/* Limits of a script; docs/sandbox.md describes how each is measured. */
struct cr_limits {
    size_t memory;     /* bytes of all Lua values and of the graph */
    double seconds;    /* processor time of the calling thread; wall time may be 50 seconds more */
    long instructions; /* Lua instructions */
};

extern const struct cr_limits cr_default_limits;

/* The release of Lua that runs scripts, "Lua 5.4.4". */
extern const char *const cr_lua_release;

/* Where a script and the values of its options come from. */
struct cr_script_source {
    const char *path;   /* the script's file */
    const char *text;   /* the script's text if it is in memory; then `path` is only used by
                         * messages and require */
    size_t length;
    const char *config; /* file of values for options, or null; settings override it unless they
                         * are optional */
    bool builtin;       /* require searches only built-in modules */
    bool quiet;         /* print writes nothing, because the script has run before */
    const char *const *ignored; /* keys of `config` that the user wants to ignore */
    int n_ignored;
    const struct cr_limits *limits; /* null: cr_default_limits */
};

/*
 * Runs the script of a source.  require("nn") searches the folder lib beside the script, then the
 * script's own folder, then the built-in modules of graphs/lib; the script can read no other
 * files.  On failure the error names the script and line, and the caller has nothing to free.
 */
int cr_script_run(const struct cr_script_source *source, const struct cr_setting *settings,
                  int n_settings, struct cr_script *script, struct cr_error *error);

/* Calls a Lua function instead of running a script.  The function is on top of the stack of L,
 * gets the language as its argument, and is popped.  If it raises an error value that is not a
 * string, that value is on top of the stack afterwards. */
struct lua_State;
int cr_script_run_function(struct lua_State *L, const struct cr_script_source *source,
                           const struct cr_setting *settings, int n_settings,
                           struct cr_script *script, struct cr_error *error);

void cr_script_free(struct cr_script *script);

/*
 * A session runs texts one after another in one Lua state; each text builds a graph of its own.
 * A module that several texts require is loaded once.  Nodes get no source lines.  The texts can
 * require only built-in modules, and messages show `path` instead of a text's name.
 */
struct cr_script_session;
struct cr_script_session *cr_script_session_new(const char *path);
int cr_script_session_run(struct cr_script_session *session, const char *text, size_t length,
                          struct cr_script *script, struct cr_error *error);
void cr_script_session_free(struct cr_script_session *session);

#endif
