/*
 * identifiers.h - makes the identifiers of emitted C that come from names of the user.
 *
 * Whatever the names are, these forms ensure that no two identifiers are equal:
 *
 *   kernels       k<number>_<title>, the number being the kernel's own; the sizes of its tiles
 *                 K<number>_ROWS and so on, which no option of the script is called
 *   fields        of a kernel's arguments: the name itself, or v<operand>_<name> where it is taken
 *                 or is of this form
 *   ports         in_<name> and out_<name>, <MODEL>_IN_<NAME>_ELEMENTS
 *   the model's   <model>_run and so on, <MODEL>_THREADS and so on
 *   entries       <model>_<entry>_run and so on, <MODEL>_<ENTRY>_ARENA_BYTES and so on: a name of at
 *                 most CR_ENTRY_NAME characters, that no other has in capitals
 *
 * The runtime's names begin with cr_ and CR_.  No identifier is longer than C promises to tell
 * apart; a name that is cut gets a hash of eight digits.
 */
#ifndef CR_IDENTIFIERS_H
#define CR_IDENTIFIERS_H

#include "program.h"

enum {
    CR_C_NAME = 63,    /* significant characters of an identifier in C */
    CR_MODEL_NAME = 30 /* maximum length of a model's name without "model_": the names of ports
                          keep at least 13 characters */
};

/* Writes a scope's name or a title with # in place of its numbers, since repeated layers share
 * code. */
void cr_plain_scope(char *buffer, size_t size, const char *scope);

/* Writes a path or a name for use in a comment: characters other than letters, digits and "_./-"
 * become '_', so it ends neither the comment nor the line. */
void cr_plain_text(char *buffer, size_t size, const char *text);

/* Writes a scope's name or a title without its numbers, as part of a C identifier: "h.3.attn"
 * becomes h_attn, and the gradient of attn.y d_attn_y. */
void cr_identifier(char *buffer, size_t size, const char *name);

/* True if a field of the arguments must not have this name. */
bool cr_is_reserved(const char *name);

/* Returns the prefix of a model's functions and macros; the caller frees it.  It is the model's
 * name if that is an identifier without "__". */
char *cr_model_name(const char *name);

/* Gives inputs, or outputs, identifiers that differ even if case is ignored; allocates them. */
void cr_identify_ports(struct cr_port *ports, int n, const char *model);

/* True if an identifier occurs in a text of C, other than as a part of a longer one. */
bool cr_has_identifier(const char *text, const char *identifier);

/* Returns a letter of ASCII as a capital, independent of the locale. */
char cr_upper(char c);

#endif
