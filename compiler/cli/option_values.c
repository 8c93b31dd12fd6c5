/* option_values.c - lists the possible values of options; see option_values.h. */
#include "option_values.h"

#include <stdio.h>
#include <string.h>

#include "compiler/crescent.h"

/* Appends a word to a list. */
static void add(char *buf, size_t size, const char *word)
{
    size_t n = strlen(buf);
    snprintf(buf + n, size - n, "%s%s", n ? " " : "", word);
}

static void add_backends(char *buf, size_t size)
{
    for (int i = 0; i < CRESCENT_BACKENDS; i++)
        add(buf, size, crescent_backend_name((crescent_backend)i));
}

static void add_passes(char *buf, size_t size)
{
    crescent_pass pass;
    for (int i = 0; crescent_pass_at(i, &pass) == CRESCENT_OK; i++)
        add(buf, size, pass.name);
}

static void add_targets(char *buf, size_t size)
{
    crescent_target target;
    for (int i = 0; crescent_target_at(i, &target) == CRESCENT_OK; i++)
        add(buf, size, target.name);
}

/* The possible values of an option: fixed words, a list from the library, or both. */
static const struct {
    const char *option, *words;
    void (*list)(char *buf, size_t size);
} rows[] = {
    {"backend", "", add_backends},
    {"backends", "", add_backends},
    {"isa", "amx vnni avx512 avx2 neon plain", NULL},
    {"format", "f32 bf16 f16 q8 q4", NULL},
    {"arithmetic", "f32 int8 bf16", NULL},
    {"after", "script emit", add_passes},
    {"skip", "", add_passes},
    {"target", "", add_targets},
    {"grads", "none", NULL},
};

const char *cr_option_values(char *buf, size_t size, const char *option)
{
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].option, option) != 0)
            continue;
        if (*rows[i].words)
            add(buf, size, rows[i].words);
        if (rows[i].list)
            rows[i].list(buf, size);
    }
    return buf;
}
