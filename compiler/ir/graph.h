/*
 * graph.h - the intermediate representation: a graph of primitive tensor ops.
 *
 * A graph is an array of nodes in topological order: a node's operands have
 * smaller ids.  Every node has a shape and an element type.  A size is a number, or
 * a length: known when the model runs, up to a bound, for which memory is laid out;
 * elements past it do not exist.  A tensor is row-major; a rank of 0 is a scalar; a
 * constant with an axis of size 0 has no elements.
 */
#ifndef CR_GRAPH_H
#define CR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/elementwise.h"
#include "runtime/reductions.h"

enum { CR_MAX_RANK = 8, CR_NONE = -1 };

/* The most entries of a graph, and the most characters of an entry's name; see identifiers.h. */
enum { CR_MAX_ENTRIES = 32, CR_ENTRY_NAME = 14 };

/* The maximum number of elements of a tensor: sizes in bytes stay far from overflow. */
#define CR_MAX_ELEMENTS ((int64_t)1 << 40)

/* A node: its index in cr_graph.nodes. */
typedef int32_t cr_id;

enum cr_dtype { CR_F32, CR_I32, CR_BOOL };

/* Storage formats of elements: one for each row of formats.def (see program.h), then one for
 * rounded rows of each row of arithmetics.def. */
enum cr_format {
#define FORMAT(name, ...) CR_FORMAT_##name,
#define WEIGHT_FORMAT FORMAT
#include "formats.def"
#undef FORMAT
#undef WEIGHT_FORMAT
#define ARITHMETIC(name, ...) CR_FORMAT_rows_##name,
#define PRODUCT(format, arithmetic, gemm)
#include "arithmetics.def"
#undef ARITHMETIC
    CR_FORMAT_COUNT
};

/* Arithmetics of products by weights: f32, then one for each row of arithmetics.def; see
 * program.h. */
enum cr_arithmetic {
    CR_ARITHMETIC_f32,
#define ARITHMETIC(name, ...) CR_ARITHMETIC_##name,
#include "arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT
    CR_ARITHMETIC_COUNT
};

enum cr_op {
#define OP(name, kind, operands, equation, description, gradient) CR_OP_##name,
#include "ops.def"
#undef OP
#define CR_OP_ENUM(name, ...) CR_OP_##name,
    CR_REDUCTIONS(CR_OP_ENUM) CR_ELEMENTWISE(CR_OP_ENUM)
#undef CR_OP_ENUM
        CR_OP_COUNT
};

/* Kinds of ops; passes treat all ops of a kind alike. */
enum cr_kind {
    CR_KIND_LEAF,        /* no operands */
    CR_KIND_ELEMENTWISE, /* the result has the shape of the operands, which are equal */
    CR_KIND_REDUCE,      /* one axis gets size 1 */
    CR_KIND_CONTRACT,    /* matmul */
    CR_KIND_MOVE,        /* no arithmetic: reinterprets or moves the same elements */
    CR_KIND_CONCAT,
    CR_KIND_GATHER,
    CR_KIND_TAKE, /* picks elements along one axis by an index */
    CR_KIND_SCATTER,
    CR_KIND_WRITE,
    CR_KIND_RANDOM,
    CR_KIND_SCAN,     /* cumulative: along one axis, which keeps its size */
    CR_KIND_EXCHANGE, /* moves data between ranks */
};

/* Which element types an elementwise op admits, and the type of its result.  A reduction has
 * ARITH or FLOAT, and its result has the type of its operand. */
enum cr_rule {
    CR_RULE_ARITH,    /* all operands and the result have one numeric type, f32 or i32 */
    CR_RULE_FLOAT,    /* f32 gives f32 */
    CR_RULE_COMPARE,  /* two operands of one numeric type; the result is bool */
    CR_RULE_LOGIC,    /* bool gives bool */
    CR_RULE_SELECT,   /* a bool, then two operands of the type of the result */
    CR_RULE_CONVERT,  /* i32 or bool gives f32 */
    CR_RULE_TRUNCATE, /* f32 or bool gives i32 */
};

/* A row of the op table. */
struct cr_op_info {
    const char *name;
    enum cr_kind kind;
    int arity; /* -1: any number */
    enum cr_rule rule;
    const char *equation;
    const char *doc;
};

