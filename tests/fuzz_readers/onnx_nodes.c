/*
 * onnx_nodes.c - fuzz target: any bytes choose a list of ONNX nodes over a few tensors, which is
 * refused with a line, or gives a script that the front end accepts, and whose outputs agree with a
 * translation of the nodes without rewrites.
 *
 * A node that is refused is left out, so that most inputs have some that are translated, folded, recognised
 * and printed.  Numbers are small halves, and sums of few of them exact.
 */
#include <math.h>

#include "compiler/crescent.h"
#include "compiler/import/import.h"
#include "compiler/import/ops.h"
#include "compiler/import/print_script.h"
#include "target.h"
#include "tests/onnx_writer.h"

enum {
    FLOAT = 1,
    UINT8 = 2,
    INT8 = 3,
    INT32 = 6,
    INT64 = 7,
    BOOL = 9,
    MOST_NODES = 12,
    MOST_VALUES = 64,
    MOST_OUTPUTS = 8,
    RANK = 5,
    SAID = 3 /* the value of the symbolic size n */
};

/* ---- bytes as choices ---- */

struct bytes {
    const uint8_t *at;
    size_t left;
};

/* Returns the next byte modulo `limit`; 0 after the last one. */
static int choose(struct bytes *b, int limit)
{
    if (!b->left)
        return 0;
    b->left--;
    return *b->at++ % limit;
}

/* ---- a graph under construction ---- */

struct value {
    char name[16];
    bool is_read;
};

struct nodes {
    struct message inputs, nodes; /* fields of the graph */
    struct value values[MOST_VALUES];
    int n_values, n_nodes, version;
};

static struct value *new_value(struct nodes *g, const char *kind)
{
    PROMISE(g->n_values < MOST_VALUES);
    struct value *v = &g->values[g->n_values];
    snprintf(v->name, sizeof v->name, "%s%d", kind, g->n_values++);
    return v;
}

static int choose_shape(struct bytes *b, int64_t *shape)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 6, 3, 2, 0};
    int rank = choose(b, RANK);
    for (int i = 0; i < rank; i++)
        shape[i] = sizes[choose(b, 8)];
    return rank;
}

static void add_input(struct nodes *g, struct bytes *b)
{
    static const int types[] = {FLOAT, FLOAT, FLOAT, INT64, INT32, BOOL, UINT8, INT8};
    int64_t shape[RANK];
    int type = types[choose(b, 8)], rank = choose_shape(b, shape);
    if (rank && choose(b, 4) == 1)
        shape[choose(b, rank)] = SYMBOL('n');
    put_value(&g->inputs, 11, new_value(g, "x")->name, type, rank, shape);
}

/* Returns a number for a tensor: small, or in some cases at a limit. */
static int64_t choose_number(struct bytes *b)
{
    static const int64_t far[] = {7,  8,  16,      100,       -5,       -100,      256,      65536,
                                  -7, 31, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20, -6};
    int n = choose(b, 64);
    return n < 48 ? n % 8 - 3 : far[n - 48];
}

static void put_element(struct message *data, int type, int64_t number)
{
    const float half = (float)number / 2;
    const int32_t word = (int32_t)number;
    const uint8_t byte = (uint8_t)number, truth = number & 1;
    const void *at = type == FLOAT ? (const void *)&half
                     : type == INT64 ? (const void *)&number
                     : type == INT32 ? (const void *)&word
                     : type == BOOL  ? (const void *)&truth
                                     : (const void *)&byte;
    size_t n = type == INT64 ? 8 : type == FLOAT || type == INT32 ? 4 : 1;
    memcpy(data->at + data->n, at, n);
    data->n += n;
}

