/*
 * program.h - the program that a run executes: buffers, functions whose bodies are loops of
 * runtime calls, and the steps that call them.
 *
 * The pass `schedule` makes a program from a module's kernels; emit prints it as C and decides
 * nothing.  The program states as data all that the C does: which runtime functions are called,
 * the address and the extent of each operand, the number of iterations of each loop.
 * `dump --after schedule` prints it; passes/verifier/verify_program.c checks it.
 *
 *   buffer    a piece of memory between functions: an input, an output, a state, a weight, a
 *             literal, an intermediate value in the arena
 *   function  the code of a kernel; equal kernels share one
 *   slot      what a function's body can address: an argument, a part of its scratch memory,
 *             a constant
 *   step      a call of a function, a loop over layers around calls, or another kind of steps.def
 *   binding   the buffer that a call passes as an argument: one for each layer, inside a loop
 *   entry     a group of steps that the caller of the model runs by one call
 */
#ifndef CR_PROGRAM_H
#define CR_PROGRAM_H

#include "exchange.h"
#include "graph.h"
#include "named_sizes.h"
#include "runtime/pack_weights.h"

/* ---- buffers ---- */

/* Where a buffer lies at run time. */
enum cr_space {
    CR_SPACE_NONE,    /* no memory; in a binding: a number */
    CR_SPACE_LENGTH,  /* no memory; in a binding: the value of length `offset` */
    CR_SPACE_ARENA,   /* `offset` bytes into the arena */
    CR_SPACE_WEIGHTS, /* `offset` bytes into the weights */
    CR_SPACE_INPUT,   /* the caller's memory for input `offset` */
    CR_SPACE_OUTPUT,  /* the caller's memory for output `offset` */
    CR_SPACE_STATE,   /* the caller's memory for input `offset`, read and written */
    CR_SPACE_LITERAL, /* literal `offset`, data of the program */
    CR_SPACE_COUNT
};

struct cr_buffer {
    const char *name; /* for readers of C and dumps; several buffers may have the same name */
    enum cr_format format;
    int rank;
    int64_t shape[CR_MAX_RANK];   /* an axis that is a length has its bound here */
    int length[CR_MAX_RANK];      /* by axis: index in cr_program.lengths, or CR_NONE */
    int size[CR_MAX_RANK];        /* by axis: the named size that its size is, or 0 */
    enum cr_space space;
    int64_t offset, bytes;
    int alias;        /* the buffer whose memory this one shares, wholly or in part, or CR_NONE */
    unsigned entries; /* bit i: entry i uses the buffer */
};

/* ---- integer expressions ---- */

/* Index in cr_function.exprs. */
typedef int cr_expr;

enum cr_expr_op {
    CR_EXPR_NUMBER, /* number */
    CR_EXPR_VAR,    /* the variable `a` */
    CR_EXPR_FIELD,  /* the number that calls bind to slot `a` */
    CR_EXPR_ADD,
    CR_EXPR_SUB,
    CR_EXPR_MUL,
    CR_EXPR_DIV, /* quotient; both operands are positive */
    CR_EXPR_MOD,
    CR_EXPR_MIN,
    CR_EXPR_LESS, /* the operators from LESS to NOT give 0 or 1 */
    CR_EXPR_GREATER,
    CR_EXPR_EQUAL,
    CR_EXPR_AND,
    CR_EXPR_OR,
    CR_EXPR_NOT,
    CR_EXPR_SELECT, /* a ? b : c */
    CR_EXPR_CALL,   /* the result of the runtime call `a` */
    CR_EXPR_LOAD,   /* element `number` of slot `a`, an i32; plus the variable `b` unless that is
                     * CR_NONE */
};

struct cr_expr_node {
    enum cr_expr_op op;
    int a, b, c; /* operands: indices of expressions, unless the operator's comment says
                  * otherwise */
    int size;    /* NUMBER: the named size that the number is, or 0 */
    int64_t number;
};

/* ---- runtime calls ---- */

/* A function of the runtime that bodies call.  Elementwise ops and reductions share a few values
 * here and are told apart by cr_call.op. */
enum cr_callee {
#define FUNCTION(name, signature) CR_CALLEE_##name,
#include "functions.def"
#undef FUNCTION
    CR_CALLEE_MAP,          /* elementwise op cr_call.op on tiles, in the variant of
                             * cr_call.by_row */
    CR_CALLEE_REDUCE,       /* reduction cr_call.op over the columns of a tile */
    CR_CALLEE_REDUCE_DOWN,  /* reduction cr_call.op over the rows of a tile, into 16 lanes */
    CR_CALLEE_REDUCE_LANES, /* folds the 16 lanes into one */
    CR_CALLEE_COUNT
};

