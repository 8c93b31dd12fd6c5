/* print_script.c - prints statements as the text of a script; see print_script.h. */
#include "print_script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "dynamic_axes.h"
#include "ops.h"
#include "print_structure.h"

enum { MOST_LOCALS = 150 };

/* ---- libraries of the script ---- */

/* True if Lua text contains a name of the form "library.field". */
static bool names_field(const char *text, const char *library)
{
    size_t n = strlen(library);
    for (const char *at = text; (at = strstr(at, library)); at++)
        if (at[n] == '.' && (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
            return true;
    return false;
}

static bool mentions(cr_t x, const char *library)
{
    bool is_named = x->name && names_field(x->name, library);
    for (int i = 0; !is_named && i < x->n_arguments; i++) {
        const struct cr_onnx_argument *a = &x->arguments[i];
        is_named = a->term ? mentions(a->term, library) : names_field(a->text, library);
    }
    return is_named;
}

/* Prints a line for each library whose functions the script calls. */
static void print_requires(struct cr_printer *p, const struct cr_onnx_script *s)
{
    static const char *const libraries[] = {"nn", "attention", "masks", "rotary", "onnx",
                                            "onnx_attention", "onnx_conv", "onnx_index",
                                            "onnx_math", "onnx_norm", "onnx_pictures",
                                            "onnx_recurrent", "onnx_signal"};
    for (size_t l = 0; l < sizeof libraries / sizeof *libraries; l++) {
        bool needed = false;
        for (int i = 0; !needed && i < s->n_statements; i++)
            needed = mentions(s->statements[i].term, libraries[l]);
        if (needed)
            cr_put(&p->text, "local %s = require \"%s\"\n", libraries[l], libraries[l]);
    }
}

/* Prints the script's first line, a comment with the model's file name; replaces characters that
 * would end the line. */
static void print_title(struct cr_printer *p)
{
    const struct cr_onnx_model *m = p->graph->model;
    const char *slash = strrchr(m->path, '/');
    cr_put(&p->text, "-- ");
    for (const char *c = slash ? slash + 1 : m->path; *c; c++)
        cr_put(&p->text, "%c", isprint((unsigned char)*c) ? *c : '_');
    cr_put(&p->text, "%s", *m->producer ? ", by " : "");
    for (const char *c = m->producer; *c; c++)
        cr_put(&p->text, "%c", isprint((unsigned char)*c) ? *c : '_');
    for (int i = 0; i < m->n_opsets; i++)
        if (!*m->opsets[i].domain)
            cr_put(&p->text, ", opset %lld", (long long)m->opsets[i].version);
    cr_put(&p->text, "\n");
}

/* ---- inputs and outputs ---- */

/* Prints a line for each length: local seq = length("seq", 128) */
static void print_lengths(struct cr_printer *p)
{
    const struct cr_symbols *s = p->graph->symbols;
    int *values = cr_arena_new(p->arena, (size_t)s->n_lengths, sizeof *values);
    p->length_values = values;
    p->n_lengths = s->n_lengths;
    for (int i = 0; i < s->n_lengths; i++) {
        const struct cr_onnx_length *length = &s->lengths[i];
        const char *local = cr_local_name(p, length->name);
        values[i] = length->value;
        p->value_names[length->value] =
            p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", local) : local;
        cr_put(&p->text, "%s%s = length(\"%s\", %lld)\n",
               p->in_table ? CR_PRINT_TABLE "." : "local ", local, cr_public_name(p, length->name),
               (long long)length->bound);
    }
}

/* Prints the line of an input.  The language has only float and integer inputs: a boolean input is
 * read as integer ~= 0. */
static void print_input(struct cr_printer *p, int value)
{
    signed char lengths[CR_ONNX_RANK] = {0};
    const struct cr_onnx_value *v = &p->graph->values[value];
    const char *local = cr_local_name(p, v->name), *end = "";
    p->public_names[value] = cr_public_name(p, v->name);
    cr_put(&p->text, "%s%s = ", p->in_table ? CR_PRINT_TABLE "." : "local ", local);
    if (cr_language_type(v->type) == CR_LANGUAGE_BOOL) {
        cr_put(&p->text, "ne(");
        end = ", 0)";
    }
    cr_onnx_input_lengths(p->graph->symbols, v, lengths);
    cr_put(&p->text, "input(\"%s\", %s%s", p->public_names[value],
           cr_sizes_text(p, v->rank, v->shape, lengths),
           cr_language_type(v->type) == CR_LANGUAGE_F32 ? ")" : ", \"i32\")");
    cr_put(&p->text, "%s\n", end);
    p->value_names[value] =
        p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", local) : local;
}

/* True if Lua accepts a name as a key without quotes. */
static bool is_identifier(const char *name)
{
    if (isdigit((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    static const char *const words[] = {"and",   "break", "do",       "else", "elseif", "end",
                                        "false", "for",   "function", "goto", "if",     "in",
                                        "local", "nil",   "not",      "or",   "repeat", "return",
                                        "then",  "true",  "until",    "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return false;
    return true;
}

static void print_output(struct cr_printer *p, const struct cr_onnx_script *s, int i,
                         struct cr_names *names)
{
    struct cr_printer own = {.arena = p->arena, .names = *names};
    const char *name = cr_public_name(&own, p->graph->output_names[i]);
    *names = own.names;
    struct cr_text value = {0};
    cr_print_term(p, &value, s->terms[p->graph->outputs[i]], CR_BINDS_NOT);
    cr_put(&p->text, is_identifier(name) ? "    %s = %s,\n" : "    [\"%s\"] = %s,\n", name,
           value.data);
    free(value.data);
}

/* ---- statements ---- */

/* Prints all lines of a script in order. */
static void print_all(struct cr_printer *p, const struct cr_onnx_script *s)
{
    struct cr_names outputs = {0};
    print_title(p);
    print_requires(p, s);
    cr_put(&p->text, p->in_table ? "\nlocal " CR_PRINT_TABLE " = {}\n" : "\n");
    print_lengths(p);
    for (int i = 0; i < p->graph->n_inputs; i++)
        if (!p->graph->values[p->graph->inputs[i]].tensor)
            print_input(p, p->graph->inputs[i]);
    cr_structure_print(p, s);
    free(p->parts.items);
    p->parts = (struct cr_parts){0};
    cr_put(&p->text, "return {\n");
    for (int i = 0; i < p->graph->n_outputs; i++)
        print_output(p, s, i, &outputs);
    cr_put(&p->text, "}\n");
    cr_names_free(&outputs);
}

void cr_script_free_printer(struct cr_printer *p)
{
    free(p->text.data);
    free(p->value_names);
    free(p->public_names);
    free(p->weights);
    free(p->parts.items);
    cr_names_free(&p->locals);
    cr_names_free(&p->names);
    *p = (struct cr_printer){0};
}

static void start(struct cr_printer *p, struct cr_onnx_graph *graph, bool in_table,
                  struct cr_error *error)
{
    size_t n = (size_t)graph->n_values;
    *p = (struct cr_printer){.graph = graph,
                             .arena = &graph->arena,
                             .error = error,
                             .value_names = cr_calloc(n, sizeof *p->value_names),
                             .public_names = cr_calloc(n, sizeof *p->public_names),
                             .in_table = in_table};
    error->text[0] = '\0';
}

/* Prints the script.  If Lua's limit of local variables is exceeded, prints it again with fields of
 * a table instead. */
int cr_script_print(struct cr_printer *p, const struct cr_onnx_script *script,
                    struct cr_error *error)
{
    start(p, script->graph, false, error);
    print_all(p, script);
    if (p->n_locals + script->graph->n_inputs > MOST_LOCALS) {
        cr_script_free_printer(p);
        start(p, script->graph, true, error);
        print_all(p, script);
    }
    return error->text[0] ? -1 : 0;
}
