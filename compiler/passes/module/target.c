/* target.c - reads and prints target files, and finds the target of a processor; see target.h. */
#include "target.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/nearest_name.h"

/* ---- tables ---- */

const struct cr_target cr_target_generic = {
    .name = "generic",
#define SIZE(field, generic, least, most, meaning) .field = (generic),
#include "target.def"
#undef SIZE
};

const struct cr_target_size cr_target_sizes[] = {
#define SIZE(field, generic, least, most, meaning)                                                 \
    {#field, meaning, offsetof(struct cr_target, field), generic, least, most},
#include "target.def"
#undef SIZE
};
enum { N_SIZES = sizeof cr_target_sizes / sizeof *cr_target_sizes };
const int cr_n_target_sizes = N_SIZES;

/* The first row that matches a processor is used.  A list of models ends with -1; an empty list
 * matches the whole family. */
const struct cr_processor cr_processors[] = {
    {"zen5", "AMD Zen 5 (EPYC 9005, Ryzen 9000)", "AuthenticAMD", 26, {-1}, "tile_columns = 32\n"},
    {"zen4",
     "AMD Zen 4 (EPYC 9004, Ryzen 7000)",
     "AuthenticAMD",
     25,
     {0x10, 0x11, 0x61, -1},
     "tile_columns = 32\n"},
    {"zen3",
     "AMD Zen 3 (EPYC 7003, Ryzen 5000), AVX2",
     "AuthenticAMD",
     25,
     {-1},
     "l2_bytes = 524288\ngemm_step_rows = 48\ngemm_step_floats = 3072\n"},
    {"zen2",
     "AMD Zen 2 (EPYC 7002, Ryzen 3000), AVX2",
     "AuthenticAMD",
     23,
     {-1},
     "l2_bytes = 524288\ngemm_step_rows = 48\ngemm_step_floats = 3072\n"},
    {"spr",
     "Intel Sapphire Rapids, Emerald Rapids, Granite Rapids (Xeon of generation 4 to 6)",
     "GenuineIntel",
     6,
     {0x8f, 0xcf, 0xad, -1},
     "l2_bytes = 2097152\ntile_columns = 64\n"},
    {"icx",
     "Intel Ice Lake (Xeon of generation 3)",
     "GenuineIntel",
     6,
     {0x6a, 0x6c, -1},
     "l2_bytes = 1310720\ntile_columns = 64\n"},
    {"skx",
     "Intel Skylake, Cascade Lake (Xeon of generation 1 and 2)",
     "GenuineIntel",
     6,
     {0x55, -1},
     "l1_bytes = 32768\ntile_columns = 64\n"},
    {"a76",
     "Arm Cortex-A76, Neoverse N1; planned on paper, not measured",
     NULL,
     0,
     {-1},
     "l1_bytes = 65536\nl2_bytes = 524288\nl3_bytes = 2097152\ntile_columns = 16\n"},
    {"m1",
     "Apple M1 and later; planned on paper, not measured",
     NULL,
     0,
     {-1},
     "l1_bytes = 131072\nl2_bytes = 4194304\nl3_bytes = 8388608\ntile_columns = 16\n"},
};
const int cr_n_processors = sizeof cr_processors / sizeof *cr_processors;

/* ---- reading a target file ---- */

/* A line of a target file, without comment and without blanks at either end. */
struct line {
    const char *path;
    int number;
    char text[160];
};

/* Returns the row of a size in target.def, or -1 with the error set. */
static int find_size(const struct line *line, const char *name, struct cr_error *error)
{
    const char *names[N_SIZES];
    char hint[160];
    for (int i = 0; i < N_SIZES; i++) {
        names[i] = cr_target_sizes[i].name;
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return cr_fail(error, "%.300s:%d: '%.60s' is not a size of a target%s", line->path,
                   line->number, name, cr_did_you_mean(hint, sizeof hint, name, names, N_SIZES));
}

/* Reads a line "name = value" into a field of *target; returns -1 with the error set if it is
 * wrong. */
static int read_size(struct cr_target *target, const struct line *line, struct cr_error *error)
{
    char name[64], value[64], rest;
    if (sscanf(line->text, "%63[a-z0-9_] = %63[0-9]%c", name, value, &rest) != 2)
        return cr_fail(error, "%.300s:%d: '%.80s', expected NAME = NUMBER", line->path,
                       line->number, line->text);
    int row = find_size(line, name, error);
    if (row < 0)
        return -1;
    const struct cr_target_size *size = &cr_target_sizes[row];
    errno = 0;
    intmax_t number = strtoimax(value, NULL, 10);
    if (errno || number < size->least || number > size->most)
        return cr_fail(error, "%.300s:%d: %s is %s, expected %" PRId64 " to %" PRId64, line->path,
                       line->number, name, value, size->least, size->most);
    *cr_target_field(target, row) = number;
    return 0;
}

/* Reads the line that begins at `from`, and returns the start of the next line.  A line that is too
 * long is cut, which makes it an invalid size. */
static const char *take_line(struct line *line, const char *from, const char *end)
{
    const char *newline = memchr(from, '\n', (size_t)(end - from));
    const char *next = newline ? newline + 1 : end, *last = newline ? newline : end;
    const char *comment = memchr(from, '#', (size_t)(last - from));
    last = comment ? comment : last;
    while (from < last && isspace((unsigned char)*from))
        from++;
    while (from < last && isspace((unsigned char)last[-1]))
        last--;
    snprintf(line->text, sizeof line->text, "%.*s", (int)(last - from < 159 ? last - from : 159),
             from);
    line->number++;
    return next;
}

int cr_target_read(struct cr_target *target, const char *name, const char *path, const char *text,
                   size_t length, struct cr_error *error)
{
    struct line line = {.path = path};
    *target = cr_target_generic;
    snprintf(target->name, sizeof target->name, "%s", name);
    for (const char *at = text, *end = text + length; at < end;) {
        at = take_line(&line, at, end);
        if (*line.text && read_size(target, &line, error))
            return -1;
    }
    return 0;
}

/* Errors are ignored, since a test reads the sizes of all processors in the table. */
void cr_target_of(struct cr_target *target, const struct cr_processor *processor)
{
    struct cr_error error;
    cr_target_read(target, processor->name, processor->name, processor->sizes,
                   strlen(processor->sizes), &error);
}

/* ---- printing a target file ---- */

void cr_target_print(struct cr_text *text, const struct cr_target *target)
{
    struct cr_target copy = *target;
    cr_put(text, "# Target %s: sizes that loops are cut by.  No bit of a result depends on them.\n",
           target->name);
    for (int i = 0; i < N_SIZES; i++) {
        const struct cr_target_size *size = &cr_target_sizes[i];
        char line[96];
        int64_t value = *cr_target_field(&copy, i);
        snprintf(line, sizeof line, "%s%s = %" PRId64, value == size->generic ? "# " : "",
                 size->name, value);
        cr_put(text, "%-28s # %s\n", line, size->meaning);
    }
}
