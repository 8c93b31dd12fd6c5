/* next_state.c - matches outputs with the ports that they replace, by name; see next_state.h. */
#include "next_state.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

static bool same_type(const struct cr_port *a, const struct cr_port *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Fails unless an output has the type and the shape of the port that it replaces. */
static int check_type(const struct cr_port *output, const struct cr_port *target, const char *what,
                      const char *path, struct cr_error *error)
{
    char found[200], expected[200];
    if (same_type(output, target))
        return 0;
    cr_shape_text(found, sizeof found, output->rank, output->shape);
    cr_shape_text(expected, sizeof expected, target->rank, target->shape);
    return cr_fail(error, "%.400s: output %.150s is %s %s, expected %s %s as the %s it replaces",
                   path, output->name, cr_dtype_name(output->dtype), found,
                   cr_dtype_name(target->dtype), expected, what);
}

/* Fails if a parameter is kept in a rounded format: the next step would not continue from the exact
 * value of this one. */
static int check_format(const struct cr_port *param, const char *path, struct cr_error *error)
{
    if (param->format == cr_format_of(param->dtype))
        return 0;
    return cr_fail(error,
                   "%.400s: --format: %.150s is kept in %s, and the training replaces it, "
                   "expected f32",
                   path, param->name, cr_formats[param->format].name);
}

/* The ports that an output may replace. */
struct targets {
    struct cr_names params, inputs;
};

/* Finds the port that output i replaces. */
static int find_target(struct cr_next_state *next, const struct cr_ports *ports,
                       const struct targets *targets, int i, const char *path,
                       struct cr_error *error)
{
    const struct cr_port *output = &ports->outputs[i];
    int param = next->to_param[i] = cr_names_find(&targets->params, output->name);
    int input = next->to_input[i] = cr_names_find(&targets->inputs, output->name);
    if (param != CR_NONE)
        return check_type(output, &ports->params[param], "parameter", path, error) ||
                       check_format(&ports->params[param], path, error)
                   ? -1
                   : 0;
    if (input == CR_NONE)
        return 0;
    next->is_state[input] = true;
    return check_type(output, &ports->inputs[input], "input", path, error);
}

static void add_names(struct cr_names *names, const struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++)
        cr_names_add(names, ports[i].name);
}

int cr_next_state_find(struct cr_next_state *next, const struct cr_ports *ports, const char *path,
                     struct cr_error *error)
{
    struct targets targets = {0};
    int learned = 0, status = 0;
    add_names(&targets.params, ports->params, ports->n_params);
    add_names(&targets.inputs, ports->inputs, ports->n_inputs);
    next->to_param = cr_calloc((size_t)ports->n_outputs, sizeof *next->to_param);
    next->to_input = cr_calloc((size_t)ports->n_outputs, sizeof *next->to_input);
    next->is_state = cr_calloc((size_t)ports->n_inputs, sizeof *next->is_state);
    for (int i = 0; i < ports->n_outputs && !status; i++) {
        status = find_target(next, ports, &targets, i, path, error);
        learned += next->to_param[i] != CR_NONE;
    }
    cr_names_free(&targets.params);
    cr_names_free(&targets.inputs);
    if (!status && !learned)
        status = cr_fail(error,
                         "%.400s: no output has the name of a parameter, expected the parameters' "
                         "next values (optim.adamw gives them)",
                         path);
    if (status)
        cr_next_state_free(next);
    return status;
}

void cr_next_state_free(struct cr_next_state *next)
{
    free(next->to_param);
    free(next->to_input);
    free(next->is_state);
    *next = (struct cr_next_state){0};
}
