/*
 * standalone.c - prints a model with the runtime's source: one .c and one .h file, which need
 * only a C compiler and libm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/files/writer.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/identifiers.h"
#include "compiler/ir/unwind.h"
#include "generate.h"
#include "literals.h"
#include "required_runtime.h"
#include "runtime_text.h"
#include "standalone_fillers.h"
#include "standalone_ranks.h"
#include "standalone_step.h"
#include "standalone_text.h"
#include "strip_unused.h"

/* ---- the header ---- */

/* True if a port belongs to an entry. */
static bool is_of(const struct cr_program *p, const struct cr_entry *entry,
                  const struct cr_port *port)
{
    return port->entries >> (entry - p->entries) & 1;
}

/* True if main reads or writes a file for a port of an entry; states have no files. */
static bool is_file(const struct cr_program *p, const struct cr_entry *entry,
                    const struct cr_port *port)
{
    return is_of(p, entry, port) && !port->state;
}

static bool has_states(const struct cr_program *p)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].state)
            return true;
    return false;
}

/* Prints the name of an input or a state as an argument of NAME_run. */
static void put_input(struct cr_text *t, const struct cr_port *port)
{
    cr_put(t, port->state ? "state_" : "in_");
    cr_put_port(t, port);
}

/* Prints the declaration int NAME_run(weights, inputs, outputs, arena) of an entry, or
 * NAME_run_with(pool, ...), without ";" or a body. */
static void print_prototype(struct cr_text *t, const struct cr_program *p,
                            const struct cr_entry *entry, bool with_pool)
{
    char run[128];
    cr_entry_function(run, sizeof run, p, entry, "run");
    if (with_pool)
        cr_put(t, "int %s_with(struct %s_pool *pool, const void *weights", run, p->name);
    else
        cr_put(t, "int %s(const void *weights", run);
    for (int i = 0; i < p->n_inputs; i++) {
        const struct cr_port *port = &p->inputs[i];
        if (!is_of(p, entry, port))
            continue;
        cr_put(t, ", %s%s *", port->state ? "" : "const ", cr_c_type(port->dtype));
        put_input(t, port);
    }
    for (int i = 0; i < p->n_outputs; i++) {
        if (!is_of(p, entry, &p->outputs[i]))
            continue;
        cr_put(t, ", %s *out_", cr_c_type(p->outputs[i].dtype));
        cr_put_port(t, &p->outputs[i]);
    }
    cr_put(t, ", void *arena)");
}

/* Prints a comment line for each of the `n` ports that belongs to an entry. */
static void print_port_lines(struct cr_text *t, const struct cr_program *p,
                             const struct cr_entry *entry, const char *what,
                             const struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++) {
        if (!is_of(p, entry, &ports[i]))
            continue;
        cr_put(t, " *   %s %s ", ports[i].state ? "state " : what, cr_dtype_name(ports[i].dtype));
        cr_put_port(t, &ports[i]);
        cr_put_port_shape(t, &ports[i]);
        cr_put_origin(t, &ports[i]);
        cr_put(t, "\n");
    }
}

/* Prints the comment lines of the ports of each entry, after the entry's name if it has one. */
static void print_entry_lines(struct cr_text *t, const struct cr_program *p)
{
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries; e++) {
        if (*e->name)
            cr_put(t, "%s * %s_%s_run:\n", e > p->entries ? " *\n" : "", p->name, e->name);
        print_port_lines(t, p, e, "input ", p->inputs, p->n_inputs);
        print_port_lines(t, p, e, "output", p->outputs, p->n_outputs);
    }
}

/* Prints the model's name in capitals; for an entry with a name also '_' and that name. */
static void put_upper(struct cr_text *t, const struct cr_standalone *w,
                      const struct cr_entry *entry)
{
    cr_put(t, *entry->name ? "%s_" : "%s", w->upper);
    for (const char *c = entry->name; *c; c++)
        cr_put(t, "%c", cr_upper(*c));
}

/* Prints the macros of the header: sizes in bytes, numbers of elements. */
static void print_sizes(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put_ranks_macro(t, w);
    cr_put_threads(t, w);
    cr_put(t, "#define %s_PARAM_BYTES %lldL /* bytes of the weights as %s_load packs them */\n",
           w->upper, (long long)p->weights_bytes, p->name);
    cr_put(t, "#define %s_ARENA_BYTES (%lldL + %s_THREADS * %lldL)%s\n", w->upper,
           (long long)p->arena_bytes, w->upper, (long long)p->scratch_bytes,
           *p->entries->name ? " /* for whichever entry runs */" : "");
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries && *e->name; e++) {
        cr_put(t, "#define ");
        put_upper(t, w, e);
        cr_put(t, "_ARENA_BYTES (%lldL + %s_THREADS * %lldL)\n", (long long)e->arena_bytes,
               w->upper, (long long)e->scratch_bytes);
    }
    cr_put(t, "#define %s_PARAMS %d\n", w->upper, p->n_params);
    for (int side = 0; side < 2; side++) {
        const struct cr_port *ports = side ? p->outputs : p->inputs;
        for (int i = 0; i < (side ? p->n_outputs : p->n_inputs); i++) {
            cr_put(t, "#define %s_%s_", w->upper,
                   side             ? "OUT"
                   : ports[i].state ? "STATE"
                                    : "IN");
            cr_put_port_upper(t, &ports[i]);
            cr_put(t, "_ELEMENTS %lldL\n", (long long)cr_elements(ports[i].rank, ports[i].shape));
        }
    }
}

