/* token_table.h - folders whose model is a table: the vector of each token, without a network. */
#ifndef CR_TOKEN_TABLE_H
#define CR_TOKEN_TABLE_H

#include <stdint.h>

#include "compiler/ir/error.h"

/* The family of such a folder, which has no script of its own. */
#define CR_TABLE_FAMILY "static_embedding"

/* A table [tokens, numbers] of a file of weights. */
struct cr_token_table {
    const char *name;
    int64_t tokens, numbers;
};

/*
 * Finds the table of a folder that a StaticEmbedding of sentence-transformers saves, without a
 * config.json, or one of model2vec.  Returns 1, 0 if the folder is not one of these, or -1 with an
 * error, as for a table whose rows are shared by tokens.
 */
int cr_find_token_table(struct cr_token_table *table, const char *folder, struct cr_error *error);

#endif
