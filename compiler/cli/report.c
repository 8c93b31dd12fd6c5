/* report.c - formats numbers, shapes and times for people; see report.h. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "compiler/ir/byte_text.h"
#include "compiler/ir/escape.h"

struct cr_phrase cr_thousands(int64_t n)
{
    char digits[32];
    struct cr_phrase out = {""};
    int length = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;
    for (int i = 0; i < length; i++) {
        out.text[at++] = digits[i];
        if (digits[i] != '-' && i + 1 < length && (length - 1 - i) % 3 == 0)
            out.text[at++] = ',';
    }
    return out;
}

struct cr_phrase cr_duration(int64_t nanoseconds)
{
    struct cr_phrase out;
    double ms = (double)nanoseconds * 1e-6;
    if (ms < 1)
        snprintf(out.text, sizeof out.text, "%.*f us", ms < 0.01 ? 2 : 0, ms * 1e3);
    else if (ms < 1000)
        snprintf(out.text, sizeof out.text, "%.*f ms", ms < 10 ? 2 : 1, ms);
    else
        snprintf(out.text, sizeof out.text, "%.2f s", ms * 1e-3);
    return out;
}

struct cr_phrase cr_bytes(int64_t bytes)
{
    struct cr_phrase out;
    snprintf(out.text, sizeof out.text, "%s", cr_byte_text(bytes).text);
    return out;
}

struct cr_phrase cr_port_shape(const crescent_port *port)
{
    struct cr_phrase out;
    crescent_shape_text(out.text, sizeof out.text, port->rank, port->shape);
    return out;
}

/* Computes the coordinates of row-major element number `i` of a port.  Returns false if the port
 * has no such element. */
static bool find_coordinates(const crescent_port *port, int64_t i, int64_t *index)
{
    if (i < 0 || crescent_port_elements(port) == 0)
        return false;
    for (int axis = port->rank - 1; axis >= 0; axis--) {
        index[axis] = i % port->shape[axis];
        i /= port->shape[axis];
    }
    return true;
}

struct cr_phrase cr_coordinates(const crescent_port *port, int64_t i)
{
    int64_t index[CRESCENT_MAX_RANK];
    struct cr_phrase out = {"-"};
    if (find_coordinates(port, i, index))
        crescent_shape_text(out.text, sizeof out.text, port->rank, index);
    return out;
}

int64_t cr_count_parameters(const crescent_graph *graph)
{
    crescent_port port;
    int64_t total = 0;
    int n = crescent_graph_port_count(graph, CRESCENT_PARAM);
    for (int i = 0; i < n && !crescent_graph_port_at(graph, CRESCENT_PARAM, i, &port); i++)
        total += crescent_port_elements(&port);
    return total;
}

static bool is_mute;

void cr_mute_notes(void)
{
    is_mute = true;
}

void cr_note(const char *format, ...)
{
    char line[4096];
    va_list args;
    if (is_mute)
        return;
    va_start(args, format);
    cr_escape_format(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "crescent: note: %s\n", line);
}

void cr_print_products(FILE *out, const crescent_report *r, const char *arithmetic)
{
    if (arithmetic && r->compiled)
        fprintf(out, "Products: %d of %d kernels with weights in the arithmetic of %s, %d in f32\n",
                r->n_rounded, r->n_products, arithmetic, r->n_products - r->n_rounded);
}

void cr_print_memory(const crescent_report *r)
{
    printf("Memory: weights %s, arena %s, scratch %s a thread", cr_bytes(r->weights_bytes).text,
           cr_bytes(r->arena_bytes).text, cr_bytes(r->scratch_bytes).text);
    if (r->activation_bytes >= 0)
        printf("; activations kept for the backward pass %s", cr_bytes(r->activation_bytes).text);
    putchar('\n');
}

/* Returns the number of parameters with a format, among those from number `first` on. */
static int count_format(const crescent_model *model, int first, const char *format)
{
    int count = 0;
    crescent_port port;
    for (int i = first; !crescent_port_at(model, CRESCENT_PARAM, i, &port); i++)
        count += strcmp(port.format, format) == 0;
    return count;
}

void cr_print_formats(const crescent_model *model, FILE *out)
{
    crescent_port port;
    int n = crescent_port_count(model, CRESCENT_PARAM);
    if (count_format(model, 0, "f32") == n)
        return;
    fprintf(out, "Weights:");
    for (int i = 0, listed = 0; i < n; i++) {
        crescent_port_at(model, CRESCENT_PARAM, i, &port);
        int count = count_format(model, 0, port.format);
        if (count == count_format(model, i, port.format))
            fprintf(out, "%s %d in %s", listed++ ? "," : "", count, port.format);
    }
    fputc('\n', out);
}

void cr_print_again(const crescent_report *r)
{
    if (r->calls_again)
        printf("Recomputed: %d of the calls, so that the arena fits: %.4g GFLOP besides %.4g\n",
               r->calls_again, r->flops_again * 1e-9, r->flops * 1e-9);
}

struct cr_doc cr_json_begin(void)
{
    struct cr_doc d = {.out = stdout, .style = CR_DOC_INDENTED};
    cr_doc_begin(&d, NULL, '{');
    return d;
}

void cr_json_end(struct cr_doc *d)
{
    cr_doc_end(d, '}');
    putchar('\n');
}

void cr_json_worst_at(struct cr_doc *d, const crescent_port *port, int64_t i)
{
    int64_t index[CRESCENT_MAX_RANK];
    if (find_coordinates(port, i, index))
        cr_doc_integers(d, "worst_at", index, port->rank);
    else
        cr_doc_text(d, "worst_at", NULL);
}