/* Prints the declarations of NAME_run, or of NAME_run_with, of all entries. */
static void print_runs(struct cr_text *t, const struct cr_program *p, bool with_pool)
{
    if (with_pool)
        cr_put(t, "/* Computes the outputs with the threads of a pool; with a null pool, on this thread. */\n");
    else
        cr_put(t,
               "/* Computes the outputs%s.  Returns 0, or 1 if a pointer is null or not "
               "aligned. */\n",
               *p->entries->name ? " of an entry" : "");
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries; e++) {
        print_prototype(t, p, e, with_pool);
        cr_put(t, ";\n");
    }
    cr_put(t, with_pool ? "" : "\n");
}

/* Prints the header: a summary of the model, its macros, and the functions NAME_load and
 * NAME_run. */
static void print_header(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put(t, "/*\n * %s - a model compiled to C by Crescent.\n *\n", p->name);
    print_entry_lines(t, p);
    cr_put(t,
           " *\n * Tensors are row-major.  The caller owns all memory: weights (filled once, by\n"
           " * %s_load), inputs, outputs and an arena for intermediate values.  Weights and\n"
           " * arena are aligned to 64 bytes.  Nothing is allocated and no global changes, so\n"
           " * calls with different arenas may run at the same time.\n",
           p->name);
    if (has_states(p))
        cr_put(t, " *\n * A call reads the states and leaves there what the next call is to read.  They are\n"
                  " * the caller's too, zeroed before the first call; calls that run at the same time\n"
                  " * have states of their own.\n");
    cr_put(t, " */\n");
    cr_put(t, "#ifndef %s_H\n#define %s_H\n\n", w->upper, w->upper);
    print_sizes(t, w);
    cr_put(t, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    cr_put(
        t,
        "/* A parameter: its name and shape in a state dict%s */\n"
        "struct %s_param {\n    const char *name;\n    int rank;\n    long shape[%d];\n"
        "    long elements;\n%s};\n\nextern const struct %s_param %s_params[];\n\n",
        p->ranks ? "." : ", and where in the weights it\n * begins, in bytes; -1 if the model does not need it.",
        p->name, CR_MAX_RANK, p->ranks ? "" : "    long offset;\n", p->name, p->name);
    cr_put(t,
           "/* Puts parameter `index` of %s_params, a row-major tensor, into the weights, packed\n"
           " * as the kernels read it.  Returns 0, or 1 if there is no such parameter. */\n"
           "int %s_load(void *weights, int index, const float *tensor);\n\n",
           p->name, p->name);
    print_runs(t, p, false);
    cr_put_pool_header(t, w);
    print_runs(t, p, true);
    if (w->generation)
        cr_put_generation_header(t, w);
    cr_put(t, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- the source ---- */

/* Prints the table NAME_params.  For a model without parameters it has one row, since C has no
 * empty arrays. */
static void print_params(struct cr_text *t, const struct cr_program *p)
{
    cr_put(t, "\nconst struct %s_param %s_params[] = {\n", p->name,
           p->name);
    cr_put(t, "    /* name, rank, shape, elements%s */\n", p->ranks ? "" : ", offset in bytes");
    for (int i = 0; i < p->n_params; i++) {
        const struct cr_port *port = &p->params[i];
        cr_put(t, "    {");
        cr_put_string(t, port->name);
        cr_put(t, ", %d, {", port->rank);
        for (int r = 0; r < port->rank; r++)
            cr_put(t, "%s%lldL", r ? ", " : "", (long long)port->shape[r]);
        cr_put(t, "%s}, %lldL", port->rank ? "" : "0", (long long)cr_elements(port->rank, port->shape));
        if (!p->ranks)
            cr_put(t, ", %lldL", (long long)port->offset);
        cr_put(t, "},\n");
    }
    if (!p->n_params)
        cr_put(t, "    {\"\", 0, {0}, 0, -1},\n");
    cr_put(t, "};\n");
}

/* Prints the rows of the layouts `begin` to `end` - 1 that belong to parameters in a format, and
 * a row that ends the list. */
static void print_rows(struct cr_text *t, const struct cr_program *p, enum cr_format format, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        const struct cr_weight_layout *at = &p->layouts[i];
        if (p->params[at->param].format == format)
            cr_put(t, "    {%d, %ldL, %ldL, %ldL, %ldL, %ldL, %ldL, %ldL, %ldL, %d},\n", at->param,
                   at->source, at->rows, at->cols, at->row_stride, at->col_stride, at->target,
                   at->panel_stride, at->first_col, at->last);
    }
    cr_put(t, "    {-1, 0, 0, 0, 0, 0, 0, 0, 0, 0},\n");
}

/* Prints the table begin_of_NAME: for each rank the index of its first layout in the table of a
 * format. */
static void print_begins(struct cr_text *t, const struct cr_program *p, enum cr_format format)
{
    struct cr_text line = {0};
    int begin = 0;
    cr_put(t, "};\n\n/* Index of the first layout of each rank. */\n");
    cr_put(&line, "static const int begin_of_");
    cr_put_layouts_name(&line, format);
    cr_put(&line, "[] = {");
    for (int r = 0; r < p->ranks; r++) {
        cr_put(&line, "%s%d", r ? ", " : "", begin++);
        for (int i = p->first_layout[r]; i < p->first_layout[r + 1]; i++)
            begin += p->params[p->layouts[i].param].format == format;
    }
    cr_put_line(t, 0, "%s};", line.data);
    free(line.data);
}

/* Prints the table of the layouts of parameters in a format; in a program for several ranks, one
 * rank after another. */
static void print_table(struct cr_text *t, const struct cr_program *p, enum cr_format format)
{
    cr_put(t, "\n/* Where elements of parameters are packed; see struct cr_weight_layout. */\n"
              "static const struct cr_weight_layout ");
    cr_put_layouts_name(t, format);
    cr_put(t, "[] = {\n    /* param, source, rows, cols, row_stride, col_stride, target, panel_stride,\n"
              "     * first_col, last */\n");
    if (!p->ranks)
        print_rows(t, p, format, 0, p->n_layouts);
    for (int r = 0; r < p->ranks; r++)
        print_rows(t, p, format, p->first_layout[r], p->first_layout[r + 1]);
    if (p->ranks)
        print_begins(t, p, format);
    else
        cr_put(t, "};\n");
}

static void print_layouts(struct cr_text *t, const struct cr_program *p)
{
    for (int format = 0; format < CR_FORMAT_COUNT; format++)
        if (cr_has_layouts(p, (enum cr_format)format))
            print_table(t, p, (enum cr_format)format);
}

/* Prints " + begin_of_NAME[rank]"; prints nothing for a model of one process. */
static void print_begin(struct cr_text *t, const struct cr_program *p, enum cr_format format)
{
    if (!p->ranks)
        return;
    cr_put(t, " + begin_of_");
    cr_put_layouts_name(t, format);
    cr_put(t, "[rank]");
}

/* Prints NAME_load: for each format, a loop over its layouts with the format's packing statement
 * from formats.def. */
static void print_load(struct cr_text *t, const struct cr_standalone *w)
{
    cr_put(t,
           "\nint %s_load(void *weights, int index, const float *tensor)\n{\n"
           "    const struct cr_runtime *rt = cr_runtime_select(0);\n"
           "    const struct cr_weight_layout *p;\n",
           w->p->name);
    if (w->p->ranks)
        cr_put(t, "    const int rank = %s_rank();\n", w->p->name);
    cr_put(t, "    if (!weights || !tensor || index < 0 || index >= %s_PARAMS%s)\n        return 1;\n", w->upper,
           w->p->ranks ? " || rank < 0" : "");
    for (int format = 0; format < CR_FORMAT_COUNT; format++) {
        if (!cr_has_layouts(w->p, (enum cr_format)format))
            continue;
        cr_put(t, "    for (p = ");
        cr_put_layouts_name(t, (enum cr_format)format);
        print_begin(t, w->p, (enum cr_format)format);
        cr_put(t, "; p->param >= 0; p++)\n        if (p->param == index)\n");
        cr_put_line(t, 12, "%s;", cr_formats[format].pack);
    }
    cr_put(t, "    return 0;\n}\n");
}

/* Prints an array of pointers to all ports, "NAME[] = {in_x, in_y};": an entry's arguments, and
 * null for ports that the entry does not use. */
static void print_pointers(struct cr_text *t, const struct cr_program *p,
                           const struct cr_entry *entry, const char *name, const char *prefix,
                           const struct cr_port *ports, int n)
{
    struct cr_text line = {0};
    cr_put(&line, "%s[] = {%s", name, n ? "" : "0");
    for (int i = 0; i < n; i++) {
        const bool is_argument = is_of(p, entry, &ports[i]);
        cr_put(&line, "%s%s", i ? ", " : "", !is_argument ? "0" : ports[i].state ? "state_" : prefix);
        if (is_argument)
            cr_put_port(&line, &ports[i]);
    }
    cr_put_line(t, 4, "%s};", line.data);
    free(line.data);
}

/* Appends to `condition` that one of the entry's ports is null; for many ports in a row prints a loop instead. */
static void check_ports(struct cr_text *t, struct cr_text *condition, const struct cr_program *p,
                        const struct cr_entry *entry, const char *name, const struct cr_port *ports, int n)
{
    enum { MANY = 3 };
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && is_of(p, entry, &ports[end]);)
            end++;
        if (end - i >= MANY)
            cr_put(t, "    for (int i = %d; i < %d; i++)\n        if (!%s[i])\n            return 1;\n", i, end, name);
        for (int k = i; end - i < MANY && k < end; k++)
            cr_put(condition, "%s!%s[%d]", condition->length ? " || " : "", name, k);
        end += end == i; /* a port of another entry */
    }
}

