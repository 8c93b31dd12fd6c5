/* trainer.c - crescent.trainer: trains a model; the script is one training step. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "classes.h"
#include "open_options.h"
#include "ports.h"

static const char class_name[] = "crescent.trainer";

struct cr_lua_trainer {
    crescent_graph *graph;
    crescent_checkpoint *checkpoint; /* the checkpoint that the option `resume` names, or null */
    crescent_trainer *trainer;
    int started;
};

/* ---- opening ---- */

static int close_trainer(lua_State *L)
{
    struct cr_lua_trainer *t = luaL_checkudata(L, 1, class_name);
    crescent_trainer_close(t->trainer);
    crescent_checkpoint_close(t->checkpoint);
    crescent_graph_close(t->graph);
    *t = (struct cr_lua_trainer){0};
    return 0;
}

static struct cr_lua_trainer *self(lua_State *L)
{
    struct cr_lua_trainer *t = luaL_checkudata(L, 1, class_name);
    if (!t->trainer)
        luaL_argerror(L, 1, "found a closed trainer, expected an open one");
    return t;
}

/* Takes the seed and the script's options from a checkpoint, unless the caller sets them. */
static void take_settings(lua_State *L, struct cr_lua_trainer *t, const char *path,
                          struct cr_lua_open_options *o)
{
    cr_lua_pass(L, crescent_checkpoint_open(cr_lua_context(L), path, &t->checkpoint));
    int n = crescent_checkpoint_option_count(t->checkpoint);
    crescent_setting *defaults = cr_lua_scratch(L, (size_t)n, sizeof *defaults);
    for (int i = 0; i < n; i++)
        cr_lua_pass(L, crescent_checkpoint_option_at(t->checkpoint, i, &defaults[i]));
    o->script.defaults = defaults;
    o->script.n_defaults = n;
    lua_getfield(L, 2, "seed");
    if (lua_isnil(L, -1))
        o->seed = o->script.seed = crescent_checkpoint_seed(t->checkpoint);
    lua_pop(L, 1);
}

/* Starts the training if it has not started yet. */
static void start(lua_State *L, struct cr_lua_trainer *t)
{
    if (!t->started)
        cr_lua_pass(L, crescent_trainer_start(t->trainer));
    t->started = 1;
}

/* Returns the first argument, a path; with the option `text` it only names that script.  Raises
 * an error if the argument is neither a string nor a function. */
static const char *path_of(lua_State *L)
{
    return lua_type(L, 1) == LUA_TFUNCTION ? "trainer" : luaL_checkstring(L, 1);
}

/* crescent.trainer(path, options): opens a training for a script, or for a function that builds
 * the graph of a step. */
static int open_trainer(lua_State *L)
{
    static const char *const more[] = {"resume", "text", NULL};
    struct cr_lua_open_options o;
    const char *path = path_of(L);
    lua_settop(L, 2);
    struct cr_lua_trainer *t = cr_lua_new(L, sizeof *t, class_name);
    cr_lua_read_open_options(L, 2, more, &o);
    const char *resume = cr_lua_string_option(L, 2, "resume");
    const char *text = cr_lua_string_option(L, 2, "text");
    if (o.grads || o.n_taps)
        cr_lua_fail(L, "trainer: expected none of the options grads, cotangents, taps");
    if (resume)
        take_settings(L, t, resume, &o);
    if (text)
        lua_getfield(L, 2, "text");
    else
        lua_pushvalue(L, 1);
    if (text || lua_isfunction(L, -1))
        cr_lua_build_graph(L, lua_gettop(L), &o.script, path, &t->graph);
    else
        cr_lua_pass(L, crescent_graph_open(cr_lua_context(L), path, &o.script, &t->graph));
    cr_lua_pass(L, crescent_trainer_open(t->graph, &o.config, &t->trainer));
    cr_lua_fill_weights(L, crescent_trainer_model(t->trainer), o.weights, o.n_weights, o.seed);
    if (resume) {
        start(L, t);
        cr_lua_pass(L, crescent_trainer_resume(t->trainer, resume));
    }
    lua_pushvalue(L, 3);
    return 1;
}

