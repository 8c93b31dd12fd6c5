#!/usr/bin/env python3
"""Measures crescent beside PyTorch, ONNX Runtime and plain matrix products.

    ROWS="gpt2_block:B=1,T=128 ..." THREADS="1 2" python3 tests/bench_peers.py

Prints lines of docs/bench/PROCESSOR.tsv, where `make bench-peers` keeps them; bench_tables.sh describes
them.  Each contestant is a process of its own that waits for a line, then runs for a while and answers
with a line of JSON; they take turns, so that a slower moment of the machine meets all of them.  All have
the same weights and input, and a peer whose output differs is not counted.  A peer is as fast as its best variant:

    PyTorch        eager under inference_mode; scaled_dot_product_attention or attention
                   spelled out; malloc as it is or told to keep its memory; its
                   own BLAS or oneDNN's packed linear layers
    torch.compile  the same two attentions, and weights frozen into the code
    ONNX Runtime   plain operators, or its own Attention operator
    oneDNN, MKL, OpenBLAS   the block's matrix products alone, with weights packed beforehand
                   where the library can: a bound for whatever calls it op by op

A row that ends in `grads` (gpt2_block:B=4,T=64,grads) is forward and backward: the gradients of
the input and of every parameter, from a cotangent of ones; all of them are checked.  Operations
are then three times the forward's.  The peers:

    PyTorch        eager autograd; the variants above.  .grad is None before each run, so
                   backward hands over the tensors it has made: nothing is zeroed or added up, and
                   where malloc keeps its memory the next run finds it there
    PyTorch by hand   the same with linear layers written here, forward and backward by oneDNN's
                   products with weights packed beforehand, which PyTorch has for inference only
    torch.compile  forward and backward, the same two attentions
    oneDNN         its three products for each of the forward pass

$ROUNDS (5) and $BENCH_SECONDS (0.3 for a turn) say how long it takes; $SKIP names peers to leave
out, separated by commas: torch.compile takes most of the time.
"""
import copy
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time

import bench_record
from bench_record import median

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

# Make OpenBLAS take this machine for another one; with these set it runs at half its speed.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS")
# Keeps freed memory instead of returning it to the system.
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "8000000000",
               "MALLOC_TOP_PAD_": "268435456"}

# ---- Models --------------------------------------------------------------------------

# Script: prefix of layer i, then for norm 1, QKV, projection, norm 2, up and down the
# name, then what differs between the blocks.
GPT2 = dict(names=("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"),
            linear=False, causal=True, act="gelu_tanh", eps=1e-5, n_embd=768, n_head=12)
MODELS = {
    "gpt2_block": dict(GPT2, prefix="", n_layer=1),
    "gpt2_stack": dict(GPT2, prefix="h.%d.", n_layer=12),
    "stream_block": dict(
        names=("ln1", "attn.qkv_proj", "attn.out_proj", "ln2", "ffn.fc1", "ffn.fc2"),
        linear=True, causal=False, act="relu", eps=0.0, n_embd=512, n_head=8, prefix="",
        n_layer=1),
    "decoder_block": dict(
        names=("ln1", "attn.qkv_proj", "attn.out_proj", "ln2", "ffn.fc1", "ffn.fc2"),
        linear=True, causal=True, act="gelu", eps=1e-5, n_embd=768, n_head=12, prefix="",
        n_layer=1),
    # The peers get its heads joined, which is faster for them.
    "heads_block": dict(
        names=("ln1", None, "attn.proj", "ln2", "ff.net.0", "ff.net.2"),
        linear=True, causal=True, act="gelu", eps=1e-5, n_embd=64, n_head=4, prefix="",
        n_layer=1),
}


