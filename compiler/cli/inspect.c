/* inspect.c - crescent inspect: prints the contents of a file of tensors. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "report.h"
#include "verbs.h"

/* ---- rows ---- */

/* A row of the table: `n` tensors of one type and shape whose names differ only in one number,
 * which runs from `first` to `last` without a gap.  A tensor without such a number, or without
 * others like it, has a row of its own. */
struct row {
    crescent_tensor tensor; /* the first tensor */
    int number;             /* offset of that number in the first tensor's name; -1: none */
    int64_t first, last;
    int n;
    crescent_statistics statistics; /* statistics of all elements of the row's tensors */
};

struct rows {
    struct row *items;
    int n, cap;
};

/* Returns the offset of the first dotted part of a name that is a number, such as a layer's; -1
 * if there is none. */
static int find_number(const char *name)
{
    for (const char *part = name; *part;) {
        const size_t n = strcspn(part, ".");
        if (n && n < 10 && strspn(part, "0123456789") == n && (n == 1 || *part != '0'))
            return (int)(part - name);
        part += n + (part[n] == '.');
    }
    return -1;
}

/* True if a tensor belongs to a row: its number follows the row's last. */
static bool continues(const struct row *row, const crescent_tensor *t, int number)
{
    if (row->number < 0 || row->number != number || t->rank != row->tensor.rank ||
        strcmp(t->type, row->tensor.type) != 0 ||
        memcmp(t->shape, row->tensor.shape, (size_t)t->rank * sizeof *t->shape) != 0 ||
        strncmp(t->name, row->tensor.name, (size_t)number) != 0)
        return false;
    return strtoll(t->name + number, NULL, 10) == row->last + 1 &&
           strcmp(t->name + number + strcspn(t->name + number, "."),
                  row->tensor.name + number + strcspn(row->tensor.name + number, ".")) == 0;
}

/* Merges the statistics of another tensor into those of n tensors of the same size. */
static void add_statistics(crescent_statistics *s, const crescent_statistics *more, int n)
{
    const double square = s->deviation * s->deviation + s->mean * s->mean;
    const double other = more->deviation * more->deviation + more->mean * more->mean;
    s->nans += more->nans;
    s->infinities += more->infinities;
    s->min = fmin(s->min, more->min);
    s->max = fmax(s->max, more->max);
    s->mean += (more->mean - s->mean) / (n + 1);
    s->deviation = sqrt(fmax(square + (other - square) / (n + 1) - s->mean * s->mean, 0));
}

/* Adds a tensor to the rows.  If `fold`, tensors of consecutive layers with otherwise equal names,
 * types and shapes share a row; else each has its own. */
static void add_tensor(struct rows *rows, const crescent_tensor *t,
                       const crescent_statistics *statistics, bool fold)
{
    const int number = fold ? find_number(t->name) : -1;
    for (int i = 0; i < rows->n; i++) {
        struct row *row = &rows->items[i];
        if (!continues(row, t, number))
            continue;
        add_statistics(&row->statistics, statistics, row->n);
        row->last++;
        row->n++;
        return;
    }
    const int64_t value = number < 0 ? 0 : strtoll(t->name + number, NULL, 10);
    *CR_PUSH(rows->items, rows->n, rows->cap) =
        (struct row){*t, number, value, value, 1, *statistics};
}

/* Makes the rows of the table.  A tensor whose elements cannot be read has no statistics. */
static int make_rows(const struct cr_options *o, crescent_contents *c, struct rows *rows,
                     struct cr_error *error)
{
    for (int i = 0; i < crescent_contents_count(c); i++) {
        crescent_tensor tensor;
        crescent_statistics statistics = {0};
        crescent_contents_at(c, i, &tensor);
        if (o->stats && cr_passed(o, crescent_contents_measure(c, i, &statistics), error))
            return -1;
        add_tensor(rows, &tensor, &statistics, !o->all && !o->json);
    }
    return 0;
}

/* ---- printing ---- */

/* Replaces control characters, including two-byte ones, since a terminal would interpret them. */
static void make_printable(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        const bool wide = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (wide || iscntrl(*at))
            *at = '?';
        if (wide)
            at[1] = '?';
    }
}

/* Returns the name of a row, such as h.{0..11}.ln_1.weight; the caller frees it. */
static char *name_of(const struct row *row)
{
    const char *name = row->tensor.name, *rest = name;
    const size_t size = strlen(name) + 48;
    char *text = cr_calloc(size, 1);
    if (row->n == 1) {
        snprintf(text, size, "%s", *name ? name : "(the array)");
    } else {
        rest += row->number + (int)strcspn(name + row->number, ".");
        snprintf(text, size, "%.*s{%lld..%lld}%s", row->number, name, (long long)row->first,
                 (long long)row->last, rest);
    }
    make_printable(text);
    return text;
}

static struct cr_phrase shape_of(const crescent_tensor *t)
{
    struct cr_phrase shape;
    crescent_shape_text(shape.text, sizeof shape.text, t->rank, t->shape);
    return shape;
}

static void print_statistics(const crescent_statistics *s)
{
    printf("  %12.5g %12.5g %12.5g %12.5g", s->min, s->max, s->mean, s->deviation);
    if (s->nans)
        printf("  %s NaN", cr_thousands(s->nans).text);
    if (s->infinities)
        printf("  %s infinite", cr_thousands(s->infinities).text);
}