/* Prints the code that fails if a port of the entry is null. */
static void print_null_checks(struct cr_text *t, const struct cr_program *p, const struct cr_entry *entry)
{
    struct cr_text condition = {0};
    check_ports(t, &condition, p, entry, "inputs", p->inputs, p->n_inputs);
    check_ports(t, &condition, p, entry, "outputs", p->outputs, p->n_outputs);
    if (condition.length) {
        cr_put_line(t, 4, "if (%s)", condition.data);
        cr_put(t, "        return 1;\n");
    }
    free(condition.data);
}

/* Prints NAME_checked, which fails if a pointer is null or not aligned, and else calls the
 * entry's function. */
static void print_checked(struct cr_text *t, const struct cr_standalone *w,
                          const struct cr_entry *entry)
{
    const struct cr_program *p = w->p;
    char execute[128], checked[128], ranks[300] = "";
    cr_entry_function(execute, sizeof execute, p, entry, "execute");
    cr_entry_function(checked, sizeof checked, p, entry, "checked");
    if (p->ranks)
        snprintf(ranks, sizeof ranks, "    struct cr_ranks ranks = {%s_rank(), %s_gather_blocks};\n", p->name, p->name);
    cr_put(t,
           "\nstatic int %s(struct cr_pool *pool, const void *weights, const void *const *inputs,\n"
           "    void *const *outputs, void *arena)\n{\n"
           "%s    if (((size_t)weights | (size_t)arena) %% 64 || !arena%s%s)\n        return 1;\n",
           checked, ranks, p->weights_bytes ? " || !weights" : "",
           p->ranks ? " || ranks.rank < 0" : "");
    print_null_checks(t, p, entry);
    cr_put(t,
           "    return %s(cr_runtime_select(0), pool, (const float *)weights, inputs, outputs,\n"
           "        (float *)arena%s);\n}\n",
           execute, p->ranks ? ", &ranks" : "");
}

