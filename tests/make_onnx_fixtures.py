#!/usr/bin/env python3
"""Writes tests/onnx/: tiny ONNX files with inputs and the outputs of ONNX's reference evaluator.

Needs the Python packages onnx, onnxruntime and numpy.  NAME.onnx, and for each input and output NAME.VALUE.npy.
"""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = os.path.join(os.path.dirname(__file__), "onnx")
random = np.random.default_rng(1)


def floats(*shape):
    return (random.standard_normal(shape) * 0.5).astype(np.float32)


def tensor(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def write(name, nodes, inputs, outputs, weights=(), opset=18, functions=(), types=None, runtime=False,
          contrib=False):
    """inputs: arrays by name; outputs: types by name; types: shapes with symbols, by name."""
    kinds = {np.dtype("f4"): T.FLOAT, np.dtype("i8"): T.INT64, np.dtype("i4"): T.INT32, np.dtype("?"): T.BOOL}
    types = types or {}
    infos = [h.make_tensor_value_info(n, kinds[a.dtype], types.get(n, a.shape)) for n, a in inputs.items()]
    graph = h.make_graph(nodes, name, infos, [h.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
                         [tensor(n, w) for n, w in weights])
    opsets = [h.make_opsetid("", opset)] + ([h.make_opsetid("local", 1)] if functions else [])
    opsets += [h.make_opsetid("com.microsoft", 1)] if contrib else []
    model = h.make_model(graph, opset_imports=opsets, functions=list(functions), producer_name="fixtures",
                         ir_version=9)
    with open(os.path.join(FOLDER, name + ".onnx"), "wb") as file:
        file.write(model.SerializeToString())
    if functions or runtime or contrib:  # default attributes and axes of scans are not the reference evaluator's
        results = onnxruntime.InferenceSession(model.SerializeToString()).run(list(outputs), inputs)
    else:
        results = ReferenceEvaluator(model).run(list(outputs), inputs)
    for n, a in list(inputs.items()) + list(zip(outputs, results)):
        a = np.asarray(a)
        np.save(os.path.join(FOLDER, "%s.%s.npy" % (name, n)), a.astype(np.int32) if a.dtype == bool and n in outputs else a)


def mlp():
    nodes = [h.make_node("LayerNormalization", ["x", "ln.weight", "ln.bias"], ["n"], axis=-1),
             h.make_node("Gemm", ["n", "fc.weight", "fc.bias"], ["a"], transB=1),
             h.make_node("Gelu", ["a"], ["g"], approximate="tanh"),
             h.make_node("MatMul", ["g", "out.weight"], ["m"]),
             h.make_node("Add", ["m", "x"], ["y"])]
    write("mlp", nodes, {"x": floats(3, 8)}, {"y": T.FLOAT},
          [("ln.weight", 1 + floats(8)), ("ln.bias", floats(8)), ("fc.weight", floats(12, 8)),
           ("fc.bias", floats(12)), ("out.weight", floats(12, 8))], opset=20, types={"x": ["n", 8]})


def attention():
    nodes = [h.make_node("Attention", ["q", "k", "v", "mask"], ["y"], q_num_heads=4, kv_num_heads=2,
                         is_causal=1)]
    write("masked", nodes, {"q": floats(2, 5, 16), "k": floats(2, 5, 8), "v": floats(2, 5, 8),
                               "mask": np.tril(np.ones((5, 5), bool), 2) & (random.random((5, 5)) > 0.1)},
          {"y": T.FLOAT}, opset=23)


def pictures():
    nodes = [h.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
             h.make_node("Relu", ["c"], ["r"]),
             h.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[1, 1]),
             h.make_node("AveragePool", ["p"], ["a"], kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
             h.make_node("Flatten", ["a"], ["y"])]
    write("pictures", nodes, {"x": floats(2, 3, 8, 8)}, {"y": T.FLOAT},
          [("conv.weight", floats(4, 3, 3, 3)), ("conv.bias", floats(4))])


def shapes():
    nodes = [h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["n"]),
             h.make_node("Unsqueeze", ["n", "first"], ["n1"]),
             h.make_node("Concat", ["n1", "rest"], ["to"], axis=0), h.make_node("Reshape", ["x", "to"], ["r"]),
             h.make_node("Range", ["zero", "n", "one"], ["i"]), h.make_node("Cast", ["i"], ["f"], to=T.FLOAT),
             h.make_node("Unsqueeze", ["f", "last"], ["column"]), h.make_node("Add", ["r", "column"], ["y"]),
             h.make_node("Equal", ["n", "one"], ["single"]),
             h.make_node("If", ["single"], ["z"],
                         then_branch=h.make_graph([h.make_node("Neg", ["y"], ["a"])], "one", [],
                                                  [h.make_tensor_value_info("a", T.FLOAT, None)]),
                         else_branch=h.make_graph([h.make_node("ReduceSum", ["y", "last"], ["b"], keepdims=0)], "many",
                                                  [], [h.make_tensor_value_info("b", T.FLOAT, None)]))]
    write("shapes", nodes, {"x": floats(3, 2, 4)}, {"y": T.FLOAT, "z": T.FLOAT},
          [("zero", np.int64(0)), ("one", np.int64(1)), ("first", np.array([0])), ("last", np.array([-1])),
           ("rest", np.array([-1]))], types={"x": ["n", 2, 4]})


def refer(node, name, of):
    """Gives a node of a function an attribute of the call."""
    node.attribute.append(onnx.AttributeProto(name=name, type=onnx.AttributeProto.FLOAT, ref_attr_name=of))


def functions():
    """A function with a default attribute, and one that hands its attributes on to it; one of them may be missing."""
    body = [h.make_node("Constant", [], ["k"]), h.make_node("Gemm", ["t", "t"], ["u"], transB=1),
            h.make_node("Sub", ["u", "k"], ["u2"]), h.make_node("MatMul", ["u2", "t"], ["out"])]
    refer(body[0], "value_float", "factor")
    refer(body[1], "alpha", "slope")
    bend = h.make_function("local", "Bend", ["t"], ["out"], body, [h.make_opsetid("", 18)],
                           attributes=["factor"], attribute_protos=[h.make_attribute("slope", 0.25)])
    call = h.make_node("Bend", ["t"], ["out"], domain="local", name="inner")
    refer(call, "factor", "much")
    refer(call, "slope", "steep")
    hand = h.make_function("local", "Hand", ["t"], ["out"], [call],
                           [h.make_opsetid("", 18), h.make_opsetid("local", 1)], attributes=["much", "steep"])
    nodes = [h.make_node("Bend", ["x"], ["a"], domain="local", name="first", factor=0.125),
             h.make_node("Bend", ["a"], ["b"], domain="local", name="second", factor=0.5, slope=0.75),
             h.make_node("Hand", ["b"], ["c"], domain="local", name="third", much=-2.0, steep=0.5),
             h.make_node("Hand", ["c"], ["y"], domain="local", name="fourth", much=1.5)]
    write("functions", nodes, {"x": floats(4, 3)}, {"y": T.FLOAT}, functions=[bend, hand])


def lookups():
    nodes = [h.make_node("Gather", ["table", "ids"], ["rows"]),
             h.make_node("TopK", ["rows", "k"], ["y", "which"], axis=-1),
             h.make_node("ScatterND", ["rows", "at", "new"], ["z"]),
             h.make_node("Greater", ["z", "rows"], ["more"]),
             h.make_node("Einsum", ["rows", "z"], ["e"], equation="bti,bsi->bts")]
    write("lookups", nodes, {"ids": np.array([[1, 4, 0], [2, 2, 5]])},
          {"y": T.FLOAT, "which": T.INT64, "z": T.FLOAT, "more": T.BOOL, "e": T.FLOAT},
          [("table", floats(6, 5)), ("k", np.array([2])), ("at", np.array([[0, 1], [1, -1]])), ("new", floats(2, 5))])


def loops():
    body = h.make_graph([h.make_node("Mul", ["h", "a"], ["ha"]), h.make_node("Add", ["ha", "part"], ["next"]),
                         h.make_node("Tanh", ["next"], ["seen"])], "step",
                        [h.make_tensor_value_info("h", T.FLOAT, [3]), h.make_tensor_value_info("part", T.FLOAT, [3])],
                        [h.make_tensor_value_info("next", T.FLOAT, [3]), h.make_tensor_value_info("seen", T.FLOAT, [3])])
    nodes = [h.make_node("Scan", ["h0", "x"], ["y", "ys"], num_scan_inputs=1, body=body)]
    write("loops", nodes, {"x": floats(4, 3)}, {"y": T.FLOAT, "ys": T.FLOAT},
          [("h0", floats(3)), ("a", floats(3))])


def scans():
    """Along columns, and along rows from the last to the first; what is collected is put before, as columns."""
    parts = [h.make_tensor_value_info(n, T.FLOAT, [3]) for n in ("h", "column", "row")]
    body = h.make_graph([h.make_node("Mul", ["h", "column"], ["scaled"]), h.make_node("Add", ["scaled", "row"], ["next"]),
                         h.make_node("Sub", ["next", "column"], ["seen"])], "step", parts,
                        [h.make_tensor_value_info(n, T.FLOAT, [3]) for n in ("next", "seen")])
    nodes = [h.make_node("Scan", ["h0", "x", "u"], ["y", "ys"], num_scan_inputs=2, body=body, scan_input_axes=[-1, 0],
                         scan_input_directions=[0, 1], scan_output_axes=[-1], scan_output_directions=[1])]
    write("scans", nodes, {"x": floats(3, 4), "u": floats(4, 3)}, {"y": T.FLOAT, "ys": T.FLOAT}, [("h0", floats(3))],
          runtime=True)


def batches():
    """As scans were in version 8: of two batches, from the last row to the first."""
    parts = [h.make_tensor_value_info(n, T.FLOAT, [3]) for n in ("h", "row")]
    body = h.make_graph([h.make_node("Mul", ["h", "half"], ["scaled"]), h.make_node("Add", ["scaled", "row"], ["next"]),
                         h.make_node("Sub", ["next", "h"], ["seen"])], "step", parts,
                        [h.make_tensor_value_info(n, T.FLOAT, [3]) for n in ("next", "seen")])
    nodes = [h.make_node("Scan", ["", "h0", "x"], ["y", "ys"], num_scan_inputs=1, body=body, directions=[1])]
    write("batches", nodes, {"h0": floats(2, 3), "x": floats(2, 4, 3)}, {"y": T.FLOAT, "ys": T.FLOAT},
          [("half", np.float32(0.5))], opset=8, runtime=True)


def known():
    """What is computed from constants alone, but for the sum with x at the end."""
    table = np.round(floats(4, 5) * 8)
    table[1] = table[3]
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5], [0.3, 0.3, 0.2, 0.1, 0.4]]], np.float32)
    constants = {"table": table, "boxes": boxes, "scores": scores, "most": np.array([3]),
                 "overlap": np.array([0.5], np.float32), "least": np.array([0.15], np.float32),
                 "places": np.array([[0, 4], [-1, 2]]), "index": np.array([[0, 3, -2, 1, 3]]), "two": np.array([2]),
                 "first": np.array(0), "values": floats(1, 5), "factors": floats(5)}
    nodes = [h.make_node("Constant", [], [n], value=tensor(n, a)) for n, a in constants.items()]
    nodes += [h.make_node("CumSum", ["table", "first"], ["sums"], reverse=1, exclusive=1),
              h.make_node("GatherND", ["table", "places"], ["picked"]),
              h.make_node("ScatterElements", ["table", "index", "values"], ["put"], axis=0),
              h.make_node("ArgMax", ["table"], ["best"], axis=1),
              h.make_node("TopK", ["put", "two"], ["largest", "which"], largest=0),
              h.make_node("Einsum", ["sums", "put"], ["products"], equation="ij,kj->ki"),
              h.make_node("MatMul", ["table", "factors"], ["column"]),
              h.make_node("Unique", ["table"], ["unique", "at", "back", "count"], axis=0),
              h.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"]),
              h.make_node("ReduceMean", ["products"], ["mean"], keepdims=1),
              h.make_node("Add", ["x", "mean"], ["y"])]
    outputs = {n: T.FLOAT for n in ("sums", "picked", "put", "largest", "products", "column", "unique", "y")}
    outputs.update({n: T.INT64 for n in ("best", "which", "at", "back", "count", "kept")})
    write("known", nodes, {"x": floats(2, 1)}, outputs)