/* Prints the table; the column of names is as wide as the longest name. */
static void print_table(const struct rows *rows, bool statistics)
{
    int width = 4;
    for (int i = 0; i < rows->n; i++) {
        char *name = name_of(&rows->items[i]);
        width = (int)strlen(name) > width ? (int)strlen(name) : width;
        free(name);
    }
    printf("%-*s  %-6s %-16s %16s", width, "name", "type", "shape", "count");
    if (statistics)
        printf("  %12s %12s %12s %12s", "min", "max", "mean", "deviation");
    putchar('\n');
    for (int i = 0; i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        char *name = name_of(row);
        printf("%-*s  %-6s %-16s %16s", width, name, row->tensor.type, shape_of(&row->tensor).text,
               cr_thousands(row->tensor.elements * row->n).text);
        if (statistics)
            print_statistics(&row->statistics);
        putchar('\n');
        free(name);
    }
}

/* Sums the elements and bytes of all tensors. */
static void count_all(const struct rows *rows, int64_t *elements, int64_t *bytes)
{
    *elements = *bytes = 0;
    for (int i = 0; i < rows->n; i++) {
        *elements += rows->items[i].tensor.elements * rows->items[i].n;
        *bytes += rows->items[i].tensor.bytes * rows->items[i].n;
    }
}

/* Prints the file's metadata; cuts long values, such as chat templates. */
static void print_facts(const crescent_contents *c)
{
    enum { MOST = 72 };
    crescent_setting fact;
    for (int i = 0; crescent_fact_at(c, i, &fact) == CRESCENT_OK; i++) {
        char *key = cr_strdup(fact.key), *value = cr_strdup(fact.value);
        make_printable(key);
        make_printable(value);
        printf("  %s: %.*s%s\n", key, MOST, value, strlen(value) > MOST ? "..." : "");
        free(key);
        free(value);
    }
}

/* Prints a summary of the file in one line, its metadata, and the table. */
static void print_text(const struct cr_options *o, const crescent_contents *c,
                       const struct rows *rows)
{
    int64_t elements, bytes;
    count_all(rows, &elements, &bytes);
    const int n = crescent_contents_count(c);
    char *path = cr_strdup(o->model);
    make_printable(path);
    printf("%s: %s, %s tensor%s, %s elements, %s\n", path, crescent_contents_kind(c),
           cr_thousands(n).text, n == 1 ? "" : "s", cr_thousands(elements).text,
           cr_bytes(bytes).text);
    free(path);
    print_facts(c);
    print_table(rows, o->stats);
}

/* Writes a row as JSON; with statistics if they are requested. */
static void write_row(struct cr_doc *d, const struct row *row, bool statistics)
{
    const crescent_statistics *s = &row->statistics;
    cr_doc_begin(d, NULL, '{');
    cr_doc_text(d, "name", row->tensor.name);
    cr_doc_text(d, "type", row->tensor.type);
    cr_doc_integers(d, "shape", row->tensor.shape, row->tensor.rank);
    cr_doc_integer(d, "count", row->tensor.elements);
    cr_doc_integer(d, "bytes", row->tensor.bytes);
    cr_doc_text(d, "file", row->tensor.file);
    if (statistics) {
        cr_doc_number(d, "min", s->min);
        cr_doc_number(d, "max", s->max);
        cr_doc_number(d, "mean", s->mean);
        cr_doc_number(d, "deviation", s->deviation);
        cr_doc_integer(d, "nans", s->nans);
        cr_doc_integer(d, "infinities", s->infinities);
    }
    cr_doc_end(d, '}');
}

/* Prints JSON; every tensor has a row, since names are not folded. */
static void print_json(const struct cr_options *o, const crescent_contents *c,
                       const struct rows *rows)
{
    int64_t elements, bytes;
    crescent_setting fact;
    struct cr_doc d = cr_json_begin();
    count_all(rows, &elements, &bytes);
    cr_doc_text(&d, "file", o->model);
    cr_doc_text(&d, "kind", crescent_contents_kind(c));
    cr_doc_begin(&d, "facts", '{');
    for (int i = 0; crescent_fact_at(c, i, &fact) == CRESCENT_OK; i++)
        cr_doc_text(&d, fact.key, fact.value);
    cr_doc_end(&d, '}');
    cr_doc_begin(&d, "tensors", '[');
    for (int i = 0; i < rows->n; i++)
        write_row(&d, &rows->items[i], o->stats);
    cr_doc_end(&d, ']');
    cr_doc_integer(&d, "count", elements);
    cr_doc_integer(&d, "bytes", bytes);
    cr_json_end(&d);
}

/* Reads the whole file, then prints. */
int cr_verb_inspect(const struct cr_options *o, struct cr_error *error)
{
    crescent_contents *c = NULL;
    struct rows rows = {0};
    int status = cr_passed(o, crescent_contents_open(o->context, o->model, &c), error);
    if (!status)
        status = make_rows(o, c, &rows, error);
    if (!status)
        (o->json ? print_json : print_text)(o, c, &rows);
    free(rows.items);
    crescent_contents_close(c);
    return status ? 2 : 0;
}