/* Appends a constant; often a row of integers, which can be a shape or a list of axes. */
static void put_known(struct message *out, int field, const char *name, struct bytes *b)
{
    static const int types[] = {INT64, INT64, INT64, INT64, FLOAT, FLOAT, FLOAT, INT32, BOOL, UINT8, INT8};
    struct message tensor = {.n = 0}, data = {.n = 0};
    int64_t shape[RANK], n = 1;
    int type = types[choose(b, 11)], rank = type == INT64 ? choose(b, 2) : choose_shape(b, shape);
    if (type == INT64)
        shape[0] = choose(b, 5);
    for (int i = 0; i < rank; i++) {
        n *= shape[i];
        put_integer(&tensor, 1, shape[i]);
    }
    int64_t first = choose_number(b), step = choose(b, 4);
    for (int64_t i = 0; i < n && i < 500; i++)
        put_element(&data, type, i < 6 && step == 0 ? choose_number(b) : (int64_t)((uint64_t)first + (uint64_t)(step * (i % 7))));
    put_integer(&tensor, 2, type);
    if (name)
        put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, data.at, data.n);
    put_message(out, field, &tensor);
}

static void add_known(struct nodes *g, struct bytes *b)
{
    const char *name = new_value(g, "w")->name;
    put_known(&g->inputs, 5, name, b);
}

/* ---- attributes ---- */

static const char *const attribute_names[] = {
    "axis",        "axes",         "perm",          "keepdims",      "alpha",      "beta",
    "epsilon",     "to",           "transA",        "transB",        "mode",       "pads",
    "strides",     "kernel_shape", "dilations",     "group",         "auto_pad",   "equation",
    "value",       "allowzero",    "start",         "end",           "batch_dims", "num_outputs",
    "split",       "upper",        "exclusive",     "reverse",       "largest",    "sorted",
    "is_causal",   "q_num_heads",  "kv_num_heads",  "scale",         "hidden_size", "direction",
    "reduction",   "noop_with_empty_axes",          "ceil_mode",     "blocksize",  "p",
    "approximate", "select_last_index",             "count_include_pad",           "output_padding",
    "fmod",        "num_groups",   "bias",          "stash_type",    "output_shape", "size",
    "coordinate_transformation_mode",               "nearest_mode",  "antialias",  "align_corners",
    "padding_mode", "interleaved", "rotary_embedding_dim",           "num_heads",  "unidirectional",
    "softcap",     "k",            "dtype",         "onesided",      "inverse",    "linear_before_reset",
    "layout",      "clip",         "activations",   "block_size",    "N",          "K",
    "bits",        "lambd",        "gamma",         "starts",        "ends",       "scales",
    "broadcast",   "time_axis",    "batch_axis",    "periodic",      "storage_order",
};
static const char *const attribute_texts[] = {
    "constant", "reflect",   "edge",       "wrap",         "linear",     "cubic",     "nearest",
    "SAME_UPPER", "VALID",   "tanh",       "none",         "add",        "mul",       "max",
    "min",      "mean",      "sum",        "bidirectional", "reverse",   "DCR",       "CRD",
    "asymmetric", "half_pixel", "floor",   "LEFT",         "RIGHT",      "ij,jk->ik", "bij,bjk->bik",
    "...i->...", "ii->i",    "align_corners", "pytorch_half_pixel", "zeros", "border", "reflection",
    "bilinear", "Sigmoid",   "Relu",       "avg",          "SAME_LOWER",
};

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static void put_attribute(struct message *node, struct bytes *b)
{
    struct message a = {.n = 0};
    int kind = choose(b, 8);
    put_text(&a, 1, attribute_names[choose(b, COUNT(attribute_names))]);
    if (kind == 0) {
        put_float(&a, 2, (float)choose_number(b) / 4);
        put_integer(&a, 20, 1);
    } else if (kind == 1) {
        put_text(&a, 4, attribute_texts[choose(b, COUNT(attribute_texts))]);
        put_integer(&a, 20, 3);
    } else if (kind == 2) {
        put_known(&a, 5, NULL, b);
        put_integer(&a, 20, 4);
    } else if (kind < 5) {
        put_integer(&a, 3, choose_number(b));
        put_integer(&a, 20, 2);
    } else {
        for (int n = choose(b, 6); n > 0; n--)
            put_integer(&a, 8, kind == 5 ? choose(b, 6) : choose_number(b));
        put_integer(&a, 20, 7);
    }
    put_message(node, 5, &a);
}

