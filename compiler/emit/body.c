/* Prints the C function of a kernel, statement by statement. */
#include "body.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/print_expr.h"

enum {
    INDENT = 4,
    MOST_BEFORE_NOTE = 100 - INDENT - 7 /* maximum number of characters of a declaration and the
                                         * note after it */
};

/* ---- statements ---- */

/* Returns the index of the END statement of the loop or `if` whose body begins at statement
 * `begin`. */
static int end_of(const struct cr_function *f, int begin)
{
    int depth = 1, at = begin;
    for (; depth; at++) {
        enum cr_statement_kind kind = f->body[at].kind;
        depth += kind == CR_STATEMENT_LOOP || kind == CR_STATEMENT_IF;
        depth -= kind == CR_STATEMENT_END;
    }
    return at - 1;
}

/* Prints the head of a loop, "for (long i = first; i < last; i += step) {". */
static void print_loop(const struct cr_expr_printer *p, const struct cr_statement *s)
{
    const char *var = p->f->vars[s->var].name;
    cr_put(p->text, "for (long %s = ", var);
    cr_print_expr(p, s->value, CR_BY_SELECT);
    cr_put(p->text, "; %s < ", var);
    cr_print_expr(p, s->last, CR_BY_SUM);
    if (s->until != CR_NONE) {
        cr_put(p->text, " && ");
        cr_print_expr(p, s->until, CR_BY_EQUAL);
    }
    if (s->step == 1)
        cr_put(p->text, "; %s++) {", var);
    else
        cr_put(p->text, "; %s += ", var), cr_print_size(p, s->step, s->step_size), cr_put(p->text, ") {");
}

static void print_assignment(const struct cr_expr_printer *p, const struct cr_statement *s)
{
    const struct cr_var *var = &p->f->vars[s->var];
    if (s->kind == CR_STATEMENT_LET)
        cr_put(p->text, var->changes ? "long " : "const long ");
    cr_put(p->text, "%s = ", var->name);
    cr_print_expr(p, s->value, CR_BY_SELECT);
    cr_put(p->text, ";");
}

/* Prints one statement.  `single`: it is an `if` whose body is one statement, so that it needs no
 * braces. */
static void print_line(const struct cr_expr_printer *p, const struct cr_statement *s, bool single)
{
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        print_loop(p, s);
        break;
    case CR_STATEMENT_IF:
        cr_put(p->text, "if (");
        cr_print_expr(p, s->value, CR_BY_SELECT);
        cr_put(p->text, single ? ")" : ") {");
        break;
    case CR_STATEMENT_END:
        cr_put(p->text, "}");
        break;
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        print_assignment(p, s);
        break;
    case CR_STATEMENT_CALL:
        cr_print_call(p, &p->f->calls[s->call]);
        cr_put(p->text, ";");
        break;
    case CR_STATEMENT_NOTE:
        break;
    }
    if (s->note)
        cr_put(p->text, s->kind == CR_STATEMENT_NOTE ? "/* %s */" : " /* %s */", s->note);
}

/* Prints all statements of a body, and the position of each in `statements` unless that is null.
 * An `if` with only one statement gets no braces. */
static void print_body(struct cr_text *text, const struct cr_function *f,
                       struct cr_span *statements)
{
    struct cr_text line = {0};
    const struct cr_expr_printer p = {&line, f, true, "a->"};
    int indent = INDENT, single_end = -1;
    for (int i = 0; i < f->n_body; i++) {
        const struct cr_statement *s = &f->body[i];
        bool single = s->kind == CR_STATEMENT_IF && end_of(f, i + 1) == i + 2;
        if (s->kind == CR_STATEMENT_END)
            indent -= INDENT;
        if (i == single_end)
            continue;
        line.length = 0;
        size_t begin = text->length;
        print_line(&p, s, single);
        cr_put_line(text, indent, "%s", line.data);
        if (statements)
            statements[i] = (struct cr_span){begin, text->length};
        if (single)
            single_end = i + 2;
        if (s->kind == CR_STATEMENT_LOOP || s->kind == CR_STATEMENT_IF)
            indent += INDENT;
    }
    free(line.data);
}

/* ---- the frame ---- */

static void print_comment(struct cr_text *t, const struct cr_function *f)
{
    cr_put(t, "\n/*\n * k%d_%s: ", f->number, f->title);
    for (const char *line = f->comment; *line;) {
        size_t n = strcspn(line, "\n");
        cr_put(t, "%s%.*s\n", line == f->comment ? "" : " * ", (int)n, line);
        line += n + (line[n] == '\n');
    }
    cr_put(t, " */\n");
}

/* Prints the struct of a function's arguments.  Each field has the name of its slot;
 * cr_emit_step_call initialises fields by name. */
static void print_struct(struct cr_text *t, const struct cr_function *f)
{
    cr_put(t, "struct k%d_args {\n    const struct cr_runtime *rt;\n", f->number);
    for (int i = 0; i < f->n_bound; i++) {
        const struct cr_slot *slot = &f->slots[i];
        if (slot->kind == CR_SLOT_NUMBER)
            cr_put(t, "    long %s; /* %s */\n", slot->name, slot->note);
        else
            cr_put(t, "    %s%s *%s; /* %s%s */\n", slot->written ? "" : "const ",
                   cr_formats[slot->format].c_type, slot->name, slot->note,
                   slot->packed ? ", packed" : "");
    }
    cr_put(t, "};\n\n");
}

