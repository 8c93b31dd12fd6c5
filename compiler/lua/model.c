/* model.c - crescent.open and crescent.model: compile graphs, load weights and run models. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "classes.h"
#include "open_options.h"
#include "ports.h"
#include "run_lengths.h"

static const char class_name[] = "crescent.model";

/* A graph, and the model compiled from it. */
struct cr_lua_model {
    crescent_graph *graph;
    crescent_model *model;
    int64_t seed;
    int filled; /* true if the weights are set */
};

/* ---- opening ---- */

static int close_model(lua_State *L)
{
    struct cr_lua_model *m = luaL_checkudata(L, 1, class_name);
    crescent_close(m->model);
    crescent_graph_close(m->graph);
    *m = (struct cr_lua_model){0};
    return 0;
}

/* Returns the model that is the first argument; raises an error if it is closed. */
static struct cr_lua_model *self(lua_State *L)
{
    struct cr_lua_model *m = luaL_checkudata(L, 1, class_name);
    if (!m->model)
        luaL_argerror(L, 1, "the model is closed, expected an open one");
    return m;
}

/* True if all weights are in f32. */
static bool is_wide(const crescent_model *model)
{
    crescent_port port;
    for (int i = 0; !crescent_port_at(model, CRESCENT_PARAM, i, &port); i++)
        if (strcmp(port.format, "f32") != 0)
            return false;
    return true;
}

/* Compiles the graph.  The option `keep` decides whether weights can be saved later; without the
 * option they can if all are in f32. */
static void compile(lua_State *L, struct cr_lua_model *m, const struct cr_lua_open_options *o)
{
    for (int i = 0; i < o->n_taps; i++)
        cr_lua_pass(L, crescent_graph_tap(m->graph, o->taps[i], "taps"));
    if (o->grads)
        cr_lua_pass(L, crescent_graph_gradients(m->graph, o->cotangents, o->n_cotangents));
    cr_lua_pass(L, crescent_compile(m->graph, &o->config, &m->model));
    if (o->keep < 0 ? is_wide(m->model) : o->keep)
        cr_lua_pass(L, crescent_keep_weights(m->model));
    if (o->n_weights)
        cr_lua_fill_weights(L, m->model, o->weights, o->n_weights, m->seed);
    m->filled = o->n_weights > 0;
}

/* crescent.open(path, options): opens the model at a path */
static int open_path(lua_State *L)
{
    struct cr_lua_open_options o;
    const char *path = luaL_checkstring(L, 1);
    lua_settop(L, 2);
    struct cr_lua_model *m = cr_lua_new(L, sizeof *m, class_name);
    cr_lua_read_open_options(L, 2, NULL, &o);
    m->seed = o.seed;
    cr_lua_pass(L, crescent_graph_open(cr_lua_context(L), path, &o.script, &m->graph));
    compile(L, m, &o);
    lua_pushvalue(L, 3);
    return 1;
}

/* crescent.model(script, options): opens the model of a script's text, or of a function that
 * builds the graph. The option `name` stands for the path. */
static int open_model(lua_State *L)
{
    static const char *const more[] = {"name", NULL};
    struct cr_lua_open_options o;
    if (lua_type(L, 1) != LUA_TSTRING && lua_type(L, 1) != LUA_TFUNCTION)
        cr_lua_fail(L, "model: found %s, expected a function that returns outputs, or a script as a string",
                    luaL_typename(L, 1));
    lua_settop(L, 2);
    struct cr_lua_model *m = cr_lua_new(L, sizeof *m, class_name);
    cr_lua_read_open_options(L, 2, more, &o);
    const char *name = cr_lua_string_option(L, 2, "name");
    m->seed = o.seed;
    cr_lua_build_graph(L, 1, &o.script, name ? name : "model", &m->graph);
    compile(L, m, &o);
    lua_pushvalue(L, 3);
    return 1;
}

/* ---- weights ---- */

/* m:load(paths, {strict = true}): returns the model; the number of tensors in the files that the
 * model does not use; and the name of the first of these. */
