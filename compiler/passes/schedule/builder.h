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

/* An open block.  A block whose condition always holds, and a loop with one iteration, are not
 * printed as statements (PLAIN); a block whose condition never holds is removed with its contents
 * (NEVER). */
struct cr_open_block {
    enum { CR_BLOCK_STATEMENT, CR_BLOCK_PLAIN, CR_BLOCK_NEVER } kind;
    int begin; /* for NEVER: the number of statements before the block */
};

/* The value of a variable that is a constant, and its named size, or 0. */
struct cr_known {
    int64_t number;
    int size;
};

/* A node as a view: the tensor in memory that has its elements, and the stride of each axis in that
 * tensor; 0 for an axis without a stride. */
struct cr_view_strides {
    cr_id of;
    int64_t first; /* index of the node's first element in the tensor */
    int64_t stride[CR_MAX_RANK];
};

/* An axis, or a share of one, that items divide into parts of `step` elements; each item has one
 * part. */
struct cr_item_part {
    int64_t elements, step;
    int size, step_size; /* the named sizes that `elements` and `step` are, or 0 */
};

struct cr_builder {
    const struct cr_module *m;
    const struct cr_graph *g;
    const struct cr_kernel *k;
    const struct cr_target *target;
    bool writes_over; /* true if a call may store a result over a state, or over an operand in the
                         arena */
    struct cr_function *f;
    int ref[CR_MAX_REFS];       /* by ref: the slot for the tensor that the kernel reads */
    int stream[CR_MAX_STREAMS]; /* slots of the kernel's random streams */
    int weight;                 /* slot of the kernel's packed weights, or CR_NONE */
    union {
        int out; /* slot of the kernel's buffer */
        int stored[CR_MAX_STORED]; /* slots of all nodes that the kernel stores */
    };
    int length[CR_MAX_LENGTHS]; /* by length: the slot of its value if a loop runs to it, else
                                   CR_NONE */
    int of_row[CR_MAX_LENGTHS]; /* by length, if ragged: the variable with its value for the item's
                                   row of the batch; CR_NONE before that row is known */
    int outer[CR_MAX_ATOMS];    /* by outer loop: the variable of the loop's counter */
    char outer_name[CR_MAX_ATOMS][24]; /* by outer loop: the name of the loop's counter */
    int (*node_sizes)[CR_MAX_RANK]; /* by node: the named size of each axis (named_sizes.h); null if
                                       sizes get no names */
    const struct cr_view_strides *views; /* by node; null if node_sizes is null */
    int atom_size[CR_MAX_ATOMS]; /* by atom: the named size of its extent, or 0 */
    int n_outer_ifs;            /* number of open conditions, for outer loops that run to a
                                   length */
    int64_t n_items;            /* the number of items if it is fixed and known; else 0 */
    struct cr_item_part item_parts[CR_MAX_ITEM_PARTS]; /* the axes that items divide, besides the
                                                          outer loops */
    int n_item_parts;
    struct cr_known known[CR_MAX_KNOWN]; /* the values of undeclared variables, which are constants;
                                            see cr_let */
    int n_known;
    struct cr_open_block open[CR_MAX_OPEN]; /* the open blocks, innermost last */
    int n_open;
    cr_expr items;              /* an expression for the number of items if that depends on lengths;
                                   else CR_NONE */
    struct cr_address held[CR_MAX_HELD]; /* the named values that slots hold at present; see
                                            cr_hold */
    int n_held;
    int n_temps;                /* number of temporaries of tile programs so far, used in their
                                   names */
    const char *scope;          /* the scope of the script that the last remark named */
    cr_id node;                 /* the value of cr_call.node for calls that are added next */
};

/* Names the counters of the kernel's outer loops: by the loop's role, such as "head"; by the length
 * that the loop runs to; or by the axis of the result, such as "axis1". */
void cr_name_loops(struct cr_builder *b);

/* Returns a list by node: the stored tensor that the node is a view of, and its strides there.  The
 * caller frees it. */
