/* ops.c - crescent ops: the op table, for people and for docs/. */
#include <stdio.h>
#include <string.h>

#include "verbs.h"

/* "maximum(a, b)", as a script calls it. */
static const char *call_of(const crescent_op *op, char *buf, size_t size)
{
    static const char *const operands[] = {"", "a", "a, b", "a, b, c"};
    if (!op->elementwise)
        return op->equation;
    snprintf(buf, size, "%s(%s)", op->name, operands[op->arity]);
    return buf;
}

/* A cell of a Markdown table, in which a bar must not end it. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

/* The gradient column as a script would write it: without n_ and the parentheses around. */
static void print_gradient(const char *text)
{
    for (text++; text[1]; text++) {
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

static void print_markdown_row(const crescent_op *op)
{
    char call[80];
    printf("| `%s` | ", call_of(op, call, sizeof call));
    if (op->elementwise) {
        printf("%s | `%s` | `", op->types, op->equation);
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
    if (op->elementwise)
        printf(" (%s)", op->types);
    putchar('\n');
}

/* The rows of elementwise ops, or those of the others. */
static void print_rows(bool elementwise, void (*print)(const crescent_op *op))
{
    crescent_op op;
    for (int i = 0; crescent_op_at(i, &op) == CRESCENT_OK; i++)
        if ((op.elementwise != 0) == elementwise)
            print(&op);
}

int cr_verb_ops(const struct cr_options *o, struct cr_error *error)
{
    (void)error;
    puts(o->markdown ? "| elementwise | types | expression | gradient for each operand, given g | "
                       "meaning |\n"
                       "|---|---|---|---|---|"
                     : "elementwise, on operands of one shape or broadcast to one:");
    print_rows(true, o->markdown ? print_markdown_row : print_row);
    puts(o->markdown ? "\n| others | meaning |\n|---|---|" : "\nothers:");
    print_rows(false, o->markdown ? print_markdown_row : print_row);
    return 0;
}
