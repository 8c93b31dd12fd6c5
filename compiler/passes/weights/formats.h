/*
 * formats.h - which weights are kept in which format.
 *
 * Rules by name say what is wanted, before the passes; what becomes of it is known once there are
 * kernels.  A weight is kept in the format that is wanted if nothing but products and gathers reads
 * it: products as their right operand, from panels, where it lies side by side only with weights of
 * the same format; gathers whole rows of it (tables.h).  Other weights stay as they are.
 */
#ifndef CR_FORMATS_H
#define CR_FORMATS_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"

/*
 * Gives each parameter the format that rules ask for, in cr_node.format.  Rules are a list with
 * commas between: "NAME" for all parameters, "GLOB=NAME" for those of a name; the last that
 * matches counts.  Where none does, or for null, a parameter has the format that the graph came with,
 * but f32 if there are gradients.  Refused, in the name of the script at `path`, are a NAME that
 * is no format of weights, a GLOB that matches no parameter, and gradients through what is rounded.
 */
int cr_want_formats(struct cr_graph *graph, const char *rules, const char *path,
                    struct cr_error *error);

/* Leaves the formats of those parameters that can be kept so: of a module that has kernels. */
void cr_settle_formats(struct cr_module *module);

/* The format of the panels of a weight matrix: all parameters it is made of have the same one. */
enum cr_format cr_panel_format(const struct cr_graph *graph, cr_id matrix);

/* Bytes of the elements of a kernel's weight matrix, and of those that it reads of its operand r. */
double cr_ref_bytes(const struct cr_graph *graph, const struct cr_kernel *kernel, int r);
double cr_panel_bytes(const struct cr_graph *graph, const struct cr_kernel *kernel);

#endif