def past():
    """An input without elements: nothing is joined, the sum of it is 0 and the mean NaN."""
    nodes = [h.make_node("Concat", ["past", "x"], ["all"], axis=0), h.make_node("ReduceSum", ["past", "first"], ["sum"]),
             h.make_node("ReduceMean", ["past"], ["mean"]), h.make_node("Shape", ["past"], ["sizes"]),
             h.make_node("Add", ["all", "sum"], ["y"])]
    write("past", nodes, {"past": floats(0, 3), "x": floats(2, 3)}, {"y": T.FLOAT, "mean": T.FLOAT, "sizes": T.INT64},
          [("first", np.array([0]))], types={"past": ["p", 3]})


def as_numbers(nodes, values, to=T.FLOAT, casts=()):
    """The nodes, and one output y that has all elements of some values; of casts as numbers of another type."""
    nodes = nodes + [h.make_node("Cast", [v], [v + "_c"], to=to) for v in casts]
    parts = [v + "_c" if v in casts else v for v in values]
    nodes += [h.make_node("Reshape", [v, "flat"], [v + "_f"]) for v in parts]
    return nodes + [h.make_node("Concat", [v + "_f" for v in parts], ["y"], axis=0)]


FLAT = ("flat", np.array([-1]))


def resizes():
    def node(inputs, output, **attributes):
        return h.make_node("Resize", ["x"] + inputs, [output], **attributes)

    sizes = ["", "", "sizes"]
    nodes = [node(["", "scales"], "a", coordinate_transformation_mode="asymmetric", mode="nearest",
                  nearest_mode="floor"),
             node(sizes, "b", axes=[2, 3], mode="linear"),
             node(sizes, "c", axes=[3, 2], coordinate_transformation_mode="align_corners", cubic_coeff_a=-0.5,
                  mode="cubic"),
             node(["", "scales"], "d", coordinate_transformation_mode="half_pixel_symmetric", exclude_outside=1,
                  mode="cubic"),
             node(sizes, "e", antialias=1, axes=[3, 2], mode="linear"),
             node(["roi", "", "sizes"], "f", axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize",
                  extrapolation_value=7.0, mode="linear"),
             node(sizes, "g", axes=[2, 3], keep_aspect_ratio_policy="not_larger", mode="nearest",
                  nearest_mode="ceil"),
             node(sizes, "k", antialias=1, axes=[3, 2], mode="cubic")]
    weights = [("scales", np.array([1, 1, 2, 0.6], np.float32)), ("sizes", np.array([3, 10])),
               ("roi", np.array([0.1, 0.2, 1.1, 0.9], np.float32)), FLAT]
    write("resizes", as_numbers(nodes, "abcdefgk"), {"x": floats(1, 2, 5, 6)}, {"y": T.FLOAT}, weights, opset=19)


