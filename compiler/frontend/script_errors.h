/* script_errors.h - finds the script line that caused an error, and reports the error. */
#ifndef CR_SCRIPT_ERRORS_H
#define CR_SCRIPT_ERRORS_H

#include "script_state.h"

/* Registers a text as a chunk, and writes to `name` the name under which Lua must load it. */
void cr_add_chunk(struct cr_run *run, const char *path, bool library, char *name, size_t size);

/* Finds the innermost running line of the user's own files, and the innermost running line of all
 * files. */
void cr_find_lines(lua_State *L, const struct cr_run *run, struct cr_line *user,
                   struct cr_line *inner);

/* Returns the user's line that called the running Lua function.  C functions called by a layer of
 * a library report errors in the layer's arguments at that line. */
struct cr_line cr_caller_line(lua_State *L, const struct cr_run *run);

/* The message handler for Lua's protected calls: writes the error to run->error as one line. */
int cr_report(lua_State *L);

/* Sets the run's error to "FILE[:LINE]: text" unless an error is set already.  In a hosted run it
 * replaces an earlier error, since functions of the host may have caught that one. */
void cr_report_text(struct cr_run *run, struct cr_line line, const char *text);

/* Raises an error at a given line, which need not be running; line 0 stands for the whole file. */
_Noreturn void cr_raise_at(lua_State *L, struct cr_line line, const char *text);

/* Raises an error with a formatted text about a whole file other than the script. */
_Noreturn void cr_raise_in(lua_State *L, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Raises an error whose text already contains the name of its file. */
_Noreturn void cr_raise_error(lua_State *L, const struct cr_error *error);

/* Writes ", did you mean KEY?" to `text` and returns it, where KEY is the key of a table most
 * similar to `name`; "" if none is similar.  `table` is a stack index that is not relative to the
 * top. */
const char *cr_suggest_key(lua_State *L, int table, char *text, size_t size, const char *name);

/* Raises an error with a formatted text for the user; cr_report adds the line. */
_Noreturn void cr_raise(lua_State *L, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
