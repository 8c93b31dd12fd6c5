/*
 * standalone_shares.h - prints the parts of a standalone training step that only a step for N
 * ranks has: a rank's state contains its shares of the optimiser's states (the pass
 * share_states), and ranks add up gradients in parts.
 */
#ifndef CR_STANDALONE_SHARES_H
#define CR_STANDALONE_SHARES_H

#include "standalone_text.h"

/* Returns an input or output of the program; if a rank has a share of it, the port has the shape
 * of the whole. */
const struct cr_port *cr_whole_input(const struct cr_program *p, int input);
const struct cr_port *cr_whole_output(const struct cr_program *p, int output);

/* True if a rank has a share of an input or an output. */
bool cr_is_input_share(const struct cr_program *p, int input);
bool cr_is_output_share(const struct cr_program *p, int output);

/* True if ranks add up an output of micro_batch in parts. */
bool cr_is_sum_in_parts(const struct cr_standalone *w, int output);

/* Prints " + ..." with the index of the first element of this rank's share of a whole port. */
void cr_put_share_begin(struct cr_text *t, const struct cr_standalone *w, const struct cr_port *whole);

/* Prints struct shared, and the table of the parameters of which a rank computes only its share;
 * offset[i] is the offset of parameter i in a state, in bytes. */
void cr_put_shares_tables(struct cr_text *t, const struct cr_standalone *w, const int64_t *offset);

/* Prints a row of such a table: the tensor's offset in floats, and how it is divided into
 * shares. */
void cr_put_shared_row(struct cr_text *t, const struct cr_standalone *w, const struct cr_port *whole, int64_t begin,
                       bool is_whole);

#endif
