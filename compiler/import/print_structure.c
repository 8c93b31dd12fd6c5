/*
 * print_structure.c - prints the statements of a script as a person would write them; see
 * print_structure.h.
 */
#include "print_structure.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "repeated_blocks.h"

enum { SHORT = 60, INDENT = 4 };

/* The state of printing. */
struct writing {
    struct cr_printer *printer;
    struct cr_onnx_blocks blocks;
    cr_t *inlined;          /* by value: the term to print where the value is read, or null if the
                               value has a name */
    const char **preferred; /* by value: the name to use instead of the name in ONNX, or null */
};

/* ---- inlining ---- */

/* Returns the path of a layer relative to the scope of the function that is being printed. */
static const char *own_path(const struct writing *w, cr_t x)
{
    size_t n = w->printer->scope ? strlen(w->printer->scope) : 0;
    return n && strncmp(x->path, w->printer->scope, n) == 0 ? x->path + n : x->path;
}

/* Estimates the length of a term's text. */
static int length_of(const struct writing *w, cr_t x)
{
    if (x->kind == CR_TERM_VALUE)
        return 6;
    if (x->kind == CR_TERM_DATA)
        return cr_t_elements(x) == 1 ? 4 : 30;
    int n = (int)strlen(x->name) + 2 +
            (x->kind == CR_TERM_SCOPE ? (int)strlen(own_path(w, x)) + 11 : 0);
    for (int i = 0; i < x->n_arguments; i++)
        n += 2 + (x->arguments[i].term ? length_of(w, x->arguments[i].term)
                                       : (int)strlen(x->arguments[i].text));
    return n;
}

static bool has_scope(cr_t x)
{
    bool has = x->kind == CR_TERM_SCOPE;
    for (int i = 0; !has && i < x->n_arguments; i++)
        has = x->arguments[i].term && has_scope(x->arguments[i].term);
    return has;
}

static bool is_attention(cr_t x)
{
    return x->kind == CR_TERM_CALL &&
           (strcmp(x->name, "attention.attend") == 0 || strcmp(x->name, "attention.grouped") == 0);
}

/* Returns a term in which inlined values are replaced by their terms. */
static cr_t substituted(struct writing *w, cr_t x)
{
    if (x->kind == CR_TERM_VALUE)
        return w->inlined[x->value] ? w->inlined[x->value] : x;
    struct cr_onnx_argument *arguments = NULL;
    for (int i = 0; i < x->n_arguments; i++) {
        cr_t old = x->arguments[i].term, now = old ? substituted(w, old) : NULL;
        if (now == old)
            continue;
        if (!arguments) {
            arguments = cr_arena_new(w->printer->arena, (size_t)x->n_arguments, sizeof *arguments);
            memcpy(arguments, x->arguments, (size_t)x->n_arguments * sizeof *arguments);
        }
        arguments[i].term = now;
    }
    if (!arguments)
        return x;
    struct cr_onnx_term *copy = cr_arena_new(w->printer->arena, 1, sizeof *copy);
    *copy = *x;
    copy->arguments = arguments;
    return copy;
}

static int uses_of(cr_t x, int value)
{
    int n = x->kind == CR_TERM_VALUE && x->value == value;
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            n += uses_of(x->arguments[i].term, value);
    return n;
}

/* Returns the term of the first of n lines that reads a value, or null. */
static cr_t reader(const struct cr_onnx_line *lines, int n, int value)
{
    for (int i = 0; i < n; i++)
        if (uses_of(lines[i].statement.term, value))
            return lines[i].statement.term;
    return NULL;
}

/*
 * True if a term is inlined into the only term that reads its value, which is among the n lines
 * `rest`: both are short, the reader is not an attention, and no layer gets into the arguments of
 * another layer.
 */
