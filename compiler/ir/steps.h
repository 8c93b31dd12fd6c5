/*
 * steps.h - the kinds of steps, a row of steps.def each, and the iteration over steps.
 *
 * Code that binds, prints, verifies or emits steps reads the traits of the kind and iterates with
 * cr_next_step; it never tests for a kind by name.
 */
#ifndef CR_STEPS_H
#define CR_STEPS_H

#include "program.h"
#include "text.h"

/* Traits of a kind, as bits. */
enum {
    CR_STEP_OPERANDS = 1, /* runs a function, whose slots are its operands */
    CR_STEP_PARALLEL = 2, /* emitted C starts the function with rt->parallel, so profilers see it */
    CR_STEP_WHOLE = 4,    /* reads and writes whole operands: its function has no body */
    CR_STEP_OPENS = 8,    /* begins a loop over layers, up to a step that closes */
    CR_STEP_CLOSES = 16,
    CR_STEP_EXCHANGES = 32, /* between ranks: emitted C has them as an argument */
};

struct cr_step_kind_info {
    const char *name;
    unsigned traits;

    /* Appends the text of the dump for a step, without its operands. */
    void (*describe)(struct cr_text *text, const struct cr_step *step);

    /* Returns the flaw of the step's own numbers, for the verifier, or null. */
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

/* True if some step of the program exchanges something between ranks. */
bool cr_exchanges(const struct cr_program *program);

/* The operands of a step: slot i of its function has the binding step->first_binding + i. */
int cr_n_operands(const struct cr_program *program, const struct cr_step *step);

const struct cr_slot *cr_operand_slot(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

struct cr_binding *cr_operand_binding(const struct cr_program *program, const struct cr_step *step,
                                      int slot);

/* An iteration over steps of a program: as listed, or unrolled as they run. */
struct cr_step_walk {
    const struct cr_program *program;
    int next, end;
    bool unrolled;

    int index;                    /* index of the step that cr_next_step returned last */
    const struct cr_layers *loop; /* the loop that contains this step or is ended by it; or null */
    int loop_index;               /* index of the step that opens this loop */
    int iteration;                /* iteration of this loop, from 0 on; always 0 if not unrolled */
    bool repeats;                 /* the step ends an iteration that is not the last */
};

/* Returns a walk over `n` steps from `first` on; with `unrolled` each loop is repeated. */
struct cr_step_walk cr_walk_steps(const struct cr_program *program, int first, int n, bool unrolled);

/* Returns a walk over the steps of an entry. */
struct cr_step_walk cr_walk_entry(const struct cr_program *program, const struct cr_entry *entry,
                                  bool unrolled);

/* Returns the next step, or null after the last one. */
const struct cr_step *cr_next_step(struct cr_step_walk *walk);

#endif