/* Prints NAME_run or NAME_run_with: both call NAME_checked with arrays of the ports.  NAME_run
 * does not call NAME_run_with, because TinyCC cannot call a function with a thousand arguments. */
static void print_run(struct cr_text *t, const struct cr_standalone *w,
                      const struct cr_entry *entry, bool with_pool)
{
    const struct cr_program *p = w->p;
    char checked[128];
    cr_entry_function(checked, sizeof checked, p, entry, "checked");
    cr_put(t, "\n");
    print_prototype(t, p, entry, with_pool);
    cr_put(t, "\n{\n");
    print_pointers(t, p, entry, "const void *const inputs", "in_", p->inputs, p->n_inputs);
    print_pointers(t, p, entry, "void *const outputs", "out_", p->outputs, p->n_outputs);
    if (with_pool)
        cr_put(t, "    return %s((void *)pool, weights, inputs, outputs, arena);\n", checked);
    else
        cr_put_own_pool(t, w, checked, "weights, inputs, outputs, arena");
    cr_put(t, "}\n");
}

/* Prints a table of inputs or outputs for standalone_main.inc.  Names of outputs are printed
 * without the prefix of their entry. */
static void print_main_table(struct cr_text *t, const struct cr_program *p,
                            const struct cr_entry *entry, const char *name,
                            const struct cr_port *ports, int n)
{
    int count = 0;
    cr_put(t, "static const struct cr_tensor cr_main_%s[] = {\n", name);
    for (int i = 0; i < n; i++) {
        if (!is_file(p, entry, &ports[i]))
            continue;
        bool behind = ports == p->outputs && *entry->name;
        cr_put(t, "    {");
        cr_put_string(t, ports[i].name + (behind ? strlen(entry->name) + 1 : 0));
        cr_put(t, ", %d, (const long[]){", ports[i].rank);
        for (int r = 0; r < ports[i].rank; r++)
            cr_put(t, "%lldL, ", (long long)ports[i].shape[r]);
        cr_put(t, "0}, %lldL, %d},\n", (long long)cr_elements(ports[i].rank, ports[i].shape),
               ports[i].dtype == CR_I32);
        count++;
    }
    if (!count)
        cr_put(t, "    {\"\", 0, 0, 0, 0},\n");
    cr_put(t, "};\n");
}

static int count_ports(const struct cr_program *p, const struct cr_entry *entry,
                       const struct cr_port *ports, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += is_file(p, entry, &ports[i]);
    return count;
}

/* Prints cr_main_run, which calls an entry's function.  States are zeros, since main makes only
 * one run. */
static void print_main_run(struct cr_text *t, const struct cr_program *p,
                           const struct cr_entry *entry)
{
    char run[128];
    int file = 0, n = 0;
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].state && is_of(p, entry, &p->inputs[i]))
            cr_put(t, "static %s cr_main_state_%d[%lld];\n\n", cr_c_type(p->inputs[i].dtype), i,
                   (long long)cr_elements(p->inputs[i].rank, p->inputs[i].shape));
    cr_entry_function(run, sizeof run, p, entry, "run");
    cr_put(t,
           "static int cr_main_run(const void *weights, const void *const *inputs,\n"
           "                       void *const *outputs, void *arena)\n{\n%s    return %s(weights",
           count_ports(p, entry, p->inputs, p->n_inputs) ? "" : "    (void)inputs;\n", run);
    for (int i = 0; i < p->n_inputs; i++) {
        if (!is_of(p, entry, &p->inputs[i]))
            continue;
        if (p->inputs[i].state)
            cr_put(t, ", cr_main_state_%d", i);
        else
            cr_put(t, ", (const %s *)inputs[%d]", cr_c_type(p->inputs[i].dtype), file++);
    }
    for (int i = 0; i < p->n_outputs; i++)
        if (is_of(p, entry, &p->outputs[i]))
            cr_put(t, ", (%s *)outputs[%d]", cr_c_type(p->outputs[i].dtype), n++);
    cr_put(t, ", arena);\n}\n\n");
}