struct cr_view_strides *cr_find_views(const struct cr_module *m);

/* cr_name_atoms sets atom_size; cr_name_strides, called after the body is built, names its strides.
 * They do nothing if node_sizes is null. */
void cr_name_atoms(struct cr_builder *b);
void cr_name_strides(struct cr_builder *b);

/* ---- integer expressions ---- */

/* Returns the name, a named size, of the size of a kernel's tiles along an axis; `level` is 0 for the part that an item
 * has, 1 for a step of a loop.  Returns 0 if sizes have no names, or if all names of the axis have other values. */
int cr_tile_size(struct cr_builder *b, enum cr_tile_axis axis, int level, int64_t value);

/* Returns the name of the number of parts that an axis is cut into, if it is set or can be; else 0. */
int cr_parts_size(struct cr_builder *b, enum cr_tile_axis axis, int64_t parts);

/* Returns the axis that a loop counter or the first element of a share, such as "col0", runs along; CR_TILE_AXES for
 * another name. */
enum cr_tile_axis cr_axis_of_counter(const char *name);

/* The next seven functions fold constants: an operation on two numbers, and operations with 0 or 1
 * that do nothing. */
cr_expr cr_number(struct cr_builder *b, int64_t number);
cr_expr cr_named_number(struct cr_builder *b, int64_t number, int size);
cr_expr cr_var(struct cr_builder *b, int var);
cr_expr cr_field(struct cr_builder *b, int slot);
cr_expr cr_binary(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y);
cr_expr cr_not(struct cr_builder *b, cr_expr x);
cr_expr cr_select(struct cr_builder *b, cr_expr condition, cr_expr x, cr_expr y);

/* Returns x op y, which is not folded if both are numbers, so that the C shows the names of
 * both. */
cr_expr cr_unfolded(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y);

/* Returns element `index` of a slot of i32. */
cr_expr cr_load(struct cr_builder *b, int slot, int64_t index);

/* Returns the element of a slot of i32 whose index is the value of variable `var`. */
cr_expr cr_load_at(struct cr_builder *b, int slot, int var);

/* Returns x + number, or x if the number is 0. */
cr_expr cr_plus(struct cr_builder *b, cr_expr x, int64_t number);

/* If an expression is a number, sets *number and returns true. */
bool cr_number_of(const struct cr_builder *b, cr_expr x, int64_t *number);

/* Returns the value of variable `var` minus that of variable `origin`. */
cr_expr cr_minus_var(struct cr_builder *b, int var, int origin);

/* ---- statements ---- */

/* Declares a variable and returns it.  If the innermost block has a variable of the same name and
 * value, returns that one.  A variable with a constant value is not declared; the number is printed
 * instead. */
int cr_let(struct cr_builder *b, const char *name, cr_expr value);

/* Like cr_let, with a note for readers of the C, or null.  If `changes`, cr_set may change the
 * variable. */
int cr_let_noted(struct cr_builder *b, const char *name, cr_expr value, bool changes,
                 const char *note);
void cr_set(struct cr_builder *b, int var, cr_expr value);

/* Declares "name = last - var < step ? last - var : step", the size of a loop's iteration; `step_size` is the
 * named size of the step, or 0.  If step is 1, returns an undeclared variable with value 1. */
int cr_let_count(struct cr_builder *b, const char *name, int var, int64_t step, int step_size, cr_expr last);

/* Returns an undeclared variable with a constant value; `size` is its named size, or 0. */
int cr_let_number(struct cr_builder *b, int64_t number, int size);

/* Begins a loop from `first` to before `last`, which also ends if the condition `until` is false; `until` may be
 * CR_NONE.  `step_size` is the named size of the step, or 0.  Returns the counter. */
int cr_begin_loop(struct cr_builder *b, const char *name, cr_expr first, cr_expr last,
                  int64_t step, int step_size, cr_expr until);
/* Begins the loop over the items of a call; a kernel with a single item needs no loop.  If the
 * number of items depends on a length, `items` is 0. */
void cr_begin_item_loop(struct cr_builder *b, int64_t items);

