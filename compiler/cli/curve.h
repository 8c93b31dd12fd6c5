/* curve.h - the losses of a training as a picture, drawn by gnuplot. */
#ifndef CR_CURVE_H
#define CR_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/ir/error.h"

/* The losses of the steps from first + 1 on. */
struct cr_curve {
    double *losses;
    int n, cap;
    int64_t first;
};

/* Refuses a path that ends in neither .svg nor .png, or if there is no gnuplot to draw with. */
int cr_curve_check(const char *path, struct cr_error *error);

/* Whether there is anything to draw: a loss that is a number. */
bool cr_curve_has_points(const struct cr_curve *curve);

/* Writes an SVG or a PNG. */
int cr_curve_draw(const struct cr_curve *curve, const char *title, const char *path,
                  struct cr_error *error);

#endif
