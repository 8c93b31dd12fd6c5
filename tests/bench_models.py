"""Whole models with drawn weights, as bench_generate_peers.py needs them: for each the same numbers as a folder
in Hugging Face's layout, as GGUF files, and as ONNX graphs with a genai_config.json beside them.

A model is a dictionary of sizes and of tensors by Hugging Face's names, matrices as [out, in].  Weights in q8_0 and
q4_0 are those of GGUF's blocks of 32; ONNX Runtime's MatMulNBits reads the same numbers in another layout.  A graph
of the kind `dynamic` has int8 weights with one scale a column, for its DynamicQuantizeMatMul.
"""
import json
import os
import struct

SIZES = {
    "gpt2": dict(family="gpt2", layers=12, width=768, heads=12, kv_heads=12, ffn=3072, vocab=50257,
                 positions=1024),
    "llama-220m": dict(family="llama", layers=16, width=1024, heads=16, kv_heads=4, ffn=2816,
                       vocab=32000, positions=32768),
    "llama-1b": dict(family="llama", layers=16, width=2048, heads=32, kv_heads=8, ffn=8192,
                     vocab=128256, positions=131072),
    "tiny-gpt2": dict(family="gpt2", layers=2, width=64, heads=2, kv_heads=2, ffn=256, vocab=512,
                      positions=256),
    "tiny-llama": dict(family="llama", layers=2, width=128, heads=4, kv_heads=2, ffn=256, vocab=512,
                       positions=256),
}
EPSILON = 1e-5
THETA = 10000.0

# Names of a layer's linear layers: Hugging Face's, GGUF's, and their sizes [out, in].
GPT2_LINEARS = (("attn.c_attn", "attn_qkv", lambda m: (3 * m["width"], m["width"])),
                ("attn.c_proj", "attn_output", lambda m: (m["width"], m["width"])),
                ("mlp.c_fc", "ffn_up", lambda m: (m["ffn"], m["width"])),
                ("mlp.c_proj", "ffn_down", lambda m: (m["width"], m["ffn"])))
LLAMA_LINEARS = (("self_attn.q_proj", "attn_q", lambda m: (m["width"], m["width"])),
                 ("self_attn.k_proj", "attn_k", lambda m: (kv_width(m), m["width"])),
                 ("self_attn.v_proj", "attn_v", lambda m: (kv_width(m), m["width"])),
                 ("self_attn.o_proj", "attn_output", lambda m: (m["width"], m["width"])),
                 ("mlp.gate_proj", "ffn_gate", lambda m: (m["ffn"], m["width"])),
                 ("mlp.up_proj", "ffn_up", lambda m: (m["ffn"], m["width"])),
                 ("mlp.down_proj", "ffn_down", lambda m: (m["width"], m["ffn"])))


def head_width(m):
    return m["width"] // m["heads"]


def kv_width(m):
    return m["kv_heads"] * head_width(m)


def draw(name):
    """A model with normal weights of deviation 0.02, as GPT-2 begins, but norms near 1."""
    import numpy
    m = dict(SIZES[name], name=name)
    rng = numpy.random.default_rng(1)

    def normal(*shape):
        return (0.02 * rng.standard_normal(shape, dtype=numpy.float32)).astype(numpy.float32)
    tensors = m["tensors"] = {}
    gpt2 = m["family"] == "gpt2"
    tensors["wte" if gpt2 else "embed_tokens"] = normal(m["vocab"], m["width"])
    if gpt2:
        tensors["wpe"] = normal(m["positions"], m["width"])
    norms = ("ln_1", "ln_2") if gpt2 else ("input_layernorm", "post_attention_layernorm")
    for i in range(m["layers"]):
        for linear, _, shape in GPT2_LINEARS if gpt2 else LLAMA_LINEARS:
            tensors["%d.%s" % (i, linear)] = normal(*shape(m))
            if gpt2:
                tensors["%d.%s.bias" % (i, linear)] = normal(shape(m)[0])
        for norm in norms:
            tensors["%d.%s" % (i, norm)] = 1 + normal(m["width"])
            if gpt2:
                tensors["%d.%s.bias" % (i, norm)] = normal(m["width"])
    last = "ln_f" if gpt2 else "norm"
    tensors[last] = 1 + normal(m["width"])
    if gpt2:
        tensors[last + ".bias"] = normal(m["width"])
    return m


def parameters(m):
    return sum(t.size for t in m["tensors"].values())


def is_matrix(name, tensor):
    """1 for what a format is for: the products' weights, and the table that is the head, too."""
    return tensor.ndim == 2 and name != "wpe"


