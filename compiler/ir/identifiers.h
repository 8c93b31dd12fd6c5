/*
 * identifiers.h - every identifier of emitted C that comes from a name of the user's.
 *
 * No name can collide with another, whatever it is, by construction:
 *
 *   kernels       k<number>_<title>, the number being the kernel's own
 *   fields        of a kernel's arguments: the name itself, or v<operand>_<name> where it is taken
 *                 or is of this form
 *   ports         in_<name> and out_<name>, <MODEL>_IN_<NAME>_ELEMENTS
 *   the model's   <model>_run and so on, <MODEL>_THREADS and so on
 *   entries       <model>_<entry>_run and so on, <MODEL>_<ENTRY>_ARENA_BYTES and so on: a name of at
 *                 most CR_ENTRY_NAME characters, that no other has in capitals
 *
 * What names the runtime has begin with cr_ and CR_.  No identifier is longer than C promises to
 * tell apart; a name that is cut has eight digits behind it, made from all of it.
 */
#ifndef CR_IDENTIFIERS_H
#define CR_IDENTIFIERS_H

#include "program.h"

enum {
    CR_C_NAME = 63,    /* characters of an identifier that C promises to tell apart */
    CR_MODEL_NAME = 30 /* of a model's name, but for "model_" before it: ports get 13 at least */
};

/* A scope's name or a title with # for its numbers, since repetitions share their code. */
void cr_plain_scope(char *buffer, size_t size, const char *scope);

/* A path or a name as it may stand in a comment: what is not a letter, a digit or one of "_./-"
 * is '_', so it neither ends the comment nor the line. */
void cr_plain_text(char *buffer, size_t size, const char *text);

/* A scope's name or a title without its numbers, as part of a C identifier: "h.3.attn" is
 * h_attn, and the gradient of attn.y is d_attn_y. */
void cr_identifier(char *buffer, size_t size, const char *name);

/* Whether a field of the arguments must not be called so. */
bool cr_is_reserved(const char *name);

/* What the functions and macros of a model begin with, to be freed: its name where that is an
 * identifier in which no '_' follows another. */
char *cr_model_name(const char *name);

/* Gives inputs, or outputs, identifiers that differ also in capitals, in memory of their own. */
void cr_identify_ports(struct cr_port *ports, int n, const char *model);

/* A letter of ASCII as a capital, whatever the locale. */
char cr_upper(char c);

#endif
