/* name_rules.h - lists such as "q8,lm_head=f32,*norm*=f32", which say something of parameters by
 * name. */
#ifndef CR_NAME_RULES_H
#define CR_NAME_RULES_H

#include <stdbool.h>

#include "compiler/ir/error.h"

/* "NAME" or "GLOB=NAME". */
struct cr_name_rule {
    char glob[256];   /* "*" where there is none */
    const char *name; /* in the list */
    int length;       /* of the name */
};

/* Reads the first rule of *text, the list of an option, and moves *text behind it; *text becomes
 * null behind the last. */
int cr_read_name_rule(struct cr_name_rule *rule, const char **text, const char *option,
                      const char *path, struct cr_error *error);

/* True if a name is one of those that a glob stands for: "*" is any characters, "?" any one. */
bool cr_glob_matches(const char *glob, const char *name);

#endif