void cr_begin_if(struct cr_builder *b, cr_expr condition, const char *note);

/* Begins a block that is not printed as a statement; cr_end ends it like any block. */
void cr_begin_plain(struct cr_builder *b);
void cr_end(struct cr_builder *b);
void cr_remark(struct cr_builder *b, const char *note);

/* ---- calls of the runtime ---- */

struct cr_argument cr_x(cr_expr number);
struct cr_argument cr_n(struct cr_builder *b, int64_t number);
struct cr_argument cr_at(struct cr_address address);
struct cr_argument cr_at_if(struct cr_address address, cr_expr condition); /* the address if
                                                                              `condition` holds,
                                                                              else null */
struct cr_argument cr_by_value(int constant); /* the value of a constant, whose slot is
                                                 `constant` */
extern const struct cr_argument cr_null;

/* Adds a call and returns its index.  cr_do_call makes the call a statement; cr_call_value makes it
 * an expression. */
int cr_make_call(struct cr_builder *b, struct cr_call call, int n,
                 const struct cr_argument *arguments);
void cr_do_call(struct cr_builder *b, int call);

#define CR_ARGUMENTS(...)                                                                          \
    (int)(sizeof((const struct cr_argument[]){__VA_ARGS__}) / sizeof(struct cr_argument)),         \
        (const struct cr_argument[]){__VA_ARGS__}
#define CR_CALL(b, callee, format, ...)                                                            \
    cr_do_call(b, cr_make_call(b, (struct cr_call){callee, format, 0, 0, 0, 0, 0},                 \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* Appends a call of an elementwise op.  Bit i of `by_row` is set if operand i has one number a
 * row. */
#define CR_CALL_MAP(b, op, format, by_row, ...)                                                    \
    cr_do_call(b, cr_make_call(b, (struct cr_call){CR_CALLEE_MAP, format, op, by_row, 0, 0, 0},    \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* Returns an expression with the value that a call returns. */
cr_expr cr_call_value(struct cr_builder *b, int call);

/* ---- slots and addresses ---- */

/* Declares a scratch slot, for each thread, of `elements` elements; returns the slot. */
int cr_scratch(struct cr_builder *b, const char *name, enum cr_format format, int64_t elements,
               const char *note);

/* Gives a value in a scratch slot a unique name like `role`; returns its number, for
 * cr_address.name. */
int cr_name_value(struct cr_builder *b, int slot, const char *role);

/* Returns the address of a scratch slot for a new value named like `role`, which the next call
 * writes.  After cr_hold, later calls use this name for the slot. */
struct cr_address cr_new_value(struct cr_builder *b, int slot, const char *role);
void cr_hold(struct cr_builder *b, struct cr_address value);

/* Returns the slot of a constant; equal constants share a slot. */
int cr_constant(struct cr_builder *b, enum cr_format format, double value);

/* Returns the address of the first element of a slot. */
struct cr_address cr_start_of(int slot);

/* Returns the address plus (var - origin) * coef, where `origin` may be CR_NONE. */
struct cr_address cr_offset(struct cr_builder *b, struct cr_address address, int var, int origin,
                            int64_t coef);

/*
 * Returns the address of the element of a slot at an affine index.  row_var and col_var are the
 * variables with the values of the row and column atoms; CR_NONE means 0.  Outer loops have the
 * values of their counters, and other atoms are 0.
 */
struct cr_address cr_element(struct cr_builder *b, int slot, const struct cr_affine *at,
                             int row_atom, int row_var, int col_atom, int col_var);

/* Returns the value of an affine index as an integer expression; see cr_element. */
cr_expr cr_affine_value(struct cr_builder *b, const struct cr_affine *at, int row_atom, int row_var,
                        int col_atom, int col_var);

/* After the last statement: removes declarations of variables that nothing uses. */
void cr_drop_unused(struct cr_builder *b);

/* True if two addresses are equal. */
bool cr_same_address(const struct cr_builder *b, const struct cr_address *x,
                     const struct cr_address *y);

#endif
