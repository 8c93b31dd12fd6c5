/* target.c - the targets there are: by name, of this machine, or in a file; see crescent.h. */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/exec/host.h"
#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/near.h"
#include "handles.h"

enum { OWN_NAMES = 2 }; /* generic and host; those of the table of processors follow */

static const struct {
    const char *name, *about;
} own[OWN_NAMES] = {
    {"generic", "any machine: what emit and dump take unless another is named"},
    {"host", "this machine: what `crescent tune` found, or else what the system tells"},
};

/* ---- files ---- */

static int read_file(struct cr_target *target, const char *name, const char *path,
                     struct cr_error *error)
{
    struct cr_mapping file;
    if (cr_map_file(&file, path, error->text, sizeof error->text))
        return -1;
    int status = cr_target_read(target, name, path, (const char *)file.bytes, file.size, error);
    cr_unmap_file(&file);
    return status;
}

/* $XDG_CACHE_HOME/crescent, or $HOME/.cache/crescent; false without either.  As the standard has it,
 * a variable that is no absolute path does not count. */
static bool cache_folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache == '/')
        length = snprintf(path, size, "%s/crescent", cache);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/crescent", home);
    return length >= 0 && (size_t)length < size;
}

static bool tuned_path(const struct cr_host *host, char *path, size_t size)
{
    char folder[CR_TARGET_PATH - CR_TARGET_NAME - 16];
    if (!cache_folder(folder, sizeof folder))
        return false;
    snprintf(path, size, "%s/%s.target", folder, host->name);
    return true;
}

/* Makes the folders that a path goes through, as far as they are not there. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

char *cr_tuned_path(struct cr_error *error)
{
    struct cr_host host;
    char path[CR_TARGET_PATH];
    cr_find_host(&host);
    if (!tuned_path(&host, path, sizeof path)) {
        cr_fail(error,
                "XDG_CACHE_HOME and HOME: neither is an absolute path, expected one of them, "
                "or a file to write to");
        return NULL;
    }
    make_folders(path);
    return cr_strdup(path);
}

/* ---- of this machine ---- */

/* What tuning kept is preferred; a file of it that does not read is an error, and not passed over. */
static int find_host(struct cr_target *target, struct cr_error *error)
{
    struct cr_host host;
    char path[CR_TARGET_PATH];
    cr_find_host(&host);
    if (tuned_path(&host, path, sizeof path) && access(path, F_OK) == 0)
        return read_file(target, host.name, path, error);
    cr_host_target(target, &host);
    return 0;
}

/* Looked for once a context. */
static int take_host(crescent_context *context, struct cr_target *target, struct cr_error *error)
{
    if (!context->knows_host && find_host(&context->host, error))
        return -1;
    context->knows_host = true;
    *target = context->host;
    return 0;
}

/* ---- by name ---- */

/* Refuses a name: what there is, and what may have been meant. */
static int fail_name(const char *name, struct cr_error *error)
{
    const char *names[64];
    char list[512] = "", near[160];
    int n = 0;
    for (; n < OWN_NAMES + cr_n_processors; n++) {
        names[n] = n < OWN_NAMES ? own[n].name : cr_processors[n - OWN_NAMES].name;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", n ? ", " : "", names[n]);
    }
    return cr_fail(error, "target %.200s: expected a file or one of %s%s", name, list,
                   cr_did_you_mean(near, sizeof near, name, names, n));
}

int cr_choose_target(crescent_context *context, const char *name, struct cr_target *target,
                     struct cr_error *error)
{
    *target = cr_target_generic;
    if (strcmp(name, "generic") == 0)
        return 0;
    if (strcmp(name, "host") == 0)
        return take_host(context, target, error);
    for (int i = 0; i < cr_n_processors; i++)
        if (strcmp(name, cr_processors[i].name) == 0) {
            cr_target_of(target, &cr_processors[i]);
            return 0;
        }
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        return fail_name(name, error);
    const char *slash = strrchr(name, '/');
    return read_file(target, slash ? slash + 1 : name, name, error);
}

/* ---- for a program that lists them ---- */

/* Lists generic names such as "host" first, then processors. */
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

/* Null stays null after a failure. */
int crescent_target_text(crescent_context *context, const char *name, char **text)
{
    CR_REQUIRE_CONTEXT(context, name && text);
    CR_ENTER(context);
    struct cr_target target;
    struct cr_text out = {0};
    *text = NULL;
    int status = cr_choose_target(context, name, &target, guard.error);
    if (!status) {
        cr_target_print(&out, &target);
        *text = out.data;
    }
    return cr_done(&guard, status);
}
