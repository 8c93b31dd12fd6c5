/* blame.h - mistakes of a script: which line of whose text is to blame. */
#ifndef CR_BLAME_H
#define CR_BLAME_H

#include "script_state.h"

/* Registers a text and writes the name its chunk must have. */
void cr_add_chunk(struct cr_run *run, const char *path, bool library, char *name, size_t size);

/* The innermost running line of the user's, and the innermost of all. */
void cr_find_lines(lua_State *L, const struct cr_run *run, struct cr_line *user,
                   struct cr_line *inner);

/* The user's line that called the running Lua function, for a C function that is called by a layer: a
 * mistake in the layer's arguments is reported at the line that called the layer. */
struct cr_line cr_caller_line(lua_State *L, const struct cr_run *run);

/* The message handler: writes the one line that run->error is to hold. */
int cr_report(lua_State *L);

/* Writes "FILE[:LINE]: text" as the run's error, unless it has one.  In a hosted run the last one counts,
 * as functions of the host may go on after an error. */
void cr_report_text(struct cr_run *run, struct cr_line line, const char *text);

/* Raises a mistake in that line, which need not be running; its number is 0 for the file as such. */
_Noreturn void cr_raise_at(lua_State *L, struct cr_line line, const char *text);

/* The same for a file that is no script, and a text that is put together. */
_Noreturn void cr_raise_in(lua_State *L, const char *path, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Raises an error whose text names its file already. */
_Noreturn void cr_raise_error(lua_State *L, const struct cr_error *error);

/* Raises a mistake of the user's; the line is found by the handler. */
_Noreturn void cr_raise(lua_State *L, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
