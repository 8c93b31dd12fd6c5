/* onnx_passes.c - the list of the passes over an ONNX graph; see onnx_passes.h. */
#include "onnx_passes.h"

#include <stddef.h>

#include "recognise.h"

cr_onnx_pass *const cr_onnx_passes[] = {
    cr_recognise_fused,       cr_recognise_gathers,     cr_recognise_scopes,
    cr_recognise_identities,  cr_recognise_copies,      cr_recognise_activations,
    cr_recognise_norms,       cr_recognise_rotary,      cr_recognise_attention,
    cr_recognise_linear,      cr_recognise_heads,       cr_recognise_views,
    cr_recognise_view_chains, cr_recognise_repetitions, NULL};
