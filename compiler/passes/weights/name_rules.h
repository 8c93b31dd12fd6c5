/* name_rules.h - reads lists of rules for parameters by name, such as
 * "q8,lm_head=f32,*norm*=f32". */
#ifndef CR_NAME_RULES_H
#define CR_NAME_RULES_H

#include <stdbool.h>

#include "compiler/ir/error.h"

/* A rule "NAME" or "GLOB=NAME". */
struct cr_name_rule {
    char glob[256];   /* "*" if the rule has none */
    const char *name; /* points into the list; not terminated */
    int length;       /* number of characters of the name */
};

/* Reads the first rule of the list *text, the value of an option, and moves *text to the next
 * rule; sets *text to null after the last one. */
int cr_read_name_rule(struct cr_name_rule *rule, const char **text, const char *option,
                      const char *path, struct cr_error *error);

/* True if a glob matches a name: "*" stands for any characters, "?" for one. */
bool cr_glob_matches(const char *glob, const char *name);

#endif
