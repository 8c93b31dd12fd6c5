/*
 * main.c - crescent-fuzz: random graphs through the compiler, held against every oracle.
 *
 *     crescent-fuzz [N=1000] [SEED=1] [JOBS=2] [FIRST=0] [REACH=1] [MODELS=1] [ORACLE=NAME]
 *                  [OUT=FOLDER]
 *     crescent-fuzz FILE.lua ...                     scripts, against all oracles
 *     crescent-fuzz PRINT=i [SEED=1]                 graph number i as a script
 *
 * The exit status is 1 if anything was found.  docs/testing.md says how to read it.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "oracles.h"
#include "reduce.h"
#include "workers.h"

/* The settings of the command line; each argument NAME=NUMBER is a row. */
static struct cr_fuzz_settings settings = {.n = 1000, .seed = 1, .jobs = 2, .seconds = 60};
static int64_t print = -1;
static const char *known;

static const struct {
    const char *name;
    int64_t *value;
} numbers[] = {
    {"N", &settings.n},         {"SEED", &settings.seed},       {"JOBS", &settings.jobs},
    {"FIRST", &settings.first}, {"SECONDS", &settings.seconds}, {"PRINT", &print},
    {"REACH", &settings.reach}, {"MODELS", &settings.models},
};

static bool read_setting(const char *word)
{
    size_t length = strcspn(word, "=");
    if (strncmp(word, "OUT=", 4) == 0) {
        settings.out = word + 4;
        return true;
    }
    if (strncmp(word, "ORACLE=", 7) == 0) {
        settings.only = word + 7;
        return cr_oracle_by_name(settings.only) >= 0;
    }
    if (strncmp(word, "KNOWN=", 6) == 0) {
        known = word + 6;
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strlen(numbers[i].name) == length && strncmp(numbers[i].name, word, length) == 0) {
            char *end;
            *numbers[i].value = strtoll(word + length + 1, &end, 10);
            return word[length] && !*end;
        }
    return false;
}

/* True if the list of known findings contains the last part of the file's name. */
static bool is_known(const char *path)
{
    char line[256];
    const char *slash = strrchr(path, '/');
    FILE *file = known ? fopen(known, "re") : NULL;
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, " \n")] = '\0';
        found = strcmp(line, slash ? slash + 1 : path) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

/* Tries all oracles on a script; a script that is a known finding must fail. */
static bool try_file(const char *path)
{
    struct cr_error error = {""};
    struct cr_verdict verdict;
    struct cr_graph *g = cr_graph_from_file(path, &error);
    if (!g) {
        printf("%s: %s\n", path, error.text);
        return false;
    }
    cr_judge(g, -1, &verdict);
    cr_graph_free(g);
    bool good = verdict.oracle < 0, wanted = !is_known(path);
    if (!good && wanted)
        printf("%s: %s\n", path, verdict.text);
    if (good && !wanted)
        printf("%s: nothing is found, although %s lists it\n", path, known);
    return good == wanted;
}

static int try_files(int n, char **paths)
{
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed += !try_file(paths[i]);
    printf("%d passed, %d failed\n", n - failed, failed);
    return failed > 0;
}

static int print_graph(void)
{
    struct cr_case *c = cr_generate((uint64_t)settings.seed, (uint64_t)print, settings.models);
    char *text = cr_graph_text(c->graph);
    fputs(text, stdout);
    free(text);
    cr_case_free(c);
    return 0;
}

int main(int argc, char **argv)
{
    int n = 1;
    mallopt(M_TRIM_THRESHOLD, 64 << 20); /* keeps freed memory: page faults are slow */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (n < argc && read_setting(argv[n]))
        n++;
    if (n < argc && !strstr(argv[n], ".lua")) {
        fprintf(stderr,
                "crescent-fuzz: %s: expected N=, SEED=, JOBS=, FIRST=, SECONDS=, REACH=, "
                "MODELS=, ORACLE=, OUT=, KNOWN=, PRINT= or scripts\n",
                argv[n]);
        return 2;
    }
    if (n < argc)
        return try_files(argc - n, argv + n);
    return print >= 0 ? print_graph() : cr_fuzz(&settings);
}