/* One term of an address: (var - origin) * coef, in units of the slot's format. */
struct cr_term {
    int var, origin; /* origin: a variable, or CR_NONE for 0 */
    int64_t coef;
    int size; /* the named size that coef is, or 0 */
};

/* The address of an element of a slot: base + the sum of the terms, in units of the slot's
 * format. */
struct cr_address {
    int slot;
    int name; /* 1 + the index in cr_function.names of the value stored at this address; 0: it is
               * named after the slot */
    int64_t base;
    int size; /* the named size that base is, or that a constant's number is; or 0 */
    int64_t part;  /* if not 0: emitted C writes base as a sum of `part`, which has the named size
                    * `part_size`, and the rest, base - part, of the named size `size` */
    int part_size; /* see `part` */
    int first_term, n_terms; /* the terms are cr_function.terms[first_term ..] */
};

enum cr_argument_kind {
    CR_ARGUMENT_NUMBER,  /* an integer */
    CR_ARGUMENT_ADDRESS, /* the address of an element; null if the argument has a `number`
                          * expression that is 0 */
    CR_ARGUMENT_NULL,
    CR_ARGUMENT_VALUE, /* the value of the constant in slot address.slot */
};

struct cr_argument {
    enum cr_argument_kind kind;
    cr_expr number; /* or CR_NONE */
    struct cr_address address;
};

struct cr_call {
    enum cr_callee callee;
    enum cr_format format; /* the format of the call's tiles: selects a family of runtime
                            * functions */
    enum cr_op op;         /* MAP, REDUCE... */
    unsigned by_row;       /* MAP: bit i: operand i has one value for each row */
    int first_argument, n_arguments;
    cr_id node; /* the node of the kernel's graph whose value the call computes or contributes to */
};

/* Writes the name of the called runtime function, without "rt->". */
void cr_callee_name(char *buffer, size_t size, const struct cr_call *call);

/* Writes the signature of the call's arguments; functions.def describes the notation. */
void cr_callee_signature(char *buffer, size_t size, const struct cr_call *call);

/* ---- formats ---- */

/* A row of formats.def. */
struct cr_format_info {
    const char *name;
    enum cr_dtype dtype;
    int bits, block, scale; /* of weight formats: a block of `block` elements has `scale` bits of
                             * scale factors */
    int unit;               /* bytes of c_type: the unit of offsets within a buffer or a slot */
    const char *c_type, *family;
    const char *pack;    /* of weight formats: the C expression that packs weights; else null */
    enum cr_callee gemm, gather; /* of weight formats: the functions that multiply and gather;
                                  * else CR_CALLEE_COUNT */
    const char *description;
};

extern const struct cr_format_info cr_formats[CR_FORMAT_COUNT];

/* Returns the default format of a type. */
enum cr_format cr_format_of(enum cr_dtype dtype);

/* Returns the format whose name is the first `length` characters of `name`, ignoring case;
 * CR_FORMAT_COUNT if there is none. */
enum cr_format cr_format_find(const char *name, size_t length);

/* Returns the bytes of `elements` elements, rounded up to whole blocks. */
int64_t cr_format_bytes(enum cr_format format, int64_t elements);

/* cr_block_rows returns K rounded up to whole blocks; the second function returns the units of
 * one column of K elements in a panel. */
int64_t cr_block_rows(enum cr_format format, int64_t K);
int64_t cr_column_units(enum cr_format format, int64_t K);

/* Writes the shortest decimal that reads back as the same value in the format; "NAN", "INFINITY"
 * or "MINUS_INFINITY" if the value is not finite. */
void cr_number_text(char *text, size_t size, enum cr_format format, double value);

/* ---- arithmetics ---- */

/* An arithmetic of products: a row of arithmetics.def; or f32, the first one, which does not
 * round rows. */
struct cr_arithmetic_info {
    const char *name;
    enum cr_format rows;  /* the storage format of rounded rows */
    enum cr_callee round; /* the function that rounds rows; CR_CALLEE_COUNT: rows are not rounded */
    const char *description;
};

extern const struct cr_arithmetic_info cr_arithmetics[CR_ARITHMETIC_COUNT];

/* Returns the arithmetic whose name is the first `length` characters of `name`;
 * CR_ARITHMETIC_COUNT if there is none. */
enum cr_arithmetic cr_arithmetic_find(const char *name, size_t length);

/* Returns the runtime function that multiplies by weights of `format` in `arithmetic`;
 * CR_CALLEE_COUNT if there is none. */