class Row:
    """A model at its sizes, with weights: layers[i] maps names to arrays, Linear's layout."""

    def __init__(self, word):
        self.script, _, text = word.partition(":")
        if self.script not in MODELS:
            sys.exit("bench_peers.py: %s: a row of an unknown model, expected one of %s"
                     % (word, ", ".join(MODELS)))
        self.__dict__.update(MODELS[self.script])
        words = [s for s in text.split(",") if s]
        self.grads = "grads" in words
        self.settings = [s for s in words if s != "grads"]
        self.B, self.T = (2, 16) if self.script == "heads_block" else (1, 128)
        for setting in self.settings:
            key, _, value = setting.partition("=")
            if key in ("B", "T", "n_embd", "n_head", "n_layer"):
                setattr(self, key, int(value))

    def widths(self):
        """(in, out) of the four products of a block."""
        n = self.n_embd
        return ((n, 3 * n), (n, n), (n, 4 * n), (4 * n, n))

    def draw(self):
        import numpy as np
        rng = np.random.default_rng(0)
        normal = lambda *shape: (0.02 * rng.standard_normal(shape)).astype(np.float32)
        self.x = rng.standard_normal((self.B, self.T, self.n_embd)).astype(np.float32)
        self.layers = []
        for _ in range(self.n_layer):
            qkv, proj, up, down = ((normal(o, i), normal(o)) for i, o in self.widths())
            if self.script == "heads_block":
                qkv = (qkv[0], np.zeros_like(qkv[1]))
            norms = [(1 + normal(self.n_embd), normal(self.n_embd)) for _ in range(2)]
            self.layers.append((norms[0], qkv, proj, norms[1], up, down))

    def state_dict(self):
        import numpy as np
        tensors = {}
        for i, layer in enumerate(self.layers):
            prefix = self.prefix % i if "%" in self.prefix else self.prefix
            for name, (weight, bias) in zip(self.names, layer):
                if name is None:
                    tensors.update(self.heads(weight))
                    continue
                transpose = weight.ndim == 2 and not self.linear
                tensors[prefix + name + ".weight"] = np.ascontiguousarray(
                    weight.T if transpose else weight)
                tensors[prefix + name + ".bias"] = bias
        return tensors

    def named(self, x, tensors):
        """Tensors in the order of the input and then the layers, by the names of the script."""
        tensors = iter(tensors)
        like = copy.copy(self)
        like.layers = [[(next(tensors), next(tensors)) for _ in layer] for layer in self.layers]
        return dict(like.state_dict(), x=x)

    def heads(self, qkv):
        size = self.n_embd // self.n_head
        parts = dict(zip(("query", "key", "value"), qkv.reshape(3, self.n_head, size, -1)))
        return {"attn.heads.%d.%s.weight" % (h, kind): part[h]
                for kind, part in parts.items() for h in range(self.n_head)}

    def write(self, folder):
        import numpy as np
        header, data, at = {}, [], 0
        for name, tensor in self.state_dict().items():
            header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                            "data_offsets": [at, at + tensor.nbytes]}
            data.append(np.ascontiguousarray(tensor).tobytes())
            at += tensor.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, "w.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
        np.save(os.path.join(folder, "x.npy"), self.x)


# ---- Peers: functions that return a function to be timed, and its output or None ------


def onednn_linear(weight, bias, rows):
    """A linear layer by oneDNN whatever BLAS this PyTorch was built with, weights packed."""
    import torch
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")


def onednn_product(a, b):
    """a b' by oneDNN, nothing packed."""
    import torch
    return torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")


def onednn_training_linear(weight, bias, rows):
    """The same with gradients: three products by oneDNN, of the two with weights packed ones."""
    import torch
    there = onednn_linear(weight.detach(), bias.detach(), rows)
    back = onednn_linear(weight.detach().t().contiguous(), None, rows)

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x)
            return there(x)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            flat, x = g.reshape(rows, -1), x.reshape(rows, -1)
            return back(g), onednn_product(flat.t(), x.t()), flat.sum(0)
    return lambda x: Linear.apply(x, weight, bias)


def torch_block(row, sdpa, onednn):
    import torch
    import torch.nn.functional as F

    act = {"gelu_tanh": lambda t: F.gelu(t, approximate="tanh"), "gelu": F.gelu,
           "relu": F.relu}[row.act]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(torch.from_numpy(a), requires_grad=row.grads)
                for layer in row.layers for pair in layer for a in pair)
            future = torch.ones(row.T, row.T, dtype=torch.bool).triu(1)
            self.register_buffer("future", future)
            self.linears = [self.linear(row.B * row.T, self.weights[i], self.weights[i + 1])
                            for layer in range(row.n_layer)
                            for i in (12 * layer + j for j in (2, 4, 8, 10))]

        def linear(self, rows, weight, bias):
            if onednn:
                return (onednn_training_linear if row.grads else onednn_linear)(weight, bias, rows)
            return lambda x: F.linear(x, weight, bias)

        def attention(self, q, k, v):
            if sdpa:
                return F.scaled_dot_product_attention(q, k, v, is_causal=row.causal)
            scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]))
            if row.causal:
                scores = scores.masked_fill(self.future, float("-inf"))
            return F.softmax(scores, dim=-1) @ v

        def forward(self, x):
            B, T, C = x.shape
            for i in range(row.n_layer):
                w = self.weights[12 * i:12 * i + 12]
                qkv, proj, up, down = self.linears[4 * i:4 * i + 4]
                h = qkv(F.layer_norm(x, (C,), w[0], w[1], row.eps))
                q, k, v = (t.view(B, T, row.n_head, -1).transpose(1, 2)
                           for t in h.split(C, dim=2))
                y = self.attention(q, k, v).transpose(1, 2).reshape(B, T, C)
                x = x + proj(y)
                h = up(F.layer_norm(x, (C,), w[6], w[7], row.eps))
                x = x + down(act(h))
            return x

    return torch, Model().eval(), torch.from_numpy(row.x)


