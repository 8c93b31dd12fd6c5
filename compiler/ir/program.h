/*
 * program.h - the program that a run executes: buffers, functions whose bodies are loops of runtime calls, and the
 * steps that call them.
 *
 * The pass `schedule` makes a program of a module's kernels; emit prints it as C and decides
 * nothing.  The program states as data all that the C does: which runtime functions are called,
 * the address and the extent of each operand, the number of iterations of each loop.  `dump --after schedule` prints it; passes/verifier/verify_program.c checks it.
 *
 *   buffer    a piece of memory between functions: an input, an output, a state, a weight, a
 *             literal, an intermediate value in the arena
 *   function  the code of a kernel; equal kernels share one
 *   slot      what a function's body can address: an argument, a part of its scratch memory,
 *             a constant
 *   step      a call of a function, or a loop over layers around calls, or another kind of steps.def
 *   binding   the buffer that an argument is in a call: one for each layer, if it is in a loop
 *   entry     steps that a caller can run by one call
 */
#ifndef CR_PROGRAM_H
#define CR_PROGRAM_H

#include "exchange.h"
#include "graph.h"
#include "named_sizes.h"
#include "runtime/pack_weights.h"

/* ---- buffers ---- */

/* The space in which a buffer lies at run time. */
enum cr_space {
    CR_SPACE_NONE,    /* nowhere: of a binding, a number */
    CR_SPACE_LENGTH,  /* nowhere, too: the value of length `offset` */
    CR_SPACE_ARENA,   /* `offset` bytes into the arena */
    CR_SPACE_WEIGHTS, /* `offset` bytes into the weights */
    CR_SPACE_INPUT,   /* the caller's memory for input `offset` */
    CR_SPACE_OUTPUT,  /* the caller's memory for output `offset` */
    CR_SPACE_STATE,   /* the caller's memory for input `offset`, read and written */
    CR_SPACE_LITERAL, /* literal `offset`, data of the program */
    CR_SPACE_COUNT
};

struct cr_buffer {
    const char *name; /* for readers; several buffers may have one name */
    enum cr_format format;
    int rank;
    int64_t shape[CR_MAX_RANK];   /* for a length: its bound */
    int length[CR_MAX_RANK];      /* by axis: index in cr_program.lengths, or CR_NONE */
    int size[CR_MAX_RANK];        /* by axis: the named size that the shape is, or 0 */
    enum cr_space space;
    int64_t offset, bytes;
    int alias;        /* the buffer whose memory it shares, wholly or in part, or CR_NONE */
    unsigned entries; /* a bit for each entry that uses it */
};

/* ---- integer expressions ---- */

/* Index in cr_function.exprs. */
typedef int cr_expr;

enum cr_expr_op {
    CR_EXPR_NUMBER, /* number */
    CR_EXPR_VAR,    /* the variable `a` */
    CR_EXPR_FIELD,  /* the number bound to slot `a` */
    CR_EXPR_ADD,
    CR_EXPR_SUB,
    CR_EXPR_MUL,
    CR_EXPR_DIV, /* both operands are positive */
    CR_EXPR_MOD,
    CR_EXPR_MIN,
    CR_EXPR_LESS, /* results from here to NOT are 0 or 1 */
    CR_EXPR_GREATER,
    CR_EXPR_EQUAL,
    CR_EXPR_AND,
    CR_EXPR_OR,
    CR_EXPR_NOT,
    CR_EXPR_SELECT, /* a ? b : c */
    CR_EXPR_CALL,   /* the result of the runtime call `a` */
    CR_EXPR_LOAD,   /* element `number`, plus the variable `b` if that is not CR_NONE, of slot `a`, an i32 */
};

struct cr_expr_node {
    enum cr_expr_op op;
    int a, b, c; /* operands: expressions, unless said otherwise */
    int size;    /* NUMBER: the named size that it is, or 0 */
    int64_t number;
};

/* ---- runtime calls ---- */