/* ---- data ---- */

/* Returns the number of strings, which are paths of files, among the values of the table at index
 * 2. */
static int count_files(lua_State *L)
{
    int n = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            cr_lua_fail(L, "feed: found data without a name, expected {x = tensor}");
        n += lua_type(L, -1) == LUA_TSTRING;
    }
    return n;
}

/* True if the input is a state, for which a step over micro-batches computes the next value. */
static bool is_state(const crescent_model *model, const char *name)
{
    char output[300];
    snprintf(output, sizeof output, "update.%.255s", name);
    return crescent_port_find(model, CRESCENT_OUTPUT, output) != CRESCENT_NONE;
}

/* Returns a port with an additional first axis, which counts n micro-batches. */
static crescent_port with_micro_batches(lua_State *L, crescent_port port, int n)
{
    if (port.rank == CRESCENT_MAX_RANK)
        cr_lua_fail(L, "feed: found %d axes for input %s, expected fewer: one is added for micro-batches",
                    port.rank, port.name);
    memmove(port.shape + 1, port.shape, (size_t)port.rank++ * sizeof *port.shape);
    port.shape[0] = n;
    return port;
}

/* Sets the tensors in the table at index 2 as inputs for all later steps, until they are set
 * again. */
static void feed_tensors(lua_State *L, struct cr_lua_trainer *t)
{
    crescent_model *model = crescent_trainer_model(t->trainer);
    int number, n = crescent_trainer_micro_batches(t->trainer);
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        if (lua_type(L, -1) != LUA_TSTRING) {
            const char *name = lua_tostring(L, -2);
            cr_lua_pass(L, crescent_input_find(model, name, NULL, &number));
            crescent_port port = cr_lua_port(L, model, CRESCENT_INPUT, number);
            if (n > 1 && !is_state(model, port.name))
                port = with_micro_batches(L, port, n);
            struct cr_lua_tensor *data = cr_lua_take_tensor(L, -1, &port, port.name);
            cr_lua_pass(L, crescent_trainer_set_input(t->trainer, number, data->data));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

/* Returns the files in the table at index 2, and sets *n to their number. */
static crescent_input_file *read_files(lua_State *L, int *n)
{
    int i = 0;
    *n = count_files(L);
    crescent_input_file *files = cr_lua_scratch(L, (size_t)*n, sizeof *files);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
        if (lua_type(L, -1) == LUA_TSTRING)
            files[i++] = (crescent_input_file){lua_tostring(L, -2), lua_tostring(L, -1)};
    return files;
}

/* t:feed{x = tensor, y = "batches.npy"}: sets the inputs of later steps */
static int feed(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    int n;
    lua_settop(L, 2);
    crescent_input_file *files = read_files(L, &n);
    if (n)
        cr_lua_pass(L, crescent_trainer_feed(t->trainer, files, n));
    feed_tensors(L, t);
    lua_settop(L, 1);
    return 1;
}

/* ---- steps ---- */

static crescent_training status_of(lua_State *L, const struct cr_lua_trainer *t)
{
    crescent_training status;
    cr_lua_pass(L, crescent_trainer_status(t->trainer, &status));
    return status;
}

/* t:step(n): makes n steps, one by default; returns the loss of the last step. */
static int step(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    double n = luaL_optnumber(L, 2, 1);
    start(L, t);
    for (double i = 0; i < n; i++)
        cr_lua_pass(L, crescent_trainer_step(t->trainer));
    lua_pushnumber(L, status_of(L, t).loss);
    return 1;
}

/* t:validation{x = "batches.npy"}: sets the data for validation, which are not used for
 * training. */
static int validation(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    int n;
    lua_settop(L, 2);
    crescent_input_file *files = read_files(L, &n);
    start(L, t);
    cr_lua_pass(L, crescent_trainer_validation(t->trainer, files, n));
    lua_settop(L, 1);
    return 1;
}

/* t:validate(): returns the mean loss on the data for validation. */
static int validate(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    double loss;
    cr_lua_pass(L, crescent_trainer_validate(t->trainer, NULL, NULL, &loss));
    lua_pushnumber(L, loss);
    return 1;
}

/* Sets a field of the table on top of the stack to a number, unless the number is NaN. */
static void set_known(lua_State *L, const char *key, double value)
{
    if (!isnan(value))
        cr_lua_set_number(L, key, value);
}

/* t:status(): returns a table with step, and with loss, lr, tokens and validation if they are
 * known. */
static int status(lua_State *L)
{
    crescent_training s = status_of(L, self(L));
    lua_newtable(L);
    cr_lua_set_integer(L, "step", s.step);
    set_known(L, "loss", s.loss);
    set_known(L, "lr", s.lr);
    set_known(L, "tokens", s.tokens);
    set_known(L, "validation", s.validation);
    return 1;
}

/* Pushes a tensor with the current value of the port named by the argument. */
static int get_port(lua_State *L, crescent_port_kind kind)
{
    struct cr_lua_trainer *t = self(L);
    const crescent_model *model = crescent_trainer_model(t->trainer);
    int number = cr_lua_port_named(L, model, kind, 2);
    crescent_port port = cr_lua_port(L, model, kind, number);
    start(L, t);
    struct cr_lua_tensor *tensor = cr_lua_new_tensor(L, &port);
    cr_lua_pass(L, crescent_trainer_get(t->trainer, kind, number, tensor->data));
    return 1;
}

/* t:weight(name): a parameter; t:input(name): an input of the next step; t:output(name): an
 * output of the last step */
static int weight(lua_State *L)
{
    return get_port(L, CRESCENT_PARAM);
}

static int input(lua_State *L)
{
    return get_port(L, CRESCENT_INPUT);
}

static int output(lua_State *L)
{
    return get_port(L, CRESCENT_OUTPUT);
}

static int params(lua_State *L)
{
    cr_lua_push_ports(L, crescent_trainer_model(self(L)->trainer), CRESCENT_PARAM);
    return 1;
}

static int report(lua_State *L)
{
    cr_lua_push_report(L, crescent_trainer_model(self(L)->trainer));
    return 1;
}

/* ---- files ---- */

/* t:load(paths): loads weights before the first step */
static int load(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    int n;
    const char **paths = cr_lua_strings(L, 2, "load", &n);
    if (t->started)
        cr_lua_fail(L, "load: the training has begun, expected it before the first step");
    cr_lua_pass(L, crescent_load_weights(crescent_trainer_model(t->trainer), paths, n,
                                         CRESCENT_ANY_TENSORS, NULL));
    lua_settop(L, 1);
    return 1;
}

/* t:save(path): saves the whole state; t:save_weights(path): saves only the parameters;
 * t:resume(path): restores a state */
static int save(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    const char *path = luaL_checkstring(L, 2);
    start(L, t);
    cr_lua_pass(L, crescent_trainer_save(t->trainer, path));
    lua_settop(L, 1);
    return 1;
}

static int save_weights(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    const char *path = luaL_checkstring(L, 2);
    start(L, t);
    cr_lua_pass(L, crescent_trainer_save_weights(t->trainer, path));
    lua_settop(L, 1);
    return 1;
}

static int resume(lua_State *L)
{
    struct cr_lua_trainer *t = self(L);
    const char *path = luaL_checkstring(L, 2);
    start(L, t);
    cr_lua_pass(L, crescent_trainer_resume(t->trainer, path));
    lua_settop(L, 1);
    return 1;
}

/* Adds the class of trainings, and the function crescent.trainer. */
void cr_lua_add_trainers(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"feed", feed},     {"step", step},     {"status", status},
        {"weight", weight}, {"input", input},   {"output", output},
        {"params", params}, {"report", report}, {"load", load},
        {"save", save},     {"resume", resume}, {"save_weights", save_weights},
        {"validation", validation}, {"validate", validate}, {"close", close_trainer}, {NULL, NULL}};
    static const luaL_Reg metamethods[] = {{"__gc", close_trainer}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"trainer", open_trainer}, {NULL, NULL}};
    static const struct cr_lua_class class = {class_name, methods, metamethods};
    cr_lua_add_class(L, &class);
    cr_lua_add_functions(L, functions);
}
