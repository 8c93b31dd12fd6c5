#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "mem.h"
#include "named_sizes.h"

enum { STRING_BYTES = 96 }; /* memory of a string besides its text: tables and malloc's overhead */

void cr_interned_drop(struct cr_interned *in)
{
    if (--in->graphs)
        return;
    for (int i = 0; i < in->names.n; i++)
        free((char *)in->names.items[i]);
    for (int i = 0; i < in->n_blocks; i++)
        free(in->blocks[i]);
    for (int i = 0; i < in->n_literals; i++)
        free((void *)in->literals[i].words);
    cr_named_sizes_drop(in->sizes);
    free(in->literals);
    free(in->lines);
    cr_table_free(&in->places);
    cr_table_free(&in->contents);
    cr_names_free(&in->names);
    cr_table_free(&in->addresses);
    cr_table_free(&in->axes);
    free(in->blocks);
    free(in);
}

/* ---- strings ---- */

/* The address to find in `addresses`; the context of a table search. */
struct address {
    const struct cr_names *names;
    const char *text;
};

static bool is_address(const void *context, int item)
{
    const struct address *address = context;
    return address->names->items[item] == address->text;
}

bool cr_is_interned(const struct cr_graph *g, const char *text)
{
    const struct address address = {&g->interned->names, text};
    return cr_table_find(&g->interned->addresses, (uintptr_t)text, is_address, &address) >= 0;
}

const char *cr_intern(struct cr_graph *g, const char *text)
{
    struct cr_interned *in = g->interned;
    if (cr_is_interned(g, text))
        return text;
    int known = cr_names_find(&in->names, text);
    if (known < 0) {
        known = in->names.n;
        cr_names_add(&in->names, cr_strdup(text));
        cr_table_add(&in->addresses, (uintptr_t)in->names.items[known], known);
        in->bytes += strlen(text) + STRING_BYTES;
    }
    return in->names.items[known];
}

/* ---- lines ---- */

/* The line to find in `places`; the context of a table search. */
struct place {
    const struct cr_interned *in;
    struct cr_text_line line;
};

static bool is_place(const void *context, int item)
{
    const struct place *place = context;
    const struct cr_text_line *line = &place->in->lines[item];
    return line->file == place->line.file && line->line == place->line.line;
}

/* Returned numbers are indices + 1, since 0 means no line. */
int cr_intern_line(struct cr_graph *g, const char *file, int line)
{
    struct cr_interned *in = g->interned;
    const struct place place = {in, {cr_intern(g, file), line}};
    uint64_t hash = cr_hash_word((uint64_t)line, (uintptr_t)place.line.file);
    int known = cr_table_find(&in->places, hash, is_place, &place);
    if (known < 0 && in->n_lines == UINT16_MAX)
        return 0;
    if (known < 0) {
        known = in->n_lines;
        *CR_PUSH(in->lines, in->n_lines, in->cap_lines) = place.line;
        cr_table_add(&in->places, hash, known);
        in->bytes += sizeof place.line;
    }
    return known + 1;
}

const struct cr_text_line *cr_line_of(const struct cr_graph *g, int number)
{
    return number ? &g->interned->lines[number - 1] : NULL;
}

/* ---- axes ---- */

const int64_t cr_no_axes[CR_MAX_RANK];

static int64_t *axes_at(const struct cr_interned *in, int number)
{
    return in->blocks[number / CR_AXES_IN_BLOCK] + number % CR_AXES_IN_BLOCK * CR_MAX_RANK;
}

/* The axes to find; the context of a table search. */
struct wanted {
    const struct cr_interned *in;
    const int64_t *axes;
};

static bool are_wanted(const void *context, int item)
{
    const struct wanted *wanted = context;
    return memcmp(axes_at(wanted->in, item), wanted->axes, sizeof cr_no_axes) == 0;
}