extern const struct cr_op_info cr_ops[CR_OP_COUNT];

/* The initial values of a parameter without stored weights, as in PyTorch's layers.  Also the
 * random values of an input; a CR_INIT_UNIFORM of bound 0 means that the input has none. */
enum cr_init {
    CR_INIT_UNIFORM /* -bound..bound */,
    CR_INIT_NORMAL /* std = bound */,
    CR_INIT_FILL
};

/* The origin of a node: the script's line and the scope in which the node was made.  The strings
 * belong to the graph; line 0 means unknown. */
struct cr_where {
    const char *file;
    const char *scope; /* "h.3.attn", "" at the top */
    int line;
    unsigned short library; /* number of the library line that made the node (cr_intern_line), or
                             * 0 */
    signed char entry;      /* after the pass `entries`: the index of the entry for which the node
                             * is computed; else 0 */
    bool backward;          /* true if `grad` made it: then `line` is the line of the node whose
                             * gradient it belongs to */
};

/* A line of a file. */
struct cr_text_line {
    const char *file;
    int line;
};

/* The attributes of a node besides its operands.  The comment of a field names the ops that use
 * it. */
struct cr_attr {
    enum cr_dtype dtype;        /* input, const */
    int rank;                   /* leaves, reshape, expand, random: the length of `shape` */
    int64_t shape[CR_MAX_RANK]; /* leaves, reshape, expand, random: the shape; slice: sizes;
                                   scatter_add: shape[0] is the number of rows */
    int axis;                   /* iota, reductions, concat, write, cumsum; from 0 */
    signed char lengths[CR_MAX_RANK]; /* input, const, iota, expand, limit: see cr_node */
    int64_t index[CR_MAX_RANK]; /* permute: axes; slice: starts; cumsum: index[0] is 1 to sum from
                                 * the last element to the first */
    double value;               /* const: the value; param, input: the bound of `init`; random:
                                 * the stream; literal: its index (cr_add_literal); all_gather:
                                 * the number of ranks */
    const char *name;           /* input, param, state */
    bool part;                  /* slice of a param: stored separately, like a parameter
                                 * (cr_is_part) */
    enum cr_init init;          /* param, input */
    enum cr_format format;      /* param */
    enum cr_arithmetic arithmetic; /* param */
};

/* A node.  It is small, because passes iterate over all nodes many times. */
struct cr_node {
    enum cr_op op;
    enum cr_dtype dtype;
    int rank, axis;
    const int64_t *shape, *index; /* interned axes */
    signed char lengths[CR_MAX_RANK]; /* by axis: 1 + the index of the length that is its size
                                         (`shape` has the bound); 0: the size is a number */
    int n_in;
    int first_in; /* operand i is graph->operands[first_in + i] */
    double value;
    const char *name; /* name of an input, a state, a parameter or its part; "literal" for
                       * literals; else null */
    enum cr_init init;
    enum cr_format format; /* param: the wanted format if products read it in panels; after the
                            * pass `supported_formats`, the actual format */
    enum cr_arithmetic arithmetic; /* param: as for `format`, the arithmetic of products by the
                                    * parameter */
    struct cr_where where;
    const char *tap; /* a name by which a caller can get the value, or null */
    int kernel;      /* after the pass `fuse`: the kernel that computes the node, or CR_NONE */
};

/* A result of a run, or the new value of a state.  Results come first, in order of entry; their
 * names differ within an entry.  Replacements of states come last, also in order of entry; a
 * replacement has its state's name, and the caller does not receive it: after a run of the entry
 * the state holds the value. */
struct cr_output {
    const char *name;
    cr_id id;
    int entry;
    cr_id state; /* the state whose value this output replaces, or CR_NONE */
};

/* A size known at run time, from 1 to the bound: an i32 scalar input of the same name holds it.
 * A ragged length has a value for each row of a batch: its input is a vector with one i32 for
 * each row, and the number of rows is itself a length. */
struct cr_length {
    const char *name;
    int64_t bound;
    int batch; /* ragged: 1 + the index of the length that is the number of rows; else 0 */
};

enum { CR_MAX_LENGTHS = 8 };

