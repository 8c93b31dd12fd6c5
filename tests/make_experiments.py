#!/usr/bin/env python3
"""Writes tests/experiments/: what PyTorch computes in the experiments of graphs/experiments.

    python3 tests/make_experiments.py [CASE...]

Each case is a folder with
    case.txt            lines of KEY VALUE: script PATH, set KEY=VALUE, atol NUMBER, rtol NUMBER
    x.npy               the input x, if there is one
    model.safetensors   the parameters, if there are any
    NAME.npy            the output NAME, computed in float64

Prints the parameter counts that tests/experiments.sh expects, too.  The modules are those
of make_fixtures.py and the ones below, each written from torch.nn's layers alone.
"""
import os
import sys
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from make_fixtures import HeadsAttention, NetFeedForward, fused_attention, heads_block
from make_fixtures import option_text, write_model

HERE = os.path.dirname(os.path.abspath(__file__))


def norms(loss, tensors):
    return torch.stack([g.norm() for g in torch.autograd.grad(loss, tensors, retain_graph=True)])


# ---- The experiments: a module, and what comes out of it for an x -----------------------


class Residuals(nn.Module):
    def __init__(self, dim=32, depth=10):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))

    def outputs(self, x):
        steps = {"residual": lambda h, layer: h + torch.tanh(layer(h)),
                 "plain": lambda h, layer: torch.tanh(layer(h)),
                 "linear": lambda h, layer: layer(h)}
        return {name: self.gradient_norms(x, step) for name, step in steps.items()}

    def gradient_norms(self, x, step):
        states = [x.clone().requires_grad_()]
        for layer in self.layers:
            states.append(step(states[-1], layer))
        return norms(states[-1].sum(), states)


class LayerNorm(nn.Module):
    def __init__(self, B=4, T=6, C=8):
        super().__init__()
        self.norm = nn.LayerNorm(C)

    def outputs(self, x):
        x = x * 3 + 1
        normed, batch_normed = self.layer_norm(x), self.batch_norm(x)
        histogram = lambda v: v.flatten().histc(18, -8, 10)
        token = x[0, 0] - x[0, 0].mean()
        token = token / token.std(unbiased=False)
        scales = [token * s for s in (1, 0.1, 0.01, 0.001)]
        std = lambda v: v.std(unbiased=False)
        column = lambda f: torch.stack([std(f(c, std(c))) for c in scales])
        return {
            "before": histogram(x), "after": histogram(normed),
            "means": torch.stack([x.mean(), normed.mean()]),
            "stds": torch.stack([x.std(), normed.std()]),
            "token_std": normed.std(dim=-1).flatten(),
            "layer_norm_off": self.off(normed), "batch_norm_off": self.off(batch_normed),
            "influence": torch.stack([self.influence(norm, x)
                                      for norm in (self.layer_norm, self.batch_norm)]),
            "inside": column(lambda c, s: F.layer_norm(c, c.shape)),
            "outside": column(lambda c, s: c / (s + 1e-5)),
            "none": column(lambda c, s: c / s),
        }

    def layer_norm(self, x):
        return self.norm(x)

    def batch_norm(self, x):
        return F.batch_norm(x.flatten(0, 1), None, None, training=True).view(x.shape)

    def off(self, x):
        rows = x.flatten(0, 1)
        return torch.stack([f for axis in (1, 0) for f in
                            (rows.mean(axis).abs().max(),
                             (rows.std(axis, unbiased=False) - 1).abs().max())])

    def influence(self, norm, x):
        changed = torch.cat([x[:1], 10 * x[1:]])
        return (norm(x)[0] - norm(changed)[0]).abs().max()