enum cr_callee cr_product_of(enum cr_format format, enum cr_arithmetic arithmetic);

/* ---- bodies ---- */

struct cr_var {
    char name[24];
    bool changes; /* true if statements assign to it after its declaration; false for a loop
                   * counter */
    int most;     /* a named size that its value does not exceed, or 0 */
};

enum cr_statement_kind {
    CR_STATEMENT_LOOP, /* for (var = first; var < last; var += step), up to the matching END */
    CR_STATEMENT_IF,   /* if `value` is not 0, up to the matching END */
    CR_STATEMENT_END,
    CR_STATEMENT_LET, /* declares var with a value */
    CR_STATEMENT_SET, /* assigns `value` to var */
    CR_STATEMENT_CALL,
    CR_STATEMENT_NOTE, /* a comment for the reader */
};

struct cr_statement {
    enum cr_statement_kind kind;
    int var;
    cr_expr value;       /* LOOP: the first value of var; IF: the condition; LET, SET: the value
                          * of var */
    cr_expr last, until; /* LOOP: the end of var, and a second condition to continue, or CR_NONE */
    int64_t step;        /* LOOP */
    int step_size;       /* LOOP: the named size that `step` is, or 0 */
    int call;            /* CALL: index in cr_function.calls */
    const char *note;    /* a comment for the reader, or null; the program owns the string */
};

/* ---- functions ---- */

enum cr_slot_kind {
    CR_SLOT_ARGUMENT, /* a pointer that a call passes */
    CR_SLOT_NUMBER,   /* a number that a call passes, such as a random stream or a length */
    CR_SLOT_SCRATCH,  /* a part of each thread's scratch memory */
    CR_SLOT_CONSTANT,
};

struct cr_slot {
    enum cr_slot_kind kind;
    enum cr_format format;
    char name[64];
    bool written;      /* ARGUMENT: the function writes to it */
    bool partly;       /* ARGUMENT: the function writes only a part of it; the rest keeps its
                        * values */
    bool packed;       /* ARGUMENT: a weight matrix, stored in panels */
    int length;        /* NUMBER: the index of the length that it is; ARGUMENT: the index of the
                        * ragged length whose row sizes it holds; else CR_NONE */
    int64_t offset;    /* SCRATCH: offset in floats from the beginning of the thread's scratch
                        * memory */
    int64_t elements;  /* SCRATCH */
    double number;     /* CONSTANT */
    const char *note;  /* for readers: the meaning of a SCRATCH or NUMBER, the shape of an
                        * ARGUMENT, such as "[n, 48]"; the program owns the string */
};

/* The name of a value in scratch memory, for readers.  Values whose live ranges do not overlap
 * may share a slot. */
struct cr_value_name {
    int slot;
    char text[72];
};

/* The predefined variables of every body: BEGIN and END are the bounds of the items that a call
 * processes, ITEM is the current one. */
enum { CR_VAR_BEGIN, CR_VAR_END, CR_VAR_ITEM, CR_N_OWN_VARS };

/* A model of the target's caches: the bytes that loops load into a core's first-level cache, and
 * how many of these come from beyond the second-level cache. */
struct cr_traffic {
    double to_l1, to_l2;
};

struct cr_function {
    int number;          /* from 1 on; in emitted C the function is named k<number>_<title> */
    char title[64];
    const char *comment; /* comment lines with the function's formula, origin and cost */
    struct cr_slot *slots; /* the slots that calls bind, arguments and numbers, come first */
    int n_slots, cap_slots, n_bound;
    struct cr_value_name *names;
    int n_names, cap_names;
    struct cr_var *vars;
    int n_vars, cap_vars;
    struct cr_expr_node *exprs;
    int n_exprs, cap_exprs;
    struct cr_term *terms;
    int n_terms, cap_terms;
    struct cr_argument *arguments;
    int n_arguments, cap_arguments;
    struct cr_call *calls;
    int n_calls, cap_calls;
    struct cr_statement *body;
    int n_body, cap_body;
    cr_expr items;          /* number of iterations of the parallel loop; depends only on slots of
                             * kind NUMBER */
    const struct cr_named_sizes *sizes; /* the named sizes of the program */
    int64_t tiles[CR_TILE_NAMES]; /* the sizes of tiles that have names, by name; 0 for other names */
    int64_t scratch_floats; /* scratch memory of each thread, in floats */
    struct cr_traffic traffic; /* bytes that a call loads, by the cache model; zeros: no estimate,
                                * each byte is loaded once */
};

/* Returns the name of the value at an address: its own, or the slot's. */
static inline const char *cr_address_name(const struct cr_function *f,
                                          const struct cr_address *address)
{
    return address->name ? f->names[address->name - 1].text : f->slots[address->slot].name;
}

