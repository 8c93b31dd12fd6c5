/* installed_files.c - finds files that were installed with the library; see installed_files.h. */
#include "installed_files.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/ir/mem.h"

/* Returns the path FOLDER/MIDDLE/SUB/PATH if it exists, else null; the caller frees it. */
static char *join(const char *folder, size_t length, const char *middle, const char *sub, const char *path)
{
    size_t size = length + strlen(middle) + strlen(sub) + strlen(path) + 2;
    char *whole = cr_calloc(size, 1);
    snprintf(whole, size, "%.*s%s%s/%s", (int)length, folder, middle, sub, path);
    if (length && access(whole, F_OK) == 0)
        return whole;
    free(whole);
    return NULL;
}

/* True if a path is a script, or a folder with a config.json. */
static bool is_model(const char *path)
{
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".lua") == 0)
        return true;
    char *config = join(path, n, "", "", "config.json");
    free(config);
    return config != NULL;
}

/* Returns FOLDER/MIDDLE/PATH or, for a model, FOLDER/MIDDLE/graphs/PATH, if it exists; else
 * null. */
static char *below(const char *folder, size_t length, const char *middle, const char *path)
{
    char *found = join(folder, length, middle, "", path);
    if (found)
        return found;
    found = join(folder, length, middle, "/graphs", path);
    if (found && is_model(found))
        return found;
    free(found);
    return NULL;
}

/* Searches for a path in the folders of a colon-separated list. */
static char *in_list(const char *list, const char *path)
{
    char *found = NULL;
    while (list && *list && !found) {
        size_t length = strcspn(list, ":");
        found = length < PATH_MAX ? below(list, length, "", path) : NULL;
        list += length + (list[length] == ':');
    }
    return found;
}

/* an address in this object file, for dladdr */
static const char anchor[] = "crescent";

/* Sets `file` to the file that contains this code: the shared library, or else the program.  Asks
 * /proc for the program, because argv[0] may lack its folder. */
static bool own_file(char file[PATH_MAX])
{
    Dl_info info;
    char program[PATH_MAX];
    bool known = dladdr(anchor, &info) && info.dli_fname &&
                 realpath(info.dli_fname, file);
    if (known && strstr(info.dli_fname, ".so"))
        return true;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n > 0) {
        program[n] = '\0';
        strcpy(file, program);
    }
    return n > 0 || known;
}

/* Searches TREE/share/lua/5.4/crescent for a file, if this code is the Lua module
 * TREE/lib/.../lua/5.4/crescent.so: LuaRocks installs other files there. */
static char *beside_module(const char *file, const char *path)
{
    const char *lua = NULL, *lib = NULL, *end = strrchr(file, '/');
    char middle[64];
    for (const char *at = file; (at = strstr(at, "/lua/")); at++)
        lua = at;
    for (const char *at = file; lua && (at = strstr(at, "/lib/")) && at < lua; at++)
        lib = at;
    if (!lib || end < lua)
        return NULL;
    snprintf(middle, sizeof middle, "/share%.*s/crescent", (int)(end - lua), lua);
    return below(file, (size_t)(lib - file), middle, path);
}

/* Searches share/crescent in each folder around the file with this code, innermost first. */
static char *beside(const char *path)
{
    char file[PATH_MAX], *slash;
    if (!own_file(file))
        return NULL;
    char *found = beside_module(file, path);
    while (!found && (slash = strrchr(file, '/')) && slash != file) {
        *slash = '\0';
        found = below(file, strlen(file), "/share/crescent", path);
    }
    return found;
}

char *cr_find_on_path(const char *path)
{
    char *found = in_list(getenv("CRESCENT_PATH"), path);
    return found ? found : beside(path);
}

char *cr_find_installed(const char *path)
{
    char *found = NULL;
    if (path[0] != '/' && access(path, F_OK) != 0)
        found = cr_find_on_path(path);
    return found ? found : cr_strdup(path);
}
