/* backends.c - the table of backends; see backends.h. */
#include "backends.h"

/* Compiles by TinyCC, which fails only because of the text: its size, or a bug of ours. */
static int compile_tcc(struct cr_engine *e, struct cr_error *error)
{
    struct cr_error why;
    if (cr_compile_tcc(e->program, &e->code, &why))
        return cr_fail(error, "%s: %s", e->path, why.text);
    return 0;
}

static int compile_cc(struct cr_engine *e, struct cr_error *error)
{
    return cr_compile_cc(e->program, &e->code, error);
}

/* Compiles standalone C, which has its own runtime and threads. */
static int compile_standalone(struct cr_engine *e, struct cr_error *error)
{
    return cr_compile_standalone(e->program, e->threads, &e->code, error);
}

/* Defines the `open` of a backend that compiles by compile_BACKEND. */
#define COMPILED(backend)                                                                          \
    static int open_##backend(struct cr_engine *e, struct cr_graph *graph,                         \
                              const struct cr_engine_options *o, struct cr_error *error)           \
    {                                                                                              \
        return cr_open_compiled(e, graph, o, compile_##backend, error);                            \
    }
COMPILED(tcc)
COMPILED(cc)
COMPILED(standalone)

#define ROW(backend, kind, opener)                                                                 \
    .name = #backend, .open = opener, .close = cr_close_##kind,                                    \
    .take_params = cr_take_params_##kind, .run = cr_run_##kind,                                    \
    .may_store_over = cr_may_store_over_##kind

const struct cr_backend_row cr_backends[CR_BACKEND_COUNT] = {
    [CR_BACKEND_TCC] = {ROW(tcc, compiled, open_tcc)},
    [CR_BACKEND_CC] = {ROW(cc, compiled, open_cc)},
    [CR_BACKEND_REF] = {ROW(ref, ref, cr_open_ref)},
    [CR_BACKEND_STANDALONE] = {ROW(standalone, compiled, open_standalone), .chooses_isa = true},
};