/* Prints the macros, tables and functions that standalone_main.inc needs for an entry. */
static void print_main_entry(struct cr_text *t, const struct cr_standalone *w,
                             const struct cr_entry *entry)
{
    const struct cr_program *p = w->p;
    cr_put(t,
           "#define CR_MAIN_NAME \"%s\"\n#define CR_MAIN_PARAMS %d\n#define CR_MAIN_INPUTS %d\n"
           "#define CR_MAIN_OUTPUTS %d\n#define CR_MAIN_WEIGHTS_BYTES %s_PARAM_BYTES\n"
           "#define CR_MAIN_ARENA_BYTES %s_ARENA_BYTES\n#define cr_main_params %s_params\n"
           "#define cr_main_load %s_load\n\n",
           p->name, p->n_params, count_ports(p, entry, p->inputs, p->n_inputs),
           count_ports(p, entry, p->outputs, p->n_outputs), w->upper, w->upper, p->name, p->name);
    if (p->ranks)
        cr_put(t, "#define CR_MAIN_RANKS %s_RANKS\n\n", w->upper);
    print_main_table(t, p, entry, "inputs", p->inputs, p->n_inputs);
    print_main_table(t, p, entry, "outputs", p->outputs, p->n_outputs);
    cr_put(t, "\n");
    print_main_run(t, p, entry);
}

/* True if an entry reads or writes a file of integers. */
static bool has_integers(const struct cr_program *p)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].dtype == CR_I32 && !p->inputs[i].state)
            return true;
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].dtype == CR_I32)
            return true;
    return false;
}

/* True if a main needs the functions marked "only for NAME": `integers` to read files of
 * integers, `ranks` to work with other processes, `one` to work without them. */
static bool is_needed_by_main(void *context, const char *name)
{
    const struct cr_program *p = context;
    if (strcmp(name, "integers") == 0)
        return has_integers(p);
    return strcmp(name, "ranks") == 0 ? p->ranks > 0 : strcmp(name, "one") == 0 && p->ranks == 0;
}

/* Prints the main and the readers of files.  -DNAME_ENTRY_MAIN selects the entry that the main
 * runs. */
static void print_main(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    uint64_t done = 0;
    cr_put(t, "\n#ifdef %s_MAIN\n\n", w->upper);
    cr_put(t, "struct cr_tensor {\n    const char *name;\n    int rank;\n    const long *shape;\n"
              "    long elements;\n    int is_i32;\n};\n\n");
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries; e++) {
        if (*e->name) {
            cr_put(t, e == p->entries ? "#if defined(" : "#elif defined(");
            put_upper(t, w, e);
            cr_put(t, "_MAIN)\n\n");
        }
        print_main_entry(t, w, e);
    }
    if (*p->entries->name)
        cr_put(t, "#else\n#error \"main of which entry? see the top of this file\"\n#endif\n\n");
    if (p->ranks)
        cr_put_fillers(t, w);
    static const char *const readers[] = {
        "compiler/files/mapping.c",          "compiler/files/json.c",
        "compiler/files/numbers.c",          "compiler/files/npy_read.c",
        "compiler/files/safetensors_read.c", "compiler/emit/standalone_main.inc"};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        cr_add_runtime(t, readers[i], &done, is_needed_by_main, (void *)p);
    cr_put(t, "\n#endif\n");
}

/* Prints a comment that describes the contents of the file. */
static void print_contents(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    char header[256], compiler[300] = "cc -O2";
    cr_plain_text(header, sizeof header, w->header);
    if (w->p->ranks)
        snprintf(compiler, sizeof compiler, "mpicc -O2 -D%s_MPI", w->upper);
    if (w->next_state) {
        cr_put(
            t,
            "/*\n * %s - a step of a training, compiled to C by Crescent.\n *\n"
            " * In this order: what the kernels call (declarations), the kernels k1_ ... and the\n"
            " * function that runs them, the state, the function of %s, the runtime, whose\n"
            " * template is at the end of the file.\n"
            " */\n",
            name, header);
        return;
    }
    if (w->generation) {
        const struct cr_encoder_ports *e = w->generation->encoder;
        cr_put(t,
               "/*\n * %s - a model that %s, compiled to C by Crescent.\n *\n"
               " * In this order: what the kernels call (declarations), the kernels k1_ ... and the\n"
               " * function that runs them, the parameters, the functions of %s%s, the\n"
               " * runtime, whose template is at the end of the file, and, with -D%s_MAIN, a main that\n"
               " * %s:\n"
               " *     %s -D%s_MAIN THIS_FILE -lm\n */\n",
               name, !e ? "goes on with a text" : e->n_labels ? "scores texts" : "makes vectors of texts", header,
               w->generation->tokenizer ? ", the tokenizer" : "", w->upper,
               !e ? "generates" : e->n_labels ? "prints scores" : "prints vectors", compiler, w->upper);
        return;
    }
    const struct cr_entry *first = w->p->entries;
    cr_put(t,
           "/*\n * %s - a model compiled to C by Crescent.\n *\n"
           " * In this order: what the kernels call, sizes, the kernels k1_ ..., the function that runs\n"
           " * them, the parameters, the functions of %s, the runtime, and its template at\n"
           " * the end.  A main that reads .safetensors and .npy files is compiled by\n *     %s -D",
           name, header, compiler);
    put_upper(t, w, first);
    cr_put(t, "_MAIN THIS_FILE -lm\n");
    for (const struct cr_entry *e = first + 1; e < first + w->p->n_entries; e++) {
        cr_put(t, " * or -D");
        put_upper(t, w, e);
        cr_put(t, "_MAIN\n");
    }
    cr_put(t, " */\n");
}

