/* import.c - translates an ONNX file into a script and weights, step by step; see import.h. */
#include "import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/npy.h"
#include "compiler/ir/mem.h"
#include "dynamic_axes.h"
#include "onnx_passes.h"
#include "print_script.h"

enum { MOST_ROUNDS = 16, MOST_PINNED = 4096 };

/* The state of an import. */
struct importing {
    struct cr_import *import;
    struct cr_onnx_model model;
    struct cr_onnx_graph graph;
    struct cr_onnx_script script;
    struct cr_printer printer;
    struct cr_onnx_pin *pins;
    int n_pins, cap_pins;
    const struct cr_import_input *inputs;
    int n_inputs;
    const char **pinned;
    int n_pinned, cap_pinned;
    struct cr_symbols symbols;
    struct cr_error *error;
};

/* ---- sizes from the files of a run ---- */

static const char *file_of(const struct importing *m, const char *name)
{
    for (int i = m->n_inputs - 1; i >= 0; i--)
        if (strcmp(m->inputs[i].name, name) == 0)
            return m->inputs[i].path;
    return NULL;
}

static bool has_pin(const struct importing *m, const char *name)
{
    for (int i = 0; i < m->n_pins; i++)
        if (strcmp(m->pins[i].name, name) == 0)
            return true;
    return false;
}

/* Pins symbolic sizes to the sizes in the inputs' .npy files.  A pin of the caller takes
 * precedence. */
static int pin_sizes(struct importing *m)
{
    const struct cr_onnx_body *body = &m->model.graph;
    for (int i = 0; i < body->n_inputs; i++) {
        const struct cr_onnx_info *info = &body->inputs[i];
        const char *path = file_of(m, info->name);
        struct cr_npy npy;
        if (!path)
            continue;
        if (cr_npy_open(&npy, path, m->error->text, sizeof m->error->text))
            return -1;
        for (int a = 0; a < info->rank && a < npy.rank && npy.rank == info->rank; a++)
            if (info->sizes[a].name && !has_pin(m, info->sizes[a].name))
                *CR_PUSH(m->pins, m->n_pins, m->cap_pins) = (struct cr_onnx_pin){
                    info->sizes[a].name,
                    cr_arena_print(&m->import->arena, "%" PRId64, npy.shape[a]), true};
            else if (info->sizes[a].size < 0 && !info->sizes[a].name)
                info->sizes[a].size = npy.shape[a];
        cr_npy_close(&npy);
    }
    return 0;
}

/* ---- inputs that have to be known ---- */

static bool is_pinned(const struct importing *m, const char *name)
{
    for (int i = 0; i < m->n_pinned; i++)
        if (strcmp(m->pinned[i], name) == 0)
            return true;
    return false;
}

/* Reads numbers separated by commas; returns how many, or -1. */
static int numbers_of_text(const char *text, double *out)
{
    int n = 0;
    char *end;
    for (; *text && n < MOST_PINNED; text = *end == ',' ? end + 1 : end) {
        out[n++] = strtod(text, &end);
        if (end == text || (*end && *end != ','))
            return -1;
    }
    return n;
}

/* Reads the `n` elements of an input from the caller's pin, or from the input's file, into
 * `out`. */
static int read_pinned(struct importing *m, struct cr_onnx_value *v, double *out, int64_t n)
{
    char *error = m->error->text;
    const char *path = file_of(m, v->name);
    for (int i = m->n_pins - 1; i >= 0; i--)
        if (strcmp(m->pins[i].name, v->name) == 0) {
            if (numbers_of_text(m->pins[i].value, out) == n)
                return 0;
            return cr_fail(m->error, "%.300s: --set %s=%s, expected %" PRId64 " numbers",
                           m->graph.path, cr_show(v->name, strlen(v->name)).text,
                           cr_show(m->pins[i].value, strlen(m->pins[i].value)).text, n);
        }
    struct cr_npy npy;
    if (!path || cr_npy_open(&npy, path, error, sizeof m->error->text))
        return -1;
    int status = npy.elements == n
                     ? 0
                     : cr_fail(m->error, "%.300s: %" PRId64 " elements, expected %" PRId64, path,
                               npy.elements, n);
    if (!status)
        cr_npy_read_f64(&npy, out);
    cr_npy_close(&npy);
    return status;
}