def bits():
    """32 bits, and 8 with and without a sign; counts of shifts are what 8 bits have."""
    nodes, values, casts = [h.make_node("BitwiseAnd", ["a", "mask"], ["v"])], ["v"], []
    for kind, to in (("", T.INT32), ("c", T.INT8), ("e", T.UINT8)):
        if kind:
            nodes += [h.make_node("Cast", [n], [kind + n], to=to) for n in "abn"]
        a, b, n = (kind + x for x in "abn")
        made = [("BitwiseAnd", [a, b], {}), ("BitwiseOr", [a, b], {}), ("BitwiseXor", [a, b], {}),
                ("BitwiseNot", [a], {}), ("BitShift", [a, n], {"direction": "LEFT"}),
                ("BitShift", [a, n], {"direction": "RIGHT"})]
        names = ["%s%d" % (kind or "i", i) for i in range(len(made))]
        nodes += [h.make_node(op, ins, [y], **more) for (op, ins, more), y in zip(made, names)]
        values += names
        casts += names if kind else []
    inputs = {"a": random.integers(-2**31, 2**31, (3, 5)).astype(np.int32),
              "b": random.integers(-2**31, 2**31, 5).astype(np.int32), "n": np.array([0, 1, 3, 6, 7], np.int32)}
    write("bits", as_numbers(nodes, values, T.INT32, casts), inputs, {"y": T.INT32},
          [("mask", np.array(1023, np.int32)), FLAT], opset=19)


