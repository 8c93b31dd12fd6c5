/* The whole text of a model: its kernels' functions and the function that calls them. */
#include "program.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "kernels.h"
#include "text.h"

struct writer {
    const struct cr_module *m;
    const struct cr_graph *g;
    struct cr_text text;
    struct cr_function *functions; /* by kernel; filled for those that have code of their own */
    int64_t scratch;
};

static const struct cr_function *function_of(const struct writer *w, int kernel)
{
    return &w->functions[w->m->function[kernel]];
}

static void print_functions(struct writer *w)
{
    int number = 0;
    for (int i = 0; i < w->m->n_kernels; i++) {
        if (w->m->function[i] != i)
            continue;
        cr_print_kernel_function(&w->text, w->m, i, ++number, &w->functions[i]);
        if (w->scratch < w->functions[i].scratch)
            w->scratch = w->functions[i].scratch;
    }
}

/* ---- where operands lie ---- */

enum { PACKED = -1 }; /* in place of an operand's number: the packed weights */

/* Where a call is made: outside loops, or in the body of one. */
struct place {
    const struct cr_loop *loop; /* null outside */
    int index;                  /* of the loop */
    int64_t stride;             /* from one layer's weights to the next's, as most lie */
};

/* How the body of a loop speaks of a carried node: "carry0", the value handed in, or
 * "next0", the one being made. */
static bool print_carry(struct writer *w, const struct place *place, cr_id id, bool handed_in)
{
    for (int i = 0; place->loop && i < w->m->n_carries; i++) {
        const struct cr_carry *carry = &w->m->carries[i];
        if (carry->loop == place->index && carry->body == id) {
            cr_put(&w->text, handed_in ? "carry%d" : "next%d", i);
            return true;
        }
    }
    return false;
}

/* "base + offset". */
static void print_offset(struct writer *w, const char *base, int64_t offset)
{
    cr_put(&w->text, "%s", base);
    if (offset)
        cr_put(&w->text, " + %lld", (long long)offset);
}

/* Where anything but weights lies. */
static void print_storage(struct writer *w, cr_id id)
{
    const struct cr_storage *s = &w->m->storage[id];
    if (s->space == CR_SPACE_ARENA)
        print_offset(w, "arena", s->offset);
    else
        cr_put(&w->text, s->space == CR_SPACE_INPUT ? "in%lld" : "out%lld", (long long)s->offset);
}

/* ---- weights ---- */

/* Where in the weights the kernel's operand `ref`, or its packed matrix if PACKED, begins in an
 * iteration of the loop. */
static int64_t weights_at(const struct writer *w, const struct place *place, int kernel, int ref,
                          int iteration)
{
    int twin = place->loop ? kernel + iteration * place->loop->period : kernel;
    return ref == PACKED ? w->m->packed[twin] : w->m->storage[w->m->kernels[twin].refs[ref]].offset;
}

/* Whether the layers' weights lie at even distances, and at which; outside of loops at 0. */
static bool is_even(const struct writer *w, const struct place *place, int kernel, int ref,
                    int64_t *stride)
{
    *stride = 0;
    if (!place->loop)
        return true;
    int64_t base = weights_at(w, place, kernel, ref, 0);
    *stride = weights_at(w, place, kernel, ref, 1) - base;
    for (int i = 2; i < place->loop->count; i++)
        if (weights_at(w, place, kernel, ref, i) != base + i * *stride)
            return false;
    return true;
}

/* A place in the weights, and in a loop the way from layer to layer. */
static void print_weights(struct writer *w, const struct place *place, int kernel, int ref)
{
    int64_t stride;
    if (!is_even(w, place, kernel, ref, &stride)) {
        for (int i = 0; i < place->loop->count; i++)
            cr_put(&w->text, "%s%lld", i ? ", " : "weights + (const long[]){",
                   (long long)weights_at(w, place, kernel, ref, i));
        cr_put(&w->text, "}[layer]");
        return;
    }
    bool usual = stride && stride == place->stride;
    print_offset(w, usual ? "layer_weights" : "weights", weights_at(w, place, kernel, ref, 0));
    if (stride && !usual)
        cr_put(&w->text, " + layer * %lld", (long long)stride);
}

/* ---- calls ---- */