/* Turns an input whose elements the caller has given into a constant of the model. */
static int pin_input(struct importing *m, int value)
{
    struct cr_onnx_value *v = &m->graph.values[value];
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= cr_size_bound(v->shape[i]);
    if (n > MOST_PINNED || v->rank < 0)
        return -1;
    double *data = cr_calloc((size_t)n, sizeof *data);
    int status = read_pinned(m, v, data, n);
    if (!status) {
        int known = cr_onnx_known(&m->graph, v->name, v->type, v->rank, v->shape, data);
        v = &m->graph.values[value];
        v->tensor = m->graph.values[known].tensor;
        v->folded = true;
    }
    free(data);
    return status;
}

/* Marks a value and all values that it is computed from. */
static void mark_sources(const struct cr_onnx_graph *g, int value, bool *marks)
{
    if (value == CR_ONNX_NONE || marks[value])
        return;
    marks[value] = true;
    const struct cr_onnx_value *v = &g->values[value];
    for (int i = 0; v->producer != CR_ONNX_NONE && i < g->nodes[v->producer].n_inputs; i++)
        mark_sources(g, g->nodes[v->producer].inputs[i], marks);
}

/* True if a pin or a file gives the elements of an input. */
static bool is_given(const struct importing *m, const struct cr_onnx_value *v)
{
    return v->is_input && !v->tensor && (has_pin(m, v->name) || file_of(m, v->name));
}

/* Pins the inputs with given elements that the unknown value depends on; returns true if one was
 * not pinned before. */
static bool pin_sources(struct importing *m)
{
    struct cr_onnx_graph *g = &m->graph;
    int before = m->n_pinned;
    bool *marks = cr_calloc((size_t)g->n_values, sizeof *marks);
    mark_sources(g, m->script.unknown, marks);
    for (int i = 0; i < g->n_inputs; i++)
        if (marks[g->inputs[i]] && is_given(m, &g->values[g->inputs[i]]) &&
            !is_pinned(m, g->values[g->inputs[i]].name)) {
            const char *name = g->values[g->inputs[i]].name;
            *CR_PUSH(m->pinned, m->n_pinned, m->cap_pinned) =
                cr_arena_text(&m->import->arena, name, strlen(name));
        }
    free(marks);
    return m->n_pinned > before;
}

/* ---- the steps ---- */

static bool is_symbol(const struct cr_onnx_info *info, const char *name)
{
    for (int i = 0; i < info->rank; i++)
        if (info->sizes[i].name && strcmp(info->sizes[i].name, name) == 0)
            return true;
    return strcmp(info->name, name) == 0;
}

/* Fails if a pin names neither a symbolic size nor an input of the model. */
static int check_pins(const struct importing *m)
{
    const struct cr_onnx_body *body = &m->model.graph;
    for (int i = 0; i < m->n_pins; i++) {
        bool known = m->pins[i].optional;
        for (int j = 0; !known && j < body->n_inputs; j++)
            known = is_symbol(&body->inputs[j], m->pins[i].name);
        if (!known)
            return cr_fail(m->error, "%.300s: --set %s: the model has no symbolic size and no "
                           "input of that name, expected one of its names", m->model.path,
                           cr_show(m->pins[i].name, strlen(m->pins[i].name)).text);
    }
    return 0;
}

/* Sets the elements of pinned inputs, before nodes are translated. */
static int apply_pinned(struct importing *m)
{
    for (int i = 0; i < m->graph.n_inputs; i++) {
        int value = m->graph.inputs[i];
        if (!is_pinned(m, m->graph.values[value].name))
            continue;
        if (cr_onnx_input_shape(&m->graph, value, m->pins, m->n_pins, m->error) ||
            pin_input(m, value))
            return -1;
    }
    return 0;
}

