/*
 * builder.h - builds the body of a function, statement by statement.
 *
 * Code that uses these functions reads like the loops that it builds:
 *
 *     int i = cr_begin_loop(b, "i", cr_number(b, 0), cr_number(b, M), rows);
 *     int m = cr_let_count(b, "m", i, rows, cr_number(b, M));
 *     CR_CALL(b, CR_CALLEE_load, CR_FORMAT_f32, cr_x(cr_var(b, m)), ...);
 *     cr_end(b);
 *
 * A builder is used for one function of a program.
 */
#ifndef CR_BUILDER_H
#define CR_BUILDER_H

#include "compiler/ir/program.h"
#include "compiler/passes/module/module.h"
#include "compiler/passes/module/target.h"

enum { CR_PANEL_FLOATS = CR_PANEL };

enum { CR_MAX_KNOWN = 256, CR_MAX_OPEN = 64, CR_MAX_HELD = 4, CR_MAX_ITEM_PARTS = 4 };

/* A block that the body has only if it needs one: neither a condition that always holds nor a loop
 * of one iteration is a statement, and a condition that never holds takes its block with it. */
struct cr_open_block {
    enum { CR_BLOCK_STATEMENT, CR_BLOCK_PLAIN, CR_BLOCK_NEVER } kind;
    int begin; /* NEVER: the number of statements before it */
};

/* The value of a variable that is a constant, and the named size that it is, or 0. */
struct cr_known {
    int64_t number;
    int size;
};

/* A node as a view: the tensor in memory whose elements it has, and its strides there, 0 where it
 * has none. */
struct cr_view_strides {
    cr_id of;
    int64_t first; /* the position of its first element */
    int64_t stride[CR_MAX_RANK];
};

/* An axis, or a share of one, that is cut into parts of `step` elements; an item has one of them. */
struct cr_item_part {
    int64_t elements, step;
    int size; /* the named size that `elements` is, or 0 */
};

struct cr_builder {
    const struct cr_module *m;
    const struct cr_graph *g;
    const struct cr_kernel *k;
    const struct cr_target *target;
    bool writes_over; /* a call may store a result over a state or an operand in the arena */
    struct cr_function *f;
    int ref[CR_MAX_REFS];       /* by ref: the slot of the tensor that the kernel reads */
    int stream[CR_MAX_STREAMS]; /* slots of its random streams */
    int weight;                 /* slot of its packed weights, or CR_NONE */
    union {
        int out; /* slot of its buffer */
        int stored[CR_MAX_STORED]; /* slots of all nodes that it stores */
    };
    int length[CR_MAX_LENGTHS]; /* slots of the lengths that its loops run to, or CR_NONE */
    int of_row[CR_MAX_LENGTHS]; /* variables: the sizes that ragged lengths have for the item's row of the
                                 * batch; CR_NONE before that row is known */
    int outer[CR_MAX_ATOMS];    /* variables of its outer loops ... */
    char outer_name[CR_MAX_ATOMS][24]; /* ... and their names */
    int (*node_sizes)[CR_MAX_RANK]; /* by node: its named sizes (named_sizes.h); or null */
    const struct cr_view_strides *views; /* by node, if there are node_sizes */
    int atom_size[CR_MAX_ATOMS]; /* by atom: the named size that its extent is, or 0 */
    int n_outer_ifs;            /* open conditions of outer loops that run to a length */
    int64_t n_items;            /* the number of items if that is fixed and known; else 0 */
    struct cr_item_part item_parts[CR_MAX_ITEM_PARTS]; /* besides the outer loops */
    int n_item_parts;
    struct cr_known known[CR_MAX_KNOWN]; /* values of variables that are constants; see cr_let */
    int n_known;
    struct cr_open_block open[CR_MAX_OPEN]; /* blocks that cr_end has not ended yet */
    int n_open;
    cr_expr items;              /* the number of items if it depends on lengths; else CR_NONE */
    struct cr_address held[CR_MAX_HELD]; /* the values that slots hold; see cr_hold */
    int n_held;
    int n_temps;                /* temporaries of tile programs so far, to name them */
    const char *scope;          /* the scope of the last remark */
    cr_id node;                 /* the value of cr_call.node in the calls that are made next */
};

/* Names the kernel's outer loops: by the role in its kind, such as "head"; by the length that a
 * loop runs to; or by the axis of the result, "axis1". */
void cr_name_loops(struct cr_builder *b);

/* Returns, by node, the stored tensor that the node is a view of, and its strides there; the caller
 * frees it. */
struct cr_view_strides *cr_find_views(const struct cr_module *m);

/* Sets atom_size, and after the body is built names its strides, if there are node_sizes. */
void cr_name_atoms(struct cr_builder *b);
void cr_name_strides(struct cr_builder *b);

/* ---- integer expressions ---- */

/* These fold constants: an operation on two numbers, and identities of 0 and 1. */
cr_expr cr_number(struct cr_builder *b, int64_t number);
cr_expr cr_named_number(struct cr_builder *b, int64_t number, int size);
cr_expr cr_var(struct cr_builder *b, int var);
cr_expr cr_field(struct cr_builder *b, int slot);
cr_expr cr_binary(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y);
cr_expr cr_not(struct cr_builder *b, cr_expr x);
cr_expr cr_select(struct cr_builder *b, cr_expr condition, cr_expr x, cr_expr y);

/* Returns x op y, which is not folded if both are numbers, so that readers see of what names it is made. */
cr_expr cr_unfolded(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y);

/* Element `index` of a slot of i32. */
cr_expr cr_load(struct cr_builder *b, int slot, int64_t index);