def pools():
    nodes = [h.make_node("MaxPool", ["x"], ["a", "ai"], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1]),
             h.make_node("MaxPool", ["x"], ["b", "bi"], kernel_shape=[2, 2], storage_order=1, strides=[2, 2]),
             h.make_node("MaxPool", ["v"], ["c", "ci"], kernel_shape=[2, 2, 2]),
             h.make_node("MaxPool", ["x"], ["d", "di"], kernel_shape=[2, 2], strides=[2, 2]),
             h.make_node("MaxUnpool", ["d", "di"], ["e"], kernel_shape=[2, 2], strides=[2, 2])]
    indices = ["ai", "bi", "ci", "di"]
    # the reference evaluator is wrong for indices of three axes
    write("pools", as_numbers(nodes, ["a", "b", "c", "d", "e"] + indices, T.FLOAT, indices),
          {"x": floats(2, 2, 4, 4), "v": floats(1, 1, 3, 4, 3)}, {"y": T.FLOAT}, [FLAT], opset=19, runtime=True)


def signals():
    nodes = [h.make_node("DFT", ["x", "", "one"], ["a"]), h.make_node("DFT", ["x", "seven"], ["b"], inverse=1),
             h.make_node("DFT", ["s", "", "one"], ["c"], onesided=1),
             h.make_node("DFT", ["c", "eight", "one"], ["d"], inverse=1, onesided=1),
             h.make_node("STFT", ["s", "three", "w"], ["e"]),
             h.make_node("MelWeightMatrix", ["eight", "sixteen", "rate", "low", "high"], ["f"]),
             h.make_node("Det", ["q"], ["g"])]
    numbers = {"one": 1, "three": 3, "seven": 7, "eight": 8, "sixteen": 16, "rate": 8192}
    weights = [(n, np.array(x)) for n, x in numbers.items()]
    weights += [("low", np.array(0, np.float32)), ("high", np.array(4096, np.float32)), FLAT]
    write("signals", as_numbers(nodes, "abcdefg"),
          {"x": floats(2, 6, 3, 2), "s": floats(2, 11, 1), "w": floats(4), "q": floats(2, 4, 4)}, {"y": T.FLOAT},
          weights, opset=20)


