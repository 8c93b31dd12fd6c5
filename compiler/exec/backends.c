/* backends.c - the table of backends; see backends.h. */
#include "backends.h"

/* Compiles by TinyCC.  TinyCC rejects a text only because of its size or of a bug of this
 * compiler. */
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

/* Compiles the standalone C file, which has its own runtime and its own threads. */
static int compile_standalone(struct cr_engine *e, struct cr_error *error)
{
    return cr_compile_standalone(e->program, e->threads, &e->code, error);
}

#define ROW(backend, kind)                                                                         \
    .name = #backend, .open = cr_open_##kind, .close = cr_close_##kind,                            \
    .take_params = cr_take_params_##kind, .run = cr_run_##kind,                                    \
    .may_store_over = cr_may_store_over_##kind

const struct cr_backend_row cr_backends[CR_BACKEND_COUNT] = {
    [CR_BACKEND_TCC] = {ROW(tcc, compiled), .compile = compile_tcc},
    [CR_BACKEND_CC] = {ROW(cc, compiled), .compile = compile_cc},
    [CR_BACKEND_REF] = {ROW(ref, ref)},
    [CR_BACKEND_STANDALONE] = {ROW(standalone, compiled), .compile = compile_standalone, .chooses_isa = true},
};
