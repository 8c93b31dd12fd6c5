/* next_state.c - matches outputs with the ports that they replace, by name; see next_state.h. */
#include "next_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "micro_batches.h"

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

/* Fails if a parameter has a format that rounds: the next step would not continue from the exact
 * value that this step computed. */
static int check_format(const struct cr_port *param, const char *path, struct cr_error *error)
{
    if (param->format == cr_format_of(param->dtype))
        return 0;
    return cr_fail(error,
                   "%.400s: --format: %.150s is kept in %s, and the training replaces it, "
                   "expected f32",
                   path, param->name, cr_formats[param->format].name);
}

/* Returns the name of an output in its entry. */
static const char *name_in_entry(const struct cr_next_state *next, const char *name)
{
    if (!next->micro_batches)
        return name;
    const char *of_update = cr_after_prefix(name, CR_UPDATE ".");
    return of_update ? of_update : cr_after_prefix(name, CR_MICRO_BATCH ".");
}

/* The ports that an output may replace. */
struct targets {
    struct cr_names params, inputs;
};

/* Finds the input that is the sum of output i of the entry micro_batch. */
static int find_sum(struct cr_next_state *next, const struct cr_ports *ports,
                    const struct targets *targets, int i, const char *path, struct cr_error *error)
{
    const struct cr_port *output = &ports->outputs[i];
    const char *own = name_in_entry(next, output->name);
    size_t size = sizeof CR_SUM + strlen(own);
    char *name = cr_calloc(size, 1);
    snprintf(name, size, CR_SUM "%s", own);
    int input = next->to_sum[i] = cr_names_find(&targets->inputs, name);
    free(name);
    if (input == CR_NONE || output->dtype != CR_F32)
        return cr_fail(error,
                       "%.400s: output %.150s of entry " CR_MICRO_BATCH " is %s and input " CR_SUM
                       "%.150s is%s there, expected both in f32 (micro.mean makes them)",
                       path, own, cr_dtype_name(output->dtype), own, input == CR_NONE ? " not" : "");
    next->is_sum[input] = true;
    return check_type(output, &ports->inputs[input], "sum", path, error);
}

/* Finds the port that output i replaces. */
static int find_target(struct cr_next_state *next, const struct cr_ports *ports,
                       const struct targets *targets, int i, const char *path,
                       struct cr_error *error)
{
    const struct cr_port *output = &ports->outputs[i];
    const char *name = name_in_entry(next, output->name);
    next->to_param[i] = next->to_input[i] = next->to_sum[i] = CR_NONE;
    if (next->micro_batches && cr_after_prefix(output->name, CR_MICRO_BATCH "."))
        return find_sum(next, ports, targets, i, path, error);
    int param = next->to_param[i] = cr_names_find(&targets->params, name);
    int input = next->to_input[i] = cr_names_find(&targets->inputs, name);
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

/* Returns a result with nothing found yet and with memory for all ports. */
static struct cr_next_state new_next_state(const struct cr_ports *ports, int micro_batches)
{
    size_t outputs = (size_t)ports->n_outputs, inputs = (size_t)ports->n_inputs;
    return (struct cr_next_state){.to_param = cr_calloc(outputs, sizeof(int)),
                                  .to_input = cr_calloc(outputs, sizeof(int)),
                                  .to_sum = cr_calloc(outputs, sizeof(int)),
                                  .is_state = cr_calloc(inputs, sizeof(bool)),
                                  .is_sum = cr_calloc(inputs, sizeof(bool)),
                                  .micro_batches = micro_batches,
                                  .number = CR_NONE};
}

/* Finds the input that is the number of the micro-batch; fails if that is not an i32 scalar. */
static int find_number(struct cr_next_state *next, const struct cr_ports *ports,
                       const struct targets *targets, const char *path, struct cr_error *error)
{
    if (!next->micro_batches)
        return 0;
    next->number = cr_names_find(&targets->inputs, CR_MICRO_BATCH);
    const struct cr_port *port = next->number == CR_NONE ? NULL : &ports->inputs[next->number];
    if (!port || (port->dtype == CR_I32 && port->rank == 0))
        return 0;
    return cr_fail(error, "%.400s: input " CR_MICRO_BATCH " is %s with %d axes, expected an i32 scalar",
                   path, cr_dtype_name(port->dtype), port->rank);
}

int cr_next_state_find(struct cr_next_state *next, const struct cr_ports *ports, int micro_batches,
                       const char *path, struct cr_error *error)
{
    struct targets targets = {0};
    int learned = 0;
    add_names(&targets.params, ports->params, ports->n_params);
    add_names(&targets.inputs, ports->inputs, ports->n_inputs);
    *next = new_next_state(ports, micro_batches);
    int status = find_number(next, ports, &targets, path, error);
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
    free(next->to_sum);
    free(next->is_state);
    free(next->is_sum);
    *next = (struct cr_next_state){0};
}