/* A function of the runtime.  Elementwise ops and reductions are called by their op. */
enum cr_callee {
#define FUNCTION(name, signature) CR_CALLEE_##name,
#include "functions.def"
#undef FUNCTION
    CR_CALLEE_MAP,          /* cr_call.op on tiles, in the variant of cr_call.by_row */
    CR_CALLEE_REDUCE,       /* cr_call.op over the columns of a tile */
    CR_CALLEE_REDUCE_DOWN,  /* cr_call.op down its rows, into 16 lanes */
    CR_CALLEE_REDUCE_LANES, /* folds these lanes into one */
    CR_CALLEE_COUNT
};

/* One summand of an address: (var - origin) * coef, in units of the slot's format. */
struct cr_term {
    int var, origin; /* origin: a variable, or CR_NONE for 0 */
    int64_t coef;
    int size; /* the named size that coef is, or 0 */
};

/* The address of an element of a slot: unit base + sum of terms. */
struct cr_address {
    int slot;
    int name; /* the name of the value there: 1 + its index in cr_function.names; 0: the slot's
                 name */
    int64_t base;
    int size; /* the named size that base is, or that a constant is; or 0 */
    int64_t part;  /* if not 0: emitted C has base as a sum, base - part of the size `size` and part */
    int part_size; /* ... of this size */
    int first_term, n_terms; /* in cr_function.terms */
};

enum cr_argument_kind {
    CR_ARGUMENT_NUMBER,  /* an integer */
    CR_ARGUMENT_ADDRESS, /* an element's address; null if there is a `number` and its value is 0 */
    CR_ARGUMENT_NULL,
    CR_ARGUMENT_VALUE, /* the value of the constant address.slot */
};

struct cr_argument {
    enum cr_argument_kind kind;
    cr_expr number; /* or CR_NONE */
    struct cr_address address;
};

struct cr_call {
    enum cr_callee callee;
    enum cr_format format; /* the format of its tiles: selects the family of functions */
    enum cr_op op;         /* MAP, REDUCE... */
    unsigned by_row;       /* MAP: a bit for each operand that has one value per row */
    int first_argument, n_arguments;
    cr_id node; /* the node of the scheduled kernel whose value it computes, or helps to compute */
};

/* Writes the name of the called function, without "rt->". */
void cr_callee_name(char *buffer, size_t size, const struct cr_call *call);

/* Writes the signature of its arguments; see functions.def. */
void cr_callee_signature(char *buffer, size_t size, const struct cr_call *call);

/* ---- formats ---- */

/* A row of formats.def. */
struct cr_format_info {
    const char *name;
    enum cr_dtype dtype;
    int bits, block, scale; /* of weight formats: a block of `block` elements has `scale` bits of
                               scales */
    int unit;               /* bytes of c_type: offsets in a buffer and in a slot count units */
    const char *c_type, *family;
    const char *pack;    /* of weight formats: the C expression that packs; else null */
    enum cr_callee gemm, gather; /* of weight formats; else CR_CALLEE_COUNT */
    const char *description;
};

extern const struct cr_format_info cr_formats[CR_FORMAT_COUNT];

/* Returns the default format of a type. */
enum cr_format cr_format_of(enum cr_dtype dtype);

/* Returns the format with that name of `length` characters, ignoring case; CR_FORMAT_COUNT if
 * there is none. */
enum cr_format cr_format_find(const char *name, size_t length);

/* Returns the bytes of this many elements, in whole blocks. */
int64_t cr_format_bytes(enum cr_format format, int64_t elements);

/* Return K rounded up to whole blocks; and the units of a column of K elements in a panel. */
int64_t cr_block_rows(enum cr_format format, int64_t K);
int64_t cr_column_units(enum cr_format format, int64_t K);

/* Writes the shortest decimal that reads back as a value of the format; or "NAN", "INFINITY" or
 * "MINUS_INFINITY". */
void cr_number_text(char *text, size_t size, enum cr_format format, double value);

/* ---- arithmetics ---- */

/* A row of arithmetics.def; or the first one, f32, which does not round rows. */
struct cr_arithmetic_info {
    const char *name;
    enum cr_format rows;  /* the format of rounded rows */
    enum cr_callee round; /* rounds rows; CR_CALLEE_COUNT: none */
    const char *description;
};

