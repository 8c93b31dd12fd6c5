/*
 * steps.h - what the kinds of steps are, a row of steps.def each, and the one way to walk through steps.
 *
 * Code that binds, prints, verifies or emits steps asks the row of the kind and walks with cr_next_step;
 * it tests for no kind by name.
 */
#ifndef CR_STEPS_H
#define CR_STEPS_H

#include "program.h"
#include "text.h"

/* Traits of a kind, as bits. */
enum {
    CR_STEP_OPERANDS = 1, /* does what a kernel does: has a function, whose slots are its operands */
    CR_STEP_PARALLEL = 2, /* emitted C starts the function with rt->parallel, so who watches sees it */
    CR_STEP_WHOLE = 4,    /* reads and writes its operands as a whole: its function has no body */
    CR_STEP_OPENS = 8,    /* the steps up to one that closes are run once for each layer */
    CR_STEP_CLOSES = 16,
};

struct cr_step_kind_info {
    const char *name;
    unsigned traits;

    /* Appends what the dump says of a step besides its operands. */
    void (*describe)(struct cr_text *text, const struct cr_step *step);

    /* What is wrong with the numbers of its own, for the verifier; or null. */
    const char *(*flaw)(const struct cr_step *step);
};

extern const struct cr_step_kind_info cr_step_kinds[CR_STEP_KINDS];

#define STEP(NAME, name, traits, description)                                                      \
    void cr_describe_step_##name(struct cr_text *text, const struct cr_step *step);                \
    const char *cr_flaw_of_step_##name(const struct cr_step *step);
#include "steps.def"
#undef STEP

/* True if the kind of a step has one of the traits. */
static inline bool cr_step_is(const struct cr_step *step, unsigned traits)
{
    return (cr_step_kinds[step->kind].traits & traits) != 0;
}

/* The operands of a step: of slot i of its function, binding step->first_binding + i. */
int cr_n_operands(const struct cr_program *program, const struct cr_step *step);

const struct cr_slot *cr_operand_slot(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

struct cr_binding *cr_operand_binding(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

/* A walk through some steps of a program, in the order in which they are listed or run. */
struct cr_step_walk {
    const struct cr_program *program;
    int next, end;
    bool unrolled;

    int index;                    /* of the step that cr_next_step returned last */
    const struct cr_layers *loop; /* that this step is in, or that it ends; or null */
    int loop_index;               /* the step of this loop */
    int iteration;                /* of this loop, from 0 on; of a walk that is not unrolled, 0 */
    bool repeats;                 /* the step ends an iteration that is not the last */
};

/* A walk that begins with step `first` and ends behind `n` steps, with loops run or just listed. */
struct cr_step_walk cr_walk_steps(const struct cr_program *program, int first, int n, bool unrolled);

/* A walk through an entry. */
struct cr_step_walk cr_walk_entry(const struct cr_program *program, const struct cr_entry *entry,
                                  bool unrolled);

/* Returns the next step, or null behind the last one. */
const struct cr_step *cr_next_step(struct cr_step_walk *walk);

#endif
