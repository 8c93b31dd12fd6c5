/* targets.c - finds targets: by name, for this machine, or in a file; see crescent.h. */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/nearest_name.h"
#include "handles.h"
#include "host_target.h"
#include "target_file.h"

enum { OWN_NAMES = 2 }; /* the names "generic" and "host", which come before the table of
                           processors */

static const struct {
    const char *name, *about;
} own[OWN_NAMES] = {
    {"generic", "any machine: what emit and dump take unless another is named"},
    {"host", "this machine: what `crescent tune` or else a short measurement found"},
};

/* ---- by name ---- */

/* Adds to an error message that the environment variable named the target. */
static int name_variable(struct cr_error *error)
{
    struct cr_error text = *error;
    return cr_fail(error, "CRESCENT_TARGET: %.600s", text.text);
}

/* Fails for an unknown target; the message lists all names and suggests the most similar one. */
static int fail_name(const char *name, struct cr_error *error)
{
    const char *names[64];
    char list[512] = "", hint[160];
    int n = 0;
    for (; n < OWN_NAMES + cr_n_processors; n++) {
        names[n] = n < OWN_NAMES ? own[n].name : cr_processors[n - OWN_NAMES].name;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", n ? ", " : "", names[n]);
    }
    return cr_fail(error, "target %.200s: expected a file or one of %s%s", name, list,
                   cr_did_you_mean(hint, sizeof hint, name, names, n));
}

int cr_choose_target(crescent_context *context, const char *name, const struct cr_use *use,
                     struct cr_target *target, struct cr_error *error)
{
    const char *variable = getenv("CRESCENT_TARGET");
    bool is_host = strcmp(name, "host") == 0;
    if (is_host && variable && *variable && strcmp(variable, "host") != 0)
        return cr_choose_target(context, variable, use, target, error) ? name_variable(error) : 0;
    *target = cr_target_generic;
    if (strcmp(name, "generic") == 0)
        return 0;
    if (is_host)
        return cr_host_target_for(context, use, target, error);
    for (int i = 0; i < cr_n_processors; i++)
        if (strcmp(name, cr_processors[i].name) == 0) {
            cr_target_of(target, &cr_processors[i]);
            return 0;
        }
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        return fail_name(name, error);
    const char *slash = strrchr(name, '/');
    return cr_read_target(target, slash ? slash + 1 : name, name, error);
}

/* ---- listing ---- */

/* Describes a target: first "generic" and "host", then the processors of the table. */
int crescent_target_at(int index, crescent_target *target)
{
    if (!target)
        return cr_refuse_null(NULL, __func__);
    if (index < 0 || index >= OWN_NAMES + cr_n_processors)
        return cr_refuse(NULL, __func__, "no such target, expected one of the table");
    *target = (crescent_target){.name = NULL};
    if (index < OWN_NAMES)
        *target = (crescent_target){own[index].name, own[index].about};
    else
        *target = (crescent_target){cr_processors[index - OWN_NAMES].name,
                                    cr_processors[index - OWN_NAMES].about};
    return CRESCENT_OK;
}

/* Prints a target as text; *text is null after a failure.  For "host", prints the target for a
 * large model on one thread. */
int crescent_target_text(crescent_context *context, const char *name, char **text)
{
    CR_REQUIRE_CONTEXT(context, name && text);
    CR_ENTER(context);
    struct cr_target target;
    struct cr_text out = {0};
    const struct cr_use use = {.threads = 1, .is_long = true};
    *text = NULL;
    int status = cr_choose_target(context, name, &use, &target, guard.error);
    if (!status) {
        cr_target_print(&out, &target);
        *text = out.data;
    }
    return cr_done(&guard, status);
}