def samples():
    roi = {"sampling_ratio": 2, "spatial_scale": 0.9}
    nodes = [h.make_node("GridSample", ["x", "g"], ["a"], mode="linear"),
             h.make_node("GridSample", ["x", "g"], ["b"], align_corners=1, mode="nearest", padding_mode="border"),
             h.make_node("GridSample", ["x", "g"], ["c"], mode="cubic", padding_mode="reflection"),
             h.make_node("GridSample", ["v", "gv"], ["d"], align_corners=1, mode="linear",
                         padding_mode="reflection"),
             h.make_node("AffineGrid", ["th", "size"], ["e"]),
             h.make_node("AffineGrid", ["th", "size"], ["f"], align_corners=1),
             h.make_node("RoiAlign", ["x", "rois", "batch"], ["k"], output_height=2, output_width=3, **roi),
             h.make_node("RoiAlign", ["x", "rois", "batch"], ["l"],
                         coordinate_transformation_mode="output_half_pixel", mode="max", output_height=2,
                         output_width=2, sampling_ratio=1)]
    corners = np.array([[0.2, 0.3, 2.8, 2.1], [1, 0, 3, 2], [0.5, 0.5, 1.6, 2.4]], np.float32)
    inputs = {"x": floats(2, 2, 3, 4), "g": floats(2, 2, 3, 2) * 2, "v": floats(1, 2, 2, 3, 3),
              "gv": floats(1, 2, 1, 2, 3) * 2, "th": floats(2, 2, 3), "rois": corners}
    write("samples", as_numbers(nodes, "abcdefkl"), inputs, {"y": T.FLOAT},
          [("size", np.array([2, 1, 3, 2])), ("batch", np.array([1, 0, 1])), FLAT], opset=20, runtime=True)