/* ---- nodes ---- */

/* Returns one of the last values; the newest are the most likely. */
static struct value *choose_value(struct nodes *g, struct bytes *b)
{
    int n = choose(b, 32), last = g->n_values < 16 ? g->n_values : 16;
    return &g->values[g->n_values - 1 - n % last];
}

/* Appends a random node, and its outputs to the values. */
static void add_node(struct nodes *g, struct bytes *b)
{
    struct message node = {.n = 0};
    const struct cr_onnx_op *op = &cr_onnx_ops[choose(b, 251) % cr_onnx_n_ops];
    int n_inputs = choose(b, 8), n_outputs = choose(b, 8);
    n_inputs = n_inputs < 5 ? n_inputs % 3 + 1 : n_inputs - 2;
    for (int i = 0; i < n_inputs; i++) {
        struct value *v = choose_value(g, b);
        bool left_out = i && choose(b, 8) == 7;
        put_text(&node, 1, left_out ? "" : v->name);
        v->is_read |= !left_out;
    }
    for (int i = 0; i < (n_outputs < 5 ? 1 : n_outputs - 4); i++)
        put_text(&node, 2, new_value(g, "y")->name);
    put_text(&node, 3, g->n_nodes % 2 ? "/h.0/node" : "/h.1/node");
    put_text(&node, 4, op->name);
    put_text(&node, 7, op->domain);
    for (int n = choose(b, 4); n > 0; n--)
        put_attribute(&node, b);
    put_message(&g->nodes, 1, &node);
    g->n_nodes++;
}

/* ---- the model ---- */

/* Writes the model; its outputs are the values that no node reads, the last ones first. */
static struct message write_model(const struct nodes *g)
{
    struct message graph = {.n = 0}, domain = {.n = 0};
    int n = 0;
    put_text(&graph, 2, "fuzz");
    memcpy(graph.at + graph.n, g->inputs.at, g->inputs.n);
    graph.n += g->inputs.n;
    memcpy(graph.at + graph.n, g->nodes.at, g->nodes.n);
    graph.n += g->nodes.n;
    for (int i = g->n_values - 1; i >= 0 && n < MOST_OUTPUTS; i--)
        if (!g->values[i].is_read && g->values[i].name[0] == 'y') {
            put_value(&graph, 12, g->values[i].name, FLOAT, 0, NULL);
            n++;
        }
    if (!n)
        put_value(&graph, 12, g->values[g->n_values - 1].name, FLOAT, 0, NULL);
    struct message model = model_of(&graph, g->version);
    put_text(&domain, 1, "com.microsoft");
    put_integer(&domain, 2, 1);
    put_message(&model, 8, &domain);
    return model;
}

static const struct cr_onnx_pin pins[] = {{"n", "3", true}};

/* A translated model: the script and its weights, without rewrites or with all. */
struct made {
    struct cr_onnx_model model;
    struct cr_onnx_graph graph;
    struct cr_onnx_script script;
    struct cr_printer printer;
    bool is_ready;
};

/* Translates the nodes without rewrites. */
static void translate(struct made *m, const struct message *model)
{
    struct cr_error error = {""};
    *m = (struct made){.is_ready = false};
    if (cr_onnx_model_parse(&m->model, "fuzz.onnx", model->at, model->n, &error) ||
        cr_onnx_graph_make(&m->graph, &m->model, &error) ||
        cr_onnx_translate(&m->script, &m->graph, pins, 1, &error) ||
        cr_script_print(&m->printer, &m->script, &error))
        promise_message(error.text);
    else
        m->is_ready = true;
}

static void free_made(struct made *m)
{
    cr_script_free_printer(&m->printer);
    cr_onnx_script_free(&m->script);
    cr_onnx_graph_free(&m->graph);
    cr_onnx_model_close(&m->model);
}