/* Hashes axes by independent multiplications, since a chain of dependent ones is slower. */
static uint64_t hash_axes(const int64_t *axes)
{
    static const uint64_t odd[CR_MAX_RANK] = {
        0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u,
        0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u,
    };
    uint64_t sum = 0;
    for (int i = 0; i < CR_MAX_RANK; i++)
        sum += (uint64_t)axes[i] * odd[i];
    return sum;
}

/* Returns memory for one more list of axes, in a new block if the last one is full. */
static int64_t *push_axes(struct cr_interned *in)
{
    if (in->n_axes == in->n_blocks * CR_AXES_IN_BLOCK) {
        *CR_PUSH(in->blocks, in->n_blocks, in->cap_blocks) = NULL;
        in->blocks[in->n_blocks - 1] = cr_calloc((size_t)CR_AXES_IN_BLOCK, sizeof cr_no_axes);
        in->bytes += CR_AXES_IN_BLOCK * sizeof cr_no_axes;
    }
    return axes_at(in, in->n_axes++);
}

const int64_t *cr_intern_axes(struct cr_graph *g, const int64_t *axes)
{
    struct cr_interned *in = g->interned;
    const struct wanted wanted = {in, axes};
    if (memcmp(axes, cr_no_axes, sizeof cr_no_axes) == 0)
        return cr_no_axes;
    uint64_t hash = hash_axes(axes);
    int known = cr_table_find(&in->axes, hash, are_wanted, &wanted);
    if (known < 0) {
        known = in->n_axes;
        memcpy(push_axes(in), axes, sizeof cr_no_axes);
        cr_table_add(&in->axes, hash, known);
    }
    return axes_at(in, known);
}

bool cr_are_interned(const struct cr_graph *g, const int64_t *axes)
{
    const struct cr_interned *in = g->interned;
    uintptr_t size = sizeof cr_no_axes, all = CR_AXES_IN_BLOCK * size;
    for (int i = 0; i < in->n_blocks; i++) {
        uintptr_t at = (uintptr_t)axes - (uintptr_t)in->blocks[i]; /* wraps to a large number
                                                                    * if `axes` lies before the
                                                                    * block */
        if (at < all && at % size == 0)
            return i + 1 < in->n_blocks ||
                   at / size < (uintptr_t)in->n_axes - (uintptr_t)i * CR_AXES_IN_BLOCK;
    }
    return axes == cr_no_axes;
}

/* ---- literals ---- */

/* The literal to find; the context of a table search. */
struct content {
    const struct cr_interned *in;
    const struct cr_literal *literal;
};

static bool is_content(const void *context, int item)
{
    const struct content *wanted = context;
    const struct cr_literal *a = wanted->literal, *b = &wanted->in->literals[item];
    return a->dtype == b->dtype && a->n == b->n &&
           memcmp(a->words, b->words, (size_t)a->n * sizeof *a->words) == 0;
}

int cr_add_literal(struct cr_graph *g, const struct cr_literal *literal)
{
    struct cr_interned *in = g->interned;
    uint64_t hash = cr_hash_words((uint64_t)literal->dtype, literal->words, literal->n);
    int known = cr_table_find(&in->contents, hash, is_content,
                              &(struct content){in, literal});
    if (known >= 0)
        return known;
    size_t bytes = (size_t)literal->n * sizeof *literal->words;
    uint32_t *words = cr_calloc(1, bytes);
    memcpy(words, literal->words, bytes);
    cr_table_add(&in->contents, hash, in->n_literals);
    *CR_PUSH(in->literals, in->n_literals, in->cap_literals) =
        (struct cr_literal){literal->dtype, literal->n, words};
    in->bytes += bytes + STRING_BYTES;
    return in->n_literals - 1;
}

int cr_n_literals(const struct cr_graph *g)
{
    return g->interned->n_literals;
}

const struct cr_literal *cr_literal_of(const struct cr_graph *g, const struct cr_node *node)
{
    return &g->interned->literals[(int)node->value];
}
