/* ops.c - crescent ops: prints the op table, for people and for docs/. */
#include <stdio.h>
#include <string.h>

#include "verbs.h"

/* The groups of ops, each with a heading for text and a heading for Markdown. */
enum group { ELEMENTWISE, REDUCTION, OTHER, GROUPS };

static const char *const headings[GROUPS] = {
    [ELEMENTWISE] = "elementwise, on operands of one shape or broadcast to one:",
    [REDUCTION] = "reductions, over an axis, which stays with size 1 unless keep is false:",
    [OTHER] = "others:",
};

static const char *const tables[GROUPS] = {
    [ELEMENTWISE] = ("| elementwise | types | expression | gradient for each operand, given g | meaning |\n"
                     "|---|---|---|---|---|"),
    [REDUCTION] = "| reductions | types | gradient, given g | meaning |\n|---|---|---|---|",
    [OTHER] = "| others | meaning |\n|---|---|",
};

static enum group group_of(const crescent_op *op)
{
    return op->elementwise ? ELEMENTWISE : op->reduction ? REDUCTION : OTHER;
}

/* Returns a call of the op as in a script, such as "maximum(a, b)". */
static const char *call_of(const crescent_op *op, char *buf, size_t size)
{
    static const char *const operands[] = {"", "a", "a, b", "a, b, c"};
    if (!op->elementwise)
        return op->equation;
    snprintf(buf, size, "%s(%s)", op->name, operands[op->arity]);
    return buf;
}

/* Prints a cell of a Markdown table; escapes vertical bars. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

/* Prints a gradient's formula as a script would write it: without n_ and without the outer
 * parentheses. */
static void print_gradient(const char *text)
{
    for (; *text; text++) {
        if (strncmp(text, "n_", 2) == 0) {
            text++;
        } else if (strncmp(text, "NONE", 4) == 0) {
            putchar('-');
            text += 3;
        } else {
            putchar(*text);
        }
    }
}

/* Prints the cells of an op's row, in the order of the heading in `tables`. */
static void print_markdown_row(const crescent_op *op)
{
    char call[80];
    printf("| `%s` | ", call_of(op, call, sizeof call));
    if (group_of(op) != OTHER)
        printf("%s | ", op->types);
    if (op->elementwise)
        printf("`%s` | ", op->equation);
    if (group_of(op) != OTHER) {
        putchar('`');
        print_gradient(op->gradient);
        fputs("` | ", stdout);
    }
    print_cell(op->doc);
    puts(" |");
}

static void print_row(const crescent_op *op)
{
    char call[80];
    printf("  %-29s  %s", call_of(op, call, sizeof call), op->doc);
    if (group_of(op) != OTHER)
        printf(" (%s)", op->types);
    putchar('\n');
}

/* Prints the supported operators of ONNX, grouped by domain. */
static void print_onnx(bool markdown)
{
    crescent_onnx_op op;
    if (markdown)
        puts("| operator | from version | becomes |\n|---|---|---|");
    for (int i = 0; crescent_onnx_op_at(i, &op) == CRESCENT_OK; i++) {
        char name[96];
        snprintf(name, sizeof name, "%s%s%s", op.domain, *op.domain ? "." : "", op.name);
        printf(markdown ? "| `%s` | %d | `%s` |\n" : "  %-48s %4d  %s\n", name, op.since, op.meaning);
    }
}

/* Prints the ops by groups, as in docs/language.md; or the supported operators of ONNX. */
int cr_verb_ops(const struct cr_options *o, struct cr_error *error)
{
    crescent_op op;
    (void)error;
    if (o->onnx) {
        print_onnx(o->markdown);
        return 0;
    }
    for (int group = 0; group < GROUPS; group++) {
        printf("%s%s\n", group ? "\n" : "", o->markdown ? tables[group] : headings[group]);
        for (int i = 0; crescent_op_at(i, &op) == CRESCENT_OK; i++)
            if ((int)group_of(&op) == group)
                (o->markdown ? print_markdown_row : print_row)(&op);
    }
    return 0;
}
