/* call_cache.c - runs scripts of one call each and caches their graphs; see call_cache.h. */
#include "call_cache.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

/* The chunk name of the scripts, and the location at the begin of the front end's messages about
 * them. */
#define CHUNK "call"
#define CHUNK_LINE CHUNK ":1: "

struct cr_onnx_calls {
    struct cr_script_session *session;
    struct cr_names texts; /* the texts of the calls, owned */
    struct cr_script *scripts;
    int n, cap;
};

struct cr_onnx_calls *cr_onnx_calls_new(void)
{
    struct cr_onnx_calls *calls = cr_calloc(1, sizeof *calls);
    calls->session = cr_script_session_new(CHUNK);
    return calls;
}

/* Frees the cache with the texts and graphs of its calls. */
void cr_onnx_calls_free(struct cr_onnx_calls *calls)
{
    if (!calls)
        return;
    for (int i = 0; i < calls->n; i++) {
        free((char *)calls->texts.items[i]);
        cr_script_free(&calls->scripts[i]);
    }
    cr_names_free(&calls->texts);
    free(calls->scripts);
    cr_script_session_free(calls->session);
    free(calls);
}

/* Copies an error without the parts that say where it happened: the "call:1: " of the script and
 * the line of graphs/lib. */
static void fail(const struct cr_error *found, struct cr_error *error)
{
    const char *text = found->text;
    if (strncmp(text, CHUNK_LINE, strlen(CHUNK_LINE)) == 0)
        text += strlen(CHUNK_LINE);
    const char *library = strstr(text, " (in graphs/lib/");
    cr_fail(error, "%.*s", library ? (int)(library - text) : (int)strlen(text), text);
}

/* Returns the graph in the cache; runs the text as a script only if the cache does not have it. */
const struct cr_graph *cr_onnx_calls_run(struct cr_onnx_calls *calls, const char *text,
                                         struct cr_error *error)
{
    struct cr_error own = {""};
    struct cr_script script;
    int known = cr_names_find(&calls->texts, text);
    if (known >= 0)
        return calls->scripts[known].graph;
    if (cr_script_session_run(calls->session, text, strlen(text), &script, &own)) {
        fail(&own, error);
        return NULL;
    }
    cr_names_add(&calls->texts, cr_strdup(text));
    *CR_PUSH(calls->scripts, calls->n, calls->cap) = script;
    return script.graph;
}
