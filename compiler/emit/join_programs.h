/*
 * join_programs.h - one program for all ranks that run a model together.
 *
 * The pass `shard` cuts a model for N ranks, so each rank has a program of its own.  All have the
 * same steps, sizes and memory.  They differ in where a rank's part of a whole value begins, which
 * are offsets inside bodies and of operands, and in what is read from the parameters.
 *
 * The joined program has the steps of one of them.  A number that depends on the rank becomes an
 * argument of the function, `rank_offset`, whose binding has the form CR_FORM_RANKS: a table by
 * rank.  program->layouts lists the layouts of all ranks, one rank after another; a parameter's
 * offset is that of some rank, or -1.
 */
#ifndef CR_JOIN_PROGRAMS_H
#define CR_JOIN_PROGRAMS_H

#include <stdbool.h>

#include "compiler/ir/error.h"
#include "compiler/ir/program.h"

/*
 * Joins the programs of ranks 0 to n - 1, n > 1, and prints the text of the result.  Frees all of
 * them but the result.  Fails if no step exchanges anything, which those of ranks that train do not, or if
 * the programs differ in something else; the message names the script at `path`.
 */
struct cr_program *cr_join_programs(struct cr_program **programs, int n, bool trains, const char *path,
                                    struct cr_error *error);

#endif
