/* builtin_modules.c - embeds the modules of graphs/lib and the models of graphs/ in the program.
 * Paths start at the project's root. */
#include "builtin_modules.h"

#include <stdio.h>
#include <string.h>

#include "builtin_list.h"

#define EMBED(folder, kind, name)                                                                  \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global cr_builtin_" #kind "_" #name "\n"                                                     \
            ".hidden cr_builtin_" #kind "_" #name "\n"                                                     \
            "cr_builtin_" #kind "_" #name ":\n"                                                            \
            ".incbin \"" folder #name ".lua\"\n"                                                   \
            ".global cr_builtin_" #kind "_" #name "_end\n"                                                 \
            ".hidden cr_builtin_" #kind "_" #name "_end\n"                                                 \
            "cr_builtin_" #kind "_" #name "_end:\n"                                                        \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char cr_builtin_##kind##_##name[], cr_builtin_##kind##_##name##_end[];

CR_BUILTIN_MODULES(EMBED)
CR_BUILTIN_MODELS(EMBED)

struct builtin {
    const char *name, *path, *text, *end;
};

#define ROW(folder, kind, name)                                                                    \
    {#name, folder #name ".lua", cr_builtin_##kind##_##name, cr_builtin_##kind##_##name##_end},

#define ALIAS_ROW(alias, name, prefix)                                                                     \
    {alias, "graphs/" #name ".lua", cr_builtin_model_##name, cr_builtin_model_##name##_end},

static const struct builtin modules[] = {CR_BUILTIN_MODULES(ROW)};
static const struct builtin models[] = {CR_BUILTIN_MODELS(ROW) CR_MODEL_ALIASES(ALIAS_ROW)};

#define ONE(folder, kind, name) +1
enum {
    N_MODULES = sizeof modules / sizeof *modules,
    N_SCRIPT_MODULES = 0 CR_SCRIPT_MODULES(ONE), /* the modules that scripts can require; they
                                                  * come first in the list */
    N_MODELS = sizeof models / sizeof *models
};

_Static_assert((int)N_MODELS <= (int)CR_MOST_MODELS, "room for the names of all models");

#define NAME_BYTES(folder, kind, name) +sizeof #name + 1
#define ALIAS_BYTES(alias, name, prefix) +sizeof alias + 1
_Static_assert(0 CR_BUILTIN_MODELS(NAME_BYTES) CR_MODEL_ALIASES(ALIAS_BYTES) < CR_MODELS_TEXT,
               "room for the names of all models with commas between");

static const char *find(const struct builtin *files, int n, const char *name, const char **path,
                        size_t *size)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        *path = files[i].path;
        *size = (size_t)(files[i].end - files[i].text);
        return files[i].text;
    }
    return NULL;
}

const char *cr_builtin_module(const char *name, const char **path, size_t *size)
{
    return find(modules, N_MODULES, name, path, size);
}

int cr_builtin_number(const char *name)
{
    int i = 0;
    while (i < N_MODULES && strcmp(modules[i].name, name) != 0)
        i++;
    return i < N_MODULES ? i : -1;
}

/* ---- bytecode ---- */

#ifdef CR_BYTECODE /* a folder with bytecode of the modules, written by precompile.c for this Lua */

#define EMBED_CODE(folder, kind, name)                                                             \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global cr_bytecode_" #name "\n"                                                      \
            ".hidden cr_bytecode_" #name "\n"                                                      \
            "cr_bytecode_" #name ":\n"                                                             \
            ".incbin \"" CR_BYTECODE #name "\"\n"                                                  \
            ".global cr_bytecode_" #name "_end\n"                                                  \
            ".hidden cr_bytecode_" #name "_end\n"                                                  \
            "cr_bytecode_" #name "_end:\n"                                                         \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char cr_bytecode_##name[], cr_bytecode_##name##_end[];

CR_BUILTIN_MODULES(EMBED_CODE)

#define CODE_ROW(folder, kind, name) {cr_bytecode_##name, cr_bytecode_##name##_end},

const char *cr_builtin_bytecode(int number, size_t *size)
{
    static const struct {
        const char *code, *end;
    } codes[] = {CR_BUILTIN_MODULES(CODE_ROW)};
    *size = (size_t)(codes[number].end - codes[number].code);
    return codes[number].code;
}

#else

const char *cr_builtin_bytecode(int number, size_t *size)
{
    (void)number;
    *size = 0;
    return NULL;
}

#endif

/* ---- functions and models ---- */

const char *cr_builtin_module_with(const char *function)
{
    char definition[160];
    for (int i = 0; i < N_SCRIPT_MODULES; i++) {
        snprintf(definition, sizeof definition, "\nfunction %s.%.80s(", modules[i].name, function);
        if (memmem(modules[i].text, (size_t)(modules[i].end - modules[i].text), definition,
                   strlen(definition)))
            return modules[i].name;
    }
    return NULL;
}

/* Returns the name of the next function, defined as "function MODULE.NAME(", in the file's text
 * from *at on, and moves *at past the name; null if there is none. */
static const char *next_function(const struct builtin *file, const char **at, size_t *length)
{
    char begin[80];
    size_t size = (size_t)snprintf(begin, sizeof begin, "\nfunction %s.", file->name);
    const char *name = memmem(*at, (size_t)(file->end - *at), begin, size);
    if (!name)
        return NULL;
    name += size;
    *at = name;
    *length = strcspn(name, "(\n");
    return name;
}

int cr_builtin_functions(char *buf, size_t size, const char **names, int max)
{
    int n = 0;
    size_t length;
    for (int i = 0; i < N_SCRIPT_MODULES; i++) {
        const char *at = modules[i].text;
        for (const char *name; (name = next_function(&modules[i], &at, &length));) {
            if (n == max || length >= size)
                return n;
            names[n++] = memcpy(buf, name, length);
            buf[length] = 0;
            buf += length + 1;
            size -= length + 1;
        }
    }
    return n;
}

const char *cr_builtin_model(const char *name, const char **path, size_t *size)
{
    return find(models, N_MODELS, name, path, size);
}

const char *cr_builtin_prefix(const char *name)
{
#define PREFIX(alias, model, prefix) {alias, prefix},
    static const struct {
        const char *alias, *prefix;
    } prefixes[] = {CR_MODEL_ALIASES(PREFIX)};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strcmp(prefixes[i].alias, name) == 0)
            return prefixes[i].prefix;
    return name;
}

int cr_builtin_model_names(const char **names, int max)
{
    int n = 0;
    for (; n < N_MODELS && n < max; n++)
        names[n] = models[n].name;
    return n;
}

char *cr_builtin_models(char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < N_MODELS && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "", models[i].name);
    return buf;
}