static int translate(struct importing *m)
{
    cr_onnx_script_free(&m->script);
    return cr_onnx_translate(&m->script, &m->graph, m->pins, m->n_pins, m->error);
}

/* Makes the graph and infers its shapes.  If they depend on the elements of an input, pins the
 * input and starts again. */
static int infer(struct importing *m)
{
    for (int i = 0; i < MOST_ROUNDS; i++) {
        cr_onnx_script_free(&m->script);
        cr_onnx_graph_free(&m->graph);
        if (cr_onnx_graph_make(&m->graph, &m->model, m->error))
            return -1;
        m->graph.symbols = &m->symbols;
        if (apply_pinned(m))
            return -1;
        if (translate(m) == 0)
            return 0;
        if (m->script.unknown == CR_ONNX_NONE || !pin_sources(m))
            return -1;
    }
    return -1;
}

/* Checks the file of an input without elements: the script has no such input, so no run will read
 * the file. */
static int check_empty(struct importing *m, const struct cr_onnx_value *v, const char *path)
{
    struct cr_error *error = m->error;
    struct cr_npy npy;
    float f32;
    int32_t i32;
    if (cr_npy_open(&npy, path, error->text, sizeof error->text))
        return -1;
    bool alike = npy.rank == v->rank;
    for (int i = 0; alike && i < v->rank; i++)
        alike = npy.shape[i] == cr_size_bound(v->shape[i]);
    int status = !alike ? cr_fail(error, "%.300s: found another shape, expected the shape of input %s, "
                                  "which has no elements", path,
                                  cr_show(v->name, strlen(v->name)).text)
                 : cr_language_type(v->type) == CR_LANGUAGE_F32
                     ? cr_npy_read_f32(&npy, &f32, error->text, sizeof error->text)
                     : cr_npy_read_i32(&npy, &i32, error->text, sizeof error->text);
    cr_npy_close(&npy);
    return status;
}

/* Leaves inputs without elements out of the script. */
static int leave_out_empty(struct importing *m)
{
    for (int i = 0; i < m->graph.n_inputs; i++) {
        const struct cr_onnx_value *v = &m->graph.values[m->graph.inputs[i]];
        const char *path = file_of(m, v->name);
        if (!v->tensor || v->tensor->elements || is_pinned(m, v->name))
            continue;
        if (path && check_empty(m, v, path))
            return -1;
        *CR_PUSH(m->pinned, m->n_pinned, m->cap_pinned) =
            cr_arena_text(&m->import->arena, v->name, strlen(v->name));
    }
    return 0;
}

static int rewrite(struct importing *m)
{
    if (cr_onnx_sweep(&m->graph, m->error))
        return -1;
    for (int i = 0; cr_onnx_passes[i]; i++) {
        cr_onnx_passes[i](&m->graph);
        if (cr_onnx_sweep(&m->graph, m->error))
            return -1;
    }
    return translate(m);
}

/* ---- lengths ---- */

static bool is_size(const struct importing *m, const char *name)
{
    const struct cr_onnx_body *body = &m->model.graph;
    for (int i = 0; i < body->n_inputs; i++)
        for (int a = 0; a < body->inputs[i].rank; a++)
            if (body->inputs[i].sizes[a].name && strcmp(body->inputs[i].sizes[a].name, name) == 0)
                return true;
    return false;
}

/* Adds a pin that fixes the symbolic size `name`. */
static void pin_size(struct importing *m, const char *name, int64_t size)
{
    *CR_PUSH(m->pins, m->n_pins, m->cap_pins) =
        (struct cr_onnx_pin){name, cr_arena_print(&m->import->arena, "%" PRId64, size), true};
}

