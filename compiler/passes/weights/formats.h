/*
 * formats.h - chooses the formats in which weights are kept.
 *
 * Rules by name request formats before the passes run; the kernels determine which of them can be
 * kept.  A weight keeps the requested format if only products and gathers read it: products as
 * their right operand, from panels that have only weights of one format; gathers by whole rows
 * (gathered_tables.h).  Other weights stay f32.
 */
#ifndef CR_FORMATS_H
#define CR_FORMATS_H

#include "compiler/ir/error.h"
#include "compiler/passes/module/module.h"

/*
 * Sets cr_node.format of each parameter to the format that rules request.  Rules are a list with
 * commas: "NAME" for all parameters, "GLOB=NAME" for parameters whose name matches; the last match
 * counts.  Without a match, or if rules is null, a parameter keeps the graph's format, or f32 if
 * there are gradients.  Fails, with a message about the script at `path`, if a NAME is no format
 * of weights, a GLOB matches no parameter, or a rounded parameter has gradients.
 */
int cr_want_formats(struct cr_graph *graph, const char *rules, const char *path,
                    struct cr_error *error);

/* Keeps the formats that kernels can read, and sets the others to f32.  The module must have
 * kernels. */
void cr_keep_supported_formats(struct cr_module *module);

/* Returns the format of the panels of a weight matrix; all its parameters have the same. */
enum cr_format cr_panel_format(const struct cr_graph *graph, cr_id matrix);

/* cr_ref_bytes returns the bytes that a kernel reads of operand r; cr_panel_bytes those that it
 * reads of its packed weight matrix. */
double cr_ref_bytes(const struct cr_graph *graph, const struct cr_kernel *kernel, int r);
double cr_panel_bytes(const struct cr_graph *graph, const struct cr_kernel *kernel);

#endif