static bool is_inlined(struct writing *w, cr_t x, int value, const struct cr_onnx_line *rest, int n)
{
    if (w->blocks.uses[value] != 1 || length_of(w, x) > SHORT)
        return false;
    cr_t user = reader(rest, n, value);
    return user && !is_attention(user) && !(has_scope(x) && user->kind == CR_TERM_SCOPE) &&
           length_of(w, x) + length_of(w, user) <= 90;
}

/* Gives the operands of an attention that only it reads the names q, k and v. */
static void prefer_names(struct writing *w, cr_t x)
{
    static const char *const names[] = {"q", "k", "v"};
    for (int i = 0; is_attention(x) && i < 3; i++) {
        cr_t part = x->arguments[i].term;
        if (part && part->kind == CR_TERM_VALUE && w->blocks.uses[part->value] == 1)
            w->preferred[part->value] = names[i];
    }
}

/* ---- lines ---- */

/* Prints the line that defines a value; before it, lines for parts of the term that need a name. */
static void print_line(struct writing *w, int value, cr_t x, int indent)
{
    struct cr_printer *p = w->printer;
    struct cr_text text = {0};
    const char *own = w->preferred[value] ? w->preferred[value] : p->graph->values[value].name;
    const char *name = cr_local_name(p, own);
    cr_print_parts(p, x, name, indent);
    cr_print_term(p, &text, x, CR_BINDS_NOT);
    cr_print_definition(p, indent, name, text.data);
    p->value_names[value] =
        p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", name) : name;
    free(text.data);
}

/* Prints the lines of the script or of a function, except inlined ones.  If the last line defines
 * the value `result`, does not print it but returns its term; else returns null. */
static cr_t print_lines(struct writing *w, const struct cr_onnx_line *lines, int n, int indent,
                        int result)
{
    for (int i = 0; i < n; i++)
        prefer_names(w, lines[i].statement.term);
    for (int i = 0; i < n; i++) {
        int value = lines[i].statement.value;
        cr_t x = substituted(w, lines[i].statement.term);
        if (value == result && i == n - 1)
            return x;
        if (is_inlined(w, x, value, lines + i + 1, n - i - 1))
            w->inlined[value] = x;
        else
            print_line(w, value, x, indent);
    }
    return NULL;
}

/* ---- loops ---- */

/* Returns the name of the function that a run of blocks becomes: "h" for "transformer.h.", "block"
 * for "". */
static const char *function_name(struct cr_printer *p, const char *prefix)
{
    size_t n = strlen(prefix);
    if (!n)
        return cr_local_name(p, "block");
    const char *from = prefix + n - 1;
    while (from > prefix && from[-1] != '.')
        from--;
    const char *last = cr_arena_text(p->arena, from, (size_t)(prefix + n - 1 - from));
    return cr_local_name(p, strcmp(last, "layers") == 0   ? "layer"
                            : strcmp(last, "blocks") == 0 ? "block"
                                                          : last);
}

/* Adds the weights that a term reads to the script's weights.  If `path` is not null, names in the
 * text are relative to it. */
static void take_weights(struct writing *w, cr_t x, const char *path)
{
    struct cr_printer *p = w->printer;
    if (x->kind == CR_TERM_SCOPE) {
        cr_value_text(p, x->weight);
        if (x->bias != CR_ONNX_NONE)
            cr_value_text(p, x->bias);
    }
    if (x->kind == CR_TERM_VALUE && p->graph->values[x->value].tensor &&
        !p->value_names[x->value]) {
        const char *text = cr_value_text(p, x->value);
        const char *at = strstr(text, "\"");
        size_t n = path ? strlen(path) : 0;
        if (path && at && strncmp(at + 1, path, n) == 0)
            p->value_names[x->value] =
                cr_arena_print(p->arena, "%s%s",
                               cr_arena_text(p->arena, text, (size_t)(at + 1 - text)), at + 1 + n);
    }
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            take_weights(w, x->arguments[i].term, path);
}

static void take_outer_name(struct cr_printer *p, const char *name)
{
    if (name && !strpbrk(name, "(."))
        cr_take_name(p->arena, &p->locals, name);
}

