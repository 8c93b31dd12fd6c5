/*
 * repeated_blocks.c - finds runs of blocks of statements that are equal except for their index; see
 * repeated_blocks.h.
 */
#include "repeated_blocks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pattern_match.h"

enum { MOST_LINES = 140 }; /* the most lines of a block; each becomes a local variable of a Lua
                              function */

/* ---- lines ---- */

static bool is_outer_weight(const struct cr_onnx_graph *g, cr_t x)
{
    return x->kind == CR_TERM_VALUE && g->values[x->value].tensor != NULL;
}

/* True if a term reads a weight, or a value that is computed from weights: `made` is true for
 * those. */
static bool reads_weights(const struct cr_onnx_graph *g, cr_t x, const bool *made)
{
    if (x->kind == CR_TERM_SCOPE || is_outer_weight(g, x) ||
        (x->kind == CR_TERM_VALUE && made[x->value]))
        return true;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term && reads_weights(g, x->arguments[i].term, made))
            return true;
    return false;
}

static void count_uses(cr_t x, int *uses)
{
    if (x->kind == CR_TERM_VALUE)
        uses[x->value]++;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            count_uses(x->arguments[i].term, uses);
}

/* ---- indices in paths ---- */

/* Returns the index that follows `prefix` in a module path, or -1. */
static int index_behind(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(path, prefix, n) != 0 || !isdigit((unsigned char)path[n]))
        return -1;
    char *end;
    long index = strtol(path + n, &end, 10);
    return (*end == '.' || !*end) && index < 100000 ? (int)index : -1;
}

/* Returns the part of a path before its index number `number`, counted from 0: "h." for "h.3.attn".
 * Returns null if the path has no such index. */
static const char *prefix_of(struct cr_arena *arena, const char *path, int number)
{
    for (const char *c = path; *c; c = strchr(c, '.') + 1) {
        size_t digits = strspn(c, "0123456789");
        if (digits && digits < 6 && (c[digits] == '.' || !c[digits]) && number-- == 0)
            return cr_arena_text(arena, path, (size_t)(c - path));
        if (!strchr(c, '.'))
            break;
    }
    return NULL;
}

/* ---- order ---- */

/* True if a term belongs to a layer: it calls a layer, reads a layer's value (`deep` is true for
 * those), or reads a block's weight. */
static bool is_of_layers(struct cr_onnx_graph *g, cr_t x, const bool *deep)
{
    if (x->kind == CR_TERM_SCOPE || (x->kind == CR_TERM_VALUE && deep[x->value]) ||
        (is_outer_weight(g, x) && prefix_of(&g->arena, g->values[x->value].name, 0)))
        return true;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term && is_of_layers(g, x->arguments[i].term, deep))
            return true;
    return false;
}

static void put_line(struct cr_onnx_blocks *b, const struct cr_onnx_statement *x, const char *scope)
{
    b->lines[b->n_lines++] = (struct cr_onnx_line){*x, scope, CR_ONNX_NONE, CR_ONNX_NONE};
}

/*
 * Orders the statements: first statements that read no weights, then statements outside of layers,
 * then the statements of layers.  The first two groups, such as masks and angles, belong to no
 * block.
 */
static void make_lines(struct cr_onnx_blocks *b, const struct cr_onnx_script *s)
{
    struct cr_onnx_graph *g = s->graph;
    bool *made = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *made);
    bool *deep = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *deep);
    int *when = cr_arena_new(&g->arena, (size_t)s->n_statements, sizeof *when);
    b->lines = cr_arena_new(&g->arena, (size_t)s->n_statements, sizeof *b->lines);
    b->uses = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *b->uses);
    for (int i = 0; i < s->n_statements; i++) {
        const struct cr_onnx_statement *x = &s->statements[i];
        const char *scope = cr_onnx_scope(&g->arena, &g->nodes[x->node]);
        made[x->value] = reads_weights(g, x->term, made);
        deep[x->value] =
            is_of_layers(g, x->term, deep) || (made[x->value] && prefix_of(&g->arena, scope, 0));
        when[i] = deep[x->value] ? 2 : made[x->value];
        count_uses(x->term, b->uses);
    }
    for (int i = 0; i < g->n_outputs; i++)
        if (s->terms[g->outputs[i]])
            count_uses(s->terms[g->outputs[i]], b->uses);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < s->n_statements; i++)
            if (when[i] == round) {
                const struct cr_onnx_statement *x = &s->statements[i];
                const char *scope = round < 2 ? ""
                                    : x->term->kind == CR_TERM_SCOPE
                                        ? x->term->path
                                        : cr_onnx_scope(&g->arena, &g->nodes[x->node]);
                put_line(b, x, scope);
            }
}

/* ---- equal blocks ---- */

/* Two blocks that are compared: the first one of a run, and a later one. */
struct pair {
    const struct cr_onnx_graph *graph;
    const char *prefix;
    int index[2];
    const int *owner; /* by value: the line that defines it, or CR_ONNX_NONE */
    int first[2], size;
    int *same; /* by value of the first block: the corresponding value of the later block */
    int n_carried, in[CR_ONNX_CARRIED],
        got[CR_ONNX_CARRIED]; /* carried values: in[i] is read by the first block, got[i] by the
                                 later one */
};

