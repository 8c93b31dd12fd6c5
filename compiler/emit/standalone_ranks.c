/* standalone_ranks.c - prints the parts of a standalone model that work with other processes; see
 * standalone_ranks.h. */
#include "standalone_ranks.h"

void cr_put_ranks_macro(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name, *upper = w->upper;
    if (!w->p->ranks)
        return;
    cr_put(t,
           "/* The model is cut for this number of processes of MPI, the ranks of MPI_COMM_WORLD: "
           "compile the file by\n"
           " * mpicc with -D%s_MPI.  Between MPI_Init and MPI_Finalize all of them make the same "
           "calls, with the\n"
           " * same parameters and inputs, and get the same outputs.  %s_load keeps this rank's "
           "part of\n"
           " * a parameter.  With another number of processes the functions return 1. */\n"
           "#define %s_RANKS %d\n\n",
           upper, name, upper, w->p->ranks);
}

void cr_put_ranks_type(struct cr_text *t, const struct cr_standalone *w)
{
    if (w->p->ranks && w->next_state)
        cr_put(t, "\n/* The number of this process. */\nstruct cr_ranks {\n    int rank;\n};\n");
    else if (w->p->ranks)
        cr_put(t, "\n/* The number of this process, and the exchange between all: what rank r has "
                  "at `from` goes to\n"
                  " * `to` + r * stride of every rank. */\n"
                  "struct cr_ranks {\n    int rank;\n"
                  "    void (*gather_blocks)(struct cr_ranks *ranks, void *to, const void *from, "
                  "long bytes,\n"
                  "        long stride);\n};\n");
}

void cr_put_ranks_source(struct cr_text *t, const struct cr_standalone *w)
{
    if (!w->p->ranks)
        return;
    cr_put(t,
           "\n/* ---- the exchange between processes ---- */\n\n"
           "#ifndef %s_MPI\n"
           "#error \"the model is cut for %d processes: compile it by mpicc -D%s_MPI\"\n"
           "#endif\n#include <mpi.h>\n",
           w->upper, w->p->ranks, w->upper);
    cr_put_named_template(t, w, "compiler/emit/standalone_ranks.inc");
}
