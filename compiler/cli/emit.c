/* emit.c - crescent emit: standalone C. */
#include <string.h>

#include "compiler/ir/escape.h"
#include "compiler/emit/pipeline.h"
#include "grads.h"
#include "report.h"

static struct cr_program *make_program(struct cr_model *m, struct cr_error *error)
{
    const struct cr_options *o = m->options;
    struct cr_pass_options passes = {
        .skip = o->skip.items, .n_skip = o->skip.n, .max_arena = o->max_arena, .path = o->model};
    struct cr_graph *graph = m->script.graph;
    m->script.graph = NULL;
    return cr_make_program(graph, &passes, NULL, error);
}

static int write_program(const struct cr_program *p, const struct cr_options *o,
                         struct cr_error *error)
{
    const char *path = o->out;
    int stem = (int)strlen(path) - 2;
    if (o->train ? cr_write_standalone_step(p, o->model, path, error)
                 : cr_write_standalone(p, path, error))
        return -1;
    cr_print(stdout, "Wrote %s and %.*s.h: %s, %d ops in %d kernel%s, %s parameters\n", path, stem,
             path, p->name, p->ops_before, p->n_kernels, p->n_kernels == 1 ? "" : "s",
             cr_thousands(cr_count_elements(p->params, p->n_params)).text);
    return 0;
}

int cr_verb_emit(const struct cr_options *o, struct cr_error *error)
{
    struct cr_model model;
    size_t length = o->out ? strlen(o->out) : 0;
    if (!o->out)
        return cr_fail(error, "%.400s: no -o, expected -o FILE.c", o->model), 2;
    if (length < 3 || strcmp(o->out + length - 2, ".c") != 0 || o->out[length - 3] == '/')
        return cr_fail(error, "-o %.400s: expected a name that ends in .c", o->out), 2;
    if (o->train && o->grads)
        return cr_fail(error, "--grads %.300s: a step has its own gradients, expected no --train",
                       o->grads),
               2;
    if (cr_grads_check_no_file(o, "emit", error) || cr_model_load(&model, o, error))
        return 2;
    struct cr_program *program = make_program(&model, error);
    int status = program && write_program(program, o, error) == 0 ? 0 : 2;
    cr_program_free(program);
    cr_model_free(&model);
    return status;
}