/* Prints macros by which the main of a model that generates text can also be selected by the
 * file's name. */
static void print_main_by_file(struct cr_text *t, const struct cr_standalone *w)
{
    static const char *const macros[] = {"MAIN", "MPI"};
    char *stem = cr_strdup(w->header), *name;
    *strrchr(stem, '.') = '\0';
    name = cr_model_name(stem);
    for (char *c = name; *c; c++)
        *c = cr_upper(*c);
    for (int i = 0; i < (w->p->ranks ? 2 : 1) && strcmp(name, w->upper) != 0; i++)
        cr_put(t, "#if defined(%s_%s) && !defined(%s_%s)\n#define %s_%s\n#endif\n", name, macros[i], w->upper,
               macros[i], w->upper, macros[i]);
    free(name);
    free(stem);
}

/* Prints macros that define NAME_MAIN if the main of any entry is selected. */
static void print_main_macros(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    if (w->generation)
        print_main_by_file(t, w);
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries && *e->name; e++) {
        cr_put(t, "#ifdef ");
        put_upper(t, w, e);
        cr_put(t, "_MAIN\n#define %s_MAIN\n#endif\n", w->upper);
    }
    cr_put(t, "#if defined(%s_MAIN) && !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif\n",
           w->upper);
}

/* Prints the beginning of the file: a description of its contents, macros, and the include of the
 * header.  With a main, declarations of POSIX are enabled, which compilers hide by default. */
static void print_beginning(struct cr_text *t, const struct cr_standalone *w)
{
    print_contents(t, w);
    cr_put(t, "#ifndef CR_ISA /* else the file includes itself, for the template at its end */\n");
    if (!w->next_state)
        print_main_macros(t, w);
    cr_put(t, "#include \"%s\"\n\n", w->header);
}

/* Prints the runtime declarations that the kernels need, the kernels, and the functions that run
 * them. */
static void print_model(struct cr_text *t, const struct cr_standalone *w, struct cr_needs *needs,
                        uint64_t *done)
{
    const struct cr_program *p = w->p;
    const char *text = p->text;
    cr_put(t, "/* ---- what the kernels call ---- */\n\n");
    cr_add_runtime(t, "runtime/types.h", done, cr_is_needed, needs);
    cr_put(t, "\n");
    cr_put_needed_structures(t, needs);
    cr_put_ranks_type(t, w);
    cr_put(t, "\n/* ---- the model ---- */\n");
    cr_put_literals(t, p, true);
    for (const struct cr_entry *e = p->entries; e < p->entries + p->n_entries; e++) {
        char execute[128], head[160];
        cr_entry_function(execute, sizeof execute, p, e, "execute");
        snprintf(head, sizeof head, "\nint %s(", execute);
        const char *begin = strstr(text, head);
        CR_CHECK(begin);
        cr_put_bytes(t, text, (size_t)(begin + 1 - text));
        cr_put(t, "static ");
        text = begin + 1;
    }
    cr_put_bytes(t, text, strlen(text));
}

/* Prints the parts of the runtime that the header's functions call. */
static void print_declarations(struct cr_text *t, const struct cr_standalone *w,
                               struct cr_needs *needs, uint64_t *done)
{
    static const char *const headers[] = {"runtime/select_runtime.h", "runtime/pool.h",
                                          "runtime/pack_weights.h", "runtime/sampler.h"};
    const size_t n = sizeof headers / sizeof *headers - !w->generation; /* only a model that
                                                                         * generates text has a
                                                                         * sampler */
    cr_put(t,
           "\n/* ---- what the functions of the header call ---- */\n\n"
           "#if %s_THREADS <= 1\n#define CR_NO_THREADS\n#endif\n"
           "#if defined(__GNUC__) && !defined(__TINYC__)\n"
           "#define CR_API static __attribute__((unused))\n#else\n#define CR_API static\n"
           "#endif\n\n",
           w->upper);
    if (w->next_state || w->generation)
        cr_put(t, "#include <string.h>\n\n");
    for (size_t i = 0; i < n; i++)
        cr_add_runtime(t, headers[i], done, cr_is_needed, needs);
}

/* Prints the functions of the header, and the tables that these functions read. */
static void print_interface(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    cr_put(t, "\n/* ---- the functions of the header ---- */\n");
    if (w->next_state) {
        print_layouts(t, p);
        cr_put_step_source(t, w);
        return;
    }
    cr_put_ranks_source(t, w);
    print_params(t, p);
    print_layouts(t, p);
    print_load(t, w);
    cr_put_pool_source(t, w);
    for (int i = 0; i < p->n_entries; i++) {
        print_checked(t, w, &p->entries[i]);
        print_run(t, w, &p->entries[i], false);
        print_run(t, w, &p->entries[i], true);
    }
    if (w->generation)
        cr_put_generation_source(t, w);
}

