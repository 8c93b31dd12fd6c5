/*
 * recognise.h - passes that put one node where exporters write several: layers, activations,
 * attention.
 *
 * A pattern is checked for its structure, shapes and constants; what is nearly one stays as it is.
 * The result is equal up to rounding for finite numbers.  Where NaN or infinities may differ, it
 * is said at the pattern.
 */
#ifndef CR_ONNX_RECOGNISE_H
#define CR_ONNX_RECOGNISE_H

#include "graph.h"

cr_onnx_pass cr_recognise_gathers, cr_recognise_scopes, cr_recognise_identities, cr_recognise_views,
    cr_recognise_repetitions, cr_recognise_activations, cr_recognise_norms, cr_recognise_copies,
    cr_recognise_linear, cr_recognise_rotary, cr_recognise_attention, cr_recognise_heads,
    cr_recognise_view_chains, cr_recognise_fused;

#endif
