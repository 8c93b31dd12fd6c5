#!/usr/bin/env python3
"""Writes tests/exports: tiny random models as both exporters of PyTorch write them.

    python3 tests/make_export_fixtures.py [CASE...]

CASE.onnx, its input CASE.x.npy and its output CASE.y.npy, computed by PyTorch in float64.  Places in
Python sources are left out of the files.  CASE.lua beside them is what `crescent import` makes of
them; tests/exports.sh compares, and writes them anew with BLESS=1.  Needs torch, transformers, onnx,
onnxscript and numpy.
"""
import logging
import os
import sys
import warnings

import numpy as np
import onnx
import torch
import transformers as tf
from torch import nn

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports")


class Logits(nn.Module):
    """A model of transformers as a function of ids and mask alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        mask = torch.ones_like(ids)
        return self.model(ids, attention_mask=mask, use_cache=False).logits


class Block(nn.Module):
    """Block 0 of GPT-2, with a mask of its own."""

    def __init__(self, model):
        super().__init__()
        self.h = model.h

    def forward(self, x):
        T = x.shape[1]
        mask = torch.triu(torch.full((T, T), float("-inf"), dtype=x.dtype), 1)[None, None]
        y = self.h[0](x, attention_mask=mask)
        return y[0] if isinstance(y, tuple) else y


class NearMisses(nn.Module):
    """Formulas that are nearly those of layers, and must not be taken for them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))

    def attend(self, x, diagonal):
        mask = torch.triu(torch.full((6, 6), float("-inf"), dtype=x.dtype), diagonal)
        return torch.softmax(x @ x.transpose(1, 2) * 0.3 + mask, -1) @ x

    def forward(self, x):
        gelu = 0.5 * x * (1 + torch.erf(x / 1.5))  # not the root of 2
        tanh = 0.5 * x * (1 + torch.tanh((2 / torch.pi)**0.5 * (x + 0.05 * x**3)))  # not 0.044715
        silu = x * torch.sigmoid(1.7 * x)
        other = x * torch.sigmoid(gelu)
        rms = self.weight * (x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5))  # another axis
        norm = x - x.mean(-1, keepdim=True)
        norm = norm / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)  # not of what is centred
        future = self.attend(x, 2)  # one token of the future
        columns = torch.softmax(x @ x.transpose(1, 2) * 0.3, 1) @ x  # another axis
        half = torch.cat((x[..., 8:], x[..., :8]), -1)  # without a sign
        turned = x * torch.cos(x) + half * torch.sin(x)
        return torch.cat((gelu, tanh, silu, other, rms, norm, future, columns, turned), -1)


def gpt2(layers=2):
    return tf.GPT2Config(n_embd=16, n_head=2, n_layer=layers, vocab_size=24, n_positions=16,
                         attn_implementation="sdpa")


def llama():
    return tf.LlamaConfig(hidden_size=16, intermediate_size=24, num_attention_heads=4,
                          num_key_value_heads=2, num_hidden_layers=2, vocab_size=24,
                          max_position_embeddings=16, attn_implementation="eager")


IDS = (1, 6)
CASES = {  # model, shape of the input, the newer exporter?, opset
    "gpt2_old": (lambda: Logits(tf.GPT2LMHeadModel(gpt2())), IDS, False, 17),
    "gpt2_new": (lambda: Logits(tf.GPT2LMHeadModel(gpt2())), IDS, True, 20),
    "gpt2_dynamic": (lambda: Logits(tf.GPT2LMHeadModel(gpt2())), IDS, False, 17),
    "gpt2_block": (lambda: Block(tf.GPT2Model(gpt2(1))), (2, 6, 16), True, 18),
    "llama_old": (lambda: Logits(tf.LlamaForCausalLM(llama())), IDS, False, 17),
    "llama_new": (lambda: Logits(tf.LlamaForCausalLM(llama())), IDS, True, 23),
    "near_misses": (NearMisses, (2, 6, 16), False, 17),
    "encoder_old": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(
        16, 2, 32, batch_first=True, norm_first=True), 2, enable_nested_tensor=False),
        (2, 6, 16), False, 14),
}


def strip(path):
    """Leaves out what is about Python's sources, and the list of classes."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [p for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"]
        pairs = [(p.key, p.value) for p in kept]
        del node.metadata_props[:]
        for key, value in pairs:
            node.metadata_props.add(key=key, value=value)
        node.doc_string = ""
    for value in list(model.graph.value_info) + list(model.graph.input) + list(model.graph.output):
        del value.metadata_props[:]
    for tensor in model.graph.initializer:
        del tensor.metadata_props[:]
    del model.graph.value_info[:]
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    onnx.save(model, path)


def write(name):
    make, shape, is_new, opset = CASES[name]
    torch.manual_seed(len(name))
    model = make().eval()
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    x = torch.randn(shape) if len(shape) == 3 else torch.randint(0, 24, shape)
    path = os.path.join(FOLDER, name)
    how = {"input_names": ["x"], "output_names": ["y"], "opset_version": opset}
    if is_new:
        how |= {"dynamo": True, "external_data": False, "verbose": False}
    else:
        how |= {"dynamo": False}
    if name.endswith("_dynamic"):
        how |= {"dynamic_axes": {"x": {0: "batch", 1: "seq"}, "y": {0: "batch", 1: "seq"}}}
    with torch.no_grad():
        torch.onnx.export(model, (x,), path + ".onnx", **how)
        y = model.double()(x.double() if x.is_floating_point() else x)
    strip(path + ".onnx")
    np.save(path + ".x.npy", x.numpy())
    np.save(path + ".y.npy", y.numpy().astype(np.float32))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.backends.mha.set_fastpath_enabled(False)
    os.makedirs(FOLDER, exist_ok=True)
    for case in sys.argv[1:] or CASES:
        write(case)
