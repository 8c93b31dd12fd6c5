/* curve.h - the losses of a training as a picture, drawn by gnuplot. */
#ifndef CR_CURVE_H
#define CR_CURVE_H

#include <stdint.h>

#include "compiler/ir/error.h"

/* The losses of the steps from first + 1 on. */
struct cr_curve {
    double *losses;
    int n, cap;
    int64_t first;
};

/* Refuses if there is no gnuplot to draw with. */
int cr_curve_check(struct cr_error *error);

/* Writes an SVG. */
int cr_curve_draw(const struct cr_curve *curve, const char *title, const char *path,
                  struct cr_error *error);

#endif
