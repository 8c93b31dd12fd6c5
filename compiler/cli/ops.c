/* ops.c - crescent ops: the op table, for people and for docs/. */
#include <stdio.h>
#include <string.h>

#include "compiler/ir/graph.h"
#include "options.h"

/* The element types an elementwise op takes and gives; every rule has an answer. */
static const char *types_of(const struct cr_op_info *op)
{
    switch (op->rule) {
    case CR_RULE_ARITH:
        return "f32 or i32, alike";
    case CR_RULE_FLOAT:
        return "f32";
    case CR_RULE_COMPARE:
        return "f32 or i32, alike; gives bool";
    case CR_RULE_LOGIC:
        return "bool";
    case CR_RULE_SELECT:
        return "bool, then two alike";
    case CR_RULE_CONVERT:
        return "i32 or bool; gives f32";
    }
    return "";
}

/* "maximum(a, b)", as a script calls it. */
static const char *call_of(const struct cr_op_info *op, char *buf, size_t size)
{
    static const char *const operands[] = {"", "a", "a, b", "a, b, c"};
    if (op->kind != CR_KIND_ELEMENTWISE)
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

static void print_markdown_row(const struct cr_op_info *op)
{
    char call[80];
    printf("| `%s` | ", call_of(op, call, sizeof call));
    if (op->kind == CR_KIND_ELEMENTWISE) {
        printf("%s | `%s` | `", types_of(op), op->equation);
        print_gradient(op->gradient);
        fputs("` | ", stdout);
    }
    print_cell(op->doc);
    puts(" |");
}

static void print_row(const struct cr_op_info *op)
{
    char call[80];
    printf("  %-29s  %s", call_of(op, call, sizeof call), op->doc);
    if (op->kind == CR_KIND_ELEMENTWISE)
        printf(" (%s)", types_of(op));
    putchar('\n');
}

/* The rows of elementwise ops, or those of the others. */
static void print_rows(bool elementwise, void (*print)(const struct cr_op_info *op))
{
    for (int i = 0; i < CR_OP_COUNT; i++)
        if ((cr_ops[i].kind == CR_KIND_ELEMENTWISE) == elementwise)
            print(&cr_ops[i]);
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