def peer_torch(row, threads, attention, compiled=None, onednn=False):
    import torch
    torch.set_num_threads(threads)
    torch, model, x = torch_block(row, attention == "sdpa", onednn)
    if compiled:
        import torch._inductor.config as config
        config.freezing = compiled == "frozen"
        model = torch.compile(model)

    def run():
        with torch.inference_mode(not compiled), torch.no_grad():
            return model(x)
    return run, {"y": run().numpy()}


def peer_torch_training(row, threads, attention, compiled=False, onednn=False):
    import torch
    torch.set_num_threads(threads)
    torch, model, x = torch_block(row, attention == "sdpa", onednn)
    leaves = [x.requires_grad_(), *model.weights]
    ones = torch.ones_like(x)
    if compiled:
        model = torch.compile(model)

    def run():
        for leaf in leaves:
            leaf.grad = None
        y = model(x)
        y.backward(ones)
        return y
    y = run().detach().numpy()
    gradients = [leaf.grad.numpy().copy() for leaf in leaves]
    return run, dict(row.named(gradients[0], gradients[1:]), y=y)


def peer_onnxruntime(row, threads, form):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(onnx_model(row, form == "contrib"), options,
                                           providers=["CPUExecutionProvider"])
    run = lambda: session.run(None, {"x": row.x})[0]
    return run, {"y": run()}


def operands(row):
    """Of each product of the model: activations [M, K] and weights [N, K]."""
    import numpy as np
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((row.B * row.T, i)).astype(np.float32)
              for i, _ in row.widths()]
    return [(inputs[j], layer[slot][0])
            for layer in row.layers for j, slot in enumerate((1, 2, 4, 5))]


def peer_openblas(row, threads):
    import numpy as np
    if "openblas" not in str(np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]):
        raise ImportError("numpy %s uses another BLAS" % np.__version__)
    pairs = [(a, np.ascontiguousarray(w.T)) for a, w in operands(row)]
    out = [np.empty((a.shape[0], w.shape[1]), np.float32) for a, w in pairs]

    def run():
        for (a, w), y in zip(pairs, out):
            np.matmul(a, w, out=y)
    return run, {}


def peer_onednn(row, threads):
    import torch
    torch.set_num_threads(threads)
    if not torch.backends.mkldnn.is_available():
        raise ImportError("this PyTorch has no oneDNN")
    pairs = [(torch.from_numpy(a), torch.from_numpy(w)) for a, w in operands(row)]
    layers = [(a, onednn_linear(w, None, a.shape[0])) for a, w in pairs]
    back = [(torch.ones(a.shape[0], w.shape[0]), a.t(),
             onednn_linear(w.t().contiguous(), None, a.shape[0])) for a, w in pairs if row.grads]

    def run():
        with torch.inference_mode():
            for a, linear in layers:
                linear(a)
            for g, a, linear in back:
                linear(g)
                onednn_product(g.t(), a)
    return run, {}


def peer_mkl(row, threads):
    """The products by the MKL that PyTorch is shipped with, weights packed."""
    import torch
    torch.set_num_threads(threads)
    if not torch.backends.mkl.is_available():
        raise ImportError("this PyTorch has no MKL")
    layers = []
    for a, w in operands(row):
        a, w = torch.from_numpy(a), torch.from_numpy(w)
        packed = torch.ops.mkl._mkl_reorder_linear_weight(w, a.shape[0])
        layers.append((a, packed, w))

    def run():
        with torch.inference_mode():
            for a, packed, w in layers:
                torch.ops.mkl._mkl_linear(a, packed, w, None, a.shape[0])
    return run, {}