/* The elements of a `literal`, as words of 32 bits: integers for i32, else floats; a bool is 0 or
 * 1. */
struct cr_literal {
    enum cr_dtype dtype;
    int64_t n;
    const uint32_t *words;
};

/* The maximum number of elements of a literal. */
#define CR_MAX_LITERAL ((int64_t)1 << 20)

struct cr_interned;

struct cr_graph {
    const char *name; /* the model's name, a C identifier */
    struct cr_node *nodes;
    int n_nodes, cap_nodes;
    cr_id *operands;
    int n_operands, cap_operands;
    struct cr_output *outputs; /* replacements of states come last */
    int n_outputs, cap_outputs;
    struct cr_length lengths[CR_MAX_LENGTHS];
    int n_lengths;
    const char *entries[CR_MAX_ENTRIES]; /* names of the entries that a caller can run; "" if
                                            there is only one */
    int n_entries;
    int n_replaced; /* number of outputs that replace states */
    struct cr_where here;       /* the origin given to the nodes that are added next */
    bool verified;              /* the pass driver has verified the graph, which has not changed
                                 * since */
    char error[512];            /* why the last cr_build failed */
    struct cr_interned *interned; /* strings, axes, literals; see intern.h */
    int most_nodes;             /* cr_add_gradients stops when the graph has more nodes; 0: no
                                 * limit */
};

struct cr_graph *cr_graph_new(const char *name);

/* Returns an empty graph of the same name, into which a pass copies this one.  Both share their
 * strings and axes, so a node's pointers to them can be copied. */
struct cr_graph *cr_graph_successor(const struct cr_graph *g);
void cr_graph_free(struct cr_graph *g);

/* Returns a copy of the graph: the same nodes, operands and outputs, but strings and axes of its
 * own. */
struct cr_graph *cr_graph_copy(const struct cr_graph *g);

/* Reserves memory for `nodes` nodes and `operands` operands, so that later additions do not move
 * the arrays. */
void cr_graph_reserve(struct cr_graph *g, int nodes, int operands);

/* Returns the memory of the graph in bytes. */
size_t cr_graph_bytes(const struct cr_graph *g);

/* Returns the graph's interned copy of a string: the same address for equal strings, so ==
 * compares them. */
const char *cr_intern(struct cr_graph *g, const char *text);

/* True if a string is an interned copy of the graph.  Compares the address and does not read the
 * text. */
bool cr_is_interned(const struct cr_graph *g, const char *text);

/* Returns a number, from 1 on, for a line of a file; equal lines have equal numbers.  Returns 0
 * if there are too many lines.  Graphs that share strings share these numbers. */
int cr_intern_line(struct cr_graph *g, const char *file, int line);

/* Returns the line with this number (cr_intern_line), or null for 0. */
const struct cr_text_line *cr_line_of(const struct cr_graph *g, int number);

/* Returns the graph's interned copy of a list of CR_MAX_RANK numbers; for all zeros, in every
 * graph, that is cr_no_axes. */
const int64_t *cr_intern_axes(struct cr_graph *g, const int64_t *axes);
extern const int64_t cr_no_axes[CR_MAX_RANK];

/* True if a list of axes is an interned copy of the graph.  Compares the address. */
bool cr_are_interned(const struct cr_graph *g, const int64_t *axes);

/* Returns the index of a literal with these elements; equal literals have equal indices.  The
 * index is the `value` of nodes of op `literal`.  The words are copied.  Graphs that share
 * strings share literals. */
int cr_add_literal(struct cr_graph *g, const struct cr_literal *literal);
int cr_n_literals(const struct cr_graph *g);
const struct cr_literal *cr_literal_of(const struct cr_graph *g, const struct cr_node *node);

/*
 * Adds a node; its shape and type follow from the operands and `attr` (null where the op needs
 * none).  Returns CR_NONE and sets g->error if operands or attributes are invalid: the user's
 * mistake when called for a script, a bug when called from a pass.
 */
cr_id cr_build(struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
               const struct cr_attr *attr);

/* Infers the node that cr_build would add: fills in *node, except for its operands, and adds
 * nothing. */
bool cr_infer(struct cr_graph *g, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr,
              struct cr_node *node);

