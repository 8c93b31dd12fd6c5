/*
 * option_sizes.c - expresses sizes of a graph as products of the options of its script.
 *
 * The script is run again with one option doubled (or tripled, halved): sizes that double with it
 * are proportional to it.  So a size never gets the name of an option that only happens to have its
 * value.
 */
#include "option_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"
#include "folder_model_type.h"
#include "lua_function.h"
#include "match_graphs.h"

enum {
    MAX_VALUE = 1 << 24, /* of an option that is a size */
    MAX_NODES = 50000    /* of a graph whose sizes get names */
};

/* The changes of an option to try, in this order: value * times / by. */
static const struct {
    int64_t times, by;
} changes[] = {{2, 1}, {3, 1}, {1, 2}, {1, 3}};

/* The numbers by which the size of an axis may exceed a product of options, in the order in which they are
 * tried: the tokens of a picture are its patches and one more, the distances of T tokens are 2 * T - 1. */
static const int excess[] = {0, 1, -1};

enum { FITS = sizeof excess / sizeof *excess };

/* The known factors of an axis's size less each excess. */
struct axis {
    struct fit {
        bool fails; /* it changes with an option, and not in proportion */
        signed char power[CR_MAX_OPTION_NAMES];
    } fits[FITS];
};

/* The search for sizes: the script's graph, and by node its axes. */
struct search {
    const crescent_graph *graph;
    const struct cr_graph *g;
    struct axis (*axes)[CR_MAX_RANK];
    struct cr_named_sizes *sizes;
};

/* Sets *value to an option that may be a size. */
static bool is_size(const struct cr_script_option *option, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(option->value, &end, 10);
    return !errno && end != option->value && !*end && *value > 0 && *value <= MAX_VALUE &&
           strcmp(option->name, "seed") != 0;
}

/* Returns the graph of the script with n options changed, made incremental for chunks of so many tokens
 * unless `chunk` is 0.  Returns null if the script or the pass refuses.  Keeps the error of the context. */
static crescent_graph *run(const crescent_graph *graph, const struct cr_setting *changes, int n, int64_t chunk)
{
    crescent_graph *again = NULL;
    struct cr_error *error = cr_error_of(graph->context), before = *error;
    const crescent_incremental how = {chunk, graph->last_only};
    if (cr_graph_again(graph->context, graph->origin, changes, n, &again))
        again = NULL;
    if (again && chunk && cr_graph_make_incremental(again, &how, error)) {
        crescent_graph_close(again);
        again = NULL;
    }
    *error = before;
    return again;
}

/* Runs the script with one option changed, or with another chunk if `name` is null. */
static crescent_graph *run_changed(const struct search *s, const char *name, int64_t value)
{
    char text[32];
    if (!name)
        return run(s->graph, NULL, 0, value);
    snprintf(text, sizeof text, "%lld", (long long)value);
    return run(s->graph, &(struct cr_setting){name, text, false}, 1, s->graph->chunk);
}

/* True if `more` begins with the nodes of g, compared by op and rank only. */
static bool has_nodes_of(const struct cr_graph *more, const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (id >= more->n_nodes || more->nodes[id].op != g->nodes[id].op ||
            more->nodes[id].rank != g->nodes[id].rank)
            return false;
    return true;
}

/* Sets the power of an option's name in a size: with the option changed by the factor times / by,
 * the size is `changed`. */
static void set_power(struct fit *fit, int name, int64_t size, int64_t changed, int change)
{
    int64_t times = changes[change].times, by = changes[change].by;
    signed char *power = &fit->power[name];
    if (changed * by == size * times)
        *power = 1;
    else if (changed * times == size * by)
        *power = -1;
    else if (changed * by * by == size * times * times)
        *power = 2;
    else if (changed * times * times == size * by * by)
        *power = -2;
    else
        fit->fails = true;
}

/* Compares a node with the same node after an option has changed; true if a size differs. */
static bool compare(struct search *s, cr_id id, const struct cr_node *other, int name, int change)
{
    bool differs = false;
    for (int a = 0; a < s->g->nodes[id].rank; a++) {
        int64_t size = s->g->nodes[id].shape[a], changed = other->shape[a];
        for (int i = 0; i < FITS && size != changed; i++)
            set_power(&s->axes[id][a].fits[i], name, size - excess[i], changed - excess[i], change);
        differs |= size != changed;
    }
    return differs;
}

