/* users.h - who reads a node's value, and where all of its readers meet again. */
#ifndef CR_USERS_H
#define CR_USERS_H

#include "compiler/ir/graph.h"

struct cr_users {
    int *first; /* by node, and one past the last: its users are list[first[id] ..] */
    cr_id *list;
    cr_id *meet; /* the node that every path from it to an output passes first, or CR_NONE; null if
                  * only users were asked for */
};

/* With `meet`. */
void cr_users_find(struct cr_users *users, const struct cr_graph *g);

/* Without. */
void cr_users_list(struct cr_users *users, const struct cr_graph *g);
void cr_users_free(struct cr_users *users);

static inline int cr_n_users(const struct cr_users *users, cr_id id)
{
    return users->first[id + 1] - users->first[id];
}

/* The node that alone uses this one, or CR_NONE. */
static inline cr_id cr_only_user(const struct cr_users *users, cr_id id)
{
    return cr_n_users(users, id) == 1 ? users->list[users->first[id]] : CR_NONE;
}

#endif