/* Infers a node anew from its operands.  Returns an error text if the result differs from the
 * node, else null. */
const char *cr_check_inference(struct cr_graph *g, cr_id id);

/*
 * Does the same as cr_build for passes: invalid operands are a bug, reported by cr_throw.
 * Lengths are checked only by the verifier, after the pass: a rewrite rule may for a while have
 * nodes with wrong lengths that it drops or restores later.
 */
cr_id cr_must(struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
              const struct cr_attr *attr);

/* True for ops whose attributes can give an axis a length that no operand has. */
static inline bool cr_takes_lengths(enum cr_op op)
{
    return op == CR_OP_input || op == CR_OP_const || op == CR_OP_iota || op == CR_OP_expand ||
           op == CR_OP_limit;
}

/* True for a slice of a parameter that is stored separately, like a parameter: a rank's part of a
 * table.  It has the parameter's name. */
static inline bool cr_is_part(const struct cr_node *node)
{
    return node->op == CR_OP_slice && node->name;
}

/* Copies all attributes with which a node was built.  Lengths are copied for ops that take them
 * (cr_takes_lengths), and are 0 for other ops. */
static inline void cr_get_attr(const struct cr_node *node, struct cr_attr *attr)
{
    attr->dtype = node->dtype;
    attr->rank = node->rank;
    attr->axis = node->axis;
    attr->value = node->value;
    attr->name = node->name;
    attr->part = cr_is_part(node);
    attr->init = node->init;
    attr->format = node->format;
    attr->arithmetic = node->arithmetic;
    memcpy(attr->shape, node->shape, sizeof attr->shape);
    memcpy(attr->index, node->index, sizeof attr->index);
    if (cr_takes_lengths(node->op))
        memcpy(attr->lengths, node->lengths, sizeof attr->lengths);
    else
        memset(attr->lengths, 0, sizeof attr->lengths);
}

static inline struct cr_attr cr_attr_of(const struct cr_node *node)
{
    struct cr_attr attr;
    cr_get_attr(node, &attr);
    return attr;
}

/* Adds a length; `batch` is its cr_length.batch.  Returns its index, or CR_NONE if there are too
 * many lengths. The caller adds the input that holds its value. */
int cr_graph_add_length(struct cr_graph *g, const char *name, int64_t bound, int batch);

/* Returns the index of the length with that name, or CR_NONE. */
int cr_find_length(const struct cr_graph *g, const char *name);

/* True if a node is the input that holds the value of a length. */
bool cr_holds_length(const struct cr_graph *g, cr_id id);

/* Adds an output to the last entry; a new graph has one entry, without a name. */
void cr_add_output(struct cr_graph *g, const char *name, cr_id id);

/* Adds an entry; later outputs belong to it.  The first call names the entry of a new graph. */
void cr_add_entry(struct cr_graph *g, const char *name);

/* Copies entries and outputs of `from` into `to`, which has none.  map[id] is the node of `to`
 * for node id of `from`; a null map maps each id to itself. */
void cr_copy_outputs(struct cr_graph *to, const struct cr_graph *from, const cr_id *map);

/* Returns the entry of that name, or CR_NONE. */
int cr_find_entry(const struct cr_graph *g, const char *name);

/* Returns the full name of an output: "y", or "decode.y" in an entry with a name.  The caller
 * frees it. */
char *cr_output_name(const struct cr_graph *g, int output);

/* Returns for each node a bit set of the entries that need its value; the caller frees it. */
unsigned *cr_find_needed(const struct cr_graph *g);

/* Drops all nodes whose `kept` is false.  It must be true for outputs and for the operands of
 * kept nodes. */
void cr_keep_nodes(struct cr_graph *g, const bool *kept);

/* Keeps one entry, without its name, and the inputs it needs; all parameters, states and lengths
 * stay.  The graph is as if the script had returned only that entry's outputs. */
void cr_keep_entry(struct cr_graph *g, int entry);

/* Returns null if an entry can replace the value of a state by `value`, else the reason why it
 * cannot.  An entry may replace a state once, by a value of the state's shape and type. */
const char *cr_check_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value);

/* Adds a replacement: after a run of the entry, the state holds `value`.  cr_check_replacement
 * must allow it. */
