/*
 * search_folder.c - searches a folder of Markdown for the sections that mean most nearly what is asked, as
 * search_folder.lua does:
 *
 *     search_folder MODEL FOLDER QUERY
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/crescent.h"

/* A heading, and the text up to the next one: `text` begins with the heading, of `title` bytes. */
struct section {
    char *path, *heading, *text;
    size_t title, length;
    int line;
    float *vector;
    double cosine;
};

struct search {
    crescent_embedder *embedder;
    struct section *sections;
    size_t n, dimensions;
};

/* Memory that grows, or the end of the program. */
static void *grow(void *memory, size_t bytes)
{
    void *more = realloc(memory, bytes + 1);
    if (!more)
        exit(2);
    return more;
}

static char *copy(const char *text)
{
    return strcpy(grow(NULL, strlen(text)), text);
}

static int open_embedder(crescent_context *context, const char *model, const char *role,
                         crescent_embedder **embedder)
{
    const crescent_embedder_options options = {.normalize = 1, .role = role};
    return crescent_embedder_open(context, model, NULL, NULL, &options, embedder);
}

/* Adds text to a section. */
static void add_text(struct section *s, const char *text)
{
    size_t n = strlen(text);
    s->text = grow(s->text, s->length + n);
    memcpy(s->text + s->length, text, n + 1);
    s->length += n;
}

static struct section *begin_section(struct search *s, const char *path, const char *heading, int line)
{
    s->sections = grow(s->sections, (s->n + 1) * sizeof *s->sections);
    struct section *new = &s->sections[s->n++];
    *new = (struct section){.path = copy(path), .heading = copy(heading), .line = line};
    add_text(new, heading);
    add_text(new, "\n");
    new->title = new->length;
    return new;
}

/* Makes the vector of the last section, or drops one without text behind its heading. */
static int end_section(struct search *s)
{
    struct section *last = &s->sections[s->n - 1];
    const char *body = last->text + last->title;
    int status = CRESCENT_OK, has_text = body[strspn(body, " \t\r\n\v\f")] != '\0';
    if (has_text) {
        last->vector = grow(NULL, s->dimensions * sizeof(float));
        status = crescent_embed(s->embedder, last->text, last->length, last->vector, NULL);
    }
    free(last->text);
    last->text = NULL;
    if (!has_text) {
        free(last->path);
        free(last->heading);
        s->n--;
    }
    return status;
}

/* The heading in a line, without its end, or null. */
static char *heading_of(char *line)
{
    size_t marks = strspn(line, "#"), spaces = strspn(line + marks, " ");
    line[strcspn(line, "\n")] = '\0';
    return marks && spaces ? line + marks + spaces : NULL;
}

/* Makes the vectors of a file's sections. */
static int read_file(struct search *s, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    int number = 0, code = 0, status = CRESCENT_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return CRESCENT_OK;
    struct section *now = begin_section(s, path, path, 1);
    while (status == CRESCENT_OK && getline(&line, &room, file) >= 0) {
        number++;
        code ^= strncmp(line, "```", 3) == 0;
        char *heading = heading_of(line);
        if (heading && !code) {
            status = end_section(s);
            now = begin_section(s, path, heading, number);
        } else {
            add_text(now, line);
            add_text(now, "\n");
        }
    }
    if (status == CRESCENT_OK)
        status = end_section(s);
    free(line);
    fclose(file);
    return status;
}

/* Makes the vectors of all Markdown below a folder. */
static int read_folder(struct search *s, const char *folder)
{
    char *path = NULL;
    size_t room = 0;
    int status = CRESCENT_OK;
    setenv("FOLDER", folder, 1);
    FILE *paths = popen("find \"$FOLDER\" -name '*.md' | LC_ALL=C sort", "r");
    while (status == CRESCENT_OK && paths && getline(&path, &room, paths) >= 0) {
        path[strcspn(path, "\n")] = '\0';
        status = read_file(s, path);
    }
    free(path);
    if (paths)
        pclose(paths);
    return status;
}

/* Sorts the largest cosine first, equal ones as they are in memory. */
static int by_cosine(const void *a, const void *b)
{
    const struct section *x = *(struct section *const *)a, *y = *(struct section *const *)b;
    return x->cosine != y->cosine ? (x->cosine < y->cosine) - (x->cosine > y->cosine) : (x > y) - (x < y);
}

/* Prints the best sections for a query. */
static int find(struct search *s, const char *query)
{
    float *wanted = grow(NULL, s->dimensions * sizeof *wanted);
    struct section **order = grow(NULL, s->n * sizeof *order);
    int status = crescent_embed(s->embedder, query, strlen(query), wanted, NULL);
    for (size_t i = 0; i < s->n; i++) {
        order[i] = &s->sections[i];
        for (size_t j = 0; j < s->dimensions; j++)
            order[i]->cosine += (double)wanted[j] * (double)order[i]->vector[j];
    }
    qsort(order, s->n, sizeof *order, by_cosine);
    for (size_t i = 0; i < s->n && i < 5 && status == CRESCENT_OK; i++)
        printf("%.3f  %s:%d  %s\n", order[i]->cosine, order[i]->path, order[i]->line, order[i]->heading);
    free(wanted);
    free(order);
    return status;
}

/* Makes the vectors by the model's prompt for documents, and that of the query by the one for queries. */
static int run(crescent_context *context, struct search *s, char **argv)
{
    crescent_embedder_facts facts;
    if (open_embedder(context, argv[1], "document", &s->embedder) ||
        crescent_embedder_get_facts(s->embedder, &facts))
        return -1;
    s->dimensions = (size_t)facts.dimensions;
    if (read_folder(s, argv[2]))
        return -1;
    crescent_embedder_close(s->embedder);
    return open_embedder(context, argv[1], "query", &s->embedder) || find(s, argv[3]) ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct search s = {NULL, NULL, 0, 0};
    crescent_context *context = crescent_context_new();
    if (argc != 4) {
        fprintf(stderr, "usage: search_folder MODEL FOLDER QUERY\n");
        return 2;
    }
    int status = run(context, &s, argv);
    if (status)
        fprintf(stderr, "search_folder: %s\n", crescent_error(context));
    crescent_embedder_close(s.embedder);
    for (size_t i = 0; i < s.n; i++) {
        free(s.sections[i].path);
        free(s.sections[i].heading);
        free(s.sections[i].text);
        free(s.sections[i].vector);
    }
    free(s.sections);
    crescent_context_free(context);
    return status ? 2 : 0;
}
