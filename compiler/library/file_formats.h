/* file_formats.h - gives parameters the formats that they have in the file that the model is opened
 * from. */
#ifndef CR_FILE_FORMATS_H
#define CR_FILE_FORMATS_H

#include "handles.h"

/*
 * Gives each parameter of a graph the format of its tensor in the GGUF file that `origin` names: q8
 * for Q8_0, q4 for Q4_0 and Q4_1, f16, bf16; f32 for other types, and for missing tensors.
 */
int cr_take_own_formats(struct cr_graph *graph, const struct cr_origin *origin,
                        struct cr_error *error);

#endif
