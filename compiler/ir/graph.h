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

/* The most entries of a graph, and characters of their names; see identifiers.h. */
enum { CR_MAX_ENTRIES = 32, CR_ENTRY_NAME = 14 };

/* The maximum number of elements of a tensor: sizes in bytes stay far from overflow. */
#define CR_MAX_ELEMENTS ((int64_t)1 << 40)

/* A node: its index in cr_graph.nodes. */
typedef int32_t cr_id;

enum cr_dtype { CR_F32, CR_I32, CR_BOOL };

/* Storage formats: a row of formats.def each, see program.h; then the row formats of
 * arithmetics.def. */
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

/* Arithmetics of products by weights: f32, or a row of arithmetics.def; see program.h. */
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
    CR_KIND_ELEMENTWISE, /* equal shapes in, the same shape out */
    CR_KIND_REDUCE,      /* one axis becomes 1 */
    CR_KIND_CONTRACT,    /* matmul */
    CR_KIND_MOVE,        /* no arithmetic: reinterprets or moves the same elements */
    CR_KIND_CONCAT,
    CR_KIND_GATHER,
    CR_KIND_TAKE, /* elements along one axis */
    CR_KIND_SCATTER,
    CR_KIND_WRITE,
    CR_KIND_RANDOM,
    CR_KIND_SCAN,     /* along one axis, which keeps its size */
    CR_KIND_EXCHANGE, /* between ranks */
};

/* The element types that an elementwise op admits and gives; a reduction has ARITH or FLOAT, and
 * gives the type of its operand. */
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

/* The initial values of a parameter without weights, as of PyTorch's layers; and of an input
 * (CR_INIT_UNIFORM of width 0: the input has none). */
enum cr_init {
    CR_INIT_UNIFORM /* -bound..bound */,
    CR_INIT_NORMAL /* std = bound */,
    CR_INIT_FILL
};

/* The origin of a node: the script's line and the scope that it was made in.  The strings belong
 * to the graph; line 0 means unknown. */
struct cr_where {
    const char *file;
    const char *scope; /* "h.3.attn", "" at the top */
    int line;
    unsigned short library; /* the line of library code that made it, a number of cr_intern_line; or
                             * 0 */
    signed char entry;      /* after the pass `entries`: the entry that the node is computed for;
                               else 0 */
    bool backward;          /* made by `grad`: a part of the gradient of a node of this line */
};

/* A line of a text. */
struct cr_text_line {
    const char *file;
    int line;
};

/* The attributes of a node, besides its operands; the op says which fields count. */
struct cr_attr {
    enum cr_dtype dtype;        /* input, const */
    int rank;                   /* leaves, reshape, expand, random: the length of `shape` */
    int64_t shape[CR_MAX_RANK]; /* leaves, reshape, expand, random: the shape; slice: sizes;
                                   scatter_add: shape[0] is the number of rows */
    int axis;                   /* iota, reductions, concat, write, cumsum; from 0 */
    signed char lengths[CR_MAX_RANK]; /* input, const, iota, expand, limit: see cr_node */
    int64_t index[CR_MAX_RANK]; /* permute: axes; slice: starts; cumsum: first 1 to sum from the
                                 * last element to the first */
    double value;               /* const: the value; the bound of an init; random: the stream;
                                 * literal: its number; all_gather: the number of ranks */
    const char *name;           /* input, param, state */
    bool part;                  /* slice of a param: it is laid out by itself (cr_is_part) */
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
    int first_in; /* operands: graph->operands[first_in ..] */
    double value;
    const char *name; /* of inputs, parameters, their parts and states; "literal" for literals; else
                       * null */
    enum cr_init init;
    enum cr_format format; /* param: the wanted format where products read it from panels; after
                            * supported_formats, the actual one */
    enum cr_arithmetic arithmetic; /* param: likewise the arithmetic of products by it */
    struct cr_where where;
    const char *tap; /* a name by which a caller can get the value, or null */
    int kernel;      /* after fuse: the kernel that computes it, or CR_NONE */
};

/* A result of a run, or the new value of a state.  Results come first, by entry; their names differ
 * within an entry.  Replacements of states come last, by entry, too; they have the state's name,
 * and the caller does not get them: the state holds them after a run of the entry. */
struct cr_output {
    const char *name;
    cr_id id;
    int entry;
    cr_id state; /* the state that it replaces, or CR_NONE */
};

/* A size known at run time, from 1 to the bound: an i32 scalar input of its name holds it.  A
 * ragged one has a size for each row of a batch, whose number of rows is a length, too: its input
 * is a vector of that length. */
