/*
 * recognise.h - passes that replace a group of nodes by one node: a layer, an activation, an
 * attention. Exporters write such groups.
 *
 * A pattern has to match in structure, shapes and constants.  The result is equal up to rounding
 * for finite numbers.  A comment at the pattern tells whether NaN or infinities may differ.
 */
#ifndef CR_ONNX_RECOGNISE_H
#define CR_ONNX_RECOGNISE_H

#include "graph.h"

cr_onnx_pass cr_recognise_gathers, cr_recognise_scopes, cr_recognise_identities, cr_recognise_views,
    cr_recognise_repetitions, cr_recognise_activations, cr_recognise_norms, cr_recognise_copies,
    cr_recognise_linear, cr_recognise_rotary, cr_recognise_attention, cr_recognise_heads,
    cr_recognise_view_chains, cr_recognise_fused;

#endif
