/* The whole text of a model: its kernels' functions and the function that calls them. */
#include "program.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "kernels.h"
#include "layers.h"
#include "names.h"
#include "text.h"

struct writer {
    const char *name; /* the model's, in C */
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_text text;
    struct cr_function *functions; /* by kernel; filled for those that have code of their own */
    int64_t scratch;
    bool *inputs, *outputs; /* by number: whether the text speaks of it as in3 or out3 */
};

static const struct cr_function *function_of(const struct writer *w, int kernel)
{
    return &w->functions[w->m->function[kernel]];
}

static void print_functions(struct writer *w)
{
    struct cr_titles titles;
    int number = 0;
    cr_titles_find(&titles, w->g);
    for (int i = 0; i < w->m->n_kernels; i++) {
        if (w->m->function[i] != i)
            continue;
        cr_print_kernel_function(&w->text, w->m, i, ++number, &titles, w->functions);
        if (w->scratch < w->functions[i].scratch)
            w->scratch = w->functions[i].scratch;
    }
    cr_titles_free(&titles);
}

/* ---- calls ---- */

/* What a call hands over besides the kernel's operands, told by their numbers: */
enum { PACKED = -1, RESULT = -2, STREAM = -3 /* and below: the streams of random numbers */ };

/* Where an operand lies when a kernel is called. */
static struct cr_storage place_of(const struct writer *w, int kernel, int operand)
{
    const struct cr_kernel *k = &w->m->kernels[kernel];
    if (operand == PACKED)
        return (struct cr_storage){CR_SPACE_WEIGHTS, w->m->packed[kernel]};
    if (operand <= STREAM)
        return (struct cr_storage){CR_SPACE_NONE, k->streams[STREAM - operand]};
    return w->m->storage[operand == RESULT ? k->buffer : k->refs[operand]];
}

static enum cr_dtype type_of(const struct writer *w, int kernel, int operand)
{
    const struct cr_kernel *k = &w->m->kernels[kernel];
    if (operand == PACKED || operand <= STREAM)
        return CR_F32;
    return w->g->nodes[operand == RESULT ? k->root : k->refs[operand]].dtype;
}

/* Where it lies in each iteration; the caller frees them. */
static struct cr_storage *places_of(const struct writer *w, const struct cr_layers *layers,
                                    int kernel, int operand)
{
    int n = cr_n_places(layers), period = layers->loop ? layers->loop->period : 0;
    struct cr_storage *places = cr_calloc((size_t)n, sizeof *places);
    for (int i = 0; i < n; i++)
        places[i] = place_of(w, kernel + i * period, operand);
    return places;
}

/* ".name = where it lies," */
static void print_field(struct writer *w, const struct cr_layers *layers, const char *name,
                        int kernel, int operand)
{
    struct cr_storage *places = places_of(w, layers, kernel, operand);
    cr_put(&w->text, "%*s.%s = ", layers->loop ? 16 : 12, "", name);
    cr_print_layers(&w->text, layers, places, type_of(w, kernel, operand));
    cr_put(&w->text, ",\n");
    free(places);
}

static void print_call(struct writer *w, const struct cr_layers *layers, int kernel)
{
    const struct cr_kernel *k = &w->m->kernels[kernel];
    const struct cr_function *f = function_of(w, kernel);
    int indent = layers->loop ? 8 : 4;
    struct cr_text *t = &w->text;
    cr_put(t, "%*s{\n%*sconst struct k%d_args args = {\n", indent, "", indent + 4, "", f->number);
    cr_put(t, "%*s.rt = rt,\n", indent + 8, "");
    for (int r = 0; r < k->n_refs; r++)
        print_field(w, layers, f->fields[r], kernel, r);
    if (k->packed != CR_NONE)
        print_field(w, layers, "w", kernel, PACKED);
    for (int s = 0; s < k->n_streams; s++) {
        char name[32];
        snprintf(name, sizeof name, "stream%d", s);
        print_field(w, layers, name, kernel, STREAM - s);
    }
    print_field(w, layers, "out", kernel, RESULT);
    cr_put(t, "%*s};\n", indent + 4, "");
    cr_put_line(t, indent + 4, "rt->parallel(pool, %lld, k%d_%s, &args, scratch, scratch_floats);",
                (long long)f->items, f->number, f->title);
    cr_put(t, "%*s}\n", indent, "");
}

