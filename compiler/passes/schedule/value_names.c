/* value_names.c - names the values of a tile program, for readers of the C: "mean", "variance", or
 * else the op that computes the value. */
#include <stdio.h>
#include <string.h>

#include "schedule_tiles.h"

/* A tile program whose values get names; `roles` has the roles found so far, by value, or null. */
struct terms {
    const struct cr_builder *b;
    const struct cr_tile_job *job;
    const char **roles;
};

/* True if operand number `operand` of a value has this role. */
static bool has(const struct terms *t, const struct cr_value *v, int operand, const char *role)
{
    const char *found = t->roles[v->arg[operand]];
    return found && !strcmp(found, role);
}

/* True if a value divides a sum over all columns by their number. */
static bool is_mean(const struct terms *t, const struct cr_value *v)
{
    const struct cr_value *values = t->job->tiles->values;
    const struct cr_value *sum = &values[v->arg[0]], *by = &values[v->arg[1]];
    return v->op == CR_OP_div && sum->source == CR_REDUCE && sum->op == CR_OP_sum &&
           by->source == CR_CONST && by->number == (double)cr_extent(t->b->k, t->job->col);
}

/* Returns the role of a mean: "variance" for a mean of squares of centered values, "mean_square"
 * for a mean of squares, else "mean". */
static const char *mean_of(const struct terms *t, const struct cr_value *v)
{
    const struct cr_value *sum = &t->job->tiles->values[v->arg[0]];
    return has(t, sum, 0, "centered_square") ? "variance"
           : has(t, sum, 0, "square")        ? "mean_square"
                                             : "mean";
}

/* True if a value is a small constant, such as the epsilon that a norm adds to a variance. */
static bool is_epsilon(const struct terms *t, int value)
{
    const struct cr_value *v = &t->job->tiles->values[value];
    return v->source == CR_CONST && v->number > 0 && v->number < 0.01;
}

/* Returns the role of an elementwise value, or null if it has none; its name is then its op. */
static const char *role_of_map(const struct terms *t, const struct cr_value *v)
{
    if (is_mean(t, v))
        return mean_of(t, v);
    if (v->op == CR_OP_sub && has(t, v, 1, "mean"))
        return "centered";
    if (v->op == CR_OP_mul && v->arg[0] == v->arg[1])
        return has(t, v, 0, "centered") ? "centered_square" : "square";
    if (v->op == CR_OP_mul && (has(t, v, 0, "centered") || has(t, v, 1, "centered")))
        return "normalized";
    if (v->op == CR_OP_add && is_epsilon(t, v->arg[1]) &&
        (has(t, v, 0, "variance") || has(t, v, 0, "mean_square")))
        return has(t, v, 0, "variance") ? "variance_eps" : "mean_square_eps";
    return NULL;
}

void cr_find_role(const struct cr_builder *b, const struct cr_tile_job *job, const char **roles,
                  int i, char role[24])
{
    const struct terms t = {b, job, roles};
    const struct cr_value *v = &job->tiles->values[i];
    static const char *const names[] = {[CR_LOAD] = "copy",     [CR_GATHER] = "gathered",
                                        [CR_IOTA] = "numbers",  [CR_RANDOM] = "random",
                                        [CR_CONST] = "number",  [CR_CORE] = "core",
                                        [CR_SCORE] = "score"};
    roles[i] = v->source == CR_MAP && v->op != CR_OP_COUNT ? role_of_map(&t, v) : NULL;
    bool op = v->source == CR_MAP || v->source == CR_REDUCE;
    snprintf(role, 24, "%s", roles[i] ? roles[i] : op ? cr_ops[v->op].name : names[v->source]);
}
