/* translate.h - from the nodes of an ONNX graph to statements of a script; see term.h. */
#ifndef CR_ONNX_TRANSLATE_H
#define CR_ONNX_TRANSLATE_H

#include "term.h"

/* What a caller says of a model: the size that a symbol stands for, or the numbers of an input ("1,2,3"). */
struct cr_onnx_pin {
    const char *name, *value;
    bool optional; /* it need not be of the model */
};

/* A symbol that stays a length of the language: see lengths.h. */
struct cr_onnx_length {
    const char *name;
    int64_t bound, size; /* size: in this translation */
    int value;           /* of the graph: the length as a number, once it is compared */
};

enum { CR_ONNX_LENGTHS = 8 };

struct cr_onnx_script {
    struct cr_onnx_graph *graph;
    const struct cr_onnx_pin *pins;
    int n_pins;
    struct cr_onnx_statement *statements;
    int n_statements, cap_statements;
    cr_t *terms; /* of values: how others read them */
    int n_terms;
    struct cr_onnx_length lengths[CR_ONNX_LENGTHS];
    int n_lengths;
    int unknown; /* after a failure: the value that would have to be known, or CR_ONNX_NONE */
};

/*
 * Translates every node in order.  Values of the graph get their types and shapes, and those that could be
 * computed their elements; branches of If and rounds of Loop whose conditions are known come in their place.
 * Freed by cr_onnx_script_free also after a failure.
 */
int cr_onnx_translate(struct cr_onnx_script *script, struct cr_onnx_graph *graph,
                      const struct cr_onnx_pin *pins, int n_pins, struct cr_error *error);
/* The type and shape of an input, as translating gives it. */
int cr_onnx_input_shape(struct cr_onnx_graph *graph, int value, const struct cr_onnx_pin *pins,
                        int n_pins, struct cr_error *error);
void cr_onnx_script_free(struct cr_onnx_script *script);

#endif