/* Returns the part of a name behind the prefix and the block's index, or null if the name does not
 * begin with them.  `which` is 0 for the first block and 1 for the later one. */
static const char *own_name(const struct pair *p, const char *name, int which)
{
    int index = index_behind(name, p->prefix);
    if (index < 0 || index != p->index[which])
        return NULL;
    const char *dot = strchr(name + strlen(p->prefix), '.');
    return dot ? dot + 1 : "";
}

static bool is_same_name(const struct pair *p, const char *a, const char *b)
{
    const char *own_a = own_name(p, a, 0), *own_b = own_name(p, b, 1);
    return own_a && own_b && strcmp(own_a, own_b) == 0;
}

static bool is_inside(const struct pair *p, int value, int which)
{
    int line = p->owner[value];
    return line != CR_ONNX_NONE && line >= p->first[which] && line < p->first[which] + p->size;
}

/* True if values a and b from outside the two blocks correspond: they are the same value, or a pair
 * of carried values. Adds a new pair to the carried values. */
static bool is_same_outside(struct pair *p, int a, int b)
{
    for (int i = 0; i < p->n_carried; i++)
        if (p->in[i] == a)
            return p->got[i] == b;
    if (p->n_carried == CR_ONNX_CARRIED)
        return a == b;
    if (a == b)
        return true;
    p->in[p->n_carried] = a;
    p->got[p->n_carried++] = b;
    return true;
}

static bool is_same_value(struct pair *p, int a, int b)
{
    const struct cr_onnx_value *va = &p->graph->values[a], *vb = &p->graph->values[b];
    if (va->tensor || vb->tensor)
        return a == b || (va->tensor && vb->tensor && cr_match_same_shape(va, vb) &&
                          is_same_name(p, va->name, vb->name));
    if (is_inside(p, a, 0))
        return p->same[a] == b;
    return !is_inside(p, b, 1) && is_same_outside(p, a, b);
}

/* True if two terms are equal except for the block that they belong to. */
static bool is_same_term(struct pair *p, cr_t a, cr_t b)
{
    if (a->kind != b->kind || a->type != b->type || a->rank != b->rank ||
        a->n_arguments != b->n_arguments ||
        memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) != 0 ||
        memcmp(a->lengths, b->lengths, sizeof a->lengths) != 0)
        return false;
    if (a->kind == CR_TERM_VALUE)
        return is_same_value(p, a->value, b->value);
    if (a->kind == CR_TERM_DATA)
        return memcmp(a->data, b->data, (size_t)cr_t_elements(a) * sizeof *a->data) == 0;
    if (strcmp(a->name, b->name) != 0)
        return false;
    if (a->kind == CR_TERM_SCOPE &&
        (!is_same_name(p, a->path, b->path) || (a->bias < 0) != (b->bias < 0)))
        return false;
    for (int i = 0; i < a->n_arguments; i++) {
        const struct cr_onnx_argument *x = &a->arguments[i], *y = &b->arguments[i];
        if (!x->term != !y->term || (x->term && !is_same_term(p, x->term, y->term)) ||
            (!x->term && strcmp(x->text, y->text) != 0))
            return false;
    }
    return true;
}

/* True if two blocks are equal; stores the pairs of carried values in `p`. */
static bool is_same_block(struct pair *p, const struct cr_onnx_line *lines)
{
    p->n_carried = 0;
    for (int i = 0; i < p->size; i++) {
        const struct cr_onnx_statement *a = &lines[p->first[0] + i].statement,
                                       *b = &lines[p->first[1] + i].statement;
        if (!is_same_term(p, a->term, b->term))
            return false;
        p->same[a->value] = b->value;
    }
    /* again, as a value may have counted as shared before it became a carried value */
    for (int i = 0; i < p->size; i++)
        if (!is_same_term(p, lines[p->first[0] + i].statement.term,
                          lines[p->first[1] + i].statement.term))
            return false;
    return true;
}

/* ---- runs ---- */

/* Returns the number of consecutive lines from line `from` on that have the same index. */
static int block_size(const struct cr_onnx_blocks *b, int from)
{
    int n = 0;
    while (from + n < b->n_lines && b->lines[from + n].index == b->lines[from].index)
        n++;
    return n;
}

/* Sets the run's carried values from its first pair of blocks, or checks that a later pair has the
 * same ones.  Returns false if a carried value is not defined by the preceding block. */
static bool carry(struct cr_onnx_run *r, const struct pair *p, const int *before)
{
    if (r->n == 1) {
        r->n_carried = p->n_carried;
        for (int i = 0; i < p->n_carried; i++) {
            if (!is_inside(p, p->got[i], 0))
                return false;
            r->in[i] = p->in[i];
            r->out[i] = p->got[i];
        }
        return p->n_carried > 0;
    }
    if (r->n_carried != p->n_carried)
        return false;
    for (int i = 0; i < r->n_carried; i++)
        if (r->in[i] != p->in[i] || before[r->out[i]] != p->got[i])
            return false;
    return true;
}

