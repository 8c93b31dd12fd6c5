/* make_program.c - compiles a graph to a program; see make_program.h. */
#include "make_program.h"

#include <string.h>
#include <time.h>

#include "compiler/passes/plan/stored_nodes.h"

int64_t cr_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct cr_program *cr_make_program(struct cr_graph *graph, const struct cr_pass_options *options,
                                   struct cr_stages *stages, struct cr_error *error)
{
    int64_t start = cr_clock();
    struct cr_module *module = cr_module_new(graph);
    struct cr_program *program = NULL;
    int status = cr_run_passes(module, options, error);
    int64_t passed = cr_clock();
    if (!status && options && options->stored)
        cr_find_stored_nodes(module, options->stored);
    if (!status)
        program = cr_emit_program(module);
    if (stages)
        *stages = (struct cr_stages){passed - start, cr_clock() - passed};
    cr_module_free(module);
    return program;
}

static int dump_program(struct cr_graph *graph, const struct cr_pass_options *options, FILE *out,
                        struct cr_error *error)
{
    struct cr_program *program = cr_make_program(graph, options, NULL, error);
    if (!program)
        return -1;
    fwrite(program->text, 1, program->text_length, out);
    cr_program_free(program);
    return 0;
}

/* Runs the passes up to the pass called `pass`, and prints the module after it. */
static int dump_module(struct cr_graph *graph, const char *pass,
                       const struct cr_pass_options *options, FILE *out, struct cr_error *error)
{
    struct cr_pass_options passes = *options;
    struct cr_module *module = cr_module_new(graph);
    int status = 0;
    passes.dump_after = passes.stop_after = pass;
    passes.dump_to = out;
    if (strcmp(pass, "script") == 0)
        cr_dump(out, module, pass);
    else
        status = cr_run_passes(module, &passes, error);
    cr_module_free(module);
    return status;
}

int cr_dump_after(struct cr_graph *graph, const char *pass, const struct cr_pass_options *options,
                  FILE *out, struct cr_error *error)
{
    static const struct cr_pass_options none;
    const struct cr_pass_options *o = options ? options : &none;
    return strcmp(pass, "emit") == 0 ? dump_program(graph, o, out, error)
                                     : dump_module(graph, pass, o, out, error);
}
