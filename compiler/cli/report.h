/* report.h - numbers, shapes and times as people read them. */
#ifndef CR_REPORT_H
#define CR_REPORT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler/crescent.h"

/* Text in a buffer of its own, to be passed by value to printf's arguments. */
struct cr_phrase {
    char text[224];
};

struct cr_phrase cr_thousands(int64_t n);                  /* 7,087,872 */
struct cr_phrase cr_duration(int64_t nanoseconds);         /* 1.24 ms */
struct cr_phrase cr_bytes(int64_t bytes);                  /* 27.0 MiB */
struct cr_phrase cr_port_shape(const crescent_port *port); /* [1, 128, 768] */

/* The coordinates of element number `i` of a port, as a shape is printed. */
struct cr_phrase cr_coordinates(const crescent_port *port, int64_t i);

/* Elements of a graph's parameters. */
int64_t cr_count_parameters(const crescent_graph *graph);

/* One line on stderr behind "crescent: note: ". */
void cr_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints what memory a compiled model takes, as a line. */
void cr_print_memory(const crescent_report *report);

/* Prints which formats its parameters are kept in, as a line, if there are others than f32. */
void cr_print_formats(const crescent_model *model, FILE *out);

/* How many products are in the arithmetic that was asked for, in a line; nothing if that is null. */
void cr_print_products(FILE *out, const crescent_report *report, const char *arithmetic);

/* Prints what it computes again so that the arena fits, as a line, if there is any of that. */
void cr_print_again(const crescent_report *report);

/* Prints a JSON value and a newline to stdout and frees it. */
void cr_print_json(json_t *json);

/* A shape as a JSON array. */
json_t *cr_json_shape(const crescent_port *port);

/* A number, or null where JSON has none for it (NaN, infinity). */
json_t *cr_json_number(double value);

#endif