/* The element of a slot of i32 whose index is a variable. */
cr_expr cr_load_at(struct cr_builder *b, int slot, int var);

/* Returns x + number, or x if the number is 0. */
cr_expr cr_plus(struct cr_builder *b, cr_expr x, int64_t number);

/* True if an expression is a number; then sets *number. */
bool cr_number_of(const struct cr_builder *b, cr_expr x, int64_t *number);

/* A variable's value minus another's. */
cr_expr cr_minus_var(struct cr_builder *b, int var, int origin);

/* ---- statements ---- */

/* Declares a variable.  Returns the variable of the same name and value if the block has one.  A
 * variable that is a constant number is not declared: the number is used instead. */
int cr_let(struct cr_builder *b, const char *name, cr_expr value);

/* Declares a variable with a note for the reader, or null; `changes` allows cr_set later. */
int cr_let_noted(struct cr_builder *b, const char *name, cr_expr value, bool changes,
                 const char *note);
void cr_set(struct cr_builder *b, int var, cr_expr value);

/* Declares "name = last - var < step ? last - var : step", the size of a loop's iteration; of a step of 1
 * that is 1. */
int cr_let_count(struct cr_builder *b, const char *name, int var, int64_t step, cr_expr last);

/* Returns the number of a variable that has no declaration. */
int cr_let_number(struct cr_builder *b, int64_t number);

/* Begins a loop from first to last (exclusive); `until`, or CR_NONE, is an additional condition.
 * Returns the counter. */
int cr_begin_loop(struct cr_builder *b, const char *name, cr_expr first, cr_expr last,
                  int64_t step, cr_expr until);
/* Begins the loop over the items of a call.  A kernel with a single item needs none; 0: their
 * number depends on a length. */
void cr_begin_item_loop(struct cr_builder *b, int64_t items);

void cr_begin_if(struct cr_builder *b, cr_expr condition, const char *note);

/* Begins a block without a statement of its own; cr_end ends it, too. */
void cr_begin_plain(struct cr_builder *b);
void cr_end(struct cr_builder *b);
void cr_remark(struct cr_builder *b, const char *note);

/* ---- calls of the runtime ---- */

struct cr_argument cr_x(cr_expr number);
struct cr_argument cr_n(struct cr_builder *b, int64_t number);
struct cr_argument cr_at(struct cr_address address);
struct cr_argument cr_at_if(struct cr_address address, cr_expr condition); /* else null */
struct cr_argument cr_by_value(int constant); /* a constant's slot */
extern const struct cr_argument cr_null;

/* Adds a call and returns its index: for cr_call_value, or for cr_do_call, which makes it a
 * statement. */
int cr_make_call(struct cr_builder *b, struct cr_call call, int n,
                 const struct cr_argument *arguments);
void cr_do_call(struct cr_builder *b, int call);

#define CR_ARGUMENTS(...)                                                                          \
    (int)(sizeof((const struct cr_argument[]){__VA_ARGS__}) / sizeof(struct cr_argument)),         \
        (const struct cr_argument[]){__VA_ARGS__}
#define CR_CALL(b, callee, format, ...)                                                            \
    cr_do_call(b, cr_make_call(b, (struct cr_call){callee, format, 0, 0, 0, 0, 0},                 \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* Appends a call of an elementwise op; bit i of `by_row`: operand i has one number for each row. */
#define CR_CALL_MAP(b, op, format, by_row, ...)                                                    \
    cr_do_call(b, cr_make_call(b, (struct cr_call){CR_CALLEE_MAP, format, op, by_row, 0, 0, 0},    \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* The expression of the value that a call returns. */
cr_expr cr_call_value(struct cr_builder *b, int call);

/* ---- slots and addresses ---- */

/* Declares a slot in the scratch memory of a thread. */
int cr_scratch(struct cr_builder *b, const char *name, enum cr_format format, int64_t elements,
               const char *note);

/* Gives a value in a slot of scratch a name like `role`, which no other has; returns its
 * cr_address.name. */
int cr_name_value(struct cr_builder *b, int slot, const char *role);

/* Returns the address of a slot of scratch for a new value with a name like `role`, to be written
 * by the next call.  After cr_hold, calls that are made take the slot to hold this value. */
struct cr_address cr_new_value(struct cr_builder *b, int slot, const char *role);
void cr_hold(struct cr_builder *b, struct cr_address value);

/* Returns the slot of a constant; equal constants share a slot. */
int cr_constant(struct cr_builder *b, enum cr_format format, double value);

/* The address of the first element of a slot. */
struct cr_address cr_start_of(int slot);

/* The address plus (var - origin) * coef; origin may be CR_NONE. */
struct cr_address cr_offset(struct cr_builder *b, struct cr_address address, int var, int origin,
                            int64_t coef);

/*
 * The address of the element of a slot at an affine index; the values of its row and column atoms
 * are variables (CR_NONE: 0).  Atoms that are neither of these nor an outer loop are 0.
 */
struct cr_address cr_element(struct cr_builder *b, int slot, const struct cr_affine *at,
                             int row_atom, int row_var, int col_atom, int col_var);

/* The value of an affine index, as an integer expression. */
cr_expr cr_affine_value(struct cr_builder *b, const struct cr_affine *at, int row_atom, int row_var,
                        int col_atom, int col_var);

/* After the last statement: drops declarations of variables that nothing uses. */
void cr_drop_unused(struct cr_builder *b);

/* True if two addresses are equal. */
bool cr_same_address(const struct cr_builder *b, const struct cr_address *x,
                     const struct cr_address *y);

#endif
