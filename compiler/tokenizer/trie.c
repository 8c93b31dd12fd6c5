/* trie.c - a trie of the bytes of texts; see trie.h. */
#include "trie.h"

#include <stdlib.h>

#include "compiler/ir/mem.h"

static int add_node(struct cr_trie *t, unsigned char byte)
{
    *CR_PUSH(t->nodes, t->n, t->cap) =
        (struct cr_trie_node){.child = -1, .sibling = -1, .token = -1, .byte = byte};
    return t->n - 1;
}

/* Returns the child of a node for a byte, or -1. */
static int child_of(const struct cr_trie *t, int node, unsigned char byte)
{
    int child = t->nodes[node].child;
    while (child >= 0 && t->nodes[child].byte != byte)
        child = t->nodes[child].sibling;
    return child;
}

void cr_trie_begin(struct cr_trie *t)
{
    if (t->n == 0)
        add_node(t, 0);
}

void cr_trie_add(struct cr_trie *t, const char *text, size_t n, int token)
{
    int node = 0;
    cr_trie_begin(t);
    for (size_t i = 0; i < n; i++) {
        int child = child_of(t, node, (unsigned char)text[i]);
        if (child < 0) {
            child = add_node(t, (unsigned char)text[i]);
            t->nodes[child].sibling = t->nodes[node].child;
            t->nodes[node].child = child;
        }
        node = child;
    }
    if (node > 0 && t->nodes[node].token < 0)
        t->nodes[node].token = token;
}

void cr_free_trie(struct cr_trie *t)
{
    free(t->nodes);
    *t = (struct cr_trie){0};
}