/* ---- loops ---- */

/* The distance from layer to layer of the first operand of a space that has one. */
static int64_t stride_in(const struct writer *w, const struct cr_layers *layers, int kernel,
                         enum cr_space space)
{
    int64_t stride = 0;
    for (int k = kernel; k < kernel + layers->loop->period; k++) {
        for (int r = RESULT; !stride && r < w->m->kernels[k].n_refs; r++) {
            if ((r == PACKED && w->m->kernels[k].packed == CR_NONE) ||
                place_of(w, k, r).space != space)
                continue;
            struct cr_storage *places = places_of(w, layers, k, r);
            int64_t way = cr_layer_stride(layers, places);
            stride = way > 0 ? way : 0;
            free(places);
        }
    }
    return stride;
}

/* A loop over layers, up or down. */
static void print_loop(struct writer *w, const struct cr_step *step)
{
    const struct cr_loop *loop = &w->m->loops[step->loop];
    struct cr_layers layers = {loop, 0, 0, w->inputs, w->outputs};
    struct cr_text *t = &w->text;
    layers.weights_stride = stride_in(w, &layers, step->kernel, CR_SPACE_WEIGHTS);
    layers.arena_stride = stride_in(w, &layers, step->kernel, CR_SPACE_ARENA);
    bool up = loop->direction > 0;
    cr_put(t, "    for (long layer = %d; layer %s %d; layer%s) {\n", loop->start,
           up ? "<" : ">=", cr_layer_of(loop, loop->count - !up), up ? "++" : "--");
    if (layers.weights_stride)
        cr_put(t, "        const float *const " CR_LAYER_WEIGHTS " = weights + layer * %lld;\n",
               (long long)layers.weights_stride);
    if (layers.arena_stride)
        cr_put(t, "        float *const " CR_LAYER_ARENA " = arena + layer * %lld;\n",
               (long long)layers.arena_stride);
    for (int k = 0; k < loop->period; k++)
        print_call(w, &layers, step->kernel + k);
    cr_put(t, "    }\n");
}

/* ---- the function ---- */

/* " name[2, 3]" as a comment. */
static void print_port_comment(struct writer *w, const char *name, const struct cr_node *node)
{
    char plain[128], shape[200];
    cr_plain_scope(plain, sizeof plain, name);
    cr_put(&w->text, " /* %s%s */\n", plain,
           cr_shape_text(shape, sizeof shape, node->rank, node->shape));
}

/* The ports of which the text speaks, as typed pointers. */
static void print_ports(struct writer *w)
{
    int n = 0;
    for (cr_id id = 0; id < w->g->n_nodes; id++) {
        const struct cr_node *node = &w->g->nodes[id];
        if (node->op != CR_OP_input || !w->inputs[n++])
            continue;
        cr_put(&w->text, "    const %s *const in%d = inputs[%d];", cr_c_type(node->dtype), n - 1,
               n - 1);
        print_port_comment(w, node->name, node);
    }
    for (int i = 0; i < w->g->n_outputs; i++) {
        if (!w->outputs[i])
            continue;
        const struct cr_node *node = &w->g->nodes[w->g->outputs[i].id];
        cr_put(&w->text, "    %s *const out%d = outputs[%d];", cr_c_type(node->dtype), i, i);
        print_port_comment(w, w->g->outputs[i].name, node);
    }
}

static void print_steps(struct writer *w)
{
    const struct cr_layers outside = {NULL, 0, 0, w->inputs, w->outputs};
    for (int i = 0; i < w->m->n_steps; i++) {
        if (w->m->steps[i].loop < 0)
            print_call(w, &outside, w->m->steps[i].kernel);
        else
            print_loop(w, &w->m->steps[i]);
    }
}