/* True if nothing outside the run reads a value of the run, except the last block's carried
 * values. */
static bool is_closed(const struct cr_onnx_blocks *b, const struct cr_onnx_run *r, int n_values,
                      struct cr_arena *arena)
{
    int *inside = cr_arena_new(arena, (size_t)n_values, sizeof *inside);
    for (int i = r->first; i < r->first + r->n * r->size; i++)
        count_uses(b->lines[i].statement.term, inside);
    for (int i = r->first; i < r->first + r->n * r->size; i++) {
        int value = b->lines[i].statement.value;
        bool is_handed_on = false;
        for (int k = 0; k < r->n_carried; k++)
            is_handed_on |= r->last[k] == value;
        if (!is_handed_on && inside[value] != b->uses[value])
            return false;
    }
    return true;
}

/* Returns the longest run of equal blocks that begins at line `from`. */
static struct cr_onnx_run run_from(const struct cr_onnx_blocks *b, const struct cr_onnx_graph *g,
                                   const char *prefix, int from, const int *owner,
                                   struct cr_arena *arena)
{
    struct cr_onnx_run r = {.prefix = prefix,
                            .first = from,
                            .size = block_size(b, from),
                            .n = 1,
                            .index = b->lines[from].index};
    int *same[2] = {cr_arena_new(arena, (size_t)g->n_values, sizeof(int)),
                    cr_arena_new(arena, (size_t)g->n_values, sizeof(int))};
    while (r.size <= MOST_LINES) {
        int next = from + r.n * r.size;
        struct pair p = {.graph = g,
                         .prefix = prefix,
                         .index = {r.index, r.index + r.n},
                         .owner = owner,
                         .first = {from, next},
                         .size = r.size,
                         .same = same[r.n % 2]};
        if (next >= b->n_lines || b->lines[next].index != r.index + r.n ||
            block_size(b, next) != r.size || !is_same_block(&p, b->lines) ||
            !carry(&r, &p, same[(r.n + 1) % 2]))
            break;
        r.n++;
    }
    for (int i = 0; i < r.n_carried && r.n > 1; i++)
        r.last[i] = same[(r.n - 1) % 2][r.out[i]];
    return r;
}

/* Sets the index of each line: the number that follows the prefix in the line's path.  A line
 * without a path gets the index of the line before it. */
static void set_indices(struct cr_onnx_blocks *b, const char *prefix)
{
    int before = CR_ONNX_NONE;
    for (int i = 0; i < b->n_lines; i++) {
        struct cr_onnx_line *line = &b->lines[i];
        line->index = line->run != CR_ONNX_NONE ? CR_ONNX_NONE
                      : *line->scope            ? index_behind(line->scope, prefix)
                                                : before;
        before = line->index;
    }
}

/* Finds the runs of blocks whose paths begin with the prefix and an index. */
static void find_runs(struct cr_onnx_blocks *b, struct cr_onnx_graph *g, const char *prefix)
{
    int *owner = cr_arena_new(&g->arena, (size_t)g->n_values, sizeof *owner);
    for (int i = 0; i < g->n_values; i++)
        owner[i] = CR_ONNX_NONE;
    for (int i = 0; i < b->n_lines; i++)
        owner[b->lines[i].statement.value] = i;
    set_indices(b, prefix);
    for (int i = 0; i < b->n_lines;) {
        struct cr_onnx_run r = {.n = 1, .size = 1};
        bool begins =
            b->lines[i].index >= 0 && (i == 0 || b->lines[i - 1].index != b->lines[i].index);
        if (begins)
            r = run_from(b, g, prefix, i, owner, &g->arena);
        if (r.n < 2 || !is_closed(b, &r, g->n_values, &g->arena)) {
            i += begins ? block_size(b, i) : 1;
            continue;
        }
        for (int k = 0; k < r.n * r.size; k++)
            b->lines[i + k].run = b->n_runs;
        b->runs[b->n_runs++] = r;
        i += r.n * r.size;
    }
}

void cr_onnx_find_blocks(struct cr_onnx_blocks *b, const struct cr_onnx_script *s)
{
    struct cr_onnx_graph *g = s->graph;
    *b = (struct cr_onnx_blocks){0};
    make_lines(b, s);
    b->runs = cr_arena_new(&g->arena, (size_t)b->n_lines, sizeof *b->runs);
    for (int number = 0; number < 3; number++) {
        const char **done = cr_arena_new(&g->arena, (size_t)b->n_lines, sizeof *done);
        int n_done = 0;
        for (int i = 0; i < b->n_lines; i++) {
            const char *prefix = b->lines[i].run == CR_ONNX_NONE
                                     ? prefix_of(&g->arena, b->lines[i].scope, number)
                                     : NULL;
            bool is_new = prefix != NULL;
            for (int k = 0; is_new && k < n_done; k++)
                is_new = strcmp(done[k], prefix) != 0;
            if (!is_new || n_done > 64)
                continue;
            done[n_done++] = prefix;
            find_runs(b, g, prefix);
        }
    }
}