struct cr_length {
    const char *name;
    int64_t bound;
    int batch; /* ragged: 1 + the number of the length that counts the rows; else 0 */
};

enum { CR_MAX_LENGTHS = 8 };

/* The elements of a `literal`, as words of 32 bits: integers for i32, else floats; a bool is 0 or
 * 1. */
struct cr_literal {
    enum cr_dtype dtype;
    int64_t n;
    const uint32_t *words;
};

/* The most elements of a literal. */
#define CR_MAX_LITERAL ((int64_t)1 << 20)

struct cr_interned;

struct cr_graph {
    const char *name; /* a C identifier: the model's */
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
    struct cr_where here;       /* the origin of the nodes that are added next */
    bool verified;              /* verified by the driver of the passes and unchanged since */
    char error[512];            /* why the last cr_build failed */
    struct cr_interned *interned; /* strings, axes, literals; see intern.h */
    int most_nodes;             /* cr_add_gradients stops when there are more; 0: no limit */
};

struct cr_graph *cr_graph_new(const char *name);

/* Returns an empty graph of the same name, into which a pass copies this one.  Both share their
 * strings and axes, so a node's pointers to them can be copied. */
struct cr_graph *cr_graph_successor(const struct cr_graph *g);
void cr_graph_free(struct cr_graph *g);

/* Returns a graph with the same nodes, operands and outputs, and with its own strings and axes. */
struct cr_graph *cr_graph_copy(const struct cr_graph *g);

/* Reserves memory for this many nodes and operands, so that adding them does not move others. */
void cr_graph_reserve(struct cr_graph *g, int nodes, int operands);

/* Returns the memory of the graph in bytes. */
size_t cr_graph_bytes(const struct cr_graph *g);

/* Returns the graph's copy of a string, the same for equal strings (so == compares them). */
const char *cr_intern(struct cr_graph *g, const char *text);

/* True if a string is the graph's copy, by its address; the text is not read. */
bool cr_is_interned(const struct cr_graph *g, const char *text);

/* Returns a number for a line of a file, from 1 on; equal lines have equal numbers.  Returns 0
 * if there are too many.  Graphs that share strings share these numbers. */
int cr_intern_line(struct cr_graph *g, const char *file, int line);

/* Returns the line of that number, or null for 0. */
const struct cr_text_line *cr_line_of(const struct cr_graph *g, int number);

/* Returns the graph's copy of CR_MAX_RANK numbers; if all are 0, it is cr_no_axes, in all
 * graphs. */
const int64_t *cr_intern_axes(struct cr_graph *g, const int64_t *axes);
extern const int64_t cr_no_axes[CR_MAX_RANK];

/* True if axes are the graph's copy, by their address. */
bool cr_are_interned(const struct cr_graph *g, const int64_t *axes);

/* Returns the index of a literal with these elements; equal literals have equal indices.  It is
 * the `value` of nodes of op `literal`.  Copies the words.  Graphs that share strings share
 * literals. */
int cr_add_literal(struct cr_graph *g, const struct cr_literal *literal);
int cr_n_literals(const struct cr_graph *g);
const struct cr_literal *cr_literal_of(const struct cr_graph *g, const struct cr_node *node);

/*
 * Adds a node; its shape and type follow from the operands and `attr` (null where
 * the op needs none).  Returns CR_NONE and sets g->error if they do not fit: the
 * user's mistake when called for a script, a bug when called from a pass.
 */
cr_id cr_build(struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
               const struct cr_attr *attr);

/* Does only the inference: fills in *node, without its operands, and adds nothing. */
bool cr_infer(struct cr_graph *g, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr,
              struct cr_node *node);

/* Infers a node anew from its operands.  Returns an error text if the result differs from the node,
 * else null. */
const char *cr_check_inference(struct cr_graph *g, cr_id id);

/*
 * cr_build for passes: if operands do not fit, that is a bug, reported by cr_throw.  Lengths are
 * checked by the verifier, after the pass: a rule may drop nodes whose lengths do not fit, or
 * restore lengths that a node lost.
 */
cr_id cr_must(struct cr_graph *g, enum cr_op op, int n, const cr_id *in,
              const struct cr_attr *attr);

/* True for ops that can give lengths to axes whose operands have none. */
static inline bool cr_takes_lengths(enum cr_op op)
{
    return op == CR_OP_input || op == CR_OP_const || op == CR_OP_iota || op == CR_OP_expand ||
           op == CR_OP_limit;
}

/* True for a slice of a parameter that is laid out by itself, as if it were a parameter: a rank's part
 * of a table.  It has the parameter's name. */