/* The steps are printed first: they decide which ports are variables. */
static void print_execute(struct writer *w)
{
    struct cr_text before = w->text;
    w->text = (struct cr_text){0};
    w->inputs = cr_calloc((size_t)w->g->n_nodes, sizeof *w->inputs);
    w->outputs = cr_calloc((size_t)w->g->n_outputs, sizeof *w->outputs);
    print_steps(w);
    struct cr_text steps = w->text, *t = &w->text;
    w->text = before;
    cr_put(
        t,
        "\n/* Computes the outputs. */\n"
        "int %s_execute(const struct cr_kernels *rt, struct cr_pool *pool, const float *weights,\n"
        "    const void *const *inputs, void *const *outputs, float *arena)\n{\n"
        "    const long scratch_floats = %lld; /* for each thread */\n"
        "    float *const scratch = arena + %lld;\n",
        w->name, (long long)w->scratch, (long long)w->m->arena_floats);
    print_ports(w);
    cr_put(t, "    (void)weights, (void)inputs;\n");
    cr_put_bytes(t, steps.data, steps.length);
    cr_put(t, "    return 0;\n}\n");
    free(steps.data);
    free(w->inputs);
    free(w->outputs);
}

/* ---- what the caller must know ---- */

static struct cr_port port_of(const struct cr_node *node, const char *name)
{
    struct cr_port port = {.name = cr_strdup(name),
                           .dtype = node->dtype,
                           .rank = node->rank,
                           .init = node->init,
                           .bound = node->value,
                           .offset = -1};
    memcpy(port.shape, node->shape, sizeof port.shape);
    return port;
}

/* The ports of one kind of leaf, in the order of the graph. */
static struct cr_port *leaf_ports(const struct cr_graph *g, enum cr_op op, int *n)
{
    struct cr_port *ports = cr_calloc((size_t)g->n_nodes, sizeof *ports);
    *n = 0;
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == op)
            ports[(*n)++] = port_of(&g->nodes[id], g->nodes[id].name);
    return ports;
}

