/*
 * pattern_program.h - a regular expression as a program for emitted C, which has no library for
 * them; match.inc runs it.
 *
 * All that matches exactly one character is a set, whose characters PCRE2 finds.  The rest are
 * choices, jumps, looks and places.  Not supported are references, \K, \G, atomic groups,
 * possessive repetitions of more than a character, looks behind at more than a character, and loops
 * over what may be empty.
 */
#ifndef CR_PATTERN_PROGRAM_H
#define CR_PATTERN_PROGRAM_H

#include "cutter.h"
#include "pattern.h"

struct cr_pattern_program {
    struct cr_pattern_op *ops;
    uint32_t *sets; /* pairs of the first and the last character of a range */
    int n, cap, n_sets, sets_cap;
};

/* Compiles a pattern that is a regular expression or a string.  Returns false, and sets *what to
 * the part, if it is not supported. */
bool cr_compile_pattern(struct cr_pattern_program *program, const struct cr_pattern *pattern,
                        const char **what);
void cr_free_pattern_program(struct cr_pattern_program *program);

#endif
