/* own_formats.h - the formats that weights have in the file a model is opened from. */
#ifndef CR_OWN_FORMATS_H
#define CR_OWN_FORMATS_H

#include "handles.h"

/*
 * Gives each parameter of a graph from a GGUF file, which `origin` names, the format of its tensor:
 * q8 for Q8_0, q4 for Q4_0 and Q4_1, f16, bf16; f32 for what else is read, and for what is not there.
 */
int cr_take_own_formats(struct cr_graph *graph, const struct cr_origin *origin,
                        struct cr_error *error);

#endif