/* Makes a symbolic size a length, as the caller asks.  The script is made for its bound. */
static int add_length(struct importing *m, const struct cr_onnx_pin *wanted)
{
    char *end;
    const char *name = cr_arena_text(&m->import->arena, wanted->name, strlen(wanted->name));
    const struct cr_shown shown = cr_show(name, strlen(name));
    long long bound = strtoll(wanted->value, &end, 10);
    if (!*wanted->value || *end || bound < CR_ONNX_LEAST_BOUND || bound > INT32_MAX)
        return cr_fail(m->error, "%.300s: --length %s=%s, expected a bound from %d on",
                       m->model.path, shown.text,
                       cr_show(wanted->value, strlen(wanted->value)).text, CR_ONNX_LEAST_BOUND);
    if (!is_size(m, name))
        return cr_fail(m->error, "%.300s: --length %s: the model has no symbolic size of that "
                       "name, expected one of its names", m->model.path, shown.text);
    if (has_pin(m, name))
        return cr_fail(m->error, "%.300s: --length %s: found it twice, expected one --length or --set",
                       m->model.path, shown.text);
    if (m->symbols.n_lengths == CR_ONNX_LENGTHS)
        return cr_fail(m->error, "%.300s: --length %s: too many lengths, expected at most %d",
                       m->model.path, shown.text, CR_ONNX_LENGTHS);
    m->symbols.lengths[m->symbols.n_lengths++] = (struct cr_onnx_length){name, bound, CR_ONNX_NONE};
    pin_size(m, name, bound);
    return 0;
}

static int add_lengths(struct importing *m, const struct cr_import_how *how)
{
    for (int i = 0; i < how->n_lengths; i++)
        if (add_length(m, &how->lengths[i]))
            return -1;
    cr_symbols_begin(&m->symbols);
    return 0;
}

/* Makes the graph and the script, and replaces symbols of the script by lengths. */
static int translate_all(struct importing *m)
{
    if (infer(m) || leave_out_empty(m) || rewrite(m))
        return -1;
    return m->symbols.n_lengths && (cr_onnx_find_lengths(&m->script, m->error) ||
                                    cr_onnx_settle_lengths(&m->script, m->error))
               ? -1
               : 0;
}

static void free_translation(struct importing *m)
{
    cr_onnx_script_free(&m->script);
    cr_onnx_graph_free(&m->graph);
    cr_symbols_free(&m->symbols);
    free(m->pins);
    free(m->pinned);
}

/* Runs all steps of an import.  The caller frees the contents of *m, also after a failure. */
static int run(struct importing *m, const char *path, const struct cr_import_how *how)
{
    if (cr_onnx_model_open(&m->model, path, m->error) || check_pins(m) || add_lengths(m, how) ||
        pin_sizes(m) || translate_all(m) ||
        cr_script_print(&m->printer, &m->script, m->error) ||
        cr_import_weights_take(&m->import->weights, &m->model, m->printer.weights,
                               m->printer.n_weights, m->error))
        return -1;
    m->import->text = m->printer.text.data;
    m->import->length = m->printer.text.length;
    m->printer.text = (struct cr_text){0};
    m->import->pinned = m->pinned;
    m->import->n_pinned = m->n_pinned;
    m->pinned = NULL;
    return 0;
}

/* Frees temporary data also after a failure. */
int cr_import_open(struct cr_import *import, const char *path, const struct cr_import_how *how,
                   struct cr_error *error)
{
    struct importing m = {
        .import = import, .inputs = how->inputs, .n_inputs = how->n_inputs, .error = error};
    *import = (struct cr_import){0};
    for (int i = 0; i < how->n_pins; i++)
        *CR_PUSH(m.pins, m.n_pins, m.cap_pins) = how->pins[i];
    int status = run(&m, path, how);
    cr_script_free_printer(&m.printer);
    free_translation(&m);
    cr_onnx_model_close(&m.model);
    if (status)
        cr_import_close(import);
    return status;
}

void cr_import_close(struct cr_import *import)
{
    free(import->text);
    free(import->pinned);
    cr_import_weights_free(&import->weights);
    cr_arena_free(&import->arena);
    *import = (struct cr_import){0};
}