# ---- ONNX, written as protocol buffers -------------------------------------------------


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    """One field: an int, a float, or bytes and text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, i) for i in value) + field(20, 7)


class Onnx:
    """A graph under construction; methods return the names of values."""

    def __init__(self):
        self.nodes, self.tensors, self.n = [], [], 0

    def constant(self, array):
        self.n += 1
        name = "c%d" % self.n
        kind = 7 if array.dtype.kind == "i" else 1
        self.tensors.append(b"".join(field(1, d) for d in array.shape) + field(2, kind) +
                            field(8, name) + field(9, array.tobytes()))
        return name

    def node(self, op, *inputs, outputs=1, domain="", **attributes):
        self.n += 1
        names = ["v%d_%d" % (self.n, i) for i in range(outputs)]
        self.nodes.append(
            b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in names) +
            field(4, op) + field(7, domain) +
            b"".join(field(5, onnx_attribute(k, v)) for k, v in attributes.items()))
        return names if outputs > 1 else names[0]

    def model(self, x_shape, y):
        dims = b"".join(field(1, field(1, d)) for d in x_shape)
        port = lambda name: field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))
        self.nodes.append(field(1, y) + field(2, "y") + field(4, "Identity"))
        graph = b"".join(field(1, n) for n in self.nodes) + field(2, "block") + \
            b"".join(field(5, t) for t in self.tensors) + field(11, port("x")) + \
            field(12, port("y"))
        imports = (("", 20), ("com.microsoft", 1))
        return field(1, 9) + field(7, graph) + \
            b"".join(field(8, field(1, d) + field(2, v)) for d, v in imports)


def onnx_model(row, contrib):
    import numpy as np
    g = Onnx()
    B, T, C, H = row.B, row.T, row.n_embd, row.n_head
    const = lambda *a, dtype=np.int64: g.constant(np.array(a, dtype))

    def linear(x, weight, bias):
        y = g.node("MatMul", x, g.constant(np.ascontiguousarray(weight.T)))
        return g.node("Add", y, g.constant(bias))

    def norm(x, weight, bias):
        return g.node("LayerNormalization", x, g.constant(weight), g.constant(bias), axis=-1,
                      epsilon=row.eps)

    def act(x):
        if row.act == "relu":
            return g.node("Relu", x)
        return g.node("Gelu", x, approximate="tanh" if row.act == "gelu_tanh" else "none")

    heads = const(B, T, H, C // H)
    whole = const(B, T, C)
    scale = g.constant(np.array((C // H) ** -0.5, np.float32))
    mask = g.constant(np.triu(np.full((T, T), -np.inf, np.float32), 1)) if row.causal else None

    def attention(x, weight, bias):
        if contrib:
            return g.node("Attention", x, g.constant(np.ascontiguousarray(weight.T)),
                          g.constant(bias), domain="com.microsoft", num_heads=H,
                          unidirectional=int(row.causal))
        q, k, v = g.node("Split", linear(x, weight, bias), outputs=3, axis=-1, num_outputs=3)
        q = g.node("Transpose", g.node("Reshape", q, heads), perm=(0, 2, 1, 3))
        k = g.node("Transpose", g.node("Reshape", k, heads), perm=(0, 2, 3, 1))
        v = g.node("Transpose", g.node("Reshape", v, heads), perm=(0, 2, 1, 3))
        scores = g.node("Mul", g.node("MatMul", q, k), scale)
        if mask:
            scores = g.node("Add", scores, mask)
        y = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
        return g.node("Reshape", g.node("Transpose", y, perm=(0, 2, 1, 3)), whole)

    x = "x"
    for norm1, qkv, proj, norm2, up, down in row.layers:
        x = g.node("Add", x, linear(attention(norm(x, *norm1), *qkv), *proj))
        x = g.node("Add", x, linear(act(linear(norm(x, *norm2), *up)), *down))
    return g.model((B, T, C), x)


# ---- Contestants -----------------------------------------------------------------------

# Peer: (variant, function, its arguments, environment).
PEERS = {
    "PyTorch": [(a + m, peer_torch, (a,), e) for a in ("sdpa", "spelled out")
                for m, e in (("", {}), (", malloc kept", KEEP_MEMORY))] +
               [("sdpa, oneDNN, malloc kept", peer_torch, ("sdpa", None, True), KEEP_MEMORY)],
    "torch.compile": [("sdpa", peer_torch, ("sdpa", "plain"), KEEP_MEMORY),
                      ("spelled out", peer_torch, ("spelled out", "plain"), KEEP_MEMORY),
                      ("sdpa, frozen", peer_torch, ("sdpa", "frozen"), KEEP_MEMORY)],
    "ONNX Runtime": [("plain", peer_onnxruntime, ("plain",), KEEP_MEMORY),
                     ("Attention", peer_onnxruntime, ("contrib",), KEEP_MEMORY)],
    "oneDNN products": [("", peer_onednn, (), {})],
    "MKL products": [("", peer_mkl, (), {})],
    "OpenBLAS products": [("", peer_openblas, (), {})],
}


# Of rows with gradients.
TRAINING_PEERS = {
    "PyTorch": [(a + m, peer_torch_training, (a,), e) for a in ("sdpa", "spelled out")
                for m, e in (("", {}), (", malloc kept", KEEP_MEMORY))],
    "PyTorch by hand": [(a, peer_torch_training, (a, False, True), KEEP_MEMORY)
                        for a in ("sdpa", "spelled out")],
    "torch.compile": [("sdpa", peer_torch_training, ("sdpa", True), KEEP_MEMORY),
                      ("spelled out", peer_torch_training, ("spelled out", True), KEEP_MEMORY)],
    "oneDNN products": [("", peer_onednn, (), KEEP_MEMORY)],
}

COLUMNS = list(PEERS)
COLUMNS.insert(1, "PyTorch by hand")


def peers(row):
    return TRAINING_PEERS if row.grads else PEERS


def skipped(peer):
    return peer in os.environ.get("SKIP", "").split(",")


# Peer: the package that it is of.
PACKAGES = {"PyTorch": "torch", "PyTorch by hand": "torch", "torch.compile": "torch",
            "ONNX Runtime": "onnxruntime", "oneDNN products": "torch", "MKL products": "torch",
            "OpenBLAS products": "numpy"}


def print_contestants():
    bench_record.crescent_contestant()
    torch = bench_record.torch_capability()
    for peer, package in PACKAGES.items():
        version = bench_record.package_version(package)
        if version and not skipped(peer):
            built = torch if package == "torch" else "chosen when it runs"
            if peer == "torch.compile":
                built = "those of the machine, by the C++ compiler that is there"
            bench_record.contestant(peer, "numpy " * (package == "numpy") + version, built)


def read_outputs(row, folder):
    """What crescent computed: the output and, by name, the gradients."""
    import numpy as np
    outputs = {"y": np.load(os.path.join(folder, "y.npy"))}
    if row.grads:
        with open(os.path.join(folder, "g.safetensors"), "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header, data = json.loads(file.read(size)), file.read()
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            outputs[name] = np.frombuffer(data[begin:end], "<f4").reshape(tensor["shape"])
    return outputs


def error(found, expected):
    """The largest difference, relative to numbers as large as the largest one."""
    import numpy as np
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def worker(word, threads, peer, index, folder):
    """A process that measures a variant: a line in, a line of JSON out."""
    import numpy as np
    row = Row(word)
    row.draw()
    _, function, arguments, _ = peers(row)[peer][index]
    try:
        run, outputs = function(row, threads, *arguments)
    except Exception as problem:  # whatever a library does is a reason to be named
        print(json.dumps({"missing": str(problem).strip().split("\n")[0][:120]
                          or type(problem).__name__}), flush=True)
        return
    expected = read_outputs(row, folder) if outputs else {}
    worst = max([error(outputs[name], expected[name]) for name in expected], default=0.0)
    for _ in range(3):
        run()
    print(json.dumps({"worst": worst}), flush=True)
    seconds = float(os.environ.get("BENCH_SECONDS", "0.3"))
    for _ in sys.stdin:
        times = []
        run()
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.perf_counter_ns()
            run()
            times.append(time.perf_counter_ns() - start)
        times.sort()
        print(json.dumps({"median_ns": times[len(times) // 2], "min_ns": times[0]}), flush=True)


class Contestant:
    def __init__(self, peer, variant, command, threads, environment):
        env = {k: v for k, v in os.environ.items() if k not in UNSET}
        env.update(environment, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                   MKL_NUM_THREADS=str(threads))
        self.peer, self.variant, self.medians = peer, variant, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=env)

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"missing": "its process ended"}

    def turn(self):
        """One round; false if the process is gone."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        self.answer = self.read()
        if "median_ns" in self.answer:
            self.medians.append(self.answer["median_ns"])
        return "median_ns" in self.answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def crescent(*arguments):
    return [bench_record.CRESCENT] + list(arguments)