def cells():
    """Both directions, lengths, first states, peepholes and other activations; rows first is the reference's."""
    H = 4
    weights = [(n + cell, floats(2, g * H, 3 if n == "w" else H)) for cell, g in (("l", 4), ("g", 3))
               for n in ("w", "r")]
    weights += [("bl", floats(2, 8 * H)), ("bg", floats(2, 6 * H)), ("p", floats(2, 3 * H)),
                ("wn", floats(1, H, 3)), ("rn", floats(1, H, H)), ("lens", np.array([5, 2], np.int32)),
                ("h0", floats(2, 2, H)), FLAT]
    both = {"hidden_size": H, "direction": "bidirectional"}
    nodes = [h.make_node("LSTM", ["x", "wl", "rl", "bl", "lens", "h0", "h0", "p"], ["a", "ah", "ac"], clip=0.8,
                         **both),
             h.make_node("LSTM", ["x", "wl", "rl"], ["", "", "b"], input_forget=1, **both),
             h.make_node("GRU", ["x", "wg", "rg", "bg", "lens"], ["c", "ch"], linear_before_reset=1, **both),
             h.make_node("GRU", ["x", "wg", "rg", "bg", "", "h0"], ["d"],
                         activations=["HardSigmoid", "Softsign", "Sigmoid", "LeakyRelu"],
                         activation_alpha=[0.3, 0.1], activation_beta=[0.4], **both),
             h.make_node("RNN", ["x", "wn", "rn", "", "lens"], ["e", "eh"], hidden_size=H, direction="reverse",
                         activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1])]
    values = ["a", "ah", "ac", "b", "c", "ch", "d", "e", "eh"]
    write("cells", as_numbers(nodes, values), {"x": floats(5, 2, 3)}, {"y": T.FLOAT}, weights, opset=14,
          runtime=True)


def quantised():
    """A product as ONNX Runtime quantises it when it runs (its own sums saturate on some processors), one of quantised matrices, and scales of all kinds."""
    bytes_ = random.integers(-128, 128, (300, 6)).astype(np.int8)
    weights = [("w", bytes_), ("wz", np.array(3, np.int8)), ("ws", np.float32(0.004)), ("b", floats(6)),
               ("s", np.float32(0.02)), ("z", np.array(120, np.uint8)), ("ss", np.abs(floats(300)) * 0.02 + 0.01),
               ("zz", random.integers(-5, 5, 300).astype(np.int8)), ("s6", np.abs(floats(6)) * 0.01 + 0.002),
               ("z6", random.integers(-9, 9, 6).astype(np.int8)), ("blocks", np.abs(floats(2, 6)) * 0.02 + 0.001),
               ("flat", np.array([-1]))]
    nodes = [h.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
             h.make_node("MatMulInteger", ["q", "w", "qz", "wz"], ["sum"]),
             h.make_node("Cast", ["sum"], ["sum_float"], to=T.FLOAT),
             h.make_node("Mul", ["qs", "ws"], ["scale"]),
             h.make_node("Mul", ["sum_float", "scale"], ["product"]),
             h.make_node("Add", ["product", "b"], ["c"]),
             h.make_node("QuantizeLinear", ["x", "s", "z"], ["d"]),
             h.make_node("QLinearMatMul", ["d", "s", "z", "w", "s6", "z6", "s", "z"], ["e"]),
             h.make_node("DequantizeLinear", ["e", "s", "z"], ["f"]),
             h.make_node("QuantizeLinear", ["x", "ss", "zz"], ["g"], axis=-1),
             h.make_node("DequantizeLinear", ["g", "ss", "zz"], ["i"], axis=1),
             h.make_node("DequantizeLinear", ["w", "blocks"], ["wide"], axis=0, block_size=150),
             h.make_node("MatMul", ["x", "wide"], ["j"])]
    write("quantised", as_numbers(nodes, "cfij"), {"x": floats(3, 300)}, {"y": T.FLOAT}, weights, opset=21)