extern const struct cr_arithmetic_info cr_arithmetics[CR_ARITHMETIC_COUNT];

/* Returns the arithmetic with that name of `length` characters; CR_ARITHMETIC_COUNT if there is
 * none. */
enum cr_arithmetic cr_arithmetic_find(const char *name, size_t length);

/* Returns the function that multiplies by weights of a format in an arithmetic; CR_CALLEE_COUNT if
 * there is none. */
enum cr_callee cr_product_of(enum cr_format format, enum cr_arithmetic arithmetic);

/* ---- bodies ---- */

struct cr_var {
    char name[24];
    bool changes; /* is assigned after its declaration; false for a loop counter */
};

enum cr_statement_kind {
    CR_STATEMENT_LOOP, /* for var = first; var < last; var += step; ends at its END */
    CR_STATEMENT_IF,   /* if value is not 0; ends at its END */
    CR_STATEMENT_END,
    CR_STATEMENT_LET, /* declares var with a value */
    CR_STATEMENT_SET, /* gives var another value */
    CR_STATEMENT_CALL,
    CR_STATEMENT_NOTE, /* only a note for the reader */
};

struct cr_statement {
    enum cr_statement_kind kind;
    int var;
    cr_expr value;       /* LOOP: first */
    cr_expr last, until; /* LOOP: end; a further condition for going on, or CR_NONE */
    int64_t step;        /* LOOP */
    int call;            /* index in calls */
    const char *note;    /* for the reader, or null; the program owns the string */
};

/* ---- functions ---- */

enum cr_slot_kind {
    CR_SLOT_ARGUMENT, /* a pointer that a call passes */
    CR_SLOT_NUMBER,   /* a number that a call passes: a random stream, a length */
    CR_SLOT_SCRATCH,  /* a part of the thread's scratch memory */
    CR_SLOT_CONSTANT,
};

struct cr_slot {
    enum cr_slot_kind kind;
    enum cr_format format;
    char name[64];
    bool written;      /* ARGUMENT: the function writes to it */
    bool partly;       /* ARGUMENT: it writes only a part; the rest keeps its values */
    bool packed;       /* ARGUMENT: a weight matrix in panels */
    int length;        /* NUMBER: the index of a length; ARGUMENT: of the ragged length whose sizes it
                        * has; else CR_NONE */
    int64_t offset;    /* SCRATCH: offset in floats from the begin of the thread's scratch */
    int64_t elements;  /* SCRATCH */
    double number;     /* CONSTANT */
    const char *note;  /* SCRATCH, NUMBER: its meaning; ARGUMENT: its shape, such as "[n, 48]".  For
                        * readers; the program's string */
};

/* The name of a value in scratch, for readers.  Values whose live ranges do not overlap may share a
 * slot. */
struct cr_value_name {
    int slot;
    char text[72];
};

/* The predefined variables of every body: a call processes the items begin .. end - 1. */
enum { CR_VAR_BEGIN, CR_VAR_END, CR_VAR_ITEM, CR_N_OWN_VARS };

/* Bytes that loops load into a core's first-level cache, and how many of these come from beyond its
 * second-level cache: a model of the target's caches. */
struct cr_traffic {
    double to_l1, to_l2;
};

struct cr_function {
    int number;          /* from 1 on; the function's name in emitted C is k<number>_<title> */
    char title[64];
    const char *comment; /* lines about its formula, origin and cost */
    struct cr_slot *slots; /* arguments and numbers first, as calls bind them */
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
    cr_expr items;          /* number of iterations of its parallel loop; depends on numbers only */
    const struct cr_named_sizes *sizes; /* the program's */
    int64_t scratch_floats; /* scratch of each thread */
    struct cr_traffic traffic; /* bytes that a call moves; zeros: each byte is loaded once */
};

/* Returns the name of the value at an address, or of its slot. */
static inline const char *cr_address_name(const struct cr_function *f,
                                          const struct cr_address *address)
{
    return address->name ? f->names[address->name - 1].text : f->slots[address->slot].name;
}

/* ---- steps ---- */