static int by_param(const void *a, const void *b)
{
    const struct cr_place *x = a, *y = b;
    if (x->param != y->param)
        return x->param < y->param ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static void set_places(struct cr_program *program, const struct cr_module *m)
{
    int *number = cr_calloc((size_t)m->graph->n_nodes, sizeof *number), n = 0;
    for (cr_id id = 0; id < m->graph->n_nodes; id++)
        if (m->graph->nodes[id].op == CR_OP_param)
            number[id] = n++;
    program->n_places = m->n_places;
    program->places = cr_calloc((size_t)m->n_places, sizeof *program->places);
    for (int i = 0; i < m->n_places; i++) {
        const struct cr_place_info *p = &m->places[i];
        program->places[i] = (struct cr_place){
            number[p->param], p->source, p->rows,         p->cols,      p->row_stride,
            p->col_stride,    p->target, p->panel_stride, p->first_col, p->last};
    }
    free(number);
    qsort(program->places, (size_t)m->n_places, sizeof *program->places, by_param);
    for (int i = m->n_places - 1; i >= 0; i--)
        program->params[program->places[i].param].offset =
            program->places[i].target * (int64_t)sizeof(float);
}

/* Bytes of parameters that a call of the kernel reads. */
static double weights_read(const struct cr_module *m, const struct cr_kernel *k)
{
    double bytes = k->packed == CR_NONE ? 0 : 4 * (double)k->K * (double)k->N;
    for (int r = 0; r < k->n_refs; r++) {
        const struct cr_node *node = &m->graph->nodes[k->refs[r]];
        if (m->storage[k->refs[r]].space == CR_SPACE_WEIGHTS)
            bytes += 4 * (double)cr_elements(node->rank, node->shape);
    }
    return bytes;
}

/* The steps go through the kernels once and in order, and so does a run.  Counts the calls of each
 * function, and of those the ones that make a value again. */
static void set_sequence(struct cr_program *program, const struct cr_module *m)
{
    int *number = cr_calloc((size_t)m->n_kernels, sizeof *number), n = 0;
    program->sequence = cr_calloc((size_t)m->n_kernels, sizeof *program->sequence);
    program->n_sequence = m->n_kernels;
    for (int i = 0; i < m->n_kernels; i++) {
        if (m->function[i] == i)
            number[i] = n++;
        program->sequence[i] = number[m->function[i]];
        struct cr_kernel_info *info = &program->kernels[program->sequence[i]];
        info->calls++;
        info->again += m->kernels[i].again;
    }
    free(number);
}

static void set_kernels(struct cr_program *program, const struct writer *w)
{
    program->kernels = cr_calloc((size_t)w->m->n_kernels, sizeof *program->kernels);
    for (int i = 0; i < w->m->n_kernels; i++) {
        const struct cr_kernel *k = &w->m->kernels[i];
        const struct cr_where *where = &w->g->nodes[k->root].where;
        char name[96], line[512];
        if (w->m->function[i] != i)
            continue;
        snprintf(name, sizeof name, "k%d_%s", w->functions[i].number, w->functions[i].title);
        snprintf(line, sizeof line, "%s:%d", where->file, where->line);
        struct cr_kernel_info *info = &program->kernels[program->n_kernels++];
        *info = (struct cr_kernel_info){.name = cr_strdup(name),
                                        .scope = cr_strdup(where->scope),
                                        .where = cr_strdup(line),
                                        .flops = k->flops,
                                        .bytes_read = k->bytes_read,
                                        .bytes_written = k->bytes_written,
                                        .bytes_weights = weights_read(w->m, k)};
    }
}

struct cr_program *cr_emit_program(const struct cr_module *module)
{
    struct writer w = {.m = module, .g = module->graph};
    struct cr_program *program = cr_calloc(1, sizeof *program);
    assert(module->has & CR_HAS_PLAN);
    w.name = program->name = cr_model_name(w.g->name);
    w.functions = cr_calloc((size_t)module->n_kernels, sizeof *w.functions);
    print_functions(&w);
    print_execute(&w);
    program->text = w.text.data;
    program->text_length = w.text.length;
    program->params = leaf_ports(w.g, CR_OP_param, &program->n_params);
    program->inputs = leaf_ports(w.g, CR_OP_input, &program->n_inputs);
    program->n_outputs = w.g->n_outputs;
    program->outputs = cr_calloc((size_t)w.g->n_outputs, sizeof *program->outputs);
    for (int i = 0; i < w.g->n_outputs; i++)
        program->outputs[i] = port_of(&w.g->nodes[w.g->outputs[i].id], w.g->outputs[i].name);
    cr_identify_ports(program->inputs, program->n_inputs, program->name);
    cr_identify_ports(program->outputs, program->n_outputs, program->name);
    set_places(program, module);
    set_kernels(program, &w);
    set_sequence(program, module);
    program->weights_bytes = module->weights_floats * (int64_t)sizeof(float);
    program->arena_bytes = module->arena_floats * (int64_t)sizeof(float);
    program->arena_bytes_least = module->lower_bound_floats * (int64_t)sizeof(float);
    program->activation_bytes = module->activation_floats;
    if (module->activation_floats > 0)
        program->activation_bytes *= (int64_t)sizeof(float);
    program->scratch_bytes = w.scratch * (int64_t)sizeof(float);
    program->ops_before = module->ops_before;
    free(w.functions);
    return program;
}

static void free_ports(struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++) {
        free((char *)ports[i].name);
        free((char *)ports[i].identifier);
    }
    free(ports);
}

void cr_program_free(struct cr_program *program)
{
    if (!program)
        return;
    free_ports(program->params, program->n_params);
    free_ports(program->inputs, program->n_inputs);
    free_ports(program->outputs, program->n_outputs);
    for (int i = 0; i < program->n_kernels; i++) {
        free((char *)program->kernels[i].name);
        free((char *)program->kernels[i].scope);
        free((char *)program->kernels[i].where);
    }
    free(program->kernels);
    free(program->sequence);
    free(program->places);
    free(program->text);
    free((char *)program->name);
    free(program);
}