/* Reserves the Lua names of values from outside that a function reads, so that its locals do not
 * hide them. */
static void keep_outer_names(struct writing *w, const struct cr_onnx_run *r, cr_t x)
{
    struct cr_printer *p = w->printer;
    if (x->kind == CR_TERM_VALUE) {
        for (int i = 0; i < r->n_carried; i++)
            if (r->in[i] == x->value)
                return;
        take_outer_name(p, p->value_names[x->value]);
    }
    take_outer_name(p, cr_shared_data_name(p, x));
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            keep_outer_names(w, r, x->arguments[i].term);
}

static const char *parameter_list(struct cr_printer *p, const struct cr_onnx_run *r,
                                  const int *values)
{
    const char *list = "";
    for (int i = 0; i < r->n_carried; i++)
        list = cr_arena_print(p->arena, "%s%s%s", list, i ? ", " : "", p->value_names[values[i]]);
    return list;
}

/* Prints the function's return statement: of the term `rest` if it is not null, else of the carried
 * values. */
static void print_return(struct writing *w, const struct cr_onnx_run *r, cr_t rest)
{
    struct cr_printer *p = w->printer;
    struct cr_text text = {0};
    if (rest) {
        const char *name = cr_local_name(p, "y");
        cr_print_parts(p, rest, name, INDENT);
        cr_print_term(p, &text, rest, CR_BINDS_NOT);
        bool is_call = rest->kind == CR_TERM_CALL || rest->kind == CR_TERM_SCOPE;
        cr_put_line(&p->text, INDENT, is_call ? "return (%s)" : "return %s", text.data);
    } else
        cr_put_line(&p->text, INDENT, "return %s", parameter_list(p, r, r->out));
    free(text.data);
}

/* Prints definitions of weights and known elements that all blocks share, before the function. */
static void print_shared(struct writing *w, const struct cr_onnx_run *r, cr_t x)
{
    struct cr_printer *p = w->printer;
    const struct cr_onnx_line *second = &w->blocks.lines[r->first + r->size];
    cr_print_shared_data(p, x);
    if (x->kind == CR_TERM_VALUE && p->graph->values[x->value].tensor &&
        !p->value_names[x->value] && reader(second, r->size, x->value)) {
        const char *text = cr_value_text(p, x->value),
                   *name = cr_local_name(p, p->graph->values[x->value].name);
        cr_print_definition(p, 0, name, text);
        p->value_names[x->value] =
            p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", name) : name;
    }
    for (int i = 0; i < x->n_arguments; i++)
        if (x->arguments[i].term)
            print_shared(w, r, x->arguments[i].term);
}

/* Prints the first block of a run as a function of the carried values. */
static void print_function(struct writing *w, const struct cr_onnx_run *r, const char *name)
{
    struct cr_printer *p = w->printer;
    struct cr_onnx_line *lines = &w->blocks.lines[r->first];
    const char *outer[CR_ONNX_CARRIED], *scope = p->scope;
    struct cr_names locals = p->locals;
    int n_locals = p->n_locals;
    bool in_table = p->in_table;
    p->locals = (struct cr_names){0};
    p->in_table = false;
    p->scope = cr_arena_print(p->arena, "%s%d.", r->prefix, r->index);
    cr_local_name(p, name);
    for (int i = 0; i < p->n_lengths; i++)
        cr_take_name(p->arena, &p->locals, p->value_names[p->length_values[i]]);
    for (int i = 0; i < r->size; i++) {
        take_weights(w, lines[i].statement.term, p->scope);
        keep_outer_names(w, r, lines[i].statement.term);
    }
    for (int i = 0; i < r->n_carried; i++) {
        outer[i] = p->value_names[r->in[i]];
        p->value_names[r->in[i]] =
            cr_local_name(p, r->n_carried == 1 ? "x" : p->graph->values[r->in[i]].name);
    }
    cr_put(&p->text, "\n");
    cr_put_line(&p->text, 0, "local function %s(%s)", name, parameter_list(p, r, r->in));
    cr_t rest =
        print_lines(w, lines, r->size, INDENT,
                    r->n_carried == 1 && w->blocks.uses[r->out[0]] > 0 ? r->out[0] : CR_ONNX_NONE);
    print_return(w, r, rest);
    cr_put_line(&p->text, 0, "end");
    for (int i = 0; i < r->n_carried; i++)
        p->value_names[r->in[i]] = outer[i];
    cr_names_free(&p->locals);
    p->locals = locals;
    p->n_locals = n_locals;
    p->in_table = in_table;
    p->scope = scope;
}