static int load(lua_State *L)
{
    static const char *const known[] = {"strict", NULL};
    struct cr_lua_model *m = self(L);
    crescent_surplus surplus = {0};
    int n;
    lua_settop(L, 3);
    cr_lua_check_options(L, 3, known, NULL);
    int strict = cr_lua_flag_option(L, 3, "strict", 0);
    const char **paths = cr_lua_strings(L, 2, "load", &n);
    const char *own = crescent_weights_path(m->model);
    if (!n && own) {
        paths[0] = own; /* the array has room for one path even if n is 0 */
        n = 1;
    }
    m->filled = 0;
    cr_lua_pass(L, crescent_load_weights(m->model, paths, n,
                                         strict ? CRESCENT_MODEL_TENSORS_ONLY : CRESCENT_ANY_TENSORS,
                                         &surplus));
    m->filled = 1;
    lua_pushvalue(L, 1);
    cr_lua_push_integer(L, surplus.count);
    lua_pushstring(L, surplus.count ? surplus.name : NULL);
    return 3;
}

/* m:load_bytes(bytes, {strict = true, name = "weights"}): does the same for the contents of a
 * file, a string. */
static int load_bytes(lua_State *L)
{
    static const char *const known[] = {"strict", "name", NULL};
    struct cr_lua_model *m = self(L);
    crescent_surplus surplus = {0};
    size_t length;
    lua_settop(L, 3);
    cr_lua_check_options(L, 3, known, NULL);
    const char *bytes = luaL_checklstring(L, 2, &length);
    const char *name = cr_lua_string_option(L, 3, "name");
    int strict = cr_lua_flag_option(L, 3, "strict", 0);
    m->filled = 0;
    cr_lua_pass(L, crescent_load_weights_bytes(
                       m->model, name ? name : "weights", bytes, length,
                       strict ? CRESCENT_MODEL_TENSORS_ONLY : CRESCENT_ANY_TENSORS, &surplus));
    m->filled = 1;
    lua_pushvalue(L, 1);
    cr_lua_push_integer(L, surplus.count);
    lua_pushstring(L, surplus.count ? surplus.name : NULL);
    return 3;
}

/* If the weights are not set, loads those of the model's folder or draws random ones. */
static void fill_weights(lua_State *L, struct cr_lua_model *m)
{
    if (!m->filled)
        cr_lua_fill_weights(L, m->model, NULL, 0, m->seed);
    m->filled = 1;
}

/* m:draw(seed): draws random weights */
static int draw(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    cr_lua_pass(L, crescent_draw_weights(m->model, (int64_t)luaL_optnumber(L, 2, 0)));
    m->filled = 1;
    lua_settop(L, 1);
    return 1;
}

/* m:save(path): saves the weights */
static int save(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    const char *path = luaL_checkstring(L, 2);
    fill_weights(L, m);
    cr_lua_pass(L, crescent_save_weights(m->model, path));
    lua_settop(L, 1);
    return 1;
}

/* Returns a copy of a weight or a state, or sets it to the tensor that is argument 3. */
static int get_or_set(lua_State *L, crescent_port_kind kind)
{
    struct cr_lua_model *m = self(L);
    const bool is_weight = kind == CRESCENT_PARAM;
    lua_settop(L, 3);
    int i = cr_lua_port_named(L, m->model, kind, 2);
    crescent_port port = cr_lua_port(L, m->model, kind, i);
    if (is_weight)
        fill_weights(L, m);
    if (lua_isnil(L, 3)) {
        void *to = cr_lua_new_tensor(L, &port)->data;
        cr_lua_pass(L, is_weight ? crescent_get_weight(m->model, i, to) : crescent_get_state(m->model, i, to));
        return 1;
    }
    const void *from = cr_lua_take_tensor(L, 3, &port, port.name)->data;
    cr_lua_pass(L, is_weight ? crescent_set_weight(m->model, i, from) : crescent_set_state(m->model, i, from));
    lua_settop(L, 1);
    return 1;
}

