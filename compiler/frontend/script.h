/*
 * script.h - runs a model script in a sandboxed Lua state and returns its graph.
 */
#ifndef CR_SCRIPT_H
#define CR_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/graph.h"

/* --set KEY=VALUE */
struct cr_setting {
    const char *key, *value;
    bool optional; /* a script need not have such an option */
};

/* An option the script declared, for reports. */
struct cr_script_option {
    char *name, *value; /* the value as text */
};

struct cr_script {
    struct cr_graph *graph;
    struct cr_script_option *options; /* sorted by name */
    int n_options;
    char *note; /* a line that names keys of a config.json that were passed over; or null */
    char *tied; /* a line that names a parameter that was declared twice in a scope; or null */
};

/* What a script may take.  docs/sandbox.md says how each is measured. */
struct cr_limits {
    size_t memory;     /* bytes: of Lua's values, and of the graph */
    double seconds;    /* processor time of the calling thread; two more may pass */
    long instructions; /* of Lua */
};

extern const struct cr_limits cr_default_limits;

/* The Lua that scripts run in, "Lua 5.4.4". */
extern const char *const cr_lua_release;

/*
 * Runs the script at `path`.  require("nn") looks in the folder lib beside the script, in the
 * script's own folder, and then among the files of graphs/lib built into the program; nothing
 * else is reachable.  On failure the error names the script and line and nothing is
 * left allocated.
 */
int cr_script_run(const char *path, const struct cr_setting *settings, int n_settings,
                  struct cr_script *script, struct cr_error *error);

/* Where a script and the values of its options come from. */
struct cr_script_source {
    const char *path;   /* of the script */
    const char *text;   /* of one in memory, for which `path` stands in messages and to require */
    size_t length;
    const char *config; /* a file of values, which settings override unless they are optional; or null */
    bool builtin;       /* require finds the modules built in, and no others */
    const char *const *ignored; /* keys of `config` that are passed over */
    int n_ignored;
};

/* The same for a source. */
int cr_script_run_from(const struct cr_script_source *source, const struct cr_setting *settings,
                       int n_settings, struct cr_script *script, struct cr_error *error);

/* The same within other limits than cr_default_limits. */
int cr_script_run_within(const struct cr_limits *limits, const char *path,
                         const struct cr_setting *settings, int n_settings,
                         struct cr_script *script, struct cr_error *error);

/* The same for a function of Lua in place of a text: it is on top of the stack, is called there, with the
 * language as its argument, and popped.  If it raises what is no text, that value stands in its
 * place after the failure. */
struct lua_State;
int cr_script_run_function(struct lua_State *L, const struct cr_script_source *source,
                           const struct cr_setting *settings, int n_settings,
                           struct cr_script *script, struct cr_error *error);

void cr_script_free(struct cr_script *script);

/*
 * Texts that run one after another, each of which makes a graph of its own, in one state: a module that they
 * require is loaded once.  Nodes do not say which lines they are of.  They see the modules that are built in and no others, and `path` stands for them
 * in messages.
 */
struct cr_script_session;
struct cr_script_session *cr_script_session_new(const char *path);
int cr_script_session_run(struct cr_script_session *session, const char *text, size_t length,
                          struct cr_script *script, struct cr_error *error);
void cr_script_session_free(struct cr_script_session *session);

#endif