/* Returns the Lua variable that carries a value through the loop.  That is the variable of the
 * initial value if only the first block reads that value, else a new one. */
static const char *loop_variable(struct writing *w, const struct cr_onnx_run *r, int value)
{
    struct cr_printer *p = w->printer;
    int before = w->blocks.uses[value];
    for (int i = 0; i < r->size; i++)
        before -= uses_of(w->blocks.lines[r->first + i].statement.term, value);
    if (!before && p->value_names[value] && p->graph->values[value].producer != CR_ONNX_NONE)
        return p->value_names[value];
    const char *local =
        cr_local_name(p, r->n_carried == 1 ? "hidden" : p->graph->values[value].name);
    cr_print_definition(p, 0, local, cr_value_text(p, value));
    return p->in_table ? cr_arena_print(p->arena, CR_PRINT_TABLE ".%s", local) : local;
}

/* Prints the function of a run of blocks, and the loop that calls it. */
static void print_run(struct writing *w, const struct cr_onnx_run *r)
{
    struct cr_printer *p = w->printer;
    const char *name = function_name(p, r->prefix), *list = "";
    for (int i = r->first; i < r->first + r->size; i++)
        print_shared(w, r, w->blocks.lines[i].statement.term);
    print_function(w, r, name);
    for (int i = r->first; i < r->first + r->n * r->size; i++)
        take_weights(w, w->blocks.lines[i].statement.term, NULL);
    cr_put(&p->text, "\n");
    for (int i = 0; i < r->n_carried; i++) {
        const char *full = loop_variable(w, r, r->in[i]);
        list = cr_arena_print(p->arena, "%s%s%s", list, i ? ", " : "", full);
        p->value_names[r->last[i]] = full;
    }
    const char *path =
        *r->prefix ? cr_arena_print(p->arena, "\"%s\" .. i", r->prefix) : "tostring(i)";
    cr_put_line(&p->text, 0, "for i = %d, %d do", r->index, r->index + r->n - 1);
    cr_put_line(&p->text, INDENT, "%s = scope(%s, %s, %s)", list, path, name, list);
    cr_put_line(&p->text, 0, "end");
    cr_put(&p->text, "\n");
}

void cr_structure_print(struct cr_printer *p, const struct cr_onnx_script *script)
{
    struct writing w = {.printer = p};
    cr_onnx_find_blocks(&w.blocks, script);
    w.inlined = cr_arena_new(p->arena, (size_t)p->graph->n_values, sizeof *w.inlined);
    w.preferred = cr_arena_new(p->arena, (size_t)p->graph->n_values, sizeof *w.preferred);
    for (int i = 0; i < w.blocks.n_runs; i++)
        if (w.blocks.runs[i].n_carried == 1)
            w.preferred[w.blocks.runs[i].in[0]] = "hidden";
    for (int i = 0; i < w.blocks.n_lines;) {
        struct cr_onnx_line *line = &w.blocks.lines[i];
        int n = 0;
        if (line->run != CR_ONNX_NONE) {
            const struct cr_onnx_run *r = &w.blocks.runs[line->run];
            print_run(&w, r);
            i += r->n * r->size;
            continue;
        }
        while (i + n < w.blocks.n_lines && line[n].run == CR_ONNX_NONE)
            n++;
        print_lines(&w, line, n, 0, CR_ONNX_NONE);
        i += n;
    }
}
