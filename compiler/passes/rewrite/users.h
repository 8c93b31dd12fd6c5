/* users.h - the users of a node, outputs, and the node where all paths to the outputs meet. */
#ifndef CR_USERS_H
#define CR_USERS_H

#include "compiler/ir/graph.h"

struct cr_users {
    int *first; /* by node, and one past the last: its users are list[first[id] ..] */
    cr_id *list;
    bool *output; /* by node: it is an output */
    cr_id *meet; /* its immediate post-dominator: the first node that every path from it to an
                  * output passes, or CR_NONE; null after cr_users_list */
};

/* Finds all fields. */
void cr_users_find(struct cr_users *users, const struct cr_graph *g);

/* Finds all fields but `meet`. */
void cr_users_list(struct cr_users *users, const struct cr_graph *g);
void cr_users_free(struct cr_users *users);

static inline int cr_n_users(const struct cr_users *users, cr_id id)
{
    return users->first[id + 1] - users->first[id];
}

/* Returns the only user of a node, or CR_NONE. */
static inline cr_id cr_only_user(const struct cr_users *users, cr_id id)
{
    return cr_n_users(users, id) == 1 ? users->list[users->first[id]] : CR_NONE;
}

/* Returns the only user of a node that is no output, or CR_NONE. */
static inline cr_id cr_single_use(const struct cr_users *users, cr_id id)
{
    return users->output[id] ? CR_NONE : cr_only_user(users, id);
}

#endif
