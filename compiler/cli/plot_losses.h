/* plot_losses.h - draws the losses of a training with gnuplot. */
#ifndef CR_PLOT_LOSSES_H
#define CR_PLOT_LOSSES_H

#include <stdbool.h>

#include "options.h"

struct cr_curve {
    const struct cr_options *options;
    const crescent_trainer *trainer; /* the trainer that recorded the losses */
    const char *title;
    bool logarithmic; /* the loss axis is logarithmic; losses not above 0 are left out */
};

/* Fails if the path ends in neither .svg nor .png, or if gnuplot is not installed. */
int cr_curve_check(const char *path, struct cr_error *error);

/* True if there is a loss to draw: of any step, and above 0 for a logarithmic axis. */
bool cr_curve_has_points(const struct cr_curve *curve);

/* Writes an SVG or a PNG; on failure leaves no partial file. */
int cr_curve_draw(const struct cr_curve *curve, const char *path, struct cr_error *error);

#endif
