/* outfiles.c - checks the files that a verb will write; see outfiles.h. */
#include "outfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/ir/mem.h"

/* ---- identity of files ---- */

/* The identity of an existing file: its device and inode.  For a file that does not exist: those
 * of its folder, and the file's name there. */
struct identity {
    bool known;
    dev_t device;
    ino_t inode;
    const char *name; /* null if the file exists */
};

/* Returns the path up to its last slash, or "."; the caller frees it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = cr_strdup(slash ? path : ".");
    if (slash)
        folder[slash - path + 1] = '\0';
    return folder;
}

/* Returns the identity of a file. */
static struct identity identify(const char *path)
{
    struct stat status;
    struct identity id = {0};
    if (stat(path, &status) != 0) {
        char *folder = folder_of(path);
        const char *slash = strrchr(path, '/');
        id.name = slash ? slash + 1 : path;
        if (stat(folder, &status) != 0)
            status = (struct stat){0};
        free(folder);
    }
    id.known = status.st_ino != 0;
    id.device = status.st_dev;
    id.inode = status.st_ino;
    return id;
}

static bool same_file(const char *a, const char *b)
{
    struct identity x = identify(a), y = identify(b);
    if (!x.known || !y.known || x.device != y.device || x.inode != y.inode)
        return false;
    return x.name && y.name ? strcmp(x.name, y.name) == 0 : !x.name && !y.name;
}

/* ---- writing ---- */

/* Returns the reason why an existing file cannot be replaced; null if it can. */
static const char *obstacle(const char *path)
{
    struct stat file, folder;
    struct statx more = {0};
    char *target = realpath(path, NULL), *parent = target ? folder_of(target) : NULL;
    const char *found = NULL;
    bool seen = parent && stat(target, &file) == 0 && stat(parent, &folder) == 0;
    if (seen && folder.st_mode & S_ISVTX && geteuid() != 0 && geteuid() != file.st_uid &&
        geteuid() != folder.st_uid)
        found = "it is somebody else's, in a folder that is sticky";
    if (seen && statx(AT_FDCWD, target, 0, STATX_BASIC_STATS, &more) == 0) {
        if (more.stx_attributes & STATX_ATTR_MOUNT_ROOT)
            found = "something is mounted there";
        else if (more.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
            found = "it is marked as one that does not change";
    }
    free(parent);
    free(target);
    return found;
}

/* Fails unless the file can be opened for writing; writes nothing. */
static int check_writable(const struct cr_options *o, const struct cr_named_file *file,
                          struct cr_error *error)
{
    crescent_file *writer;
    struct stat status;
    if (!*file->path)
        return cr_fail(error, "%s: an empty name, expected that of a file", file->name);
    if (lstat(file->path, &status) != 0 && errno != ENOENT)
        return cr_fail(error, "%.400s: cannot be written: %s", file->path, strerror(errno));
    if (cr_passed(o, crescent_file_open(o->context, file->path, &writer), error))
        return -1;
    crescent_file_close(writer);
    const char *why = obstacle(file->path);
    return why ? cr_fail(error, "%.400s: cannot be written: %s", file->path, why) : 0;
}

int cr_check_files(const struct cr_options *o, const struct cr_named_file *files, int n,
                   struct cr_error *error)
{
    for (int i = 0; i < n; i++)
        if (files[i].path && files[i].written && check_writable(o, &files[i], error))
            return -1;
    for (int i = 0; i < n; i++) {
        const struct cr_named_file *a = &files[i];
        for (int j = 0; j < n && a->path && a->written; j++) {
            const struct cr_named_file *b = &files[j];
            if (i == j || !b->path || (a->group && a->group == b->group) ||
                !same_file(a->path, b->path))
                continue;
            return cr_fail(error,
                           "%.300s: both %s and %s (%.300s) name this file, expected a file for "
                           "each",
                           a->path, a->name, b->name, b->path);
        }
    }
    return 0;
}