/* ---- steps ---- */

/* Kinds of steps: one for each row of steps.def; steps.h describes the rows. */
enum cr_step_kind {
#define STEP(NAME, name, traits, description) CR_STEP_##NAME,
#include "steps.def"
#undef STEP
    CR_STEP_KINDS
};

/* How the binding of an argument depends on the layer; see cr_binding. */
enum cr_form {
    CR_FORM_SAME,
    CR_FORM_EVEN,        /* the location is a linear function of the layer */
    CR_FORM_ALTERNATING, /* two locations that alternate */
    CR_FORM_TABLE,       /* irregular: a table of locations by layer */
    CR_FORM_RANKS,       /* a table of numbers by rank, in a program for several ranks
                          * (emit/join_programs.h) */
};

/* A memory location; for CR_SPACE_NONE a number. */
struct cr_location {
    enum cr_space space;
    int64_t offset; /* as in cr_buffer */
    int64_t within; /* in an input, an output, a state or a literal: bytes from its start */
};

/* The binding of an argument in one call. */
struct cr_given {
    int64_t what;  /* the index of a buffer, or a number */
    int64_t start; /* bytes from the start of the buffer to the first element that the function
                    * uses */
};

/* A part of a buffer, chosen by an i32 at run time.  Parts are equally spaced; a number outside 0
 * .. bound - 1 chooses the first part. */
struct cr_chosen_part {
    int64_t bound;  /* number of parts; 0: there is no choice */
    int64_t stride; /* bytes from part to part */
    int by;         /* index of the binding, in the same step, of the buffer that holds the i32 */
    int64_t element; /* the i32's index in that buffer, counted in elements from the start of its
                      * binding */
};

/*
 * The memory, or the number, that a step passes as an argument in each layer.  program->bound
 * lists it by iteration; `form` states the same as a function of the layer's number, which
 * emitted C computes:
 *     SAME         start                 EVEN   start + layer * stride
 *     ALTERNATING  alternate[layer % 2]  TABLE  table[layer - first_layer]
 *     RANKS        table[rank]
 * The offset inside an input, an output, a state or a literal is within + layer * within_stride.
 * The first and the last iteration may be exceptions.
 */
struct cr_binding {
    int first_buffer;     /* buffers or numbers by iteration: program->bound[first_buffer ..] */
    enum cr_space space;  /* the space in all iterations without an exception */
    enum cr_form form;
    bool relative;        /* EVEN: emitted C adds the offset to the loop's pointer to the layer,
                           * which has the same stride */
    int64_t start, stride, alternate[2];
    int64_t within, within_stride;
    int first_row, n_rows, first_layer; /* TABLE, RANKS: program->table[first_row ..] */
    bool first_differs, last_differs;
    struct cr_location first, last; /* the exceptions: locations in the first and in the last
                                     * iteration */
    bool differs;   /* in a program for several ranks: rank r adds program->table[first_more + r]
                     * bytes to */
    int first_more; /* all locations */
    struct cr_chosen_part choice; /* chooses among parts; all fields above describe the first
                                   * part */
};

/* The layers of a LOOP. */
struct cr_layers {
    int start, direction, count;          /* iteration i is layer start + i * direction */
    int64_t weights_stride, arena_stride; /* distance in bytes from one layer to the next; or 0 */
};

/* A step: its kind, its operands if the kind has some, and a union member for each kind with
 * numbers. */
struct cr_step {
    enum cr_step_kind kind;
    int function;      /* the function whose slots are the operands; CR_NONE if the kind has no
                        * operands */
    int first_binding; /* the first binding; slot i of the function has binding first_binding + i */
    union {
        struct {
            int64_t shares; /* maximum number of parts into which the items are split: more
                             * threads would not help */
        } call;
        struct cr_exchanged all_gather;
        struct cr_layers loop;
    };
};

/* An entry.  Entries share functions and weights, but each has its own sizes of arena and scratch
 * memory. */
struct cr_entry {
    const char *name; /* "" if the program has only one entry */
    int first_step, n_steps;
    int first_call, n_calls; /* the entry's kernels are program->sequence[first_call ..] */
    int first_output, n_outputs;
    int64_t arena_bytes, scratch_bytes; /* scratch_bytes are for each thread */
};

/* ---- programs ---- */

