/* translate.h - translates the nodes of an ONNX graph into statements of a script; see term.h. */
#ifndef CR_ONNX_TRANSLATE_H
#define CR_ONNX_TRANSLATE_H

#include "term.h"

/* A setting by the caller: the size of a symbol, or the elements of an input as text ("1,2,3"). */
struct cr_onnx_pin {
    const char *name, *value;
    bool optional; /* no error if the model does not have the name */
};

struct cr_onnx_script {
    struct cr_onnx_graph *graph;
    const struct cr_onnx_pin *pins;
    int n_pins;
    struct cr_onnx_statement *statements;
    int n_statements, cap_statements;
    cr_t *terms; /* by value: the term that reads it */
    int n_terms;
    int unknown; /* after a failure: the value whose elements are needed, or CR_ONNX_NONE */
};

/*
 * Translates all nodes in order into statements.  Sets types and shapes of the graph's values, and
 * their elements if they can be computed.  Inlines branches of If and iterations of Loop and Scan
 * if their conditions are known.  Free the script by cr_onnx_script_free, also after a failure.
 */
int cr_onnx_translate(struct cr_onnx_script *script, struct cr_onnx_graph *graph,
                      const struct cr_onnx_pin *pins, int n_pins, struct cr_error *error);
/* Sets the type and shape of an input, as cr_onnx_translate does. */
int cr_onnx_input_shape(struct cr_onnx_graph *graph, int value, const struct cr_onnx_pin *pins,
                        int n_pins, struct cr_error *error);
void cr_onnx_script_free(struct cr_onnx_script *script);

#endif