# ---- Hugging Face's layout -------------------------------------------------------------


def write_folder(m, folder):
    import numpy
    os.makedirs(folder, exist_ok=True)
    gpt2 = m["family"] == "gpt2"
    if gpt2:
        config = dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_layer=m["layers"],
                      n_embd=m["width"], n_head=m["heads"], n_positions=m["positions"],
                      vocab_size=m["vocab"], layer_norm_epsilon=EPSILON,
                      activation_function="gelu_new")
    else:
        config = dict(model_type="llama", architectures=["LlamaForCausalLM"],
                      num_hidden_layers=m["layers"], hidden_size=m["width"],
                      num_attention_heads=m["heads"], num_key_value_heads=m["kv_heads"],
                      intermediate_size=m["ffn"], vocab_size=m["vocab"], rms_norm_eps=EPSILON,
                      max_position_embeddings=m["positions"], rope_theta=THETA,
                      tie_word_embeddings=True, hidden_act="silu")
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    header, data, at = {}, [], 0
    for name, tensor in m["tensors"].items():
        bias = name.endswith(".bias")
        key = name if bias else name + ".weight"
        key = ("transformer." + ("h." if name[0].isdigit() else "") if gpt2 else
               "model." + ("layers." if name[0].isdigit() else "")) + key
        if ".c_" in name and not bias:
            tensor = numpy.ascontiguousarray(tensor.T)
        header[key] = {"dtype": "F32", "shape": list(tensor.shape),
                       "data_offsets": [at, at + tensor.nbytes]}
        data.append(tensor)
        at += tensor.nbytes
    header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in data:
            file.write(tensor.tobytes())


# ---- GGUF ------------------------------------------------------------------------------


def gguf_name(name):
    """GGUF's name of a tensor."""
    fixed = {"wte": "token_embd", "embed_tokens": "token_embd", "wpe": "position_embd",
             "ln_f": "output_norm", "norm": "output_norm"}
    base, bias = (name[:-5], ".bias") if name.endswith(".bias") else (name, ".weight")
    if base in fixed:
        return fixed[base] + bias
    layer, part = base.split(".", 1)
    inner = {"ln_1": "attn_norm", "ln_2": "ffn_norm", "input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm"}
    inner.update((hf, gguf) for hf, gguf, _ in GPT2_LINEARS + LLAMA_LINEARS)
    return "blk.%s.%s%s" % (layer, inner[part], bias)