/* ---- running ---- */

/* The largest models that are run. */
enum { MOST_RUN = 1 << 14, MOST_PORTS = 32 };

struct run {
    crescent_context *context;
    crescent_graph *graph;
    crescent_model *model;
    void *inputs[MOST_PORTS], *outputs[MOST_PORTS];
};

static void close_run(struct run *r)
{
    for (int i = 0; i < MOST_PORTS; i++) {
        free(r->inputs[i]);
        free(r->outputs[i]);
    }
    crescent_close(r->model);
    crescent_graph_close(r->graph);
    crescent_context_free(r->context);
}

/* Compiles a script for the interpreter; false if it is too large to run. */
static bool open_run(struct run *r, const char *text, size_t length)
{
    const crescent_config config = {.backend = CRESCENT_REF};
    *r = (struct run){.context = crescent_context_new()};
    int status = crescent_graph_open_text(r->context, "fuzz.lua", text, length, NULL, &r->graph);
    if (status)
        fprintf(stderr, "%s\n%s\n", crescent_error(r->context), text);
    PROMISE(status == 0);
    for (int kind = CRESCENT_PARAM; kind <= CRESCENT_OUTPUT; kind++)
        for (int i = 0; i < crescent_graph_port_count(r->graph, kind); i++) {
            crescent_port port;
            PROMISE(!crescent_graph_port_at(r->graph, kind, i, &port));
            if (crescent_port_elements(&port) > MOST_RUN || i >= MOST_PORTS)
                return false;
        }
    return crescent_compile(r->graph, &config, &r->model) == 0;
}

static void fill_inputs(struct run *r)
{
    crescent_port port;
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_INPUT); i++) {
        PROMISE(!crescent_port_at(r->model, CRESCENT_INPUT, i, &port));
        int64_t n = crescent_port_elements(&port);
        unsigned seed = port.name[0] ? (unsigned)atoi(port.name + 1) : 0;
        r->inputs[i] = calloc((size_t)n, 4);
        PROMISE(r->inputs[i]);
        for (int64_t k = 0; k < n; k++)
            if (port.type == CRESCENT_F32)
                ((float *)r->inputs[i])[k] = (float)((int)((seed + 5 * k) % 11) - 5) / 2;
            else
                ((int32_t *)r->inputs[i])[k] = (int32_t)((seed + k) % 2);
    }
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_OUTPUT); i++) {
        PROMISE(!crescent_port_at(r->model, CRESCENT_OUTPUT, i, &port));
        r->outputs[i] = calloc((size_t)crescent_port_elements(&port), 4);
        PROMISE(r->outputs[i]);
    }
}

static void set_weights(struct run *r, const struct cr_printer *p)
{
    crescent_port port;
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_PARAM); i++) {
        PROMISE(!crescent_port_at(r->model, CRESCENT_PARAM, i, &port));
        int w = 0;
        while (w < p->n_weights && strcmp(p->weights[w].name, port.name) != 0)
            w++;
        PROMISE(w < p->n_weights);
        int64_t n = crescent_port_elements(&port);
        float *data = calloc((size_t)n, sizeof *data);
        PROMISE(data);
        for (int64_t k = 0; k < n; k++)
            data[k] = (float)(p->weights[w].tensor ? cr_onnx_element(p->weights[w].tensor, k)
                                                   : p->weights[w].data[k]);
        PROMISE(!crescent_set_weight(r->model, i, data));
        free(data);
    }
}

static void set_imported(struct run *r, const struct cr_import *made)
{
    crescent_port port;
    for (int i = 0; i < crescent_port_count(r->model, CRESCENT_PARAM); i++) {
        PROMISE(!crescent_port_at(r->model, CRESCENT_PARAM, i, &port));
        const struct cr_st_tensor *t = cr_safetensors_find(&made->weights.list, port.name);
        PROMISE(t && !crescent_set_weight(r->model, i, (const float *)t->data));
    }
}

