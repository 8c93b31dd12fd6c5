/* report.c - reports sizes and counts of a compiled model; see crescent.h. */
#include "handles.h"

static int64_t bytes_of(const struct cr_port *ports, int n)
{
    int64_t elements = 0;
    for (int i = 0; i < n; i++)
        elements += cr_port_elements(&ports[i]);
    return elements * (int64_t)sizeof(float);
}

/* Returns the bytes of all parameters that kernels read, in their formats. */
static int64_t parameter_bytes(const struct cr_program *p)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->n_params; i++)
        if (p->params[i].offset >= 0)
            bytes += cr_format_bytes(p->params[i].format, cr_port_elements(&p->params[i]));
    return bytes;
}

static void add_kernels(crescent_report *r, const struct cr_program *p)
{
    for (int i = 0; i < p->n_kernels; i++) {
        const struct cr_kernel_info *k = &p->kernels[i];
        r->flops += k->flops * (k->calls - k->again);
        r->flops_again += k->flops * k->again;
        r->calls_again += k->again;
    }
}

static bool calls(const struct cr_function *f, enum cr_callee callee)
{
    for (int i = 0; i < f->n_calls; i++)
        if (f->calls[i].callee == callee)
            return true;
    return false;
}

/* Counts the functions that read packed weights, and those of them that round the left operand. */
static void count_products(crescent_report *r, const struct cr_program *p)
{
    for (int i = 0; i < p->n_functions; i++) {
        const struct cr_function *f = &p->functions[i];
        bool plain = false, rounded = false;
        for (int s = 0; s < f->n_slots; s++)
            plain |= f->slots[s].packed && calls(f, cr_formats[f->slots[s].format].gemm);
        for (int a = CR_ARITHMETIC_f32 + 1; a < CR_ARITHMETIC_COUNT; a++)
            rounded |= calls(f, cr_arithmetics[a].round);
        r->n_products += plain || rounded;
        r->n_rounded += rounded;
    }
}

crescent_report cr_report_of(const struct cr_program *p)
{
    crescent_report r = {
        .name = p->name,
        .compiled = 1,
        .text_bytes = p->text_length,
        .ops = p->ops_before,
        .n_kernels = p->n_kernels,
        .n_calls = p->n_sequence,
        .weights_bytes = p->weights_bytes,
        .arena_bytes = p->arena_bytes,
        .scratch_bytes = p->scratch_bytes,
        .arena_bytes_least = p->arena_bytes_least,
        .activation_bytes = p->activation_bytes,
        .parameter_bytes = parameter_bytes(p),
        .border_bytes = bytes_of(p->inputs, p->n_inputs) + bytes_of(p->outputs, p->n_outputs),
    };
    add_kernels(&r, p);
    count_products(&r, p);
    return r;
}

/* Returns the report that was made at compilation, completed by what the engine knows. */
int crescent_report_of(const crescent_model *model, crescent_report *report)
{
    CR_REQUIRE(model, report);
    const struct cr_engine *e = &model->engine;
    *report = model->report;
    report->name = e->name;
    report->backend = (crescent_backend)e->backend;
    report->isa = e->rt->isa;
    report->threads = e->threads;
    report->passes_ns = e->passes_ns;
    report->emit_ns = e->emit_ns;
    report->compile_ns = e->compile_ns;
    return CRESCENT_OK;
}

crescent_kernel cr_public_kernel(const struct cr_program *program, int index)
{
    const struct cr_kernel_info *k = &program->kernels[index];
    return (crescent_kernel){.name = k->name,
                             .scope = k->scope,
                             .where = k->where,
                             .calls = k->calls,
                             .flops = k->flops,
                             .bytes_read = k->bytes_read,
                             .bytes_written = k->bytes_written,
                             .bytes_weights = k->bytes_weights,
                             .bytes_to_l1 = k->traffic.to_l1,
                             .bytes_to_l2 = k->traffic.to_l2};
}

/* Describes a kernel; the interpreter has no kernels. */
int crescent_kernel_at(const crescent_model *model, int index, crescent_kernel *kernel)
{
    CR_REQUIRE(model, kernel);
    const struct cr_program *p = model->engine.program;
    if (cr_check_index(model->engine.path, "kernel", index, p ? p->n_kernels : 0,
                       &model->context->error))
        return CRESCENT_FAILED;
    *kernel = cr_public_kernel(p, index);
    return CRESCENT_OK;
}
