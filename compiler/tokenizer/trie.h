/* trie.h - a trie of the bytes of texts, for finding the longest one at a position. */
#ifndef CR_TRIE_H
#define CR_TRIE_H

#include "lookup_tables.h"

/* All zero is empty: it has no root yet. */
struct cr_trie {
    struct cr_trie_node *nodes;
    int n, cap;
};

/* Adds the root, if there is none, so that the trie can be searched. */
void cr_trie_begin(struct cr_trie *trie);

/* Adds a text with the number `token`.  Of two equal texts the first one wins. */
void cr_trie_add(struct cr_trie *trie, const char *text, size_t n, int token);
void cr_free_trie(struct cr_trie *trie);

#endif