/* Prints the pointer to a slot in scratch memory.  The offset counts floats, so a pointer to
 * another type is cast after the addition.  If values in the slot have names, the pointer has the
 * first name, and pointers with the other names are set equal to it.  The note comes after the
 * declaration, or on a line before it if the line is long. */
static void print_scratch(struct cr_text *t, const struct cr_function *f, int number)
{
    const struct cr_slot *slot = &f->slots[number];
    const struct cr_format_info *format = &cr_formats[slot->format];
    bool sized = slot->offset && format->unit != (int)sizeof(float);
    const char *name = NULL;
    struct cr_text more = {0}, line = {0};
    char note[256];
    cr_put_kernel_number(note, sizeof note, slot->note, f->number);
    for (int i = 0; i < f->n_names; i++) {
        if (f->names[i].slot == number && name)
            cr_put(&more, ", *const %s = %s", f->names[i].text, name);
        else if (f->names[i].slot == number)
            name = f->names[i].text;
    }
    cr_put(&line, "%s *const %s = ", format->c_type, name ? name : slot->name);
    if (strcmp(format->c_type, "float") != 0)
        cr_put(&line, "(%s *)", format->c_type);
    cr_put(&line, sized ? "(scratch" : "scratch");
    if (slot->offset)
        cr_put(&line, " + %lld", (long long)slot->offset);
    cr_put(&line, "%s%s;", sized ? ")" : "", more.length ? more.data : "");
    if (line.length + strlen(note) > MOST_BEFORE_NOTE)
        cr_put(t, "%*s/* %s */\n", INDENT, "", note);
    else
        cr_put(&line, " /* %s */", note);
    cr_put_line(t, INDENT, "%s", line.data);
    free(more.data);
    free(line.data);
}

/* True if a function has a loop over its items; if not, a call always processes exactly one
 * item. */
static bool loops_over_items(const struct cr_function *f)
{
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == CR_STATEMENT_LOOP && f->body[i].var == CR_VAR_ITEM)
            return true;
    return false;
}

/* Prints variables for the slots that are not arguments, and casts to void of parameters that the
 * function does not use. */
static void print_slots(struct cr_text *t, const struct cr_function *f)
{
    if (!loops_over_items(f))
        cr_put(t, "    (void)begin, (void)end; /* there is one item */\n");
    if (!f->scratch_floats)
        cr_put(t, "    (void)scratch;\n");
    for (int i = f->n_bound; i < f->n_slots; i++) {
        if (f->slots[i].kind == CR_SLOT_SCRATCH)
            print_scratch(t, f, i);
    }
}

/* Declares the names of the sizes of tiles that a function's text, or its number of items, uses. */
static void print_tiles(struct cr_text *t, const struct cr_function *f, const char *text)
{
    struct cr_text items = {0}, line = {0};
    char name[CR_SIZE_NAME];
    bool levels[2] = {false, false}, any = false;
    cr_emit_items(&items, f);
    for (int i = 0; i < CR_TILE_NAMES; i++) {
        if (!f->tiles[i])
            continue;
        cr_put_kernel_number(name, sizeof name, f->sizes->names[CR_NAME_TILES + i].text, f->number);
        if (!cr_has_identifier(text, name) && !cr_has_identifier(items.data, name))
            continue;
        cr_put(&line, "%s%s = %lld", any ? ", " : "enum { ", name, (long long)f->tiles[i]);
        levels[i % CR_TILE_LEVELS > 0 && i % CR_TILE_LEVELS < CR_TILE_PARTS] = any = true;
    }
    if (any)
        cr_put_line(t, 0, "%s }; /* of %s */", line.data,
                    !levels[1]  ? "an item"
                    : levels[0] ? "an item, and of a step of its loops"
                                : "a step of its loops");
    free(items.data);
    free(line.data);
}

static void print_definition(struct cr_text *text, const struct cr_function *f, struct cr_span *statements)
{
    print_struct(text, f);
    cr_put(text,
           "static void k%d_%s(const void *args, long begin, long end, float *scratch)\n{\n"
           "    const struct k%d_args *a = args;\n"
           "    const struct cr_runtime *rt = a->rt;\n",
           f->number, f->title, f->number);
    print_slots(text, f);
    print_body(text, f, statements);
    cr_put(text, "}\n");
}

void cr_emit_function(struct cr_text *text, const struct cr_function *f,
                      struct cr_span *statements)
{
    struct cr_text definition = {0};
    print_definition(&definition, f, statements);
    print_comment(text, f);
    if (f->sizes)
        print_tiles(text, f, definition.data);
    for (int i = 0; statements && i < f->n_body; i++) {
        statements[i].begin += text->length;
        statements[i].end += text->length;
    }
    cr_put_bytes(text, definition.data, definition.length);
    free(definition.data);
}

void cr_emit_items(struct cr_text *text, const struct cr_function *f)
{
    const struct cr_expr_printer p = {text, f, true, "args."};
    cr_print_expr(&p, f->items, CR_BY_SELECT);
}
