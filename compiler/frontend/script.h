/*
 * script.h - runs a model script in a sandboxed Lua state and returns its graph.
 */
#ifndef CR_SCRIPT_H
#define CR_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/* A setting KEY=VALUE, as of --set. */
struct cr_setting {
    const char *key, *value;
    bool optional; /* the script need not declare the option */
};

/* An option that the script declared. */
struct cr_script_option {
    char *name, *value; /* name: the first member, which options are sorted by; value: as text */
};

struct cr_script {
    struct cr_graph *graph;
    struct cr_script_option *options; /* sorted by name */
    int n_options;
    char *note; /* a line listing ignored keys of a config.json; or null */
    char *tied; /* a line about a parameter that two layers of a scope declare; or null */
};

/* Limits of a script; docs/sandbox.md describes how each is measured. */
struct cr_limits {
    size_t memory;     /* bytes of Lua's values and the graph */
    double seconds;    /* processor time of the calling thread; wall time may exceed it by two */
    long instructions; /* Lua instructions */
};

extern const struct cr_limits cr_default_limits;

/* The release of Lua that runs scripts, "Lua 5.4.4". */
extern const char *const cr_lua_release;

/* The source of a script and of the values of its options. */
struct cr_script_source {
    const char *path;   /* of the script */
    const char *text;   /* a script in memory; `path` is then used for messages and by require */
    size_t length;
    const char *config; /* file of values, or null; settings override it unless they are optional */
    bool builtin;       /* require finds built-in modules only */
    bool quiet;         /* print writes nothing: the script has run before */
    const char *const *ignored; /* keys of `config` that are ignored */
    int n_ignored;
    const struct cr_limits *limits; /* or null: cr_default_limits */
};

/*
 * Runs the script of a source.  require("nn") searches the folder lib beside the script, the script's
 * own folder, then the built-in modules of graphs/lib; nothing else is accessible.  On failure the
 * error names the script and line, and nothing is left allocated.
 */
int cr_script_run(const struct cr_script_source *source, const struct cr_setting *settings,
                  int n_settings, struct cr_script *script, struct cr_error *error);

/* Runs a Lua function in place of a script.  It is on top of the stack, is called with the
 * language as its argument, and is popped.  If it raises an error value that is not a string,
 * that value is on top of the stack after the failure. */
struct lua_State;
int cr_script_run_function(struct lua_State *L, const struct cr_script_source *source,
                           const struct cr_setting *settings, int n_settings,
                           struct cr_script *script, struct cr_error *error);

void cr_script_free(struct cr_script *script);

/*
 * A session runs texts one after another in one Lua state; each text makes a separate graph.  A
 * module that several texts require is loaded once.  Nodes get no source lines.  The texts see only
 * built-in modules, and messages show `path` in place of the texts' names.
 */
struct cr_script_session;
struct cr_script_session *cr_script_session_new(const char *path);
int cr_script_session_run(struct cr_script_session *session, const char *text, size_t length,
                          struct cr_script *script, struct cr_error *error);
void cr_script_session_free(struct cr_script_session *session);

#endif