/* A row of steps.def each; steps.h says what one is made of. */
enum cr_step_kind {
#define STEP(NAME, name, traits, description) CR_STEP_##NAME,
#include "steps.def"
#undef STEP
    CR_STEP_KINDS
};

/* The form in which the binding of an argument depends on the layer. */
enum cr_form {
    CR_FORM_SAME,
    CR_FORM_EVEN,        /* at equal distances */
    CR_FORM_ALTERNATING, /* two buffers that alternate */
    CR_FORM_TABLE,       /* irregular: a table by layer */
    CR_FORM_RANKS,       /* a number by rank, in a program for several (emit/join_programs.h) */
};

/* A memory location, or for CR_SPACE_NONE a number. */
struct cr_location {
    enum cr_space space;
    int64_t offset; /* as in cr_buffer */
    int64_t within; /* of an input, an output, a state or a literal: the offset in bytes from its
                       start */
};

/* The binding of an argument in one call. */
struct cr_given {
    int64_t what;  /* a buffer, or a number */
    int64_t start; /* bytes from the buffer's begin to the function's first element */
};

/* A part of a buffer, chosen by an i32 at run time: parts are equally spaced; a number outside 0 ..
 * bound - 1 chooses the first. */
struct cr_chosen_part {
    int64_t bound;  /* number of parts; 0: nothing is chosen */
    int64_t stride; /* bytes from part to part */
    int by;         /* the binding of the i32 buffer, in the same step */
    int64_t element; /* the index of the element of this buffer that holds the number, counted
                        from the binding's start */
};

/*
 * The binding of an argument in each layer.  program->bound lists it by iteration; the form states
 * the same as a function of the layer's number, which emitted C computes:
 *     SAME         start                 EVEN   start + layer * stride
 *     ALTERNATING  alternate[layer % 2]  TABLE  table[layer - first_layer]
 *     RANKS        table[rank]
 * and, inside an input, an output, a state or a literal, within + layer * within_stride.  The first and the last iteration may be exceptions.
 */
struct cr_binding {
    int first_buffer;     /* program->bound[first_buffer ..], by iteration: buffers, or numbers */
    enum cr_space space;  /* the space in all iterations but the exceptions */
    enum cr_form form;
    bool relative;        /* EVEN: relative to the loop's pointer to the layer, with the loop's
                           * stride */
    int64_t start, stride, alternate[2];
    int64_t within, within_stride;
    int first_row, n_rows, first_layer; /* TABLE, RANKS: program->table[first_row ..] */
    bool first_differs, last_differs;
    struct cr_location first, last; /* bindings of the exceptions */
    bool differs;   /* in a program for several ranks: on rank r, program->table[first_more + r] bytes are added to */
    int first_more; /* all locations */
    struct cr_chosen_part choice; /* the chosen part; all fields above describe the first part */
};

/* The layers of a LOOP. */
struct cr_layers {
    int start, direction, count;          /* iteration i is layer start + i * direction */
    int64_t weights_stride, arena_stride; /* bytes from layer to layer, or 0 */
};

/* A step: its kind, its operands if the kind has some, and a union member for each kind with
 * numbers. */
struct cr_step {
    enum cr_step_kind kind;
    int function;      /* the function whose slots are its operands; CR_NONE: the kind has no
                        * operands */
    int first_binding; /* the first of the bindings for the function's n_bound slots, which are
                          in the order of the slots */
    union {
        struct {
            int64_t shares; /* maximum number of parts that the items are split into: more
                               threads would not make it faster */
        } call;
        struct cr_exchanged all_gather;
        struct cr_layers loop;
    };
};

/* An entry.  Entries share functions and weights; each needs its own size of arena and scratch
 * memory. */
struct cr_entry {
    const char *name; /* "" where there is but one */
    int first_step, n_steps;
    int first_call, n_calls; /* in program->sequence */
    int first_output, n_outputs;
    int64_t arena_bytes, scratch_bytes; /* the latter for each thread */
};

/* ---- programs ---- */

