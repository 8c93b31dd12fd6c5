/* tensor_proto.h - ONNX's message TensorProto: reads its shape, elements and external data. */
#ifndef CR_ONNX_TENSOR_PROTO_H
#define CR_ONNX_TENSOR_PROTO_H

#include "compiler/files/wire.h"
#include "model_proto.h"

/* Reads a tensor whose elements are in the message, or in another file in the model's folder. */
int cr_onnx_read_tensor(struct cr_onnx_model *model, struct cr_wire wire,
                        struct cr_onnx_tensor *tensor, struct cr_error *error);

#endif