def model_arguments(row, folder, threads):
    arguments = [os.path.join(ROOT, "graphs", row.script + ".lua"), "--threads", str(threads),
                 "--weights", os.path.join(folder, "w.safetensors"),
                 "--input", "x=" + os.path.join(folder, "x.npy")]
    for setting in row.settings:
        arguments += ["--set", setting]
    return arguments


def operations(row, folder):
    """Of a run; with a backward pass, three times the forward's, whatever is computed."""
    answer = json.loads(subprocess.run(
        crescent("bench", *model_arguments(row, folder, 1), "--compile-only", "--json"),
        stdout=subprocess.PIPE, check=True, text=True).stdout)
    return answer["flops"] * (3 if row.grads else 1)


def enlist(row, word, threads, folder, notes):
    """Starts everybody, one after the other; returns those that gave the right output."""
    seconds = os.environ.get("BENCH_SECONDS", "0.3")
    contestants = [Contestant("crescent", "", crescent(
        "bench", *model_arguments(row, folder, threads), "--turns", "--seconds", seconds,
        *(("--grads", "none") if row.grads else ())), threads, {})]
    for peer, variants in peers(row).items():
        if skipped(peer):
            continue
        for i, (variant, _, _, environment) in enumerate(variants):
            c = Contestant(peer, variant, [sys.executable, os.path.abspath(__file__), "--worker",
                                           word, str(threads), peer, str(i), folder], threads,
                           environment)
            answer = c.read()
            if answer.get("worst", math.inf) < 1e-3:
                contestants.append(c)
                continue
            c.close()
            notes.add("%s%s is missing: %s" % (peer, variant and " (%s)" % variant, answer.get(
                "missing", "its output is off by %.3g" % answer.get("worst", 0))))
    return contestants


