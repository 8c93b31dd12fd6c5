/* curve.h - the losses of a training as a picture, drawn by gnuplot. */
#ifndef CR_CURVE_H
#define CR_CURVE_H

#include <stdbool.h>

#include "options.h"

struct cr_curve {
    const struct cr_options *options;
    const crescent_trainer *trainer; /* its losses are drawn */
    const char *title;
    bool logarithmic; /* scale of the loss axis; losses not above 0 are left out */
};

/* Refuses a path that ends in neither .svg nor .png, and any path if gnuplot is not installed. */
int cr_curve_check(const char *path, struct cr_error *error);

/* True if a loss of a step can be drawn: on a logarithmic axis one above 0. */
bool cr_curve_has_points(const struct cr_curve *curve);

/* Writes an SVG or a PNG, atomically. */
int cr_curve_draw(const struct cr_curve *curve, const char *path, struct cr_error *error);

#endif
