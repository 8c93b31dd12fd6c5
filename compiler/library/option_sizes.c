/*
 * option_sizes.c - expresses sizes in a graph as products of the script's options.
 *
 * Runs the script again with one option doubled (or tripled, or halved): sizes that double as well
 * are proportional to the option.  So a size that happens to equal an option's value does not get
 * the option's name.
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
    MAX_VALUE = 1 << 24, /* the largest option that is taken for a size */
    MAX_NODES = 50000    /* the most nodes of a graph whose sizes get names */
};

/* The changes of an option to try, in this order: value * times / by. */
static const struct {
    int64_t times, by;
} changes[] = {{2, 1}, {3, 1}, {1, 2}, {1, 3}};

/* The numbers by which an axis may exceed a product of options, in the order in which they are
 * tried.  Examples: an image has one token more than it has patches; T tokens have 2 * T - 1
 * distances. */
static const int excess[] = {0, 1, -1};

enum { FITS = sizeof excess / sizeof *excess };

/* The powers of options in an axis's size minus an item of `excess`, for each item. */
struct axis {
    struct fit {
        bool fails; /* the number changes with an option, but not in proportion */
        signed char power[CR_MAX_OPTION_NAMES];
    } fits[FITS];
};

/* The search for sizes: the script's graph, and its axes by node. */
struct search {
    const crescent_graph *graph;
    const struct cr_graph *g;
    struct axis (*axes)[CR_MAX_RANK];
    struct cr_named_sizes *sizes;
};

/* Sets *value to the value of an option; returns true if it may be a size. */
static bool is_size(const struct cr_script_option *option, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(option->value, &end, 10);
    return !errno && end != option->value && !*end && *value > 0 && *value <= MAX_VALUE &&
           strcmp(option->name, "seed") != 0;
}

/* Returns the script's graph with n options changed.  Unless `chunk` is 0, makes it incremental for
 * chunks of that many tokens.  Returns null if the script or the pass refuses that.  Does not
 * change the context's error. */
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

/* Runs the script with one option changed or, if `name` is null, with another chunk. */
static crescent_graph *run_changed(const struct search *s, const char *name, int64_t value)
{
    char text[32];
    if (!name)
        return run(s->graph, NULL, 0, value);
    snprintf(text, sizeof text, "%lld", (long long)value);
    return run(s->graph, &(struct cr_setting){name, text, false}, 1, s->graph->chunk);
}

/* True if `more` begins with the nodes of g; compares op and rank only. */
static bool has_nodes_of(const struct cr_graph *more, const struct cr_graph *g)
{
    for (cr_id id = 0; id < g->n_nodes; id++)
        if (id >= more->n_nodes || more->nodes[id].op != g->nodes[id].op ||
            more->nodes[id].rank != g->nodes[id].rank)
            return false;
    return true;
}

/* Sets the power of an option in a size, given that the size becomes `changed` when the option is
 * multiplied by times / by of change number `change`.  Sets `fails` if no power fits. */
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

/* Compares the sizes of a node with the sizes of its match after an option was changed; returns
 * true if a size differs. */
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

/* True if no certain match shows that an option changes sizes.  Matches are certain if both graphs
 * have equally many nodes, and for inputs, states and parameters, which are matched by name.  If the
 * option changes the number of nodes, as a number of layers does, a node may have the match of
 * another layer's; so one of the certain matches must have another size. */
static bool changes_no_size(const struct search *s, const struct cr_graph *other, const cr_id *match)
{
    bool differs = s->g->n_nodes == other->n_nodes;
    for (cr_id id = 0; id < s->g->n_nodes && !differs; id++)
        if (match[id] != CR_NONE && cr_is_interface(&s->g->nodes[id]))
            differs = memcmp(s->g->nodes[id].shape, other->nodes[match[id]].shape, CR_MAX_RANK * sizeof(int64_t)) != 0;
    return !differs;
}

/* Compares all nodes that have a match in the changed graph.  Returns true if a size differs; then
 * nodes without a match are marked as unknown. */
static bool compare_all(struct search *s, const struct cr_graph *other, int name, int change)
{
    int n;
    cr_id *match = cr_match_graphs(s->g, other, &n);
    bool differs = false, none = changes_no_size(s, other, match);
    for (cr_id id = 0; id < s->g->n_nodes && !none; id++)
        if (match[id] != CR_NONE)
            differs |= compare(s, id, &other->nodes[match[id]], name, change);
    for (cr_id id = 0; id < s->g->n_nodes; id++)
        for (int i = 0; i < CR_MAX_RANK * FITS && differs && match[id] == CR_NONE; i++)
            s->axes[id][i / FITS].fits[i % FITS].fails = true;
    free(match);
    return differs;
}

/* True if a length has this name: in the functions of kernels it is a variable. */
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

/* True if a name is free to be used for a size: no size in the table, no length and no macro of
 * <limits.h> has that name. */
static bool is_free(const struct search *s, const char *name)
{
    bool is_free = !is_length(s, name) && strcmp(name, "MAX_INPUT") != 0 && strcmp(name, "MAX_CANON") != 0;
    for (int i = 0; i < s->sizes->n_names; i++)
        is_free &= strcmp(name, s->sizes->names[i].text) != 0;
    return is_free;
}

/* Adds a name, the option's in capitals.  It begins with OPTION_ if C might have a macro of that
 * name, and with MAX_ if the option is the bound of a length.  Returns false if the name is not
 * free. */
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
    taken |= plain[0] == 'K' && plain[1] >= '0' && plain[1] <= '9'; /* K1_ROWS is of kernel 1 */
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        taken |= strcmp(plain, macros[i]) == 0 || strncmp(plain, "CR_", 3) == 0;
    snprintf(name, CR_SIZE_NAME, "%s%s", taken ? "OPTION_" : is_length(s, plain) ? "MAX_" : "", plain);
    return is_free(s, name);
}

/* Runs the script with an option, whose value is `value`, changed.  Chooses the first change after
 * which the most nodes have a match, and sets *change to its index.  Returns null if the script
 * accepts no change. */
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

/* Changes an option and compares the graphs.  If a size differs, keeps the name added last: it is a
 * factor of such sizes.  If `option` is null, changes the chunk of an incremental graph instead. */
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

/* Finds the sizes that an option is a factor of; if there are any, the option gets a name. */
static void try_option(struct search *s, const struct cr_script_option *option)
{
    int64_t value;
    if (s->sizes->n_names < CR_MAX_OPTION_NAMES && is_size(option, &value) && name_option(s, option->name))
        try_value(s, option->name, value);
}

/* Gives the chunk of an incremental graph a name, although it is not an option of the script. */
static void try_chunk(struct search *s)
{
    if (s->graph->chunk && s->sizes->n_names < CR_MAX_OPTION_NAMES && name_option(s, "chunk"))
        try_value(s, NULL, s->graph->chunk);
}

/* Returns the number of the named size of an axis with size `value`, or 0.  The named size is a
 * product of options plus the first `excess` for which the product changes in proportion to the
 * options.  A product with an added excess must not have a divisor. */
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

/* Adds the sizes of the script's nodes to the table: those of all nodes if the graph to compile has
 * the same nodes, else only those of parameters. */
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

/* Returns the table for a graph without options: only the bounds of lengths have names, such as
 * MAX_BATCH. */
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
