/*
 * named_sizes.h - expresses sizes as products of a script's options, for readers of emitted C.
 *
 * A size is number / divisor times powers of names: 144 is 3 * N_EMBD if the script computed it
 * from its option n_embd, 48.  Sizes have numbers, from 1 on; 0 stands for a size of which
 * nothing is known. Sizes of the script's graph are found by running the script with other
 * options; docs/named-sizes.md says why that proves a name.  Graphs made from one another share
 * one table of sizes (intern.h).  A graph has a table only if C for readers is written from it.
 */
#ifndef CR_NAMED_SIZES_H
#define CR_NAMED_SIZES_H

#include "graph.h"

/* Limits of a table: the names, of which at most CR_MAX_OPTION_NAMES are not names of sums; the
 * bytes of a name and of the text of a sum. */
enum { CR_MAX_SIZE_NAMES = 64, CR_MAX_OPTION_NAMES = 48, CR_SIZE_NAME = 64, CR_SIZE_SUM = 160 };

/* The name of the head dimension, unless an option has this name. */
#define CR_HEAD_DIM "HEAD_DIM"

/* The axes along which the loops of a kernel cut tiles. */
enum cr_tile_axis {
    CR_TILE_ROWS,
    CR_TILE_COLUMNS,
    CR_TILE_QUERIES,
    CR_TILE_KEYS,
    CR_TILE_HEADS,
    CR_TILE_DEPTH,
    CR_TILE_AXES
};

/* The size of a tile: of an item, of a step of a loop inside it, of a step of another such loop; and how many items
 * have parts of the axis. */
enum { CR_TILE_PARTS = 3, CR_TILE_LEVELS, CR_TILE_NAMES = CR_TILE_AXES * CR_TILE_LEVELS };

/*
 * The names that every table has: CR_PANEL, the columns of a packed panel (an enumerator of
 * runtime/types.h), and the distance in floats at which products prefetch weights, which is 0 in
 * a table that no product used.  Names of options follow, then names of sums.
 */
enum { CR_NAME_PANEL, CR_NAME_AHEAD, CR_NAME_TILES, CR_OPTION_NAMES = CR_NAME_TILES + CR_TILE_NAMES };

/* In the names of the sizes of a kernel's tiles: stands for the number of the kernel. */
#define CR_KERNEL_MARK '\1'

struct cr_size_name {
    char text[CR_SIZE_NAME]; /* an identifier in C */
    char sum[CR_SIZE_SUM];   /* the sum as C if the name stands for a sum; else "" */
    int64_t value;
};

struct cr_named_size {
    int64_t value, number, divisor;
    signed char power[CR_MAX_SIZE_NAMES];
};

/* The named sizes along the axes of one input, state or parameter; or of all nodes of one shape. */
struct cr_size_fact {
    const char *name; /* null: the fact is about all nodes of `shape` */
    int rank;
    int64_t shape[CR_MAX_RANK];
    int sizes[CR_MAX_RANK];
    bool ambiguous; /* nodes of this shape have different named sizes */
};

struct cr_named_sizes {
    struct cr_size_name names[CR_MAX_SIZE_NAMES];
    int n_names;
    struct cr_named_size *sizes;
    int n_sizes, cap_sizes;
    struct cr_size_fact *facts;
    int n_facts, cap_facts;
    int bound_names[CR_MAX_LENGTHS]; /* by length: the index of the name of its bound, or 0 */
    bool no_options;                 /* the model has no options: sizes other than bounds are
                                      * numbers */
    int ranks_name; /* index of the name RANKS if the model is cut for several ranks; or 0 */
    int head_dim; /* the size that is written as CR_HEAD_DIM, or 0 */
    int users;    /* number of graphs and programs that share the table */
};

/* Returns a table that has no names of options yet and one user. */
struct cr_named_sizes *cr_named_sizes_new(void);

/* Removes a user of the table, and frees the table with the last one.  `sizes` may be null. */
void cr_named_sizes_drop(struct cr_named_sizes *sizes);

/* Adds the name RANKS for the number of ranks for which a model is cut, unless an option has that
 * name. */
void cr_name_ranks(struct cr_named_sizes *sizes, int ranks);

/* Attaches the table to a graph; graphs that passes make from that graph share the table. */
void cr_take_named_sizes(struct cr_graph *g, struct cr_named_sizes *sizes);

/* Returns the table of a graph, or null. */
struct cr_named_sizes *cr_named_sizes_of(const struct cr_graph *g);

/* Returns the number of a size, which is the same for equal sizes; 0 if powers and value
 * contradict each other.  The function computes `number` and `divisor` itself. */
int cr_size_of_powers(struct cr_named_sizes *sizes, struct cr_named_size size);

/* Returns the size that is a plain number, without names. */
int cr_plain_size(struct cr_named_sizes *sizes, int64_t value);

/* Returns the size that is one name alone; 0 if the name's value is not positive. */
int cr_size_of_name(struct cr_named_sizes *sizes, int name);

/* Returns the product, or the exact quotient, of two sizes; 0 if one of them is unknown, or if b
 * does not divide a. */
int cr_size_product(struct cr_named_sizes *sizes, int a, int b);
int cr_size_quotient(struct cr_named_sizes *sizes, int a, int b);

/*
 * Returns the sum of n sizes and a number.  It is written as a multiple of the names that all the
 * sizes have in common or, if they have none in common or the number is not 0, as a name of its
 * own such as SIZE_197.  Returns 0 if a size is unknown, if no size has a name, if more than 4
 * sizes differ, or if the table is full.
 */
int cr_size_sum(struct cr_named_sizes *sizes, const int *terms, int n, int64_t number);

/* True if a size has a name among its factors. */
bool cr_is_named(const struct cr_named_sizes *sizes, int size);

/* Adds the named sizes of a node of the script's graph: as a fact about its name if it is an
 * input, a state or a parameter, and as a fact about its shape. */
void cr_add_size_fact(struct cr_named_sizes *sizes, const struct cr_node *node,
                      const int axes[CR_MAX_RANK]);

/* Writes a size as C, such as "3 * N_EMBD".  Returns the number of its factors.  The sizes of tiles have
 * CR_KERNEL_MARK in their names. */
int cr_size_text(const struct cr_named_sizes *sizes, int size, char *text, size_t bytes);

/* Writes a text with the number of a kernel in place of each CR_KERNEL_MARK. */
void cr_put_kernel_number(char *to, size_t bytes, const char *text, int kernel);

/* Writes the size of an axis for readers: the name of its length, which is null if it has none, else its
 * named size, else its number. */
void cr_axis_text(const struct cr_length *length, const struct cr_named_sizes *sizes, int size, int64_t number,
                  char *text, size_t bytes);

/* Returns for each node the named sizes of its axes, inferred by the rules of the ops; 0 where
 * nothing is known. The caller frees the array. */
int (*cr_infer_named_sizes(const struct cr_graph *g))[CR_MAX_RANK];

#endif
