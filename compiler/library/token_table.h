/* token_table.h - folders whose model is a table: the vector of each token, without a network. */
#ifndef CR_TOKEN_TABLE_H
#define CR_TOKEN_TABLE_H

#include <stdint.h>

#include "compiler/ir/error.h"

/* The family of such a folder; it has no built-in script. */
#define CR_TABLE_FAMILY "static_embedding"

/* A table [tokens, numbers] in a file of weights. */
struct cr_token_table {
    const char *name;
    int64_t tokens, numbers;
};

/*
 * Finds the table in a folder that a StaticEmbedding of sentence-transformers saved without a
 * config.json, or that model2vec saved.  Returns 1, 0 if the folder is of neither kind, or -1 with
 * an error, for example for a table in which tokens share rows.
 */
int cr_find_token_table(struct cr_token_table *table, const char *folder, struct cr_error *error);

#endif
