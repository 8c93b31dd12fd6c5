/* plot_losses.h - draws the losses of a training by gnuplot. */
#ifndef CR_PLOT_LOSSES_H
#define CR_PLOT_LOSSES_H

#include <stdbool.h>

#include "options.h"

struct cr_curve {
    const struct cr_options *options;
    const crescent_trainer *trainer; /* the trainer that recorded the losses */
    const char *title;
    bool logarithmic; /* the loss axis is logarithmic; losses of 0 or less are omitted */
};

/* Fails if the path ends in neither .svg nor .png, or if gnuplot is not installed. */
int cr_curve_check(const char *path, struct cr_error *error);

/* True if there is a loss to draw; for a logarithmic axis, a positive one. */
bool cr_curve_has_points(const struct cr_curve *curve);

/* Writes the picture as SVG or PNG; leaves no incomplete file after a failure. */
int cr_curve_draw(const struct cr_curve *curve, const char *path, struct cr_error *error);

#endif