def measure(word, threads, notes):
    row = Row(word)
    row.draw()
    rounds = int(os.environ.get("ROUNDS", "5"))
    with tempfile.TemporaryDirectory() as folder:
        row.write(folder)
        outputs = ["--output", "y=" + os.path.join(folder, "y.npy")]
        if row.grads:
            outputs += ["--grads", os.path.join(folder, "g.safetensors")]
        subprocess.run(crescent("run", *model_arguments(row, folder, 1), *outputs),
                       check=True, stdout=subprocess.DEVNULL)
        contestants = enlist(row, word, threads, folder, notes)
        try:
            for i in range(rounds):
                for c in contestants if i % 2 else contestants[::-1]:
                    time.sleep(0.02)  # until the threads of the one before are asleep
                    if not c.turn() and c.peer == "crescent":
                        sys.exit("bench_peers.py: crescent bench ended early")
            answer = contestants[0].answer
            share = operations(row, folder) / median(contestants[0].medians) / answer["peak_gflops"]
            return contestants, share
        finally:
            for c in contestants:
                c.close()


def results(contestants):
    """Of each peer that is there its name, ms, ratio and the variant that was its fastest."""
    ours = contestants[0].medians
    for peer in COLUMNS:
        mine = [c for c in contestants if c.peer == peer and len(c.medians) == len(ours)]
        if mine:
            best = min(mine, key=lambda c: median(c.medians))
            ratio = median([theirs / us for theirs, us in zip(best.medians, ours)])
            yield peer, median(best.medians) * 1e-6, ratio, best.variant


def main():
    try:
        import numpy  # noqa: F401
    except ImportError:
        sys.exit("bench_peers.py: numpy is missing, expected it to draw the weights with")
    bench_record.run("blocks")
    print_contestants()
    notes = set()
    for word in os.environ.get("ROWS", "gpt2_block:B=1,T=128").split():
        for threads in os.environ.get("THREADS", "1 2").split():
            print("bench_peers: %s, threads %s" % (word, threads), file=sys.stderr)
            contestants, share = measure(word, int(threads), notes)
            row = Row(word)
            bench_record.row("grads" if row.grads else "block", row.script, " ".join(row.settings),
                             threads, median(contestants[0].medians) * 1e-6, share,
                             list(results(contestants)))
    for note in sorted(notes):
        bench_record.line("note", note)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), sys.argv[6])
    else:
        main()
