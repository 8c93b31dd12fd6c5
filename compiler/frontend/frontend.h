/*
 * frontend.h - what the files of the front end share: the state of one run of a
 * script, reading arguments, making nodes, reporting mistakes.
 *
 * A function that takes a lua_State may leave by a Lua error, so none of them
 * holds memory that nobody else would free: what is allocated outside Lua hangs
 * on struct cr_run.
 */
#ifndef CR_FRONTEND_H
#define CR_FRONTEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/frontend/luaapi.h"
#include "compiler/frontend/script.h"

enum {
    CR_NAME_MAX = 255,       /* bytes of a parameter's, scope's or output's name */
    CR_MAX_SCOPES = 64,      /* scopes within scopes */
    CR_MAX_NODES = 1 << 18,  /* nodes of a graph */
    CR_MAX_SOURCE = 1 << 20, /* bytes of a script */
    CR_MAX_STRING = 1 << 20, /* bytes of a string */
    CR_MAX_PATH = 4096,      /* bytes of a file's name in a printed graph */
    CR_WORK_OF_NEXT = 64,    /* units of cr_work for a step of lua_next */
};

/* A text that was loaded as chunk "#i".  Mistakes are blamed on the user's own
 * lines, so the files of a library are told apart. */
struct cr_source {
    char *path;
    bool library;
};

/* A line of a source; path is null if there is none. */
struct cr_place {
    const char *path;
    int line;
};

/* One run of a script. */
struct cr_run {
    lua_State *L;
    struct cr_graph *graph;
    const char *path; /* of the script */
    char *folder;     /* it lies in, with a slash behind, or "" */
    struct cr_error *error;
    bool reported; /* the error has its text */

    const struct cr_setting *settings;
    int n_settings;
    struct cr_script_option *options;
    int n_options, cap_options;
    bool options_declared;

    struct cr_source *sources;
    int n_sources, cap_sources;

    char scope[CR_NAME_MAX + 1]; /* "h.0.attn" */
    int n_scopes;
    char prefix[CR_NAME_MAX + 1]; /* before every parameter's name */
    bool in_dump;                 /* nodes come from `at`, not from the running line */
    struct cr_where at;
    int kernel, last_kernel; /* of a dump: of the nodes to come, and the largest so far */
    struct cr_place last_kernel_place;

    /* limits.c */
    struct cr_limits limits;
    size_t memory;  /* bytes that Lua holds */
    size_t largest; /* bytes of a block for which the hook need not be called sooner */
    long instructions;
    int period;                 /* instructions from one call of the hook to the next */
    size_t work;                /* since the clock was read */
    int64_t started;            /* nanoseconds of processor time */
    int64_t opened, looked;     /* nanoseconds of the clock on the wall */
    bool watched;               /* the hook is set */
    bool trusted;               /* the front end fills a table, by keys that are no numbers */
    bool stopping;              /* an error that says which limit was passed is on its way */
    char passed[80];            /* the limit that was passed, or "" */
    struct cr_place refused_at; /* where the script was when memory was refused */

    int n_calls;      /* calls of Lua from C within each other */
    size_t n_printed; /* bytes */
    int64_t n_random; /* calls of random */
};

/* The run a state belongs to. */
struct cr_run *cr_run_of(lua_State *L);

/* --- limits.c ---------------------------------------------------------------------- */

/* Lua's allocator; its data is the run. */
void *cr_allocate(void *data, void *block, size_t old, size_t size);

void cr_start_limits(struct cr_run *run);

/* Has the instructions of the state counted. */
void cr_watch(lua_State *L, struct cr_run *run);

/* The limit that was passed, in words. */
const char *cr_limit_passed(struct cr_run *run);

/* Raises if the time is over.  For functions whose single call can take long. */
void cr_look(lua_State *L);

/* Counts work that no instruction of Lua stands for, and looks at the clock now and then.  A
 * unit is a microsecond at most: some table accesses, or 64 bytes. */
void cr_work(lua_State *L, size_t units);

/* Raises if graph and Lua together hold too much memory. */
void cr_check_memory(lua_State *L);

/* lua_call for functions of the language, which may nest only so deep: each takes C's stack. */
void cr_call(lua_State *L, int n_arguments, int n_results);

/* The same for what calls back without lua_call. */
void cr_enter(lua_State *L);
void cr_leave(lua_State *L);

/* lua_setfield on a table of the front end's own, whose keys are names: it may grow larger than
 * those of scripts. */
void cr_set_own_field(lua_State *L, int index, const char *name);

/* --- sandbox.c, library functions in safelib.c ------------------------------------- */

/* A state with bounded memory; null if there is none to be had. */
lua_State *cr_sandbox_open(struct cr_run *run);

/* Fills the state: safe library functions, the language, limits.  May raise. */
void cr_sandbox_fill(lua_State *L, struct cr_run *run);

/* Gives the function on top of the stack, a library module, globals that no script changes. */
void cr_set_library_globals(lua_State *L);

/* Adds the safe part of Lua's library to the table on top of the stack; of it base and math are
 * in safelib.c, the others in safestring.c and safetable.c. */
void cr_add_safe_library(lua_State *L);
void cr_add_safe_string(lua_State *L);
void cr_add_safe_table(lua_State *L);

/* Opens one of Lua's libraries and leaves its table on the stack. */
void cr_open_library(lua_State *L, lua_CFunction open, const char *name);

/* Copies fields from the table on top to the one below it. */
void cr_copy_fields(lua_State *L, const char *const *names);

/* Pushes tostring(value at index), which tells no address. */
void cr_push_text(lua_State *L, int index);