class Gelu(nn.Module):
    def __init__(self, n=200):
        super().__init__()
        self.n = n

    def outputs(self, x):
        x = torch.linspace(-3, 3, self.n, dtype=torch.float64).requires_grad_()
        functions = {"gelu": F.gelu, "relu": F.relu,
                     "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
        out = {"x": x}
        for name, f in functions.items():
            out[name] = f(x)
            out[name + "_slope"], = torch.autograd.grad(f(x).sum(), x)
        return out


class Block(nn.Module):
    """A block of heads_block whose norms stand before a part (pre), behind its sum (post),
    before a part without residual connections (none), or nowhere, without them either (bare)."""

    def __init__(self, n_embd, n_head, arrangement):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(n_embd), HeadsAttention(n_embd, n_head, 16)
        self.ln2, self.ff = nn.LayerNorm(n_embd), NetFeedForward(n_embd)
        self.arrangement = arrangement

    def forward(self, x):
        for norm, part in (self.ln1, self.attn), (self.ln2, self.ff):
            if self.arrangement == "pre":
                x = x + part(norm(x))
            elif self.arrangement == "post":
                x = norm(x + part(x))
            else:
                x = part(x if self.arrangement == "bare" else norm(x))
        return x


class Blocks(nn.Module):
    def __init__(self, n_layer=4, n_embd=64, n_head=4, arrangement="pre", B=4, T=16):
        super().__init__()
        self.blocks = nn.ModuleList(Block(n_embd, n_head, arrangement) for _ in range(n_layer))
        self.readout = nn.Linear(n_embd, 1)

    def outputs(self, x):
        states = [x.clone().requires_grad_()]
        for block in self.blocks:
            states.append(block(states[-1]))
        return {"mean": torch.stack([h.mean() for h in states]),
                "std": torch.stack([h.std() for h in states]),
                "gradient": norms(self.readout(states[-1]).sum(), states)}


class Sight(nn.Module):
    """tiny_block, for the gradient of every output token by every input token."""

    def __init__(self, T=6, n_embd=64, n_head=4, mask="causal"):
        super().__init__()
        self.n_head, self.causal = n_head, mask == "causal"
        self.ln1, self.attn = nn.LayerNorm(n_embd), nn.Module()
        self.attn.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.attn.c_proj = nn.Linear(n_embd, n_embd)
        self.ln2, self.mlp = nn.LayerNorm(n_embd), nn.Module()
        self.mlp.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.mlp.c_proj = nn.Linear(4 * n_embd, n_embd)

    def attend(self, x):
        qkv = self.attn.c_attn(self.ln1(x))
        return self.attn.c_proj(fused_attention(qkv, self.n_head, self.causal))

    def feed_forward(self, x):
        return self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln2(x))))

    def outputs(self, x):
        def dependence(f):
            leaf = x.clone().requires_grad_()
            y = f(leaf)
            return torch.stack([torch.autograd.grad(token.sum(), leaf, retain_graph=True)[0][0]
                                .norm(dim=-1) for token in y[0]]) / x.shape[-1] ** 0.5

        def block(x):
            x = x + self.attend(x)
            return x + self.feed_forward(x)

        return {"block": dependence(block),
                "feed_forward": dependence(lambda x: x + self.feed_forward(x)),
                "highway": dependence(lambda x: x + 0)}


# name: script, module, options, shape of x or None
CASES = {
    "residuals": ("residuals", Residuals, {}, (4, 32)),
    "layer_norm": ("layer_norm", LayerNorm, {}, (4, 6, 8)),
    "layer_norm_small": ("layer_norm", LayerNorm, dict(B=2, T=3, C=4), (2, 3, 4)),
    "gelu": ("gelu", Gelu, {}, None),
    "blocks_pre": ("blocks", Blocks, dict(n_embd=12, n_head=3), (4, 16, 12)),
    "blocks_post": ("blocks", Blocks, dict(n_embd=12, n_head=3, arrangement="post"), (4, 16, 12)),
    "blocks_none": ("blocks", Blocks, dict(n_embd=12, n_head=3, arrangement="none"), (4, 16, 12)),
    "blocks_bare": ("blocks", Blocks, dict(n_embd=12, n_head=3, arrangement="bare"), (4, 16, 12)),
    "sight": ("sight", Sight, dict(n_embd=24, n_head=3), (1, 6, 24)),
    "sight_none": ("sight", Sight, dict(n_embd=24, n_head=3, mask="none"), (1, 6, 24)),
}


def make_case(name, script, build, options, shape):
    seed = zlib.crc32(name.encode())
    torch.manual_seed(seed)
    module = build(**options)
    x = np.random.RandomState(seed).standard_normal(shape or 0).astype(np.float32)
    outputs = module.double().outputs(torch.from_numpy(x).double())

    folder = os.path.join(HERE, "experiments", name)
    os.makedirs(folder, exist_ok=True)
    for output, value in outputs.items():
        np.save(os.path.join(folder, output + ".npy"), value.detach().double().numpy())
    if shape:
        np.save(os.path.join(folder, "x.npy"), x)
    if list(module.parameters()):
        write_model(os.path.join(folder, "model.safetensors"), module.float())
    with open(os.path.join(folder, "case.txt"), "w") as f:
        f.write("script graphs/experiments/%s.lua\n" % script)
        for key, value in options.items():
            f.write("set %s=%s\n" % (key, option_text(value)))
        f.write("atol 5e-6\nrtol 5e-7\n")


# ---- Parameter counts -------------------------------------------------------------------

# name: layers, width, heads, vocabulary
MODELS = {
    "Baby GPT": (2, 64, 4, 65),
    "GPT-2 small": (12, 768, 12, 50257),
    "GPT-2 medium": (24, 1024, 16, 50257),
    "GPT-2 large": (36, 1280, 20, 50257),
    "GPT-2 XL": (48, 1600, 25, 50257),
}


def count_parameters(n_layer, n_embd, n_head, vocab_size):
    """Of the blocks, an embedding and a head; on a device that holds no numbers."""
    with torch.device("meta"):
        modules = [heads_block(n_embd, n_head) for _ in range(n_layer)]
        modules += [nn.Embedding(vocab_size, n_embd), nn.Linear(n_embd, vocab_size, bias=False)]
        return sum(p.numel() for module in modules for p in module.parameters())


def main(names):
    for name in names or CASES:
        if name not in CASES:
            sys.exit("%s is no case, expected one of: %s" % (name, " ".join(CASES)))
        make_case(name, *CASES[name])
    for name, sizes in MODELS.items():
        print("%-14s %s" % (name, count_parameters(*sizes)))


if __name__ == "__main__":
    main(sys.argv[1:])
