/*
 * steps.h - the kinds of steps, one for each row of steps.def, and the iteration over steps.
 *
 * Code that binds, prints, verifies or emits steps reads the traits of the kind and iterates with
 * cr_next_step; it never tests for a particular kind.
 */
#ifndef CR_STEPS_H
#define CR_STEPS_H

#include "program.h"
#include "text.h"

/* Traits of a kind of step, as bits. */
enum {
    CR_STEP_OPERANDS = 1, /* runs a function, whose slots are its operands */
    CR_STEP_PARALLEL = 2, /* emitted C starts the function by rt->parallel, so that profilers see
                           * the call */
    CR_STEP_WHOLE = 4,    /* reads and writes whole operands: the step's function has no body */
    CR_STEP_OPENS = 8,    /* begins a loop over layers, which ends at a step with CR_STEP_CLOSES */
    CR_STEP_CLOSES = 16,
    CR_STEP_EXCHANGES = 32, /* exchanges data between ranks: emitted C passes the ranks as an
                             * argument */
};

struct cr_step_kind_info {
    const char *name;
    unsigned traits;

    /* Appends the step's description for the dump, without its operands. */
    void (*describe)(struct cr_text *text, const struct cr_step *step);

    /* Returns the error in the step's own numbers, for the verifier; null if they are valid. */
    const char *(*flaw)(const struct cr_step *step);
};

extern const struct cr_step_kind_info cr_step_kinds[CR_STEP_KINDS];

#define STEP(NAME, name, traits, description)                                                      \
    void cr_describe_step_##name(struct cr_text *text, const struct cr_step *step);                \
    const char *cr_flaw_of_step_##name(const struct cr_step *step);
#include "steps.def"
#undef STEP

/* True if the kind of a step has any of the traits. */
static inline bool cr_step_is(const struct cr_step *step, unsigned traits)
{
    return (cr_step_kinds[step->kind].traits & traits) != 0;
}

/* True if any step of the program exchanges data between ranks. */
bool cr_exchanges(const struct cr_program *program);

/* Returns the number of operands of a step.  Operand i is slot i of the step's function and has
 * the binding step->first_binding + i. */
int cr_n_operands(const struct cr_program *program, const struct cr_step *step);

const struct cr_slot *cr_operand_slot(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

struct cr_binding *cr_operand_binding(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

/* The state of an iteration over steps of a program: as listed, or unrolled in the order in which
 * they run. */
struct cr_step_walk {
    const struct cr_program *program;
    int next, end;
    bool unrolled;

    int index;                    /* index of the step that cr_next_step returned last */
    const struct cr_layers *loop; /* the loop that contains this step or that this step ends; or
                                   * null */
    int loop_index;               /* index of the step that opens this loop */
    int iteration;                /* iteration of this loop, from 0 on; always 0 if not unrolled */
    bool repeats;                 /* true if the step ends an iteration of the loop that is not
                                   * the last */
};

/* Returns a walk over `n` steps from step `first` on; if `unrolled`, it visits each loop once for
 * each iteration. */
struct cr_step_walk cr_walk_steps(const struct cr_program *program, int first, int n, bool unrolled);

/* Returns a walk over the steps of an entry; if `unrolled`, it visits each loop once for each
 * iteration. */
struct cr_step_walk cr_walk_entry(const struct cr_program *program, const struct cr_entry *entry,
                                  bool unrolled);

/* Returns the next step, or null after the last one. */
const struct cr_step *cr_next_step(struct cr_step_walk *walk);

#endif