/* m:weight(name): returns a copy of a weight; m:weight(name, tensor): sets the weight. */
static int weight(lua_State *L)
{
    return get_or_set(L, CRESCENT_PARAM);
}

/* ---- runs ---- */

/* Raises an error unless every key of the table at `index` is the name of an input or, if
 * `cotangents`, of a value whose cotangent is an input. */
static void check_names(lua_State *L, const struct cr_lua_model *m, int index, int cotangents)
{
    int number;
    if (lua_isnil(L, index))
        return;
    luaL_checktype(L, index, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            cr_lua_fail(L, "run: found an input without a name, expected {x = tensor}");
        const char *name = lua_tostring(L, -2);
        int known = 0;
        for (int i = 0; cotangents && i < crescent_port_count(m->model, CRESCENT_INPUT); i++) {
            const char *of = cr_lua_port(L, m->model, CRESCENT_INPUT, i).of;
            known |= of && strcmp(of, name) == 0;
        }
        if (!cotangents)
            cr_lua_pass(L, crescent_input_find(m->model, name, NULL, &number));
        else if (!known)
            cr_lua_fail(L,
                        "run: found the cotangent of %.200s, expected one of the option cotangents",
                        name);
        lua_pop(L, 1);
    }
}

/* Pushes the tensor that the caller gave for an input.  A cotangent that is not given is all
 * ones. */
static struct cr_lua_tensor *take_input(lua_State *L, const struct cr_lua_model *m, int number,
                                        const void *const *inputs)
{
    char what[200], shape[100];
    const crescent_port given = cr_lua_port(L, m->model, CRESCENT_INPUT, number), *port = &given;
    int table = port->of ? 3 : 2;
    snprintf(what, sizeof what, "%s %.150s", port->of ? "cotangent" : "input",
             port->of ? port->of : port->name);
    if (lua_isnil(L, table))
        lua_pushnil(L);
    else
        lua_getfield(L, table, port->of ? port->of : port->name);
    if (lua_isnil(L, -1) && port->of)
        lua_pushnumber(L, 1);
    if (lua_isnil(L, -1))
        cr_lua_fail(L, "%s: found no tensor, expected one of %s %s", what,
                    crescent_type_name(port->type),
                    crescent_shape_text(shape, sizeof shape, port->rank, port->shape));
    return cr_lua_take_sized(L, m->model, number, -1, inputs, what);
}

/* Sets the tensors of inputs that are lengths, and writes the lengths into them; other tensors
 * stay null. */
static void take_lengths(lua_State *L, const struct cr_lua_model *m, const void **inputs, int kept)
{
    int some = 0;
    for (int i = 0; i < crescent_port_count(m->model, CRESCENT_INPUT); i++) {
        crescent_port port = cr_lua_port(L, m->model, CRESCENT_INPUT, i);
        if (!cr_lua_is_length(L, m->model, i))
            continue;
        inputs[i] = cr_lua_new_tensor(L, &port)->data;
        lua_rawseti(L, kept, i + 1);
        some = 1;
    }
    if (some)
        cr_lua_take_lengths(L, m->model, 2, (void *const *)inputs);
}

/* Reshapes the outputs in the table on top of the stack to their actual sizes. */
static void pack_outputs(lua_State *L, const struct cr_lua_model *m, const void *const *inputs)
{
    for (int i = 0; i < crescent_port_count(m->model, CRESCENT_OUTPUT); i++) {
        crescent_port port = cr_lua_port(L, m->model, CRESCENT_OUTPUT, i), sized;
        cr_lua_pass(L, crescent_sized_port(m->model, CRESCENT_OUTPUT, i, inputs, &sized));
        if (port.of || memcmp(sized.shape, port.shape, sizeof port.shape) == 0)
            continue;
        lua_getfield(L, -1, port.name);
        struct cr_lua_tensor *t = cr_lua_take_tensor(L, -1, &port, port.name); /* the output's own
                                                                                * tensor */
        crescent_pack(&port, &sized, sizeof(float), t->data, t->data);
        memcpy(t->shape, sized.shape, sizeof t->shape);
        lua_pop(L, 2);
    }
}