def interleaved(tensor, heads):
    """Rows of a head as llama.cpp rotates them: pairs side by side, not half a head apart."""
    rows, columns = tensor.shape
    return tensor.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(m, kind, path):
    """With every matrix in `kind`: f32, f16, bf16, q8_0 or q4_0.  There is no vocabulary."""
    import gguf
    writer = gguf.GGUFWriter(path, m["family"])
    writer.add_block_count(m["layers"])
    writer.add_context_length(m["positions"])
    writer.add_embedding_length(m["width"])
    writer.add_feed_forward_length(m["ffn"])
    writer.add_head_count(m["heads"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(m["vocab"])
    if m["family"] == "gpt2":
        writer.add_layer_norm_eps(EPSILON)
    else:
        writer.add_head_count_kv(m["kv_heads"])
        writer.add_layer_norm_rms_eps(EPSILON)
        writer.add_rope_freq_base(THETA)
        writer.add_rope_dimension_count(head_width(m))
    type_of = gguf.GGMLQuantizationType[kind.upper()]
    for name, tensor in m["tensors"].items():
        if name.endswith(("q_proj", "k_proj")):
            tensor = interleaved(tensor, m["heads" if "q_proj" in name else "kv_heads"])
        if kind != "f32" and is_matrix(name, tensor):
            writer.add_tensor(gguf_name(name), gguf.quants.quantize(tensor, type_of),
                              raw_dtype=type_of)
        else:
            writer.add_tensor(gguf_name(name), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- ONNX ------------------------------------------------------------------------------


def blocks_of(tensor, kind):
    """The scales [out, in / 32] and the integers [out, in / 32, 32] of GGUF's blocks."""
    import gguf
    import numpy
    raw = gguf.quants.quantize(tensor, gguf.GGMLQuantizationType[kind.upper()])
    raw = raw.reshape(tensor.shape[0], tensor.shape[1] // 32, -1)
    scales = numpy.ascontiguousarray(raw[..., :2]).view(numpy.float16)[..., 0].astype(numpy.float32)
    if kind == "q8_0":
        return scales, raw[..., 2:].view(numpy.int8)
    nibbles = numpy.concatenate([raw[..., 2:] & 15, raw[..., 2:] >> 4], axis=-1)
    return scales, nibbles.astype(numpy.int8) - 8


def columns_of(matrix):
    """Int8 weights [in, out] with a scale for each column, and the scales.  Of 7 bits, as ONNX Runtime asks for
    where there is no VNNI: sums of two products of 8 bits do not fit 16."""
    import numpy
    scales = numpy.maximum(abs(matrix).max(axis=1), 1e-30) / 63
    return numpy.rint(matrix / scales[:, None]).astype(numpy.int8).T, scales.astype(numpy.float32)


class Graph:
    """Nodes and weights of a graph under construction; kind is the format of its matrices."""

    def __init__(self, kind):
        self.kind, self.nodes, self.weights = kind, [], []

    def add(self, op, inputs, outputs=None, **attributes):
        from onnx import helper
        outputs = outputs or ["v%d" % len(self.nodes)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def weight(self, name, array):
        from onnx import numpy_helper
        import numpy
        self.weights.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def linear(self, x, name, matrix, bias=None, outputs=None):
        """x times the transpose of a matrix [out, in]; the bias is a weight, or nothing."""
        import numpy
        last = outputs if bias is None else None
        if self.kind == "f32":
            y = self.add("MatMul", [x, self.weight(name, matrix.T)], last)
        elif self.kind == "dynamic":
            q, scales = columns_of(matrix)
            y = self.add("DynamicQuantizeMatMul",
                         [x, self.weight(name, q), self.weight(name + ".scales", scales)], last,
                         domain="com.microsoft")
        else:
            scales, q = blocks_of(matrix, self.kind)
            if self.kind == "q8_0":
                packed = (q.astype(numpy.int16) + 128).astype(numpy.uint8)
            else:
                q = (q + 8).astype(numpy.uint8)
                packed = q[..., 0::2] | q[..., 1::2] << 4
            y = self.add("MatMulNBits",
                         [x, self.weight(name, packed),
                          self.weight(name + ".scales", scales.reshape(-1))], last,
                         domain="com.microsoft", K=matrix.shape[1], N=matrix.shape[0],
                         bits=8 if self.kind == "q8_0" else 4, block_size=32, accuracy_level=4)
        return y if bias is None else self.add("Add", [y, self.weight(name + ".bias", bias)], outputs)


def onnx_attention(g, m, i, q, k, v, rotation):
    """The fused attention that ONNX Runtime has for models of this kind, with keys and values in place."""
    past = ["past_key_values.%d.%s" % (i, kind) for kind in ("key", "value")]
    present = ["present.%d.%s" % (i, kind) for kind in ("key", "value")]
    return g.add("GroupQueryAttention", [q, k, v, *past, "seqlens_k", "total_length", *rotation],
                 ["attention%d" % i, *present], domain="com.microsoft", num_heads=m["heads"],
                 kv_num_heads=m["kv_heads"], do_rotary=int(bool(rotation)))


def onnx_gpt2_layer(g, m, x, i):
    tensors = m["tensors"]

    def linear(x, name):
        name = "%d.%s" % (i, name)
        return g.linear(x, name, tensors[name], tensors[name + ".bias"])

    def norm(x, name):
        name = "%d.%s" % (i, name)
        return g.add("LayerNormalization", [x, g.weight(name, tensors[name]),
                                            g.weight(name + ".bias", tensors[name + ".bias"])],
                     epsilon=EPSILON)
    y = onnx_attention(g, m, i, linear(norm(x, "ln_1"), "attn.c_attn"), "", "", [])
    x = g.add("Add", [x, linear(y, "attn.c_proj")])
    h = g.add("Gelu", [linear(norm(x, "ln_2"), "mlp.c_fc")], approximate="tanh")
    return g.add("Add", [x, linear(h, "mlp.c_proj")])


def onnx_llama_layer(g, m, x, i):
    tensors = m["tensors"]

    def linear(x, name):
        name = "%d.%s" % (i, name)
        return g.linear(x, name, tensors[name])

    def norm(x, name):
        name = "%d.%s" % (i, name)
        return g.add("SimplifiedLayerNormalization", [x, g.weight(name, tensors[name])],
                     epsilon=EPSILON, axis=-1, stash_type=1)
    h = norm(x, "input_layernorm")
    y = onnx_attention(g, m, i, linear(h, "self_attn.q_proj"), linear(h, "self_attn.k_proj"),
                       linear(h, "self_attn.v_proj"), ["cosines", "sines"])
    x = g.add("Add", [x, linear(y, "self_attn.o_proj")])
    h = norm(x, "post_attention_layernorm")
    gate = linear(h, "mlp.gate_proj")
    h = g.add("Mul", [g.add("Mul", [gate, g.add("Sigmoid", [gate])]), linear(h, "mlp.up_proj")])
    return g.add("Add", [x, linear(h, "mlp.down_proj")])


def onnx_model(m, kind, context):
    """From ids, their positions and a mask of all positions so far to the logits of the last id."""
    import numpy
    g = Graph(kind)
    tensors = m["tensors"]
    gpt2 = m["family"] == "gpt2"
    table = tensors["wte" if gpt2 else "embed_tokens"]
    embedded = table
    if kind in ("q8_0", "q4_0"):
        scales, q = blocks_of(table, kind)
        embedded = (scales[..., None] * q).reshape(table.shape).astype(numpy.float32)
    x = g.add("Gather", [g.weight("table", embedded), "input_ids"])
    lengths = g.add("ReduceSum", ["attention_mask", g.weight("axis", numpy.array([1]))], keepdims=1)
    g.add("Cast", [g.add("Sub", [lengths, g.weight("one", numpy.array([1]))])], ["seqlens_k"], to=6)
    g.add("Cast", [g.add("Gather", [g.add("Shape", ["attention_mask"]),
                                    g.weight("second", numpy.array(1))])], ["total_length"], to=6)
    if gpt2:
        x = g.add("Add", [x, g.add("Gather", [g.weight("wpe", tensors["wpe"]), "position_ids"])])
    else:
        half = head_width(m) // 2
        angles = numpy.outer(numpy.arange(context), THETA ** (-numpy.arange(half) / half))
        g.weight("cosines", numpy.cos(angles).astype(numpy.float32))
        g.weight("sines", numpy.sin(angles).astype(numpy.float32))
    for i in range(m["layers"]):
        x = (onnx_gpt2_layer if gpt2 else onnx_llama_layer)(g, m, x, i)
    x = g.add("Gather", [x, g.weight("last", numpy.array([-1]))], axis=1)
    if gpt2:
        x = g.add("LayerNormalization", [x, g.weight("ln_f", tensors["ln_f"]),
                                         g.weight("ln_f.bias", tensors["ln_f.bias"])], epsilon=EPSILON)
    else:
        x = g.add("SimplifiedLayerNormalization", [x, g.weight("norm", tensors["norm"])],
                  epsilon=EPSILON, axis=-1, stash_type=1)
    g.linear(x, "head", table, outputs=["logits"])
    return g


def write_onnx(m, kind, context, folder):
    """model.onnx, and the genai_config.json with which ONNX Runtime's GenAI runs it."""
    import onnx
    from onnx import TensorProto, helper
    os.makedirs(folder, exist_ok=True)
    g = onnx_model(m, kind, context)
    room = [1, m["kv_heads"], "room", head_width(m)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, n]) for name, n in (
        ("input_ids", "n"), ("attention_mask", "total"))]
    if m["family"] == "gpt2":
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, [1, "n"]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, m["vocab"]])]
    for i in range(m["layers"]):
        for part in ("key", "value"):
            for name, ports in (("past_key_values", inputs), ("present", outputs)):
                ports.append(helper.make_tensor_value_info("%s.%d.%s" % (name, i, part),
                                                           TensorProto.FLOAT, room))
    model = helper.make_model(
        helper.make_graph(g.nodes, m["name"], inputs, outputs, g.weights), ir_version=10,
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, os.path.join(folder, "model.onnx"), save_as_external_data=True)
    names = {"input_ids": "input_ids", "attention_mask": "attention_mask",
             "past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    if m["family"] == "gpt2":
        names["position_ids"] = "position_ids"
    decoder = dict(session_options={}, filename="model.onnx", head_size=head_width(m),
                   hidden_size=m["width"], inputs=names,
                   outputs={"logits": "logits", "present_key_names": "present.%d.key",
                            "present_value_names": "present.%d.value"},
                   num_attention_heads=m["heads"], num_hidden_layers=m["layers"],
                   num_key_value_heads=m["kv_heads"])
    config = {"model": dict(type="llama", bos_token_id=0, eos_token_id=0, pad_token_id=0,
                            context_length=context, vocab_size=m["vocab"], decoder=decoder),
              "search": dict(do_sample=False, max_length=context, min_length=context,
                             num_beams=1, num_return_sequences=1, past_present_share_buffer=True)}
    with open(os.path.join(folder, "genai_config.json"), "w") as file:
        json.dump(config, file)
