/* steps.c - see steps.h. */
#include "steps.h"

/* ---- the kinds ---- */

const struct cr_step_kind_info cr_step_kinds[CR_STEP_KINDS] = {
#define STEP(NAME, name, traits, description)                                                      \
    [CR_STEP_##NAME] = {#name, traits, cr_describe_step_##name, cr_flaw_of_step_##name},
#include "steps.def"
#undef STEP
};

bool cr_exchanges(const struct cr_program *program)
{
    for (int i = 0; i < program->n_steps; i++)
        if (cr_step_is(&program->steps[i], CR_STEP_EXCHANGES))
            return true;
    return false;
}

/* ---- operands ---- */

int cr_n_operands(const struct cr_program *program, const struct cr_step *step)
{
    return cr_step_is(step, CR_STEP_OPERANDS) ? program->functions[step->function].n_bound : 0;
}

const struct cr_slot *cr_operand_slot(const struct cr_program *program, const struct cr_step *step,
                                      int slot)
{
    return &program->functions[step->function].slots[slot];
}

struct cr_binding *cr_operand_binding(const struct cr_program *program, const struct cr_step *step,
                                      int slot)
{
    return &program->bindings[step->first_binding + slot];
}

/* ---- walks ---- */

struct cr_step_walk cr_walk_steps(const struct cr_program *program, int first, int n, bool unrolled)
{
    return (struct cr_step_walk){.program = program,
                                 .next = first,
                                 .end = first + n,
                                 .unrolled = unrolled,
                                 .index = CR_NONE,
                                 .loop_index = CR_NONE};
}

struct cr_step_walk cr_walk_entry(const struct cr_program *program, const struct cr_entry *entry,
                                  bool unrolled)
{
    return cr_walk_steps(program, entry->first_step, entry->n_steps, unrolled);
}

/* Updates walk->loop and the iteration after the walk leaves a step that begins or ends a loop. */
static void leave_step(struct cr_step_walk *walk)
{
    const struct cr_step *last = &walk->program->steps[walk->index];
    if (walk->repeats) {
        walk->iteration++;
    } else if (cr_step_is(last, CR_STEP_CLOSES)) {
        walk->loop = NULL;
        walk->loop_index = CR_NONE;
        walk->iteration = 0;
    } else if (cr_step_is(last, CR_STEP_OPENS)) {
        walk->loop = &last->loop;
        walk->loop_index = walk->index;
    }
}

const struct cr_step *cr_next_step(struct cr_step_walk *walk)
{
    if (walk->index != CR_NONE)
        leave_step(walk);
    if (walk->next >= walk->end)
        return NULL;
    walk->index = walk->next++;
    const struct cr_step *step = &walk->program->steps[walk->index];
    walk->repeats = walk->unrolled && walk->loop && cr_step_is(step, CR_STEP_CLOSES) &&
                    walk->iteration + 1 < walk->loop->count;
    if (walk->repeats)
        walk->next = walk->loop_index + 1;
    return step;
}