/* Returns the length of a file's name without its extension. */
static int stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (int)(dot - name) : (int)strlen(name);
}

/* Prints the macro CR_TEMPLATE: the name by which the file includes itself, by default the file
 * name known to the compiler. */
static void print_template_name(struct cr_text *t, const struct cr_standalone *w)
{
    cr_put(t,
           "/*\n"
           " * The template at the end of this file is compiled once for each instruction set: the file\n"
           " * includes itself behind the vectors of each, which define CR_ISA.  Compilers that know\n"
           " * __FILE_NAME__ know what the file is called now; others need -D%s_FILE='\"NAME.c\"' if\n"
           " * it was renamed.\n"
           " */\n",
           w->upper);
    cr_put(t, "#if defined(%s_FILE)\n#define CR_TEMPLATE %s_FILE\n", w->upper, w->upper);
    cr_put(t,
           "#elif defined(__FILE_NAME__)\n#define CR_TEMPLATE __FILE_NAME__\n#else\n"
           "#define CR_TEMPLATE \"%.*s.c\"\n#endif\n",
           stem_length(w->header), w->header);
    cr_put(t,
           "#ifdef __has_include\n#if !__has_include(CR_TEMPLATE)\n"
           "#error \"this file includes itself: compile it by its name, or define %s_FILE as its path\"\n"
           "#endif\n#endif\n\n",
           w->upper);
}

/* Prints the source of the runtime except for the template. */
static void print_runtime(struct cr_text *t, const struct cr_standalone *w, struct cr_needs *needs,
                          uint64_t *done)
{
    static const char *const sources[] = {"runtime/runtime.c", "runtime/pool.c", "runtime/pack_weights.c",
                                          "runtime/pack_pieces.c", "runtime/sampler.c"};
    const bool has_pieces = w->generation || (w->p->ranks && !w->next_state);
    const size_t n = sizeof sources / sizeof *sources - (w->generation ? 0 : has_pieces ? 1 : 2);
    cr_put(t, "\n/* ---- the runtime ---- */\n\n");
    if (w->header)
        print_template_name(t, w);
    cr_put_needed_members(t, needs);
    cr_put(t, "\n");
    for (size_t i = 0; i < n; i++)
        cr_add_runtime(t, sources[i], done, cr_is_needed, needs);
}

/* Prints the runtime's template, without functions that only serve functions which this file
 * omits. */
static void print_template(struct cr_text *t, struct cr_needs *needs, uint64_t *done)
{
    cr_put(t,
           "\n#else /* CR_ISA */\n\n/* ---- the template of the runtime ---- */\n\n"
           "#if defined(__GNUC__)\n#pragma GCC diagnostic push\n"
           "#pragma GCC diagnostic ignored \"-Wunused-function\" /* not every model calls all of them */\n"
           "#pragma GCC diagnostic ignored \"-Wunused-const-variable\"\n"
           "#endif\n\n");
    cr_add_runtime(t, CR_TEMPLATE_FILE, done, cr_is_needed, needs);
    cr_put(t, "\n#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n\n#endif /* CR_ISA */\n");
}

/* Prints the source file.  The model comes first, with as little before it as C allows, and the
 * runtime's template last. */
static void print_source(struct cr_text *t, const struct cr_standalone *w, unsigned isas)
{
    struct cr_needs needs;
    uint64_t done = 0;
    cr_needs_find(&needs, w->p, isas, true);
    needs.repeats_template = !w->header;
    if (w->header)
        print_beginning(t, w);
    print_model(t, w, &needs, &done);
    print_declarations(t, w, &needs, &done);
    print_interface(t, w);
    print_runtime(t, w, &needs, &done);
    if (w->generation)
        cr_put_generation_main(t, w);
    else if (!w->next_state)
        print_main(t, w);
    if (w->header) {
        print_template(t, &needs, &done);
        cr_strip_unused(t);
    }
    cr_needs_free(&needs);
}

/* ---- files ---- */

/* Writes both files to the disk before renaming either to its final path. */
static int write_both(const char *const paths[2], const struct cr_text texts[2],
                      struct cr_error *error)
{
    struct cr_writer writers[2] = {{0}};
    int status = 0;
    for (int i = 0; i < 2 && !status; i++) {
        status = cr_writer_open(&writers[i], paths[i], error->text, sizeof error->text);
        if (!status)
            cr_writer_put(&writers[i], texts[i].data, texts[i].length);
    }
    for (int i = 0; i < 2 && !status; i++)
        status = cr_writer_finish(&writers[i], error->text, sizeof error->text);
    for (int i = 0; i < 2 && !status; i++)
        status = cr_writer_commit(&writers[i], error->text, sizeof error->text);
    for (int i = 0; i < 2; i++)
        cr_writer_discard(&writers[i]);
    return status;
}

/* True if the character at `c` is not safe in #include "...", which has no escapes: a quote,
 * backslash, trigraph, control character, or a Unicode character that changes the direction of
 * text. */