/* An operand: a carry's value if the second iteration reads what the first one made. */
static void print_operand(struct writer *w, const struct place *place, int kernel, int ref)
{
    cr_id id = w->m->kernels[kernel].refs[ref];
    if (place->loop) {
        cr_id second = w->m->kernels[kernel + place->loop->period].refs[ref];
        if (second != id && print_carry(w, place, second, true))
            return;
        if (print_carry(w, place, id, false))
            return;
    }
    if (w->m->storage[id].space == CR_SPACE_WEIGHTS)
        print_weights(w, place, kernel, ref);
    else
        print_storage(w, id);
}

static void print_call(struct writer *w, const struct place *place, int kernel)
{
    const struct cr_kernel *k = &w->m->kernels[kernel];
    const struct cr_function *f = function_of(w, kernel);
    int indent = place->loop ? 8 : 4;
    struct cr_text *t = &w->text;
    cr_put(t, "%*s{\n%*sconst struct k%d_args args = {\n", indent, "", indent + 4, "", f->number);
    cr_put(t, "%*s.rt = rt,\n", indent + 8, "");
    for (int r = 0; r < k->n_refs; r++) {
        cr_put(t, "%*s.%s = ", indent + 8, "", f->fields[r]);
        print_operand(w, place, kernel, r);
        cr_put(t, ",\n");
    }
    if (k->packed != CR_NONE) {
        cr_put(t, "%*s.w = ", indent + 8, "");
        print_weights(w, place, kernel, PACKED);
        cr_put(t, ",\n");
    }
    for (int s = 0; s < k->n_streams; s++)
        cr_put(t, "%*s.stream%d = %lld,\n", indent + 8, "", s, (long long)k->streams[s]);
    cr_put(t, "%*s.out = ", indent + 8, "");
    if (!print_carry(w, place, k->buffer, false))
        print_storage(w, k->buffer);
    cr_put(t, ",\n%*s};\n", indent + 4, "");
    cr_put_line(t, indent + 4, "rt->parallel(pool, %lld, k%d_%s, &args, scratch, scratch_floats);",
                (long long)f->items, f->number, f->title);
    cr_put(t, "%*s}\n", indent, "");
}

/* The distance between the packed weights of two layers, where a kernel has some. */
static int64_t usual_stride(const struct writer *w, const struct place *place, int kernel)
{
    int64_t stride;
    for (int k = kernel; k < kernel + place->loop->period; k++)
        if (w->m->kernels[k].packed != CR_NONE && is_even(w, place, k, PACKED, &stride) && stride)
            return stride;
    return 0;
}

/* A loop over layers: carries change places from one iteration to the next. */
static void print_loop(struct writer *w, const struct cr_step *step)
{
    struct place place = {&w->m->loops[step->loop], step->loop, 0};
    const struct cr_loop *loop = place.loop;
    struct cr_text *t = &w->text;
    for (int i = 0; i < w->m->n_carries; i++) {
        if (w->m->carries[i].loop != step->loop)
            continue;
        cr_put(t, "    const float *carry%d = ", i);
        print_storage(w, w->m->carries[i].initial);
        cr_put(t, ";\n");
    }
    place.stride = usual_stride(w, &place, step->kernel);
    cr_put(t, "    for (long layer = 0; layer < %d; layer++) {\n", loop->count);
    if (place.stride)
        cr_put(t, "        const float *const layer_weights = weights + layer * %lld;\n",
               (long long)place.stride);
    for (int i = 0; i < w->m->n_carries; i++) {
        const struct cr_carry *carry = &w->m->carries[i];
        if (carry->loop != step->loop)
            continue;
        cr_put(t, "        float *next%d = ", i);
        if (w->m->storage[carry->last].space == CR_SPACE_OUTPUT) {
            cr_put(t, "layer == %d ? ", loop->count - 1);
            print_storage(w, carry->last);
            cr_put(t, " : ");
        }
        cr_put(t, "arena + (layer %% 2 ? %lld : %lld);\n", (long long)carry->slot[0],
               (long long)carry->slot[1]);
    }
    for (int k = 0; k < loop->period; k++)
        print_call(w, &place, step->kernel + k);
    for (int i = 0; i < w->m->n_carries; i++)
        if (w->m->carries[i].loop == step->loop)
            cr_put(t, "        carry%d = next%d;\n", i, i);
    cr_put(t, "    }\n");
}

/* " name[2, 3]" as a comment. */
static void print_port_comment(struct writer *w, const char *name, const struct cr_node *node)
{
    char plain[128], shape[200];
    cr_plain_scope(plain, sizeof plain, name);
    cr_put(&w->text, " /* %s%s */\n", plain,
           cr_shape_text(shape, sizeof shape, node->rank, node->shape));
}