/* Compares elements.  NaN, infinities and large numbers, which rounding may change much
 * (docs/onnx.md), count as equal. */
static bool are_close(const crescent_port *port, const void *a, const void *b, int64_t i)
{
    if (port->type != CRESCENT_F32)
        return ((const int32_t *)a)[i] == ((const int32_t *)b)[i];
    double x = ((const float *)a)[i], y = ((const float *)b)[i];
    return !isfinite(x) || !isfinite(y) || fabs(x) > 1e5 || fabs(y) > 1e5 ||
           fabs(x - y) <= 1e-3 * (1 + fabs(x));
}

static void compare(const struct run *a, const struct run *b)
{
    crescent_port port, other;
    PROMISE(crescent_port_count(a->model, CRESCENT_OUTPUT) ==
            crescent_port_count(b->model, CRESCENT_OUTPUT));
    for (int i = 0; i < crescent_port_count(a->model, CRESCENT_OUTPUT); i++) {
        PROMISE(!crescent_port_at(a->model, CRESCENT_OUTPUT, i, &port) &&
                !crescent_port_at(b->model, CRESCENT_OUTPUT, i, &other));
        int64_t n = crescent_port_elements(&port);
        PROMISE(strcmp(port.name, other.name) == 0 && n == crescent_port_elements(&other));
        PROMISE(port.type == other.type && port.rank == other.rank);
        for (int64_t k = 0; k < n; k++)
            PROMISE(are_close(&port, a->outputs[i], b->outputs[i], k));
    }
}

/* Runs both translations; if one run is refused, as for an index out of range, so must be the
 * other. */
static void run_both(const struct made *plain, const struct cr_import *made)
{
    struct run a, b = {.context = NULL};
    if (open_run(&a, plain->printer.text.data, plain->printer.text.length) &&
        open_run(&b, made->text, made->length)) {
        fill_inputs(&a);
        fill_inputs(&b);
        set_weights(&a, &plain->printer);
        set_imported(&b, made);
        if (!crescent_run(a.model, (const void *const *)a.inputs, a.outputs) &&
            !crescent_run(b.model, (const void *const *)b.inputs, b.outputs))
            compare(&a, &b);
    }
    close_run(&a);
    if (b.context)
        close_run(&b);
}

/* Imports the file as a verb does, with n as a constant or as a length. */
static void import(const struct message *model, bool is_length, const struct made *plain)
{
    const struct cr_onnx_pin lengths[] = {{"n", "8", false}};
    const struct cr_import_how how = {pins, lengths, !is_length, is_length, NULL, 0};
    struct cr_error error = {""};
    struct cr_import made;
    char path[32];
    int fd = memory_file(model->at, model->n, path);
    int status = cr_import_open(&made, path, &how, &error);
    close(fd);
    if (!status)
        PROMISE(!cr_import_weights_load(&made.weights, &error));
    if (status)
        promise_message(error.text);
    else if (!is_length && plain->is_ready)
        run_both(plain, &made);
    if (!status)
        cr_import_close(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size};
    static struct nodes g, before;
    struct made made;
    g = (struct nodes){.version = 26};
    g.version = choose(&b, 4) ? 26 : 7 + choose(&b, 20);
    for (int n = 1 + choose(&b, 3); n > 0; n--)
        add_input(&g, &b);
    for (int n = 1 + choose(&b, 4); n > 0; n--)
        add_known(&g, &b);
    for (int n = 0; b.left && n < MOST_NODES && g.nodes.n < 4000 && g.n_values < MOST_VALUES - 16; n++) {
        before = g;
        if (choose(&b, 8) == 7)
            add_known(&g, &b);
        else
            add_node(&g, &b);
        struct message model = write_model(&g);
        translate(&made, &model);
        if (!made.is_ready)
            g = before;
        free_made(&made);
    }
    struct message model = write_model(&g);
    translate(&made, &model);
    import(&model, false, &made);
    import(&model, true, &made);
    free_made(&made);
    return 0;
}