/* Compares all nodes that have a match in the changed graph.  Returns true if a size differs; then
 * nothing is known of the sizes of nodes without a match. */
static bool compare_all(struct search *s, const struct cr_graph *other, int name, int change)
{
    int n;
    cr_id *match = cr_match_graphs(s->g, other, &n);
    bool differs = false;
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        if (match[id] != CR_NONE)
            differs |= compare(s, id, &other->nodes[match[id]], name, change);
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        for (int i = 0; i < CR_MAX_RANK * FITS && differs && match[id] == CR_NONE; i++)
            s->axes[id][i / FITS].fits[i % FITS].fails = true;
    free(match);
    return differs;
}

/* True if a length has the name, which is a variable in the functions of the kernels. */
static bool is_length(const struct search *s, const char *name)
{
    bool found = false;
    char length[CR_SIZE_NAME];
    for (int i = 0; i < s->g->n_lengths; i++) {
        cr_identifier(length, sizeof length, s->g->lengths[i].name);
        found |= strcmp(name, length) == 0;
    }
    return found;
}

/* True if a name may be used for a size: no size of the table, no length and no macro of <limits.h> has
 * it. */
static bool is_free(const struct search *s, const char *name)
{
    bool is_free = !is_length(s, name) && strcmp(name, "MAX_INPUT") != 0 && strcmp(name, "MAX_CANON") != 0;
    for (int i = 0; i < s->sizes->n_names; i++)
        is_free &= strcmp(name, s->sizes->names[i].text) != 0;
    return is_free;
}

/* Writes the name of an option in capitals.  It begins with OPTION_ if C might have a macro of that name, and
 * with MAX_ if the option is the bound of a length. */
static bool name_option(struct search *s, const char *option)
{
    static const char *const macros[] = {"EOF", "NULL", "NAN", "INFINITY", "HUGE", "HUGE_VAL", "BUFSIZ",
                                         "DOMAIN", "OVERFLOW", "UNDERFLOW", "I", "CR"};
    char plain[CR_SIZE_NAME - sizeof "OPTION_"], *name = s->sizes->names[s->sizes->n_names].text;
    bool taken = *option == '_';
    if (strlen(option) >= sizeof plain)
        return false;
    for (size_t i = 0; i <= strlen(option); i++)
        plain[i] = cr_upper(option[i]);
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        taken |= strcmp(plain, macros[i]) == 0 || strncmp(plain, "CR_", 3) == 0;
    snprintf(name, CR_SIZE_NAME, "%s%s", taken ? "OPTION_" : is_length(s, plain) ? "MAX_" : "", plain);
    return is_free(s, name);
}

/* Runs with an option of this value changed, by the change after which the most nodes have a match, the
 * first of several; *change is its index.  Returns null if the script takes none. */
static crescent_graph *change_value(const struct search *s, const char *option, int64_t value, int *change)
{
    crescent_graph *best = NULL;
    int most = -1;
    for (int i = 0; i < (int)(sizeof changes / sizeof *changes) && most < s->g->n_nodes; i++) {
        crescent_graph *changed =
            value % changes[i].by ? NULL : run_changed(s, option, value * changes[i].times / changes[i].by);
        int n = -1;
        if (changed)
            free(cr_match_graphs(s->g, changed->graph, &n));
        if (n <= most) {
            crescent_graph_close(changed);
            continue;
        }
        crescent_graph_close(best);
        best = changed;
        most = n;
        *change = i;
    }
    return best;
}

/* Changes an option of this value and compares the graphs.  If a size differs, the last name written is
 * kept, and sizes have it as a factor.  A null option stands for the chunk of an incremental graph. */
static void try_value(struct search *s, const char *option, int64_t value)
{
    int name = s->sizes->n_names, change = 0;
    crescent_graph *changed = change_value(s, option, value, &change);
    if (!changed)
        return;
    s->sizes->names[name].value = value;
    s->sizes->n_names += compare_all(s, changed->graph, name, change);
    crescent_graph_close(changed);
}

