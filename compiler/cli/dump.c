/* dump.c - crescent dump: the module after a pass, or the C that becomes of it. */
#include <string.h>

#include "compiler/emit/emit.h"
#include "compiler/passes/passes.h"
#include "grads.h"

static void list_passes(const char *model)
{
    printf("passes of %s, for --after:\n", model);
    puts("  script     the graph as the script built it");
    for (int i = 0; i < cr_n_passes; i++)
        printf("  %-10s %s\n", cr_passes[i].name, cr_passes[i].doc);
    puts("  emit       the model as C: what TinyCC compiles, without the runtime");
}

static void print_text(struct cr_module *module)
{
    struct cr_program *program = cr_emit_program(module);
    fwrite(program->text, 1, program->text_length, stdout);
    cr_program_free(program);
}

/* Prints the module after a pass, or its C after all; the graph is used up. */
static int dump(struct cr_model *m, const struct cr_options *o, struct cr_error *error)
{
    bool emit = strcmp(o->after, "emit") == 0;
    const char *pass = emit ? NULL : o->after;
    struct cr_pass_options passes = {.dump_after = pass,
                                     .stop_after = pass,
                                     .skip = o->skip.items,
                                     .n_skip = o->skip.n,
                                     .dump_to = stdout,
                                     .max_arena = o->max_arena,
                                     .path = o->model};
    struct cr_module *module = cr_module_new(m->script.graph);
    int status = 0;
    m->script.graph = NULL;
    if (strcmp(o->after, "script") == 0)
        cr_dump(stdout, module, "script");
    else
        status = cr_run_passes(module, &passes, error);
    if (emit && status == 0)
        print_text(module);
    cr_module_free(module);
    return status ? 2 : 0;
}

int cr_verb_dump(const struct cr_options *o, struct cr_error *error)
{
    struct cr_model model;
    int status = 0;
    if (cr_grads_check_no_file(o, "dump", error) || cr_model_load(&model, o, error))
        return 2;
    if (o->after)
        status = dump(&model, o, error);
    else
        list_passes(model.script.graph->name);
    cr_model_free(&model);
    return status;
}
