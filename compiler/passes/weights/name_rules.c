#include "name_rules.h"

#include <stdio.h>
#include <string.h>

int cr_read_name_rule(struct cr_name_rule *rule, const char **text, const char *option,
                      const char *path, struct cr_error *error)
{
    const char *from = *text;
    size_t length = strcspn(from, ","), name = length;
    while (name > 0 && from[name - 1] != '=')
        name--;
    if (name == 1 || name > sizeof rule->glob)
        return cr_fail(error,
                       "%.400s: %s %.*s: expected NAME or GLOB=NAME, GLOB of 1 to %d characters",
                       path, option, (int)(length < 60 ? length : 60), from,
                       (int)sizeof rule->glob - 1);
    snprintf(rule->glob, sizeof rule->glob, "%.*s", name ? (int)name - 1 : 1, name ? from : "*");
    rule->name = from + name;
    rule->length = (int)(length - name);
    *text = from[length] ? from + length + 1 : NULL;
    return 0;
}

/* At a mismatch, lets the last star match one more character. */
bool cr_glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *after = NULL; /* the glob after its last star, and the name after the
                                               text that the star matches */
    while (*name) {
        if (*glob == '*') {
            star = ++glob;
            after = name;
        } else if (*glob == '?' || *glob == *name) {
            glob++;
            name++;
        } else if (star) {
            glob = star;
            name = ++after;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return !*glob;
}