/* Finds the sizes that an option is a factor of, and names it if there are any. */
static void try_option(struct search *s, const struct cr_script_option *option)
{
    int64_t value;
    if (s->sizes->n_names < CR_MAX_OPTION_NAMES && is_size(option, &value) && name_option(s, option->name))
        try_value(s, option->name, value);
}

/* Names the chunk of an incremental graph, which is no option of the script. */
static void try_chunk(struct search *s)
{
    if (s->graph->chunk && s->sizes->n_names < CR_MAX_OPTION_NAMES && name_option(s, "chunk"))
        try_value(s, NULL, s->graph->chunk);
}

/* Returns the named size of an axis that has this value, or 0.  It is a product of options, plus the first
 * `excess` for which the product changes in proportion to the options.  A product to which an excess is added
 * must not be divided by a number. */
static int size_of_axis(struct search *s, const struct axis *axis, int64_t value)
{
    int i = 0;
    while (i < FITS && axis->fits[i].fails)
        i++;
    if (i == FITS || value <= excess[i])
        return 0;
    struct cr_named_size size = {.value = value - excess[i]};
    memcpy(size.power, axis->fits[i].power, sizeof axis->fits[i].power);
    int product = cr_size_of_powers(s->sizes, size);
    if (!i || !product)
        return product;
    return s->sizes->sizes[product - 1].divisor > 1 ? 0 : cr_size_sum(s->sizes, &product, 1, excess[i]);
}

/* Adds sizes of the script's nodes to the table: of all nodes if the graph to compile has the same
 * nodes, else of parameters only. */
static void add_facts(struct search *s)
{
    bool same = has_nodes_of(s->graph->graph, s->g);
    for (cr_id id = 0; id < s->g->n_nodes; id++) {
        const struct cr_node *node = &s->g->nodes[id];
        int sizes[CR_MAX_RANK] = {0};
        if (!same && node->op != CR_OP_param)
            continue;
        for (int a = 0; a < node->rank; a++)
            sizes[a] = size_of_axis(s, &s->axes[id][a], node->shape[a]);
        cr_add_size_fact(s->sizes, node, sizes);
    }
}

/* Returns the table of a graph without options: the bounds of lengths have names, such as MAX_BATCH. */
static struct cr_named_sizes *find_bounds(const crescent_graph *graph)
{
    struct search s = {.graph = graph, .g = graph->graph, .sizes = cr_named_sizes_new()};
    s.sizes->no_options = true;
    for (int i = 0; i < s.g->n_lengths; i++) {
        char plain[CR_SIZE_NAME - sizeof "MAX_"];
        cr_identifier(plain, sizeof plain, s.g->lengths[i].name);
        for (char *c = plain; *c; c++)
            *c = cr_upper(*c);
        struct cr_size_name *name = &s.sizes->names[s.sizes->n_names];
        name->value = s.g->lengths[i].bound;
        snprintf(name->text, sizeof name->text, "MAX_%s", plain);
        if (is_free(&s, name->text))
            s.sizes->bound_names[i] = s.sizes->n_names++;
    }
    return s.sizes;
}

struct cr_named_sizes *cr_find_option_sizes(const crescent_graph *graph)
{
    const struct cr_origin *o = graph->origin;
    struct search s = {.graph = graph};
    if (graph->graph->n_nodes > MAX_NODES)
        return NULL;
    if (o->is_function || !o->n_options)
        return find_bounds(graph);
    crescent_graph *again = run(graph, NULL, 0, graph->chunk);
    if (!again)
        return NULL;
    s.g = again->graph;
    s.axes = cr_calloc((size_t)s.g->n_nodes, sizeof *s.axes);
    s.sizes = cr_named_sizes_new();
    for (int i = 0; i < o->n_options; i++)
        try_option(&s, &o->options[i]);
    try_chunk(&s);
    add_facts(&s);
    free(s.axes);
    crescent_graph_close(again);
    if (s.sizes->n_names > CR_OPTION_NAMES)
        return s.sizes;
    cr_named_sizes_drop(s.sizes);
    return NULL;
}