/* A parameter, input or output of the program. */
struct cr_port {
    const char *name;       /* the caller's name; for an output of a named entry "decode.y" */
    const char *identifier; /* inputs and outputs: the name as it occurs in identifiers of emitted
                             * C */
    enum cr_dtype dtype;    /* the caller's data have the default format of this type */
    enum cr_format format;  /* parameters: the format of the stored weights; else the type's
                             * default format */
    enum cr_arithmetic arithmetic; /* parameters: the arithmetic of products by the parameter */
    int rank;
    int64_t shape[CR_MAX_RANK];
    enum cr_init init; /* parameters */
    double bound;      /* parameters: the bound of `init` (cr_attr.value) */
    bool state;        /* inputs: kernels may write to it, and it keeps its value from run to run */
    bool in_place;     /* outputs: the caller may pass the memory of the input of the same name
                        * and entry */
    int64_t offset;    /* parameters: bytes from the start of the weights to the first piece; -1:
                        * unused */
    unsigned entries;  /* inputs: bit i: entry i reads it (a lone entry has all inputs); outputs:
                        * the bit of their entry */
};

/* Returns the port of a node, with no entry and no offset in the weights set.  The port owns
 * `name`. */
struct cr_port cr_port_of_node(const struct cr_node *node, char *name);

/* Facts about a kernel for reports.  The program owns the strings. */
struct cr_kernel_info {
    const char *name;                        /* the name of the C function */
    const char *scope;                       /* the scope in the script, such as "attn.c_attn" */
    const char *where;                       /* file and line of the script, such as
                                              * "gpt2_block.lua:12" */
    enum cr_step_kind step;                  /* the kind of step that runs it */
    int calls;                               /* number of calls in a run of all entries */
    int again;                               /* how many of these calls recompute a value */
    double flops, bytes_read, bytes_written; /* of one call */
    double bytes_weights;                    /* of one call: the part of bytes_read that is
                                              * parameters */
    struct cr_traffic traffic;               /* of one call */
};

struct cr_program {
    const char *name; /* the model's name, a C identifier */
    char target[48];  /* name of the target for which the loops' tile sizes were chosen */

    struct cr_named_sizes *sizes; /* names and products for the sizes in emitted C; or null */
    struct cr_length *lengths; /* input_of_length[i] is the index of the input that holds
                                * length i */
    int *input_of_length;
    int n_lengths;
    struct cr_buffer *buffers;
    int n_buffers, cap_buffers;
    struct cr_function *functions;
    int n_functions, cap_functions;
    struct cr_step *steps;
    int n_steps, cap_steps;
    struct cr_binding *bindings;
    int n_bindings, cap_bindings;
    struct cr_given *bound; /* the buffers and numbers of bindings, by iteration; see cr_binding */
    int n_bound, cap_bound;
    int64_t *table;
    int n_table, cap_table;
    struct cr_entry *entries;
    int n_entries, cap_entries;

    struct cr_literal *literals; /* the program owns the words */
    int n_literals;
    struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
    struct cr_port *whole_inputs, *whole_outputs; /* in a program for one rank of a training: the
                                                   * model's ports before the pass shard cut some
                                                   * inputs and outputs into shares; ports that
                                                   * are not cut equal the program's; else null */
    struct cr_weight_layout *layouts; /* by weight tensor, in order of parameters */
    int n_layouts;
    int64_t weights_bytes;
    int64_t arena_bytes, scratch_bytes; /* the maximum over entries */
    int64_t arena_bytes_least; /* lower bound for the arena of any plan: the most bytes that are
                                * live at once */
    int64_t activation_bytes;  /* bytes of the arena that are kept for the backward pass; -1 if
                                * there is none */
    struct cr_kernel_info *kernels; /* indexed like `functions` */
    int n_kernels;
    int *sequence; /* the kernels in the order in which a run of all entries calls them */
    int n_sequence;
    int ranks;        /* number of ranks that run this program together, each with numbers of its
                       * own (emit/join_programs.h); else 0 */
    int *first_layout; /* if `ranks` is not 0: the layouts of rank r are those from
                        * first_layout[r] to first_layout[r + 1] - 1 */
    int micro_batches; /* of a training step: number of micro-batches, set by library/emission.c;
                        * 0: the step has one entry */
    int ops_before; /* number of arithmetic nodes in the script's graph: the number of kernels
                     * without fusion */

    char *text; /* the emitted C once it exists; else null */
    size_t text_length;
};

/* Frees functions, buffers, bindings, the emitted C and the names of parameters.  Ports, steps
 * and facts about kernels remain: a run needs only them once the C is compiled. */
void cr_program_drop_code(struct cr_program *program);

void cr_program_free(struct cr_program *program);

/* Returns the C type of elements in the type's default format; a bool is stored as the float 0 or
 * 1. */
const char *cr_c_type(enum cr_dtype dtype);

#endif