def contrib():
    """Operators of ONNX Runtime on quantised numbers.  Its sums of products of bytes and signed bytes saturate on
    some processors; these weights are so small that they do not.  No scale makes halves, which float and double
    might round apart."""
    def node(op, inputs, output, domain="com.microsoft", **attributes):
        return h.make_node(op, inputs.split(), [output], domain=domain, **attributes)

    def signed(n, *shape):
        return random.integers(-n, n + 1, shape).astype(np.int8)

    def scales(*shape):
        return (np.abs(floats(*shape)) * 0.03 + 0.01).astype(np.float32)

    bytes_ = random.integers(0, 256, (96, 5)).astype(np.uint8)
    weights = [("s", np.float32(0.021387)), ("z", np.array(120, np.uint8)), ("r", np.float32(0.031973)),
               ("t", np.array(-5, np.int8)), ("one", np.float32(0.0039217)), ("u", np.array(0, np.uint8)),
               ("w", signed(60, 96, 5)), ("ws", scales(5)), ("wz", signed(9, 5)), ("v", bytes_), ("vz", bytes_[0]),
               ("b", floats(5)), ("whole", random.integers(-9000, 9000, 5).astype(np.int32)),
               ("k", signed(60, 6, 2, 3, 3)), ("ks", scales(6)), ("kz", np.zeros(6, np.int8)),
               ("kb", random.integers(-900, 900, 6).astype(np.int32)), ("kk", random.integers(0, 256, (6, 4, 3, 3)).astype(np.uint8)),
               ("f", floats(6, 2, 3, 3)), ("fb", floats(6)), ("big", np.float32(0.39271)), FLAT,
               ("rows", np.array([12, 96])), ("picture", np.array([2, 4, 12, 12])), ("residue", floats(2, 6, 12, 12)),
               ("yes", random.integers(0, 2, (12, 96)).astype(bool)), ("texts", np.array([2, 6, 96])),
               ("qkv", signed(60, 96, 36)), ("qb", floats(36)), ("tiny", np.float32(0.00213)), ("g", floats(7, 96) * 0.1),
               ("mask", np.array([4, 6], np.int32)), ("none", np.array(0, np.int8)), ("byte", np.float32(1 / 256))]
    conv = {"group": 2, "pads": [1, 1, 1, 1]}
    nodes = [node("QuantizeLinear", "x s z", "q"), node("QuantizeLinear", "x r t", "i"),
             node("Reshape", "q rows", "m", domain=""), node("Reshape", "i rows", "n", domain=""),
             node("Reshape", "q picture", "p", domain=""), node("Reshape", "i picture", "j", domain=""),
             node("Reshape", "x picture", "c", domain=""), node("Reshape", "x rows", "l", domain=""),
             node("QLinearConv", "p s z k ks kz big z kb", "a0", domain="", strides=[2, 1], **conv),
             node("QLinearConv", "j r t k ks kz big t", "a1", domain="", **conv),
             node("ConvInteger", "p kk z u", "a2", domain="", dilations=[1, 2]),
             node("QLinearAdd", "m s z m r u big z", "a3"), node("QLinearAdd", "n s t n r t r t", "a4"),
             node("QLinearMul", "m s z m r u one z", "a5"), node("QLinearSigmoid", "m s z one u", "a6"),
             node("QLinearLeakyRelu", "n r t s t", "a7", alpha=0.137), node("QLinearConcat", "s z m s z m r u", "a8", axis=1),
             node("QLinearWhere", "yes m s z m r u s z", "a9"),
             node("QLinearGlobalAveragePool", "p s z one z", "b0", channels_last=0),
             node("MatMulIntegerToFloat", "m w s ws z wz b", "b1"), node("MatMulIntegerToFloat", "m v s ws z vz", "b2"),
             node("DynamicQuantizeMatMul", "l w ws wz b", "b3"),
             node("QGemm", "m s z w ws wz whole big z", "b4", alpha=0.7), node("QGemm", "n r t w ws wz", "b5"),
             node("FusedConv", "c f fb residue", "b6", activation="LeakyRelu", activation_params=[0.2], **conv),
             node("DequantizeLinear", "n r t", "b7"), node("Reshape", "m texts", "h", domain=""),
             node("QLinearAveragePool", "j r t s t", "a", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0]),
             node("QLinearSoftmax", "h s z byte u", "d", axis=-1, opset=13),
             node("FusedGemm", "l g", "b8", transB=1, activation="LeakyRelu", activation_alpha=0.2),
             node("QAttention", "h qkv qb s tiny mask z none", "b9", num_heads=3, unidirectional=1)]
    whole = ["a%d" % i for i in range(10)] + ["a", "d", "b0", "b4"]
    values = whole + ["b1", "b2", "b3", "b5", "b6", "b7", "b8", "b9"]
    write("contrib", as_numbers(nodes, values, casts=whole),
          {"x": floats(1152)}, {"y": T.FLOAT}, weights, opset=20, contrib=True)


os.makedirs(FOLDER, exist_ok=True)
for make in (mlp, attention, pictures, shapes, functions, lookups, loops, scans, known, batches, past, resizes, bits,
             pools, signals, samples, cells, quantised, contrib):
    make()