/* Adds to the length of a string that is being made; raises if it becomes too long. */
void cr_add_length(lua_State *L, size_t *size, size_t more, const char *op);

/* Adds functions of a list to the table on top of the stack. */
void cr_add_functions(lua_State *L, const luaL_Reg *functions);

/* --- seal.c ------------------------------------------------------------------------ */

/* Adds rawget, rawset, rawlen and setmetatable to the table on top of the stack. */
void cr_add_seals(lua_State *L);

/* Marks the metatable on top of the stack as one that scripts neither see nor replace; nor do
 * they rawset into its table. */
void cr_hide_metatable(lua_State *L);

/* Replaces the table on top of the stack by one that reads as it does and cannot be changed. */
void cr_seal(lua_State *L);

/* If the table at `index` is such a one, puts the table behind it there. */
void cr_unseal(lua_State *L, int index);

/* --- place.c ----------------------------------------------------------------------- */

/* Registers a text and writes the name its chunk must have. */
void cr_add_source(struct cr_run *run, const char *path, bool library, char *chunk, size_t size);

/* The innermost running line of the user's, and the innermost of all. */
void cr_find_places(lua_State *L, const struct cr_run *run, struct cr_place *user,
                    struct cr_place *inner);

/* The message handler: writes the one line that run->error is to hold. */
int cr_report(lua_State *L);

/* Writes "FILE[:LINE]: text" as the run's error, unless it has one. */
void cr_report_text(struct cr_run *run, struct cr_place place, const char *text);

/* Raises a mistake of the user's; the place is found by the handler. */
_Noreturn void cr_raise(lua_State *L, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- source.c ---------------------------------------------------------------------- */

/* Loads the script itself and leaves it on the stack as a function. */
void cr_load_script(lua_State *L, struct cr_run *run);
int cr_lua_require(lua_State *L);

/* library.c: a file of graphs/lib that is built in, or null. */
const char *cr_builtin_module(const char *name, const char **path, size_t *size);

/* --- tensor.c ---------------------------------------------------------------------- */

void cr_add_tensor_type(lua_State *L);
void cr_push_tensor(lua_State *L, cr_id id);
bool cr_is_tensor(lua_State *L, int index);

/* The tensors of a list, in memory that Lua frees and leaves on the stack; `least` or more. */
cr_id *cr_arg_tensors(lua_State *L, int index, const char *op, int least, int *n);
cr_id cr_tensor_at(lua_State *L, int index); /* which cr_is_tensor */

/* --- args.c: arguments; `what` stands in messages as in "sum: axis: ..." ------------ */

const char *cr_type_name(lua_State *L, int index);
void cr_arg_count(lua_State *L, const char *op, int least, int most);
cr_id cr_arg_tensor(lua_State *L, int index, const char *op);
const char *cr_arg_string(lua_State *L, int index, const char *op, const char *what);

/* A name: letters, digits, "_", "-" and "."; at most CR_NAME_MAX bytes.  In a dump a colon, too:
 * names that the compiler made have one. */
const char *cr_arg_name(lua_State *L, int index, const char *op, const char *what);
void cr_check_name(lua_State *L, const char *name, const char *op, const char *what);
int64_t cr_arg_integer(lua_State *L, int index, const char *op, const char *what);
double cr_arg_number(lua_State *L, int index, const char *op, const char *what);
enum cr_dtype cr_arg_dtype(lua_State *L, int index, const char *op);

/* An axis from 1, or negative from the end; the result counts from 0. */
int cr_arg_axis(lua_State *L, int index, const char *op, int rank);

/* How many entries the table has, more than `most` counting as most + 1. */
int cr_count_entries(lua_State *L, int index, int most);

/* A list of at most CR_MAX_RANK whole numbers; its length. */
int cr_arg_list(lua_State *L, int index, const char *op, const char *what, int64_t *list);

/* --- build.c: nodes ----------------------------------------------------------------- */

/* Adds a node with the running line and scope as its origin. */
cr_id cr_add(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

/* The same, and returns the tensor to Lua. */
int cr_return(lua_State *L, enum cr_op op, int n, const cr_id *in, const struct cr_attr *attr);

/* --- broadcast.c: operands that take each other's shape ------------------------------ */

/* An operand of an elementwise op: a tensor, or a number that becomes a constant. */
struct cr_operand {
    bool is_number;
    double number;
    cr_id id;
};

cr_id cr_elementwise(lua_State *L, enum cr_op op, const struct cr_operand *operands);
struct cr_operand cr_arg_operand(lua_State *L, int index, const char *op);
void cr_add_elementwise(lua_State *L);
int cr_lua_matmul(lua_State *L);

/* --- grad.c: gradients --------------------------------------------------------------- */

int cr_lua_grad(lua_State *L);

/* --- the rest of the language, each adding its functions to the table on the stack --- */

void cr_add_primitives(lua_State *L);
void cr_add_scopes(lua_State *L);
void cr_add_dump_statements(lua_State *L);

/* Gives a new node the kernel that the dump says; refuses a number that no such node has. */
void cr_set_kernel(lua_State *L, cr_id id);

/* Refuses numbers of kernels that the finished graph is too small for. */
void cr_check_kernels(lua_State *L, struct cr_run *run);

int cr_lua_options(lua_State *L);

/* Settings that no script asked for. */
void cr_check_settings(lua_State *L, struct cr_run *run);

/* The order of two names, less than 0 if a comes first: by characters, but numbers in them by
 * their value, so that h.2 comes before h.10. */
int cr_compare_names(const char *a, const char *b);

#endif
