/* targets.c - crescent targets: lists the machines for which loops can be tiled. */
#include <stdio.h>

#include "verbs.h"

static int print_sizes(const struct cr_options *o, struct cr_error *error)
{
    char *text;
    if (cr_passed(o, crescent_target_text(o->context, o->target, &text), error))
        return 2;
    fputs(text, stdout);
    crescent_free(text);
    return 0;
}

int cr_verb_targets(const struct cr_options *o, struct cr_error *error)
{
    crescent_target target;
    if (o->target)
        return print_sizes(o, error);
    for (int i = 0; crescent_target_at(i, &target) == CRESCENT_OK; i++)
        printf("  %-9s %s\n", target.name, target.about);
    return 0;
}
