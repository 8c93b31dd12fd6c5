/* explain.c - m:explain: explains how a model was compiled, as a page, a document or a trace. */
#include <string.h>

#include "classes.h"
#include "open_options.h"
#include "ports.h"

static const char class_name[] = "crescent.explanation";

struct cr_lua_explanation {
    crescent_explanation *explanation;
    crescent_file *file;
};

static int close_explanation(lua_State *L)
{
    struct cr_lua_explanation *e = luaL_checkudata(L, 1, class_name);
    crescent_file_close(e->file);
    crescent_explanation_close(e->explanation);
    *e = (struct cr_lua_explanation){0};
    return 0;
}

/* Loads weights into the explanation's model: those that the model `from` kept, else those of its
 * folder, else random ones. */
static void fill(lua_State *L, crescent_model *to, const crescent_model *from, int64_t seed)
{
    int n = crescent_port_count(from, CRESCENT_PARAM);
    cr_lua_pass(L, crescent_keep_weights(to));
    cr_lua_fill_weights(L, to, NULL, 0, seed);
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, from, CRESCENT_PARAM, i);
        struct cr_lua_tensor *t = cr_lua_new_tensor(L, &port);
        if (crescent_get_weight(from, i, t->data) == CRESCENT_OK)
            cr_lua_pass(L, crescent_set_weight(to, i, t->data));
        lua_pop(L, 1);
    }
}

/* Returns pointers to tensors for all ports of a kind: inputs are taken from the option `inputs`
 * or drawn; outputs are uninitialised.  The tensors stay on the stack. */
static void **tensors(lua_State *L, const crescent_model *model, crescent_port_kind kind, int64_t seed)
{
    int n = crescent_port_count(model, kind);
    void **data = cr_lua_scratch(L, (size_t)n, sizeof *data);
    lua_newtable(L); /* keeps the tensors alive */
    for (int i = 0; i < n; i++) {
        crescent_port port = cr_lua_port(L, model, kind, i);
        lua_getfield(L, 3, "inputs");
        if (kind == CRESCENT_INPUT && lua_istable(L, -1))
            lua_getfield(L, -1, port.name);
        else
            lua_pushnil(L);
        int given = !lua_isnil(L, -1);
        struct cr_lua_tensor *t =
            given ? cr_lua_take_tensor(L, -1, &port, port.name) : cr_lua_new_tensor(L, &port);
        if (!given && kind == CRESCENT_INPUT)
            cr_lua_pass(L, crescent_draw_input(model, i, seed, t->data));
        data[i] = t->data;
        lua_pushvalue(L, -1);
        lua_rawseti(L, -5, i + 1);
        lua_settop(L, -4);
    }
    return data;
}

/* Checks and measures the explanation's model as the options `check` and `bench` request.  The
 * check comes first, since it needs the initial states. */
static void measure(lua_State *L, crescent_explanation *e, const crescent_model *from, int64_t seed,
                    int trace)
{
    crescent_model *model;
    int check = cr_lua_flag_option(L, 3, "check", 0);
    double seconds = cr_lua_number_option(L, 3, "bench", trace ? 0.2 : 0);
    if (!check && seconds <= 0)
        return;
    cr_lua_pass(L, crescent_explanation_model(e, &model));
    fill(L, model, from, seed);
    const void *const *inputs = (const void *const *)tensors(L, model, CRESCENT_INPUT, seed);
    void **outputs = tensors(L, model, CRESCENT_OUTPUT, seed);
    if (check)
        cr_lua_pass(L, crescent_explanation_check(e, inputs, outputs));
    if (seconds > 0)
        cr_lua_pass(L, crescent_explanation_measure(e, inputs, outputs, seconds));
}

/* Returns the format: of the option `as`; without it JSON if the path ends in .json, else an HTML
 * page. */
static crescent_explanation_format read_format(lua_State *L, const char *path)
{
    static const char *const names[] = {"json", "html", "trace"};
    const char *as = cr_lua_string_option(L, 3, "as"), *dot = path ? strrchr(path, '.') : NULL;
    for (int i = 0; as && i < CRESCENT_EXPLAIN_FORMATS; i++)
        if (strcmp(as, names[i]) == 0)
            return (crescent_explanation_format)i;
    if (as)
        cr_lua_fail(L, "option as: found %.60s, expected html, json or trace", as);
    return dot && strcmp(dot, ".json") == 0 ? CRESCENT_EXPLAIN_JSON : CRESCENT_EXPLAIN_HTML;
}

static void write_text(lua_State *L, struct cr_lua_explanation *e, const char *path)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    cr_lua_pass(L, crescent_file_open(cr_lua_context(L), path, &e->file));
    cr_lua_pass(L, crescent_file_put(e->file, text, length));
    cr_lua_pass(L, crescent_file_finish(e->file));
    cr_lua_pass(L, crescent_file_commit(e->file));
}

int cr_lua_explain(lua_State *L, const crescent_graph *graph, const crescent_model *model,
                   const crescent_config *config, int64_t seed)
{
    char *text;
    size_t length;
    const char *path = luaL_optstring(L, 2, NULL);
    if (lua_isnil(L, 3)) {
        lua_newtable(L);
        lua_replace(L, 3);
    }
    crescent_explanation_format format = read_format(L, path);
    struct cr_lua_explanation *e = cr_lua_new(L, sizeof *e, class_name);
    cr_lua_pass(L, crescent_explain(graph, config, &e->explanation));
    measure(L, e->explanation, model, seed, format == CRESCENT_EXPLAIN_TRACE);
    cr_lua_pass(L, crescent_explanation_text(e->explanation, NULL, format, &text, &length));
    cr_lua_push_text(L, text);
    if (!path)
        return 1;
    write_text(L, e, path);
    lua_settop(L, 1);
    return 1;
}

void cr_lua_add_explanations(lua_State *L)
{
    static const luaL_Reg metamethods[] = {{"__gc", close_explanation}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, NULL, metamethods};
    cr_lua_add_class(L, &class);
}
