#!/usr/bin/env python3
"""Writes tests/fixtures/: weights, inputs, outputs and gradients of the six graphs, by PyTorch.

    python3 tests/make_fixtures.py [CASE...]

Each case is a folder with
    model.safetensors   the state dict, float32 (buffers such as masks included)
    x.npy               the input, float32
    y.npy               the output, computed in float64
    c.npy               the cotangent: L is the sum of y c
    grads.safetensors   dL/d of every parameter and of x, computed in float64
    case.txt            lines of KEY VALUE:
        script PATH         the graph
        set KEY=VALUE       an option; any number of these
        config FILE         a file of the case with values for options
        atol NUMBER         the largest absolute error allowed
        grad_atol NUMBER    the same for gradients
        input NAME          an input and its file, if it is not x
        expect NAME         an output and its file, if it is not y
        cotangent NAME      the output that c.npy is for, if it is not y

The cases of TRAINING have the state after some steps of an optimiser.

Needs torch and numpy.  The same bytes come out at every run on one version of them.
"""
import json
import math
import os
import sys
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- The modules, with the parameter names of the graphs ------------------------------


def split_heads(t, n_head):
    B, T, C = t.shape
    return t.view(B, T, n_head, C // n_head).transpose(1, 2)


def attention(q, k, v, causal):
    """Softmax attention over [B, n_head, T, head_dim], heads joined again."""
    B, H, T, D = q.shape
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)
    if causal:
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    return (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(B, T, H * D)


def fused_attention(qkv, n_head, causal=True):
    return attention(*(split_heads(t, n_head) for t in qkv.chunk(3, dim=2)), causal)


class Conv1D(nn.Module):
    """Hugging Face's layer of GPT-2: a Linear whose weight is [in, out]."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class ScaleNorm(nn.Module):
    """The textbook's layer norm: divided by sigma itself, without an epsilon."""

    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        sigma = centred.square().mean(-1, keepdim=True).sqrt()
        return centred / sigma * self.weight + self.bias


class Residual(nn.Module):
    """A pre-norm block: two sublayers, each behind a norm, added to its own input.

    `names` are those of norm 1, attention, norm 2 and feed-forward.
    """

    def __init__(self, names, modules):
        super().__init__()
        self.names = names
        for name, module in zip(names, modules):
            self.add_module(name, module)

    def forward(self, x):
        norm1, attn, norm2, ff = (getattr(self, name) for name in self.names)
        x = x + attn(norm1(x))
        return x + ff(norm2(x))


class FusedAttention(nn.Module):
    """Queries, keys and values from one layer; `names` are its and the projection's."""

    def __init__(self, names, qkv, proj, n_head, causal=True, mask=0, mask_name="mask"):
        super().__init__()
        self.names, self.n_head, self.causal = names, n_head, causal
        for name, module in zip(names, (qkv, proj)):
            self.add_module(name, module)
        if mask:
            self.register_buffer(mask_name, torch.tril(torch.ones(1, 1, mask, mask)))

    def forward(self, x):
        qkv, proj = (getattr(self, name) for name in self.names)
        return proj(fused_attention(qkv(x), self.n_head, self.causal))


class Head(nn.Module):
    def __init__(self, n_embd, size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, size, bias=False)
        self.query = nn.Linear(n_embd, size, bias=False)
        self.value = nn.Linear(n_embd, size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        q, k, v = (split_heads(layer(x), 1) for layer in (self.query, self.key, self.value))
        return attention(q, k, v, causal=True)


class HeadsAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, n_embd // n_head, block_size)
                                   for _ in range(n_head))
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class FeedForward(nn.Module):
    def __init__(self, names, up, down, activation):
        super().__init__()
        self.names, self.activation = names, activation
        for name, module in zip(names, (up, down)):
            self.add_module(name, module)

    def forward(self, x):
        up, down = (getattr(self, name) for name in self.names)
        return down(self.activation(up(x)))


class NetFeedForward(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(),
                                 nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        return self.net(x)


def decoder_block(n_embd, n_head, n_positions=16, bias=True, **_):
    linear = lambda n_in, n_out: nn.Linear(n_in, n_out, bias=bias)
    return Residual(("ln1", "attn", "ln2", "ffn"), (
        nn.LayerNorm(n_embd),
        FusedAttention(("qkv_proj", "out_proj"), linear(n_embd, 3 * n_embd),
                       linear(n_embd, n_embd), n_head, mask=n_positions),
        nn.LayerNorm(n_embd),
        FeedForward(("fc1", "fc2"), linear(n_embd, 4 * n_embd), linear(4 * n_embd, n_embd),
                    F.gelu)))


def heads_block(n_embd, n_head, block_size=32, **_):
    return Residual(("ln1", "attn", "ln2", "ff"), (
        nn.LayerNorm(n_embd),
        HeadsAttention(n_embd, n_head, block_size),
        nn.LayerNorm(n_embd),
        NetFeedForward(n_embd)))


class TinyNorm(nn.Module):
    """A layer norm whose bias can be left out (older PyTorch has no such option)."""

    def __init__(self, n, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


def tiny_block(n_embd, n_head, bias=True, **_):
    return Residual(("ln1", "attn", "ln2", "mlp"), (
        TinyNorm(n_embd, bias),
        FusedAttention(("c_attn", "c_proj"), nn.Linear(n_embd, 3 * n_embd),
                       nn.Linear(n_embd, n_embd), n_head),
        TinyNorm(n_embd, bias),
        FeedForward(("c_fc", "c_proj"), nn.Linear(n_embd, 4 * n_embd),
                    nn.Linear(4 * n_embd, n_embd), F.gelu)))


def gpt2_block(n_embd, n_head, layer_norm_epsilon=1e-5, layout="conv1d", mask=0, **_):
    layer = Conv1D if layout == "conv1d" else nn.Linear
    return Residual(("ln_1", "attn", "ln_2", "mlp"), (
        nn.LayerNorm(n_embd, eps=layer_norm_epsilon),
        FusedAttention(("c_attn", "c_proj"), layer(n_embd, 3 * n_embd), layer(n_embd, n_embd),
                       n_head, mask=mask, mask_name="bias"),
        nn.LayerNorm(n_embd, eps=layer_norm_epsilon),
        FeedForward(("c_fc", "c_proj"), layer(n_embd, 4 * n_embd), layer(4 * n_embd, n_embd),
                    lambda x: F.gelu(x, approximate="tanh"))))


def stream_block(n_embd, n_head, d_ff=2048, **_):
    return Residual(("ln1", "attn", "ln2", "ffn"), (
        ScaleNorm(n_embd),
        FusedAttention(("qkv_proj", "out_proj"), nn.Linear(n_embd, 3 * n_embd),
                       nn.Linear(n_embd, n_embd), n_head, causal=False),
        ScaleNorm(n_embd),
        FeedForward(("fc1", "fc2"), nn.Linear(n_embd, d_ff), nn.Linear(d_ff, n_embd), F.relu)))


class LibraryAttention(nn.Module):
    """Grouped-query attention as tests/scripts/library.lua has it."""

    def __init__(self, n_embd=20, n_head=6, n_kv_head=2, head_size=6, variant="alibi", **_):
        super().__init__()
        self.n_head, self.n_kv_head, self.variant = n_head, n_kv_head, variant
        self.q = nn.Linear(n_embd, n_head * head_size, bias=False)
        self.k = nn.Linear(n_embd, n_kv_head * head_size, bias=False)
        self.v = nn.Linear(n_embd, n_kv_head * head_size, bias=False)
        self.out = nn.Linear(n_head * head_size, n_embd)

    @staticmethod
    def alibi_slopes(n):
        """get_slopes of the authors' code."""
        def of_power_of_2(n):
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start ** i for i in range(n)]
        if math.log2(n).is_integer():
            return of_power_of_2(n)
        below = 2 ** math.floor(math.log2(n))
        return of_power_of_2(below) + LibraryAttention.alibi_slopes(2 * below)[0::2][:n - below]

    @staticmethod
    def interleaved(x, n=4, theta=100.0, factor=2.0):
        """The first n numbers of a head as complex ones, turned."""
        w = theta ** (-torch.arange(0, n, 2, dtype=torch.float64) / n) / factor
        angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * w
        pairs = torch.view_as_complex(x[..., :n].double().reshape(*x.shape[:-1], n // 2, 2))
        turned = torch.view_as_real(pairs * torch.exp(1j * angle)).flatten(-2)
        return torch.cat([turned.to(x.dtype), x[..., n:]], dim=-1)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = (split_heads(layer(x), n) for layer, n in (
            (self.q, self.n_head), (self.k, self.n_kv_head), (self.v, self.n_kv_head)))
        if self.variant == "interleaved":
            q, k = self.interleaved(q), self.interleaved(k)
        k, v = (t.repeat_interleave(self.n_head // self.n_kv_head, dim=1) for t in (k, v))
        scores = q @ k.transpose(-2, -1)
        scores = scores * 0.7 if self.variant == "interleaved" else scores / math.sqrt(q.shape[-1])
        query, key = torch.arange(T)[:, None], torch.arange(T)[None, :]
        seen = key <= query
        if self.variant == "alibi":
            slopes = torch.tensor(self.alibi_slopes(self.n_head), dtype=torch.float64)
            scores = scores - (slopes[:, None, None] * (query - key)).to(x.dtype)
        elif self.variant == "interleaved":
            scores = 0.5 * torch.tanh(scores / 0.5)
            seen = seen & (key > query - 4)
        else:
            seen = seen & (key >= 2)
        scores = scores.masked_fill(~seen, float("-inf"))
        nothing = ~seen.any(-1, keepdim=True)
        probs = F.softmax(scores.masked_fill(nothing, 0), dim=-1).masked_fill(nothing, 0)
        y = (probs @ v).transpose(1, 2).reshape(x.shape[0], T, -1)
        return self.out(y)


class Stack(nn.Module):
    def __init__(self, n_layer, **options):
        super().__init__()
        self.h = nn.ModuleList(gpt2_block(**options) for _ in range(n_layer))

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return x


GRAPHS = {
    "decoder_block": decoder_block,
    "heads_block": heads_block,
    "tiny_block": tiny_block,
    "gpt2_block": gpt2_block,
    "stream_block": stream_block,
    "gpt2_stack": Stack,
    "tests/scripts/library": LibraryAttention,
}


# ---- Weights and files ----------------------------------------------------------------


def randomise(module, rng, gain=1.0):
    """Weights that keep activations near their size; norms and biases far from 1 and 0,
    so that one that is forgotten or mixed up shows."""
    for name, p in module.named_parameters():
        noise = torch.from_numpy(rng.standard_normal(tuple(p.shape)))
        if p.dim() == 2:
            value = noise * gain / math.sqrt(sum(p.shape) / 2)
        elif name.endswith("weight"):
            value = 1 + 0.3 * noise
        else:
            value = 0.3 * noise
        p.data = value.float()


def build(script, options, seed, gain=1.0):
    """The module of a graph with random float32 weights, and the generator that drew them."""
    rng = np.random.RandomState(seed)
    module = GRAPHS[script](**options).eval()
    randomise(module, rng, gain)
    return module, rng


@torch.no_grad()
def reference(module, x):
    """The output in float64, and how far PyTorch's float32 is from it."""
    low = module.float()(torch.from_numpy(x)).double()
    high = module.double()(torch.from_numpy(x).double())
    module.float()
    return high.numpy(), (low - high).abs().max().item()


def differentiate(module, x, c):
    """The gradients of sum(y c), by name, at the precision of x."""
    module.zero_grad()
    module.to(x.dtype)
    x = x.clone().requires_grad_()
    (module(x) * c).sum().backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    grads["x"] = x.grad
    return {name: grad.clone().double() for name, grad in grads.items()}


def reference_grads(module, x, c):
    """The gradients in float64, and how far PyTorch's float32 is from them."""
    x, c = torch.from_numpy(x), torch.from_numpy(c)
    low = differentiate(module, x, c)
    high = differentiate(module, x.double(), c.double())
    module.float()
    error = max((low[name] - high[name]).abs().max().item() for name in high)
    return {name: grad.float().numpy() for name, grad in high.items()}, error


def write_safetensors(path, tensors):
    """name -> float32 array: 8 bytes of length, a JSON header, the data end to end."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little"))
        f.write(text)
        for array in tensors.values():
            f.write(array.tobytes())


def write_model(path, module, prefix=""):
    write_safetensors(path, {prefix + name: np.ascontiguousarray(tensor.numpy())
                             for name, tensor in module.state_dict().items()})


def option_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- The cases ------------------------------------------------------------------------

# name: graph, options.  `mean` and `std` are the input's, `gain` is the weights'; without
# `grads` there are none.
CASES = {
    "decoder": ("decoder_block", dict(B=2, T=7, n_embd=33, n_head=3, n_positions=16)),
    "decoder_nobias_t1": ("decoder_block",
                          dict(B=5, T=1, n_embd=24, n_head=2, n_positions=8, bias=False)),
    "decoder_one_head": ("decoder_block", dict(B=1, T=16, n_embd=17, n_head=1, n_positions=16)),
    "heads": ("heads_block", dict(B=2, T=13, n_embd=33, n_head=3, block_size=16)),
    "heads_t1": ("heads_block", dict(B=5, T=1, n_embd=20, n_head=5, block_size=4)),
    "tiny": ("tiny_block", dict(B=5, T=9, n_embd=33, n_head=3)),
    "tiny_nobias": ("tiny_block", dict(B=1, T=37, n_embd=16, n_head=2, bias=False)),
    "gpt2_t1": ("gpt2_block", dict(B=5, T=1, n_embd=33, n_head=3)),
    "gpt2_long": ("gpt2_block", dict(B=1, T=150, n_embd=24, n_head=3)),
    "gpt2_linear": ("gpt2_block",
                    dict(B=2, T=5, n_embd=33, n_head=3, layout="linear", prefix="layer.")),
    "gpt2_epsilon": ("gpt2_block",
                     dict(B=3, T=6, n_embd=24, n_head=4, layer_norm_epsilon=0.1), dict(mask=8)),
    "gpt2_offset": ("gpt2_block", dict(B=2, T=8, n_embd=32, n_head=4),
                    dict(mean=20.0, std=2.0)),
    "gpt2_sharp": ("gpt2_block", dict(B=2, T=10, n_embd=32, n_head=2), dict(gain=4.0)),
    "stream": ("stream_block", dict(B=2, T=11, n_embd=33, n_head=3, d_ff=50)),
    "stream_t1": ("stream_block", dict(B=5, T=1, n_embd=24, n_head=3, d_ff=96)),
    "stack": ("gpt2_stack", dict(B=2, T=12, n_embd=33, n_head=3, n_layer=3)),
    "stack_linear": ("gpt2_stack", dict(B=1, T=5, n_embd=20, n_head=2, n_layer=2,
                                        layout="linear", prefix="transformer.")),
    "library_alibi": ("tests/scripts/library", dict(B=2, T=9, n_embd=20)),
    "library_interleaved": ("tests/scripts/library",
                            dict(B=2, T=11, n_embd=20, variant="interleaved")),
    "library_unseen": ("tests/scripts/library", dict(B=2, T=9, n_embd=20, variant="unseen")),
    "demo": ("gpt2_block", dict(B=1, T=64, n_embd=192, n_head=6), dict(grads=False)),
}


def round_up(value):
    """To two digits, never downwards."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return "%.1e" % (math.ceil(value / digit) * digit)


def write_grads(folder, module, options, x, rng):
    """The cotangent and the gradients; the tolerance for them."""
    c = (2 * rng.standard_normal(x.shape) + 0.5).astype(np.float32)
    grads, error = reference_grads(module, x, c)
    prefix = options.get("prefix", "")
    np.save(os.path.join(folder, "c.npy"), c)
    write_safetensors(os.path.join(folder, "grads.safetensors"),
                      {(name if name == "x" else prefix + name): np.ascontiguousarray(grad)
                       for name, grad in grads.items()})
    return round_up(max(2e-5, 5 * error))


def make_case(name, script, options, extra=None):
    extra = dict(extra or {})
    mean, std, gain = extra.pop("mean", 0.0), extra.pop("std", 1.0), extra.pop("gain", 1.0)
    with_grads = extra.pop("grads", True)
    module, rng = build(script, {**options, **extra}, zlib.crc32(name.encode()), gain)
    shape = options["B"], options["T"], options["n_embd"]
    x = (mean + std * rng.standard_normal(shape)).astype(np.float32)
    y, error = reference(module, x)

    folder = os.path.join(HERE, "fixtures", name)
    os.makedirs(folder, exist_ok=True)
    write_model(os.path.join(folder, "model.safetensors"), module, options.get("prefix", ""))
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "y.npy"), y)
    with open(os.path.join(folder, "case.txt"), "w") as f:
        f.write("script %s%s.lua\n" % ("" if "/" in script else "graphs/", script))
        for key, value in options.items():
            f.write("set %s=%s\n" % (key, option_text(value)))
        f.write("atol %s\n" % round_up(max(5e-6, 5 * error)))
        if with_grads:
            f.write("grad_atol %s\n" % write_grads(folder, module, options, x, rng))
    print("%-18s |y| up to %8.3f, PyTorch's float32 is off by %.1e" %
          (name, np.abs(y).max(), error))


# ---- Training -------------------------------------------------------------------------

# name: options of tests/scripts/train_steps.lua
TRAINING = {
    "train_sgd": dict(optimiser="sgd"),
    "train_sgd_momentum": dict(optimiser="sgd", momentum=0.9, weight_decay=0.05),
    "train_sgd_nesterov": dict(optimiser="sgd", momentum=0.8, nesterov=True, loss="mse", clip=0.3),
    "train_adam": dict(optimiser="adam", lr=0.02, weight_decay=0.1),
    "train_adamw": dict(optimiser="adamw", lr=0.02, weight_decay=0.1, clip=0.5),
    "train_schedule": dict(optimiser="adamw", lr=0.05, weight_decay=0.2, decay_matrices_only=True,
                           warmup=2, steps=7, loss="mse"),
    "train_cosine": dict(optimiser="sgd", lr=0.5, warmup=0, steps=7),
    # of tests/scripts/micro_batches.lua
    "train_micro_batches": dict(optimiser="adamw", lr=0.05, weight_decay=0.1, clip=0.5,
                                decay_matrices_only=True, warmup=3, period=20, least=0, steps=20,
                                micro_batches=6),
}


def small_net():
    net = nn.Module()
    net.embed, net.fc1, net.fc2 = nn.Embedding(7, 6), nn.Linear(6, 10), nn.Linear(10, 7)
    return net


def optimiser(net, o):
    """The optimiser of torch.optim, with weight decay for matrices only where that is said."""
    decay, plain = o.get("weight_decay", 0.0), []
    params = list(net.parameters())
    if o.get("decay_matrices_only"):
        plain = [p for p in params if p.dim() < 2]
        params = [p for p in params if p.dim() >= 2]
    groups = [dict(params=params, weight_decay=decay)]
    if plain:
        groups.append(dict(params=plain, weight_decay=0.0))
    lr = o.get("lr", 0.1)
    if o["optimiser"] == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=o.get("momentum", 0.0),
                               nesterov=o.get("nesterov", False))
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[o["optimiser"]](groups, lr=lr)


def learning_rate(step, o):
    lr, warmup, steps = o.get("lr", 0.1), o.get("warmup", -1), o.get("period", 5)
    least = o.get("least", lr / 10)
    if warmup < 0:
        return lr
    if step < warmup:
        return lr * (step + 1) / warmup
    progress = min((step - warmup) / (steps - warmup), 1)
    return least + (lr - least) * (1 + math.cos(math.pi * progress)) / 2


def loss_of(net, o, ids, target):
    logits = net.fc2(F.gelu(net.fc1(net.embed(ids))))
    if o.get("loss") != "mse":
        return F.cross_entropy(logits, target)
    goal = (torch.arange(7)[None, :] == target[:, None]).to(net.fc1.bias.dtype)
    return F.mse_loss(logits, goal)


def micro_batches_of(o, step, tensor):
    """The rows of a step; without micro-batches each step has the whole tensor."""
    n = o.get("micro_batches")
    return tensor[step * n:(step + 1) * n] if n else [tensor]


def train(net, o, ids, target):
    """All parameters in order of their names, and the losses."""
    opt, losses = optimiser(net, o), []
    for step in range(o.get("steps", 6)):
        for group in opt.param_groups:
            group["lr"] = learning_rate(step, o)
        opt.zero_grad()
        pairs = list(zip(micro_batches_of(o, step, ids), micro_batches_of(o, step, target)))
        loss = sum(loss_of(net, o, *pair) for pair in pairs) / len(pairs)
        loss.backward()
        if o.get("clip"):
            nn.utils.clip_grad_norm_(net.parameters(), o["clip"])
        opt.step()
        losses.append(loss.item())
    values = [p.detach().flatten() for _, p in sorted(net.named_parameters())]
    return torch.cat(values).double().numpy(), np.array(losses)


def make_training(name, options):
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    shape = (options["steps"] * options["micro_batches"], 9) if "micro_batches" in options else 9
    ids, target = rng.randint(0, 7, shape), rng.randint(0, 7, shape)
    target[..., 4] = -100  # does not count
    net = small_net()
    randomise(net, rng)
    start = {key: value.clone() for key, value in net.state_dict().items()}
    folder = os.path.join(HERE, "fixtures", name)
    os.makedirs(folder, exist_ok=True)
    write_model(os.path.join(folder, "model.safetensors"), net)
    tensors = torch.from_numpy(ids), torch.from_numpy(target)
    low = train(net, options, *tensors)
    net.load_state_dict(start)
    params, losses = train(net.double(), options, *tensors)
    error = max(np.abs(low[0] - params).max(), np.abs(low[1] - losses).max())
    for file, array in ("ids", ids), ("target", target), ("params", params), ("losses", losses):
        np.save(os.path.join(folder, file + ".npy"), array)
    with open(os.path.join(folder, "case.txt"), "w") as f:
        if "micro_batches" in options:
            f.write("script tests/scripts/micro_batches.lua\nset what=unrolled\n"
                    "set micro_batches=%d\n" % options["micro_batches"])
        else:
            f.write("script tests/scripts/train_steps.lua\n")
            for key, value in options.items():
                f.write("set %s=%s\n" % (key, option_text(value)))
        f.write("input ids\ninput target\nexpect params\nexpect losses\n")
        f.write("atol %s\n" % round_up(max(2e-6, 5 * error)))
    print("%-18s loss %.4f to %.4f, PyTorch's float32 is off by %.1e" %
          (name, losses[0], losses[-1], error))


# ---- Ops ------------------------------------------------------------------------------


def all_ops(x, z, w, i, at):
    """What tests/scripts/ops.lua computes: a row with a gradient and one of integers."""
    sines = torch.sin(torch.arange(1, 7, dtype=torch.float64)).float().to(x.dtype)
    signs = torch.tensor([1, -2, 3, -4, 5, -6], dtype=torch.int32)
    y = [torch.sin(8 * x), torch.cos(8 * x), torch.floor(3 * x), torch.round(3 * x),
         torch.pow(z.abs() + 0.5, x), w.abs() ** 2.5, 1.5 ** x, x % z,
         torch.floor(x / z).detach(), x.cumsum(1), x.cumsum(2), (x * z).cumsum(0), x.gather(1, at),
         x.scatter(1, at, z[:, :3]), x.sum((0, 2)), (x * z).amax((1, 2)), x.sum(), x @ w, w @ x.transpose(1, 2), x * sines,
         x[:, -2:-1], x[:, 1:4]]
    n = i.int()
    integers = [(20 * x).int(), torch.floor_divide(n, 7), n % 7, torch.floor_divide(n, -5), n % -5,
                n.cumsum(1), n.cumsum(2), x.argmax(1), x.argmax(2), n.argmax(), n.gather(1, at),
                n.scatter(1, at, at.int() * 3), n.sum((1, 2)), n.max(), n + signs]
    return (torch.cat([t.flatten() for t in y]),
            torch.cat([t.flatten().long() for t in integers]))


def make_ops(name):
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    x = rng.standard_normal((2, 5, 6)).astype(np.float32)
    z = rng.standard_normal((2, 5, 6)).astype(np.float32)
    z += np.sign(z) * np.float32(0.25)
    w = rng.standard_normal(6).astype(np.float32)
    i = rng.randint(-100, 100, (2, 5, 6))
    at = np.argsort(rng.rand(2, 5, 6), axis=1)[:, :3]  # no index twice
    folder = os.path.join(HERE, "fixtures", name)
    os.makedirs(folder, exist_ok=True)

    def run(dtype):
        a, b, c = (torch.from_numpy(t).to(dtype).requires_grad_() for t in (x, z, w))
        y, integers = all_ops(a, b, c, torch.from_numpy(i), torch.from_numpy(at))
        return y, integers, (a, b, c)

    y, integers, leaves = run(torch.float64)
    low, low_integers, low_leaves = run(torch.float32)
    assert torch.equal(integers, low_integers)
    c = (2 * rng.standard_normal(y.shape) + 0.5).astype(np.float32)
    (y * torch.from_numpy(c)).sum().backward()
    (low * torch.from_numpy(c)).sum().backward()
    write_safetensors(os.path.join(folder, "model.safetensors"), {"w": w})
    write_safetensors(os.path.join(folder, "grads.safetensors"),
                      {key: leaf.grad.float().numpy() for key, leaf in zip("xzw", leaves)})
    for file, array in (("x", x), ("z", z), ("i", i), ("at", at), ("c", c),
                        ("y", y.detach().numpy()), ("integers", integers.double().numpy())):
        np.save(os.path.join(folder, file + ".npy"), array)
    error = (y - low).abs().max().item()
    grad_error = max((a.grad - b.grad).abs().max().item() for a, b in zip(leaves, low_leaves))
    with open(os.path.join(folder, "case.txt"), "w") as f:
        f.write("script tests/scripts/ops.lua\ninput x\ninput z\ninput i\ninput at\n")
        f.write("expect y\nexpect integers\n")
        f.write("atol %s\n" % round_up(max(5e-6, 5 * error)))
        f.write("grad_atol %s\n" % round_up(max(2e-5, 5 * grad_error)))
    print("%-18s PyTorch's float32 is off by %.1e, gradients by %.1e" % (name, error, grad_error))


def main(names):
    for name in names or list(CASES) + list(TRAINING) + ["ops"]:
        if name == "ops":
            make_ops(name)
        elif name in TRAINING:
            make_training(name, TRAINING[name])
        elif name in CASES:
            make_case(name, *CASES[name])
        else:
            sys.exit("%s is no case, expected one of: %s" %
                     (name, " ".join(list(CASES) + list(TRAINING))))


if __name__ == "__main__":
    main(sys.argv[1:])
