/* literals.c - prints the constant arrays that a program's text refers to; see literals.h. */
#include "literals.h"

#include <stdio.h>
#include <string.h>

#include "compiler/ir/mem.h"

/* True if a call reads a literal. */
static bool is_read(const struct cr_program *program, int literal)
{
    for (int i = 0; i < program->n_buffers; i++) {
        const struct cr_buffer *b = &program->buffers[i];
        if (b->space == CR_SPACE_LITERAL && b->offset == literal && b->entries)
            return true;
    }
    return false;
}

void cr_literal_name(char *name, size_t size, int literal)
{
    snprintf(name, size, "literal%d", literal);
}

/* True if an argument is a literal that depends on the layer, so that the text needs the array
 * literals[]. */
static bool has_lookup(const struct cr_program *p)
{
    for (int i = 0; i < p->n_bindings; i++)
        if (p->bindings[i].space == CR_SPACE_LITERAL && p->bindings[i].form != CR_FORM_SAME)
            return true;
    return false;
}

/* Prints literals[], pointers to all literals by number, for arguments that depend on the layer. */
static void put_lookup(struct cr_text *text, const struct cr_program *p)
{
    char name[32];
    cr_put(text, "static const void *const literals[] = {");
    for (int i = 0; i < p->n_literals; i++) {
        cr_literal_name(name, sizeof name, i);
        cr_put(text, "%s%s", i ? ", " : "", is_read(p, i) ? name : "0");
    }
    cr_put(text, "};\n");
}

/* Prints an element as a C constant.  C has no literal for -2^31, so that value is printed as an
 * expression. */
static void put_element(struct cr_text *text, enum cr_format format, uint32_t word)
{
    char number[32];
    float value;
    memcpy(&value, &word, sizeof value);
    if (cr_formats[format].dtype == CR_I32 && word == 0x80000000u) {
        cr_put(text, "-2147483647 - 1");
        return;
    }
    cr_number_text(number, sizeof number, format,
                   cr_formats[format].dtype == CR_I32 ? (double)(int32_t)word : (double)value);
    if (cr_formats[format].dtype == CR_I32)
        cr_put(text, "%s", number);
    else if (strchr("NIM", *number))
        cr_put(text, "CR_%s", number);
    else
        cr_put(text, "%s%sf", number, strpbrk(number, ".e") ? "" : ".0");
}

static void put_elements(struct cr_text *text, const struct cr_literal *literal)
{
    enum { IN_LINE = 8 };
    for (int64_t i = 0; i < literal->n; i++) {
        cr_put(text, i % IN_LINE ? " " : "    ");
        put_element(text, cr_format_of(literal->dtype), literal->words[i]);
        cr_put(text, i % IN_LINE == IN_LINE - 1 || i == literal->n - 1 ? ",\n" : ",");
    }
}

void cr_put_literals(struct cr_text *text, const struct cr_program *program, bool elements)
{
    char name[32];
    bool first = true;
    for (int i = 0; i < program->n_literals; i++) {
        const struct cr_literal *literal = &program->literals[i];
        if (!is_read(program, i))
            continue;
        cr_put(text, elements && first ? "\n/* Tensors whose elements the script states. */\n" : "");
        first = false;
        cr_literal_name(name, sizeof name, i);
        cr_put(text, "%s const %s %s[%lld]", elements ? "static" : "extern",
               cr_c_type(literal->dtype), name, (long long)literal->n);
        cr_put(text, elements ? " = {\n" : ";\n");
        if (elements)
            put_elements(text, literal);
        cr_put(text, elements ? "};\n" : "");
    }
    if (has_lookup(program))
        put_lookup(text, program);
}