/* Adds a new tensor for an output to the table at the stack index `outputs` or, for a gradient,
 * `gradients`; returns its memory. */
static void *add_output(lua_State *L, const crescent_port *port, int outputs, int gradients)
{
    struct cr_lua_tensor *t = cr_lua_new_tensor(L, port);
    lua_setfield(L, port->of ? gradients : outputs, port->of ? port->of : port->name);
    return t->data;
}

/* m:run(inputs, cotangents): returns a table of outputs, and a table of gradients if the model
 * has any. */
static int run(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    lua_settop(L, 3);
    check_names(L, m, 2, 0);
    check_names(L, m, 3, 1);
    fill_weights(L, m);
    int n_inputs = crescent_port_count(m->model, CRESCENT_INPUT), some = 0;
    int n_outputs = crescent_port_count(m->model, CRESCENT_OUTPUT);
    const void **inputs = cr_lua_scratch(L, (size_t)n_inputs, sizeof *inputs);
    void **outputs = cr_lua_scratch(L, (size_t)n_outputs, sizeof *outputs);
    lua_newtable(L); /* keeps the inputs alive */
    int kept = lua_gettop(L);
    take_lengths(L, m, inputs, kept);
    for (int i = 0; i < n_inputs; i++) {
        if (inputs[i])
            continue;
        inputs[i] = take_input(L, m, i, inputs)->data;
        lua_rawseti(L, kept, i + 1);
        lua_settop(L, kept);
    }
    lua_newtable(L);
    lua_newtable(L);
    for (int i = 0; i < n_outputs; i++) {
        crescent_port port = cr_lua_port(L, m->model, CRESCENT_OUTPUT, i);
        outputs[i] = add_output(L, &port, kept + 1, kept + 2);
        some |= port.of != NULL;
    }
    cr_lua_pass(L, crescent_run(m->model, inputs, outputs));
    lua_pushvalue(L, kept + 1);
    pack_outputs(L, m, inputs);
    lua_settop(L, kept + 1 + some);
    return 1 + some;
}

/* m:input(name, seed): returns an input with the random values that `crescent run` would draw. */
static int input(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    int number = cr_lua_port_named(L, m->model, CRESCENT_INPUT, 2);
    int64_t seed = (int64_t)luaL_optnumber(L, 3, (lua_Number)m->seed);
    crescent_port port = cr_lua_port(L, m->model, CRESCENT_INPUT, number);
    struct cr_lua_tensor *t = cr_lua_new_tensor(L, &port);
    cr_lua_pass(L, crescent_draw_input(m->model, number, seed, t->data));
    return 1;
}

/* m:state(name): returns a copy of a state; m:state(name, tensor): sets the state. */
static int state(lua_State *L)
{
    return get_or_set(L, CRESCENT_STATE);
}

/* m:reset(): sets all states to zeros. */
static int reset(lua_State *L)
{
    cr_lua_pass(L, crescent_reset_states(self(L)->model));
    lua_settop(L, 1);
    return 1;
}

/* ---- properties ---- */

static int params(lua_State *L)
{
    cr_lua_push_ports(L, self(L)->model, CRESCENT_PARAM);
    return 1;
}

static int inputs(lua_State *L)
{
    cr_lua_push_ports(L, self(L)->model, CRESCENT_INPUT);
    return 1;
}

static int outputs(lua_State *L)
{
    cr_lua_push_ports(L, self(L)->model, CRESCENT_OUTPUT);
    return 1;
}

static int states(lua_State *L)
{
    cr_lua_push_ports(L, self(L)->model, CRESCENT_STATE);
    return 1;
}

static int report(lua_State *L)
{
    cr_lua_push_report(L, self(L)->model);
    return 1;
}

/* m:options(): returns a table of the script's options, with their values as texts. */
static int options(lua_State *L)
{
    const crescent_graph *graph = self(L)->graph;
    crescent_setting option;
    lua_newtable(L);
    for (int i = 0; i < crescent_graph_option_count(graph); i++) {
        cr_lua_pass(L, crescent_graph_option_at(graph, i, &option));
        cr_lua_set_string(L, option.key, option.value);
    }
    return 1;
}

