/* report.h - formats numbers, shapes and times for people. */
#ifndef CR_REPORT_H
#define CR_REPORT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler/crescent.h"

/* A short text that is passed by value, as an argument of printf. */
struct cr_phrase {
    char text[224];
};

struct cr_phrase cr_thousands(int64_t n);                  /* 7,087,872 */
struct cr_phrase cr_duration(int64_t nanoseconds);         /* 1.24 ms */
struct cr_phrase cr_bytes(int64_t bytes);                  /* 27.0 MiB */
struct cr_phrase cr_port_shape(const crescent_port *port); /* [1, 128, 768] */

/* Returns the coordinates of element number `i` of a port, printed like a shape. */
struct cr_phrase cr_coordinates(const crescent_port *port, int64_t i);

/* Counts the elements of a graph's parameters. */
int64_t cr_count_parameters(const crescent_graph *graph);

/* Prints one line on stderr, after "crescent: note: ". */
void cr_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line about the memory that a compiled model takes. */
void cr_print_memory(const crescent_report *report);

/* Prints a line about the formats of a model's parameters, if any is not f32. */
void cr_print_formats(const crescent_model *model, FILE *out);

/* Prints a line about how many products use `arithmetic`; nothing if that is null. */
void cr_print_products(FILE *out, const crescent_report *report, const char *arithmetic);

/* Prints a line about calls that recompute values to make the arena fit, if there are any. */
void cr_print_again(const crescent_report *report);

/* Prints a JSON value and a newline to stdout, then frees the value. */
void cr_print_json(json_t *json);

/* Returns a shape as a JSON array. */
json_t *cr_json_shape(const crescent_port *port);

/* Returns a number, or null if it is NaN or infinite, which JSON lacks. */
json_t *cr_json_number(double value);

#endif