/* A parameter, input or output of the program. */
struct cr_port {
    const char *name;       /* of an output of a named entry: "decode.y" */
    const char *identifier; /* inputs and outputs: the name as part of an identifier in C */
    enum cr_dtype dtype;    /* the caller's data have the default format of this type */
    enum cr_format format;  /* parameters: the format in the weights; others: the type's default */
    enum cr_arithmetic arithmetic; /* parameters: the arithmetic of products by it */
    int rank;
    int64_t shape[CR_MAX_RANK];
    enum cr_init init; /* parameters */
    double bound;      /* parameters: the bound of the init */
    bool state;        /* inputs: it keeps its value from run to run, and kernels write to it */
    bool in_place;     /* outputs: the caller may pass the memory of the input that has the output's
                        * name in its entry */
    int64_t offset;    /* parameters: bytes into the weights of its first piece; -1: unused */
    unsigned entries;  /* inputs: a bit for each entry that reads it (a lone entry has all inputs);
                        * outputs: the bit of its entry */
};

/* Returns the port of a node, which is in no entry yet, nor in the weights.  It owns `name`. */
struct cr_port cr_port_of_node(const struct cr_node *node, char *name);

/* Facts about a kernel for reports; the program owns the strings. */
struct cr_kernel_info {
    const char *name;                        /* the C function */
    const char *scope;                       /* "attn.c_attn" */
    const char *where;                       /* "gpt2_block.lua:12" */
    enum cr_step_kind step;                  /* the kind of step that runs it */
    int calls;                               /* number of calls in a run of all entries */
    int again;                               /* calls of these that recompute a value */
    double flops, bytes_read, bytes_written; /* one call */
    double bytes_weights;                    /* the bytes of parameters among bytes_read */
    struct cr_traffic traffic;               /* of one call */
};

struct cr_program {
    const char *name; /* a C identifier: the model's */
    char target[48];  /* name of the target whose tile sizes loops have */

    struct cr_named_sizes *sizes; /* names and products for sizes, which emitted C shows; or null */
    struct cr_length *lengths; /* input_of_length[i] is the input that holds length i */
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
    struct cr_given *bound; /* the data of bindings */
    int n_bound, cap_bound;
    int64_t *table;
    int n_table, cap_table;
    struct cr_entry *entries;
    int n_entries, cap_entries;

    struct cr_literal *literals; /* the words are the program's */
    int n_literals;
    struct cr_port *params, *inputs, *outputs;
    int n_params, n_inputs, n_outputs;
    struct cr_port *whole_inputs, *whole_outputs; /* of ranks that train: the ports of which inputs and outputs are
                                                   * a rank's share (passes/shard), or the same ones; else null */
    struct cr_weight_layout *layouts; /* in order of parameters */
    int n_layouts;
    int64_t weights_bytes;
    int64_t arena_bytes, scratch_bytes; /* the maximum over entries */
    int64_t arena_bytes_least; /* lower bound of any plan's arena: the most bytes live at once */
    int64_t activation_bytes;  /* bytes of it that are kept for the backward pass; -1 if there is
                                  none */
    struct cr_kernel_info *kernels; /* by function */
    int n_kernels;
    int *sequence; /* the kernels, in the order a run of all entries calls them */
    int n_sequence;
    int ranks;        /* that run it together, each with other numbers (emit/join_programs.h); else 0 */
    int *first_layout; /* with ranks: the layouts of rank r are those from first_layout[r] to first_layout[r + 1] - 1 */
    int micro_batches; /* of a training step, set by library/emission.c; 0: the step has one entry */
    int ops_before; /* arithmetic nodes of the script's graph: number of kernels without fusion */

    char *text; /* the C, once emit has printed it; else null */
    size_t text_length;
};

/* Frees the functions, the buffers, the bindings, the text and the names of parameters.  What remains, such as ports,
 * steps and the facts of kernels, is all that running needs once the text is compiled. */
void cr_program_drop_code(struct cr_program *program);

void cr_program_free(struct cr_program *program);

/* Returns the C type of elements in the type's default format; a bool is the float 0 or 1. */
const char *cr_c_type(enum cr_dtype dtype);

#endif