/* ---- C ---- */

static const char *const emit_options[] = {"isa", "skip", "max_arena", "format", "arithmetic", "target",
                                           "train", NULL};

/* Reads the table of options at `index` for emitting C; the options in the list `more` are also
 * allowed. */
static crescent_config emit_config(lua_State *L, int index, const char *const *more)
{
    cr_lua_check_options(L, index, emit_options, more);
    crescent_config config = {.isa = cr_lua_string_option(L, index, "isa"),
                              .format = cr_lua_string_option(L, index, "format"),
                              .arithmetic = cr_lua_string_option(L, index, "arithmetic"),
                              .target = cr_lua_string_option(L, index, "target"),
                              .max_arena = cr_lua_integer_option(L, index, "max_arena", 0)};
    if (!lua_isnoneornil(L, index)) {
        lua_getfield(L, index, "skip");
        config.skip = cr_lua_strings(L, -1, "skip", &config.n_skip);
    }
    return config;
}

/* m:emit("f.c", options): writes f.c and f.h; m:emit(nil, options): returns both as strings. */
static int emit(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    char *source, *header;
    lua_settop(L, 3);
    const char *path = luaL_optstring(L, 2, NULL);
    crescent_config config = emit_config(L, 3, NULL);
    crescent_emit_kind kind =
        cr_lua_flag_option(L, 3, "train", 0) ? CRESCENT_EMIT_STEP : CRESCENT_EMIT_RUN;
    if (path) {
        cr_lua_pass(L, crescent_emit(m->graph, &config, kind, path, NULL));
        lua_settop(L, 1);
        return 1;
    }
    char name[300];
    snprintf(name, sizeof name, "%.250s.h", crescent_graph_name(m->graph));
    cr_lua_pass(L, crescent_emit_text(m->graph, &config, kind, name, &source, &header));
    cr_lua_push_text(L, source);
    cr_lua_push_text(L, header);
    return 2;
}

/* m:dump(pass, options): returns the graph or program after a pass as text, as `crescent dump
 * --after` prints it. */
static int dump(lua_State *L)
{
    struct cr_lua_model *m = self(L);
    char *text;
    const char *pass = luaL_checkstring(L, 2);
    lua_settop(L, 3);
    crescent_config config = emit_config(L, 3, NULL);
    cr_lua_pass(L, crescent_dump(m->graph, &config, pass, &text));
    cr_lua_push_text(L, text);
    return 1;
}

/* m:explain("f.html", options): writes a page; m:explain(nil, options): returns it as a string. */
static int explain(lua_State *L)
{
    static const char *const more[] = {"as", "bench", "check", "inputs", NULL};
    struct cr_lua_model *m = self(L);
    crescent_report report;
    lua_settop(L, 3);
    crescent_config config = emit_config(L, 3, more);
    cr_lua_pass(L, crescent_report_of(m->model, &report));
    config.threads = report.threads;
    fill_weights(L, m);
    return cr_lua_explain(L, m->graph, m->model, &config, m->seed);
}

static int describe(lua_State *L)
{
    struct cr_lua_model *m = luaL_checkudata(L, 1, class_name);
    lua_pushfstring(L, "crescent.model (%s)", m->graph ? crescent_graph_name(m->graph) : "closed");
    return 1;
}

/* ---- the class ---- */

/* Adds the class of models, and the functions that open them. */
void cr_lua_add_models(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"load", load},       {"load_bytes", load_bytes}, {"draw", draw},       {"save", save},       {"weight", weight},
        {"run", run},         {"input", input},     {"state", state},     {"reset", reset},
        {"params", params},   {"inputs", inputs},   {"outputs", outputs}, {"states", states},
        {"options", options}, {"report", report},   {"emit", emit},       {"dump", dump},
        {"explain", explain},
        {"close", close_model}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {
        {"__gc", close_model}, {"__tostring", describe}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"open", open_path}, {"model", open_model}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
