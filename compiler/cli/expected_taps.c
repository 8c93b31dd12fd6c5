/* expected_taps.c - compares tapped values with expected ones; see expected_taps.h. */
#include "expected_taps.h"

#include <string.h>


/* True if `whole` is `name` preceded by one more part and a dot. */
static bool is_behind_part(const char *whole, const char *name)
{
    const char *dot = strchr(whole, '.');
    return dot && strcmp(dot + 1, name) == 0;
}

int cr_find_expected_tap(const crescent_contents *file, const char *name)
{
    crescent_tensor tensor;
    int by_suffix = CRESCENT_NONE;
    for (int i = 0; i < crescent_contents_count(file); i++) {
        crescent_contents_at(file, i, &tensor);
        if (strcmp(tensor.name, name) == 0)
            return i;
        if (by_suffix == CRESCENT_NONE && is_behind_part(tensor.name, name))
            by_suffix = i;
    }
    return by_suffix;
}

/* True if the file contains an output of the script, for which no tap is needed. */
static bool has_output(const crescent_graph *graph, const crescent_contents *file)
{
    crescent_port port;
    for (int i = 0; i < crescent_graph_port_count(graph, CRESCENT_OUTPUT); i++)
        if (!crescent_graph_port_at(graph, CRESCENT_OUTPUT, i, &port) &&
            cr_find_expected_tap(file, port.name) != CRESCENT_NONE)
            return true;
    return false;
}

/* Makes the values in the file that are tapped outputs.  Fails if the file contains neither a
 * tapped value nor an output. */
static int tap_all(crescent_graph *graph, const crescent_contents *file,
                   const struct cr_options *o, struct cr_error *error)
{
    const char *name, *some = NULL;
    bool any = has_output(graph, file);
    for (int i = 0; (name = crescent_graph_tap_at(graph, i)); i++) {
        some = name;
        if (cr_find_expected_tap(file, name) == CRESCENT_NONE)
            continue;
        any = true;
        if (cr_passed(o, crescent_graph_tap(graph, name, "--expect-taps"), error))
            return -1;
    }
    if (any)
        return 0;
    return cr_fail(error,
                   "%.400s: no tensor in it has the name of an output or a tapped value, "
                   "expected names such as %.100s",
                   o->expect_taps, some ? some : "y");
}

int cr_tap_expected(crescent_graph *graph, const struct cr_options *o, struct cr_error *error)
{
    crescent_contents *file;
    if (cr_passed(o, crescent_contents_open(o->context, o->expect_taps, &file), error))
        return -1;
    int status = tap_all(graph, file, o, error);
    crescent_contents_close(file);
    return status;
}

/* True if two shapes are equal when axes of size 1 are ignored. */
static bool are_alike(int rank, const int64_t *shape, const crescent_port *port)
{
    int i = 0, j = 0;
    for (;;) {
        while (i < rank && shape[i] == 1)
            i++;
        while (j < port->rank && port->shape[j] == 1)
            j++;
        if (i == rank || j == port->rank)
            return i == rank && j == port->rank;
        if (shape[i++] != port->shape[j++])
            return false;
    }
}

int cr_read_expected_tap(const struct cr_options *o, const crescent_contents *file, int tensor,
                         const crescent_port *port, double *values, struct cr_phrase *shape,
                         struct cr_error *error)
{
    crescent_tensor t;
    shape->text[0] = '\0';
    if (cr_passed(o, crescent_contents_at(file, tensor, &t), error))
        return -1;
    if (!are_alike(t.rank, t.shape, port)) {
        crescent_shape_text(shape->text, sizeof shape->text, t.rank < 16 ? t.rank : 16, t.shape);
        return 0;
    }
    return cr_passed(o, crescent_contents_read(file, tensor, values), error);
}
