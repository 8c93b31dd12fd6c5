/*
 * join_programs.h - joins the programs of all ranks that run a model together to one program.
 *
 * The pass `shard` splits a model for N ranks, so each rank has a program of its own.  All of
 * these have the same steps, sizes and memory.  They differ only in where a rank's part of a
 * whole value begins, which gives different offsets in bodies and of operands, and in which parts
 * of the parameters are read.
 *
 * The joined program has the steps of one of them.  A number that depends on the rank becomes an
 * argument of the function, `rank_offset`, whose binding has the form CR_FORM_RANKS: a table by
 * rank.  program->layouts lists the layouts of all ranks, one rank after another; a parameter's
 * offset is that of any rank that uses it, or -1.
 */
#ifndef CR_JOIN_PROGRAMS_H
#define CR_JOIN_PROGRAMS_H

#include <stdbool.h>

#include "compiler/ir/error.h"
#include "compiler/ir/program.h"

/*
 * Joins the programs of ranks 0 to n - 1, n > 1, and prints the text of the result.  Frees all
 * programs but the result.  Fails if no step exchanges data, unless the ranks train, or if the
 * programs differ in anything that cannot depend on the rank; the message names the script at
 * `path`.
 */
struct cr_program *cr_join_programs(struct cr_program **programs, int n, bool trains, const char *path,
                                    struct cr_error *error);

#endif
