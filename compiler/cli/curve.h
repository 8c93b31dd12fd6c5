/* curve.h - the losses of a training as a picture, drawn by gnuplot. */
#ifndef CR_CURVE_H
#define CR_CURVE_H

#include <stdbool.h>

#include "options.h"

struct cr_curve {
    const struct cr_options *options;
    const crescent_trainer *trainer; /* whose losses they are */
    const char *title;
    bool logarithmic; /* the axis of the losses; those that are not above 0 are left out */
};

/* Refuses a path that ends in neither .svg nor .png, or if there is no gnuplot to draw with. */
int cr_curve_check(const char *path, struct cr_error *error);

/* Whether there is anything to draw: a loss of a step, above 0 for a logarithmic axis. */
bool cr_curve_has_points(const struct cr_curve *curve);

/* Writes an SVG or a PNG, whole or not at all. */
int cr_curve_draw(const struct cr_curve *curve, const char *path, struct cr_error *error);

#endif
