/* users.h - finds the users of each node, the outputs, and the node where all paths from a node to
 * the outputs meet. */
#ifndef CR_USERS_H
#define CR_USERS_H

#include "compiler/ir/graph.h"

struct cr_users {
    int *first; /* by node, and one past the last: the users of node v are list[first[v]] to
                   list[first[v + 1] - 1] */
    cr_id *list;
    bool *output; /* by node: true for an output */
    cr_id *meet; /* by node: the immediate post-dominator, which is the first node on every path
                    from the node to an output; CR_NONE if there is none.  Null after
                    cr_users_list */
};

/* Sets all fields. */
void cr_users_find(struct cr_users *users, const struct cr_graph *g);

/* Sets all fields but `meet`, which is null. */
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

/* Returns the only user of a node that is not an output; CR_NONE for an output or a node with other
 * users. */
static inline cr_id cr_single_use(const struct cr_users *users, cr_id id)
{
    return users->output[id] ? CR_NONE : cr_only_user(users, id);
}

#endif