static bool is_dangerous(const char *c)
{
    unsigned char third = c[0] == '\xe2' && c[1] ? (unsigned char)c[2] : 0;
    return (unsigned char)*c < ' ' || strchr("\"\\\177", *c) || strncmp(c, "??", 2) == 0 ||
           (third && c[1] == '\x80' && third >= 0xaa && third <= 0xae) ||
           (third && c[1] == '\x81' && third >= 0xa6 && third <= 0xa9);
}

static int check_include(const char *path, struct cr_error *error)
{
    for (const char *c = path; *c; c++)
        if (is_dangerous(c))
            return cr_file_fail(error->text, sizeof error->text, path,
                                "#include cannot name this file, expected no quotes, "
                                "backslashes, trigraphs and control characters");
    return 0;
}

static int check_path(const char *path, struct cr_error *error)
{
    size_t length = strlen(path);
    if (length < 3 || strcmp(path + length - 2, ".c") != 0)
        return cr_fail(error, "%s: found another ending, expected a name that ends in .c", path);
    return check_include(path, error);
}

/* Returns the data for printing the texts of a program.  `header` is the header's path, or null
 * if its text comes first in the source. */
static struct cr_standalone describe(const struct cr_program *program, const char *header)
{
    const char *slash = header ? strrchr(header, '/') : NULL;
    struct cr_standalone w = {.p = program, .header = slash ? slash + 1 : header};
    for (size_t i = 0; program->name[i] && i + 1 < sizeof w.upper; i++)
        w.upper[i] = cr_upper(program->name[i]);
    return w;
}

/* Prints the source and the header of a program. */
static void print_both(struct cr_text texts[2], const struct cr_standalone *w, unsigned isas)
{
    print_source(&texts[0], w, isas);
    if (w->next_state)
        cr_put_step_header(&texts[1], w);
    else
        print_header(&texts[1], w);
}

/* Writes the .c file to `path`, and the .h file next to it. */
static int write_standalone(const struct cr_program *program, unsigned isas,
                            const struct cr_next_state *next_state,
                            const struct cr_generation *generation, const char *path,
                            struct cr_error *error)
{
    if (check_path(path, error))
        return -1;
    char *header = cr_strdup(path);
    header[strlen(path) - 1] = 'h';
    struct cr_text texts[2] = {{0}, {0}};
    struct cr_standalone w = describe(program, header);
    w.next_state = next_state;
    w.generation = generation;
    print_both(texts, &w, isas);
    const char *const paths[2] = {path, header};
    int status = write_both(paths, texts, error);
    free(texts[0].data);
    free(texts[1].data);
    free(header);
    return status;
}

void cr_put_standalone(struct cr_text *text, const struct cr_program *program, int threads)
{
    struct cr_standalone w = describe(program, NULL);
    cr_put(text, "#define %s_THREADS %d\n", w.upper, threads);
    print_header(text, &w);
    print_source(text, &w, CR_ISA_ALL);
}

/* Finds the outputs of a training step that the next step reads; fails if the program has
 * states. */
static int find_next_state(struct cr_next_state *next_state, const struct cr_program *p,
                         const char *script, struct cr_error *error)
{
    if (has_states(p))
        return cr_fail(error,
                       "%.400s: a training step has its state as inputs and outputs of one name, "
                       "expected no state()",
                       script);
    const struct cr_ports ports = {p->params,
                                   p->whole_inputs ? p->whole_inputs : p->inputs,
                                   p->whole_outputs ? p->whole_outputs : p->outputs,
                                   p->n_params, p->n_inputs, p->n_outputs};
    return cr_next_state_find(next_state, &ports, p->micro_batches, script, error);
}

int cr_write_standalone(const struct cr_program *program, unsigned isas, const char *path,
                        struct cr_error *error)
{
    return write_standalone(program, isas, NULL, NULL, path, error);
}

int cr_write_standalone_generator(const struct cr_program *program, unsigned isas,
                                  const struct cr_generation *generation, const char *path,
                                  struct cr_error *error)
{
    return cr_generation_check(generation, program, error)
               ? -1
               : write_standalone(program, isas, NULL, generation, path, error);
}

int cr_write_standalone_step(const struct cr_program *p, unsigned isas, const char *script,
                             const char *path, struct cr_error *error)
{
    struct cr_next_state next_state;
    if (find_next_state(&next_state, p, script, error))
        return -1;
    int status = write_standalone(p, isas, &next_state, NULL, path, error);
    cr_next_state_free(&next_state);
    return status;
}

int cr_standalone_texts(const struct cr_program *p, unsigned isas, const char *script,
                        const char *header, struct cr_text texts[2], struct cr_error *error)
{
    struct cr_next_state next_state = {0};
    if (check_include(header, error) || (script && find_next_state(&next_state, p, script, error)))
        return -1;
    struct cr_standalone w = describe(p, header);
    w.next_state = script ? &next_state : NULL;
    print_both(texts, &w, isas);
    cr_next_state_free(&next_state);
    return 0;
}

int cr_standalone_generator_texts(const struct cr_program *p, unsigned isas,
                                  const struct cr_generation *generation, const char *header,
                                  struct cr_text texts[2], struct cr_error *error)
{
    if (check_include(header, error) || cr_generation_check(generation, p, error))
        return -1;
    struct cr_standalone w = describe(p, header);
    w.generation = generation;
    print_both(texts, &w, isas);
    return 0;
}
