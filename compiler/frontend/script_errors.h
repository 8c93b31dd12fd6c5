/* script_errors.h - finds the line of a script that caused an error, and reports it. */
#ifndef CR_SCRIPT_ERRORS_H
#define CR_SCRIPT_ERRORS_H

#include "script_state.h"

/* Registers a text as a chunk, and writes the name that the chunk must have. */
void cr_add_chunk(struct cr_run *run, const char *path, bool library, char *name, size_t size);

/* Finds the innermost running line of the user's own files, and the innermost one of all files. */
void cr_find_lines(lua_State *L, const struct cr_run *run, struct cr_line *user,
                   struct cr_line *inner);

/* Returns the user's line that called the running Lua function.  It serves C functions called by a
 * layer: an error in the layer's arguments is reported at the line that called the layer. */
struct cr_line cr_caller_line(lua_State *L, const struct cr_run *run);

/* The message handler: writes the error to run->error as one line. */
int cr_report(lua_State *L);

/* Writes "FILE[:LINE]: text" as the run's error, unless it has one.  In a hosted run the last error
 * counts, since functions of the host may catch errors and continue. */
void cr_report_text(struct cr_run *run, struct cr_line line, const char *text);

/* Raises an error for a line, which need not be running; line 0 means the whole file. */
_Noreturn void cr_raise_at(lua_State *L, struct cr_line line, const char *text);

/* Raises an error with a formatted text for a whole file that is not a script. */
_Noreturn void cr_raise_in(lua_State *L, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Raises an error whose text already names its file. */
_Noreturn void cr_raise_error(lua_State *L, const struct cr_error *error);

/* Returns ", did you mean KEY?" with the key of a table that is most similar to a name, or "".  The
 * text is in `text`, of `size` bytes; `table` is an index of the stack that is not relative to its
 * top. */
const char *cr_suggest_key(lua_State *L, int table, char *text, size_t size, const char *name);

/* Raises an error of the user; the handler finds the line. */
_Noreturn void cr_raise(lua_State *L, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