/* The ports as typed pointers. */
static void print_ports(struct writer *w)
{
    int n = 0;
    for (cr_id id = 0; id < w->g->n_nodes; id++) {
        const struct cr_node *node = &w->g->nodes[id];
        if (node->op != CR_OP_input)
            continue;
        const char *type = node->dtype == CR_I32 ? "int" : "float";
        cr_put(&w->text, "    const %s *const in%d = inputs[%d];", type, n, n);
        print_port_comment(w, node->name, node);
        cr_put(&w->text, "    (void)in%d;\n", n++);
    }
    for (int i = 0; i < w->g->n_outputs; i++) {
        cr_put(&w->text, "    float *const out%d = outputs[%d];", i, i);
        print_port_comment(w, w->g->outputs[i].name, &w->g->nodes[w->g->outputs[i].id]);
    }
}

static void print_execute(struct writer *w)
{
    struct cr_text *t = &w->text;
    cr_put(
        t,
        "\n/* Computes the outputs. */\n"
        "int %s_execute(const struct cr_kernels *rt, struct cr_pool *pool, const float *weights,\n"
        "    const void *const *inputs, void *const *outputs, float *arena)\n{\n"
        "    const long scratch_floats = %lld; /* for each thread */\n"
        "    float *const scratch = arena + %lld;\n",
        w->g->name, (long long)w->scratch, (long long)w->m->arena_floats);
    print_ports(w);
    cr_put(t, "    (void)weights, (void)inputs;\n");
    for (int i = 0; i < w->m->n_steps; i++) {
        const struct place outside = {NULL, -1, 0};
        if (w->m->steps[i].loop < 0)
            print_call(w, &outside, w->m->steps[i].kernel);
        else
            print_loop(w, &w->m->steps[i]);
    }
    cr_put(t, "    return 0;\n}\n");
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

static int calls_of(const struct cr_module *m, int kernel)
{
    int calls = 0;
    for (int i = 0; i < m->n_kernels; i++)
        calls += m->function[i] == kernel;
    return calls;
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

/* The steps go through the kernels once and in order, and so does a run. */
static void set_sequence(struct cr_program *program, const struct cr_module *m)
{
    int *number = cr_calloc((size_t)m->n_kernels, sizeof *number), n = 0;
    program->sequence = cr_calloc((size_t)m->n_kernels, sizeof *program->sequence);
    program->n_sequence = m->n_kernels;
    for (int i = 0; i < m->n_kernels; i++) {
        if (m->function[i] == i)
            number[i] = n++;
        program->sequence[i] = number[m->function[i]];
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
        program->kernels[program->n_kernels++] = (struct cr_kernel_info){
            cr_strdup(name), cr_strdup(where->scope), cr_strdup(line),  calls_of(w->m, i),
            k->flops,        k->bytes_read,           k->bytes_written, weights_read(w->m, k)};
    }
}

struct cr_program *cr_emit_program(const struct cr_module *module)
{
    struct writer w = {.m = module, .g = module->graph};
    struct cr_program *program = cr_calloc(1, sizeof *program);
    assert(module->has & CR_HAS_PLAN);
    w.functions = cr_calloc((size_t)module->n_kernels, sizeof *w.functions);
    print_functions(&w);
    print_execute(&w);
    program->name = cr_strdup(w.g->name);
    program->text = w.text.data;
    program->text_length = w.text.length;
    program->params = leaf_ports(w.g, CR_OP_param, &program->n_params);
    program->inputs = leaf_ports(w.g, CR_OP_input, &program->n_inputs);
    program->n_outputs = w.g->n_outputs;
    program->outputs = cr_calloc((size_t)w.g->n_outputs, sizeof *program->outputs);
    for (int i = 0; i < w.g->n_outputs; i++)
        program->outputs[i] = port_of(&w.g->nodes[w.g->outputs[i].id], w.g->outputs[i].name);
    set_places(program, module);
    set_kernels(program, &w);
    set_sequence(program, module);
    program->weights_bytes = module->weights_floats * (int64_t)sizeof(float);
    program->arena_bytes = module->arena_floats * (int64_t)sizeof(float);
    program->arena_bytes_least = module->lower_bound_floats * (int64_t)sizeof(float);
    program->scratch_bytes = w.scratch * (int64_t)sizeof(float);
    program->ops_before = module->ops_before;
    free(w.functions);
    return program;
}

static void free_ports(struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++)
        free((char *)ports[i].name);
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