static inline bool cr_is_part(const struct cr_node *node)
{
    return node->op == CR_OP_slice && node->name;
}

/* Copies all attributes that a node was built with.  Lengths are copied for ops that take them
 * (cr_takes_lengths), and are 0 for others. */
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

/* Adds a length, with its cr_length.batch, and returns its index, or CR_NONE if there are too many.
 * The caller builds the input that holds it. */
int cr_graph_add_length(struct cr_graph *g, const char *name, int64_t bound, int batch);

/* Returns the number of the length of that name, or CR_NONE. */
int cr_find_length(const struct cr_graph *g, const char *name);

/* True if a node is the input that holds a length. */
bool cr_holds_length(const struct cr_graph *g, cr_id id);

/* Adds an output to the last entry; a new graph has one entry, without a name. */
void cr_add_output(struct cr_graph *g, const char *name, cr_id id);

/* Adds an entry; later outputs belong to it.  The first call names the entry of a new graph. */
void cr_add_entry(struct cr_graph *g, const char *name);

/* Copies entries and outputs into a graph that has none; map[id] is the node for node id of `from`,
 * or id itself if `map` is null. */
void cr_copy_outputs(struct cr_graph *to, const struct cr_graph *from, const cr_id *map);

/* Returns the entry of that name, or CR_NONE. */
int cr_find_entry(const struct cr_graph *g, const char *name);

/* Returns "y", or "decode.y" in an entry with a name; the caller frees it. */
char *cr_output_name(const struct cr_graph *g, int output);

/* Returns, by node, a bit for each entry that needs its value; the caller frees it. */
unsigned *cr_find_needed(const struct cr_graph *g);

/* Drops all nodes whose `kept` is false.  It must be true for outputs and for the operands of kept
 * nodes. */
void cr_keep_nodes(struct cr_graph *g, const bool *kept);

/* Keeps one entry, without its name, and the inputs it needs; all parameters, states and lengths
 * stay.  The graph is as if the script had returned only that entry's outputs. */
void cr_keep_entry(struct cr_graph *g, int entry);

/* Returns why an entry cannot replace a state by a value, or null: it may replace a state once, by
 * a value of its shape and type. */
const char *cr_check_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value);

/* Adds a replacement: a run of the entry leaves `value` in the state.  See cr_check_replacement. */
void cr_add_replacement(struct cr_graph *g, int entry, cr_id state, cr_id value);

/* Returns the number of outputs that the caller gets, which come first. */
static inline int cr_n_results(const struct cr_graph *g)
{
    return g->n_outputs - g->n_replaced;
}

/* True if a node is part of the model's interface and stays even if nothing reads it. */
static inline bool cr_is_interface(const struct cr_node *node)
{
    return node->name && node->op != CR_OP_literal && !cr_is_part(node);
}

/* True for inputs and states; a state is an input that the run may write to. */
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

/* True if a number is an i32: whole, from -2^31 to 2^31 - 1. */
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

/* True if a node is an expand of whole matrices along batch axes. */
bool cr_repeats_matrices(const struct cr_graph *g, cr_id id);

/* True if the bounds of all sizes are equal, lengths or not. */
bool cr_same_shape(const struct cr_node *a, const struct cr_node *b);

/* True if all sizes are equal: the same numbers, and the same lengths. */
static inline bool cr_same_sizes(const struct cr_node *a, const struct cr_node *b)
{
    return memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0 && cr_same_shape(a, b);
}

/* True if two nodes have the same value: the same op of the same operands, with the same
 * attributes, for the same entry. */
bool cr_equal_nodes(const struct cr_graph *g, const struct cr_node *a, const struct cr_node *b);

/* Returns 1 + the number of the length that is the size of an axis, or 0. */
static inline int cr_length_at(const struct cr_graph *g, cr_id id, int axis)
{
    return g->nodes[id].lengths[axis];
}

/* Returns a hash of shape, index and lengths; the first two by their addresses. */
static inline uint64_t cr_hash_axes(const struct cr_node *node)
{
    uint64_t lengths;
    memcpy(&lengths, node->lengths, sizeof lengths);
    return (uint64_t)(uintptr_t)node->shape * 0x9e3779b97f4a7c15u +
           (uint64_t)(uintptr_t)node->index * 0xbf58476d1ce4e5b9u + lengths * 0x94d049bb133111ebu;
}

/* Writes "[2, 3]" into buf and returns it. */
char *cr_shape_text(char *buf, size_t size, int rank, const int64_t *shape);

const char *cr_dtype_name(enum cr_dtype dtype);

#endif
