/* report.h - formats numbers, shapes and times for people. */
#ifndef CR_REPORT_H
#define CR_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler/crescent.h"
#include "compiler/json/json_writer.h"

/* A text by value, to be passed as an argument of printf. */
struct cr_phrase {
    char text[224];
};

struct cr_phrase cr_thousands(int64_t n);                  /* 7,087,872 */
struct cr_phrase cr_duration(int64_t nanoseconds);         /* 1.24 ms */
struct cr_phrase cr_bytes(int64_t bytes);                  /* 27.0 MiB */
struct cr_phrase cr_port_shape(const crescent_port *port); /* [1, 128, 768] */

/* Returns the coordinates of element number `i` of a port as text, written like a shape. */
struct cr_phrase cr_coordinates(const crescent_port *port, int64_t i);

/* Returns the number of elements of all parameters of a graph. */
int64_t cr_count_parameters(const crescent_graph *graph);

/* Makes all later calls of cr_note print nothing. */
void cr_mute_notes(void);
/* Prints "crescent: note: " and a formatted text as a line on stderr. */
void cr_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line about the memory that a compiled model needs. */
void cr_print_memory(const crescent_report *report);

/* Prints a line about the formats of a model's parameters, unless all are f32. */
void cr_print_formats(const crescent_model *model, FILE *out);

/* Prints a line with the number of products in `arithmetic`; prints nothing if `arithmetic` is
 * null. */
void cr_print_products(FILE *out, const crescent_report *report, const char *arithmetic);

/* Prints a line about values that are recomputed to make the arena smaller, if there are such
 * values. */
void cr_print_again(const crescent_report *report);

/* Begin and end a JSON object on stdout, indented for people. */
struct cr_doc cr_json_begin(void);
void cr_json_end(struct cr_doc *d);

/* Writes the member "worst_at": the coordinates of element number `i` of a port as a list; null
 * if the port has no such element. */
void cr_json_worst_at(struct cr_doc *d, const crescent_port *port, int64_t i);

#endif
