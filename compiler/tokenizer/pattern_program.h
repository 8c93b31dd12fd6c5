/*
 * pattern_program.h - compiles a regular expression to a program for emitted C, which has no
 * library for regular expressions; run_pattern.inc runs the program.
 *
 * A part of the expression that matches exactly one character becomes a set, whose characters PCRE2
 * determines.  The rest becomes splits, jumps, look-arounds and anchors.  Not supported are
 * references, \K, \G, atomic groups, possessive repetitions of more than one character,
 * look-behinds at more than one character, and unlimited repetitions of a part that may match
 * nothing.
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

/* Compiles a pattern that is a regular expression or a string.  If a part is not supported, returns
 * false and sets *what to its description. */
bool cr_compile_pattern(struct cr_pattern_program *program, const struct cr_pattern *pattern,
                        const char **what);
void cr_free_pattern_program(struct cr_pattern_program *program);

#endif
