/* trie.h - a trie of the bytes of texts, which finds the longest text that begins at a position. */
#ifndef CR_TRIE_H
#define CR_TRIE_H

#include "lookup_tables.h"

/* A trie; all zero if it is empty and has no root yet. */
struct cr_trie {
    struct cr_trie_node *nodes;
    int n, cap;
};

/* Adds the root if it is missing, so that the trie can be searched. */
void cr_trie_begin(struct cr_trie *trie);

/* Adds a text with the number `token`.  If a text is added twice, the first number stays. */
void cr_trie_add(struct cr_trie *trie, const char *text, size_t n, int token);
void cr_free_trie(struct cr_trie *trie);

#endif