void cr_add_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value);

/* Returns the number of outputs that the caller receives; they come before the replacements of
 * states. */
static inline int cr_n_results(const struct cr_graph *g)
{
    return g->n_outputs - g->n_replaced;
}

/* True if a node is part of the model's interface and stays even if nothing reads it. */
static inline bool cr_is_interface(const struct cr_node *node)
{
    return node->name && node->op != CR_OP_literal && !cr_is_part(node);
}

/* True for inputs and states; a state is an input that a run may write to. */
static inline bool cr_is_input(const struct cr_node *node)
{
    return node->op == CR_OP_input || node->op == CR_OP_state;
}

static inline const cr_id *cr_inputs(const struct cr_graph *g, const struct cr_node *node)
{
    return g->operands + node->first_in;
}

static inline cr_id cr_in(const struct cr_graph *g, cr_id id, int i)
{
    return g->operands[g->nodes[id].first_in + i];
}

/* True if `id` is a node, not CR_NONE, and has that op. */
static inline bool cr_is_op(const struct cr_graph *g, cr_id id, enum cr_op op)
{
    return id != CR_NONE && g->nodes[id].op == op;
}

/* True if a node is a constant of that value. */
static inline bool cr_is_number(const struct cr_node *node, double value)
{
    return node->op == CR_OP_const && node->value == value;
}

static inline enum cr_kind cr_kind_of(const struct cr_graph *g, cr_id id)
{
    return cr_ops[g->nodes[id].op].kind;
}

/* True if an op has attributes; elementwise ops and matmul have none. */
static inline bool cr_has_attributes(enum cr_op op)
{
    return cr_ops[op].kind != CR_KIND_ELEMENTWISE && cr_ops[op].kind != CR_KIND_CONTRACT;
}

/* True if a number can be an i32: a whole number from -2^31 to 2^31 - 1. */
bool cr_is_i32(double value);

int64_t cr_elements(int rank, const int64_t *shape);

/* True if a node has no elements.  It is a constant or a reshape of one; only reshapes read it;
 * it can be an output, and kernels do not store it. */
static inline bool cr_is_empty(const struct cr_node *node)
{
    return (node->op == CR_OP_const || node->op == CR_OP_reshape) &&
           cr_elements(node->rank, node->shape) == 0;
}

/* True if a node is an output of an entry, not only the next value of a state. */
bool cr_is_entry_output(const struct cr_graph *g, cr_id id);

/* True if a node is an expand that repeats whole matrices along batch axes. */
bool cr_repeats_matrices(const struct cr_graph *g, cr_id id);

/* True if two nodes have equal shapes, in which the bound stands for a length. */
bool cr_same_shape(const struct cr_node *a, const struct cr_node *b);

/* True if two nodes have equal sizes: equal numbers, and the same lengths on the same axes. */
static inline bool cr_same_sizes(const struct cr_node *a, const struct cr_node *b)
{
    return memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0 && cr_same_shape(a, b);
}

/* True if two nodes compute the same value: the same op with equal operands and attributes, for
 * the same entry. */
bool cr_equal_nodes(const struct cr_graph *g, const struct cr_node *a, const struct cr_node *b);

/* Returns 1 + the index of the length that is the size of an axis, or 0 if the size is a number. */
static inline int cr_length_at(const struct cr_graph *g, cr_id id, int axis)
{
    return g->nodes[id].lengths[axis];
}

/* Returns a hash of a node's shape, index and lengths.  Shape and index, which are interned, are
 * hashed by address. */
static inline uint64_t cr_hash_axes(const struct cr_node *node)
{
    uint64_t lengths;
    memcpy(&lengths, node->lengths, sizeof lengths);
    return (uint64_t)(uintptr_t)node->shape * 0x9e3779b97f4a7c15u +
           (uint64_t)(uintptr_t)node->index * 0xbf58476d1ce4e5b9u + lengths * 0x94d049bb133111ebu;
}

/* Writes a shape, such as "[2, 3]", into buf and returns buf. */
char *cr_shape_text(char *buf, size_t size, int rank, const int64_t *shape);

const char *cr_dtype_name(enum cr_dtype dtype);

#endif
