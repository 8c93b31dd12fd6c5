/*
 * builder.h - makes the body of a function, statement by statement.
 *
 * What a kind of kernel writes down with these functions reads like the loops it describes:
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

struct cr_builder {
    const struct cr_module *m;
    const struct cr_graph *g;
    const struct cr_kernel *k;
    const struct cr_target *target;
    struct cr_function *f;
    int ref[CR_MAX_REFS];       /* slots of what the kernel reads, by ref */
    int stream[CR_MAX_STREAMS]; /* of its random streams */
    int weight;                 /* of its packed weights, or CR_NONE */
    union {
        int out; /* of its buffer */
        int stored[CR_MAX_STORED]; /* of all that it stores */
    };
    int length[CR_MAX_LENGTHS]; /* of the lengths that its loops run to, or CR_NONE */
    int outer[CR_MAX_ATOMS];    /* variables of its outer loops */
    int n_outer_ifs;            /* conditions that are open: that an iteration lies within a length */
    cr_expr items;              /* how many there are, if lengths say so; else CR_NONE */
    int n_temps;                /* of tile programs, to name them */
    const char *scope;          /* the last one told to the reader */
    cr_id node;                 /* what the calls to come are for: cr_call.node */
};

/* ---- integer expressions ---- */

cr_expr cr_number(struct cr_builder *b, int64_t number);
cr_expr cr_var(struct cr_builder *b, int var);
cr_expr cr_field(struct cr_builder *b, int slot);
cr_expr cr_binary(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y);
cr_expr cr_not(struct cr_builder *b, cr_expr x);
cr_expr cr_select(struct cr_builder *b, cr_expr condition, cr_expr x, cr_expr y);

/* Element `index` of a slot of i32. */
cr_expr cr_load(struct cr_builder *b, int slot, int64_t index);

/* x + number, x alone if that is 0. */
cr_expr cr_plus(struct cr_builder *b, cr_expr x, int64_t number);

/* A variable's value minus another's. */
cr_expr cr_minus_var(struct cr_builder *b, int var, int origin);

/* ---- statements ---- */

int cr_let(struct cr_builder *b, const char *name, cr_expr value);

/* The same with a note, or null, for the reader; `changes` says that cr_set may follow. */
int cr_let_noted(struct cr_builder *b, const char *name, cr_expr value, bool changes,
                 const char *note);
void cr_set(struct cr_builder *b, int var, cr_expr value);

/* "const long name = last - var < step ? last - var : step": what a loop's iteration does. */
int cr_let_count(struct cr_builder *b, const char *name, int var, int64_t step, cr_expr last);

/* A loop from first to last; `until`, or CR_NONE, is one more condition.  Its counter. */
int cr_begin_loop(struct cr_builder *b, const char *name, cr_expr first, cr_expr last,
                  int64_t step, cr_expr until);
void cr_begin_if(struct cr_builder *b, cr_expr condition, const char *note);
void cr_end(struct cr_builder *b);
void cr_remark(struct cr_builder *b, const char *note);

/* ---- calls of the runtime ---- */

struct cr_argument cr_x(cr_expr number);
struct cr_argument cr_n(struct cr_builder *b, int64_t number);
struct cr_argument cr_at(struct cr_address address);
struct cr_argument cr_at_if(struct cr_address address, cr_expr condition); /* else null */
struct cr_argument cr_by_value(int constant); /* a constant's slot */
extern const struct cr_argument cr_null;

/* The index of the call, for CR_CALL_EXPR; a statement of its own with CR_CALL. */
int cr_make_call(struct cr_builder *b, struct cr_call call, int n,
                 const struct cr_argument *arguments);
void cr_do_call(struct cr_builder *b, int call);

#define CR_ARGUMENTS(...)                                                                          \
    (int)(sizeof((const struct cr_argument[]){__VA_ARGS__}) / sizeof(struct cr_argument)),         \
        (const struct cr_argument[]){__VA_ARGS__}
#define CR_CALL(b, callee, format, ...)                                                            \
    cr_do_call(b, cr_make_call(b, (struct cr_call){callee, format, 0, 0, 0, 0, 0},                 \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* An elementwise op; the bits of `by_row` are operands with one number a row. */
#define CR_CALL_MAP(b, op, format, by_row, ...)                                                    \
    cr_do_call(b, cr_make_call(b, (struct cr_call){CR_CALLEE_MAP, format, op, by_row, 0, 0, 0},    \
                               CR_ARGUMENTS(__VA_ARGS__)))

/* What a call returns. */
cr_expr cr_call_value(struct cr_builder *b, int call);

/* ---- slots and addresses ---- */

/* A part of the thread's scratch memory. */
int cr_scratch(struct cr_builder *b, const char *name, enum cr_format format, int64_t elements,
               const char *note);

/* A constant, declared once. */
int cr_constant(struct cr_builder *b, enum cr_format format, double value);

/* Where a slot begins. */
struct cr_address cr_start_of(int slot);

/* The address plus (var - origin) * coef; origin may be CR_NONE. */
struct cr_address cr_offset(struct cr_builder *b, struct cr_address address, int var, int origin,
                            int64_t coef);

/*
 * The element of a slot at an affine's value, at the row and column that variables say (CR_NONE
 * for 0).  Atoms that are neither a part of the tile nor an outer loop count from 0.
 */
struct cr_address cr_element(struct cr_builder *b, int slot, const struct cr_affine *at,
                             int row_atom, int row_var, int col_atom, int col_var);

/* The same number as an integer. */
cr_expr cr_affine_value(struct cr_builder *b, const struct cr_affine *at, int row_atom, int row_var,
                        int col_atom, int col_var);

/* True if two addresses are equal. */
bool cr_same_address(const struct cr_builder *b, const struct cr_address *x,
                     const struct cr_address *y);

#endif
