#!/usr/bin/env python3
"""Measures how fast a GPT-2 goes on with a text, beside PyTorch, ONNX Runtime and llama.cpp.

    THREADS="1 2" python3 tests/bench_generate_peers.py [FOLDER]

Without FOLDER a model of 124 million parameters is drawn.  Every contestant has the same weights in
float32, takes a prompt of 1, 128 or 512 tokens, and then TOKENS (24) tokens one by one.  They take turns,
$ROUNDS (3) of them, each in a process of its own, whose first run the prompt is, and the best of what
each did counts: these machines are shared.  Prints Markdown: milliseconds, and a peer's time over Crescent's.

    PyTorch       transformers' GPT2LMHeadModel under inference_mode, with its cache of keys and values
    ONNX Runtime  a graph of its own fused attention (GroupQueryAttention), whose cache is updated in place
                  by bound buffers, with all optimisations and logits of the last token alone
    llama.cpp     llama-cpp-python, from a GGUF file in F32 with the same weights

A peer that is not installed is left out.

Where llama.cpp is installed a second table has narrow weights: the same model in the types of GGUF that
$FORMATS lists (bf16 f16 q8_0 q4_0; none: no table), all matrices alike, each file made by
llama.cpp and read by both.  Crescent multiplies in float32 and, where weights have such products, in int8.  A
share is that of the peak of those products for a prompt, and of the bandwidth at which the weights can be read
for a token.
"""
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CRESCENT = os.environ.get("CRESCENT", os.path.join(HERE, "..", "build", "crescent"))
PROMPTS = (1, 128, 512)
TOKENS = 24


def prompt_of(n):
    return [(i * 7919 + 13) % 30000 for i in range(n)]


# ---- The model -----------------------------------------------------------------------


def draw_model(folder):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(1)
    GPT2LMHeadModel(GPT2Config()).save_pretrained(folder)


def write_gguf(folder, path):
    """The same weights as llama.cpp reads them: [out, in], and no vocabulary."""
    import gguf
    from safetensors import safe_open
    config = json.load(open(os.path.join(folder, "config.json")))
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(config["vocab_size"])
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
    for i in range(config["n_layer"]):
        for a, b in (("ln_1", "attn_norm"), ("attn.c_attn", "attn_qkv"),
                     ("attn.c_proj", "attn_output"), ("ln_2", "ffn_norm"),
                     ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down")):
            names["h.%d.%s" % (i, a)] = "blk.%d.%s" % (i, b)
    with safe_open(os.path.join(folder, "model.safetensors"), "np") as f:
        for key in f.keys():
            base, kind = key.removeprefix("transformer.").rsplit(".", 1)
            if base not in names:
                continue
            tensor = f.get_tensor(key)
            if ".c_" in base and kind == "weight":
                tensor = tensor.T.copy()
            writer.add_tensor(names[base] + "." + kind, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class OnnxGraph:
    """Nodes and weights of a graph in the making."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def add(self, op, inputs, outputs=None, **attributes):
        from onnx import helper
        outputs = outputs or ["v%d" % len(self.nodes)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def weight(self, name, array):
        from onnx import numpy_helper
        self.weights.append(numpy_helper.from_array(array, name))
        return name


def onnx_layer(g, x, config, weight, i):
    """A layer of GPT-2; keys and values of all positions lie in the inputs past.I.k and past.I.v."""
    def linear(x, name):
        product = g.add("MatMul", [x, weight("h.%d.%s.weight" % (i, name))])
        return g.add("Add", [product, weight("h.%d.%s.bias" % (i, name))])

    def norm(x, name):
        return g.add("LayerNormalization",
                     [x] + [weight("h.%d.%s.%s" % (i, name, k)) for k in ("weight", "bias")],
                     epsilon=config["layer_norm_epsilon"])

    heads = config["n_head"]
    cache = ["%s.%d.%s" % (when, i, kind) for when in ("past", "present") for kind in "kv"]
    y = g.add("GroupQueryAttention",
              [linear(norm(x, "ln_1"), "attn.c_attn"), "", ""] + cache[:2] + ["seqlens", "total"],
              ["y%d" % i] + cache[2:], domain="com.microsoft", num_heads=heads, kv_num_heads=heads)
    x = g.add("Add", [x, linear(y, "attn.c_proj")])
    h = g.add("Gelu", [linear(norm(x, "ln_2"), "mlp.c_fc")], approximate="tanh")
    return g.add("Add", [x, linear(h, "mlp.c_proj")])


def write_onnx(folder, path):
    """GPT-2 from ids and their positions to the logits of the last one."""
    import numpy
    import onnx
    from onnx import TensorProto, helper
    from safetensors import safe_open
    config = json.load(open(os.path.join(folder, "config.json")))
    g = OnnxGraph()
    with safe_open(os.path.join(folder, "model.safetensors"), "np") as f:
        names = {key.removeprefix("transformer."): key for key in f.keys()}

        def weight(name):
            return g.weight(name, f.get_tensor(names[name]))
        table = f.get_tensor(names["wte.weight"])
        x = g.add("Add", [g.add("Gather", [weight("wte.weight"), "ids"]),
                          g.add("Gather", [weight("wpe.weight"), "positions"])])
        for i in range(config["n_layer"]):
            x = onnx_layer(g, x, config, weight, i)
        last = g.add("Gather", [x, g.weight("last", numpy.array([-1], numpy.int64))], axis=1)
        last = g.add("LayerNormalization", [last, weight("ln_f.weight"), weight("ln_f.bias")],
                     epsilon=config["layer_norm_epsilon"])
        g.add("MatMul", [last, g.weight("head", numpy.ascontiguousarray(table.T))], ["logits"])
    head = config["n_embd"] // config["n_head"]
    room = [1, config["n_head"], config["n_positions"], head]
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in (
        ("ids", TensorProto.INT64, [1, "n"]), ("positions", TensorProto.INT64, [1, "n"]),
        ("seqlens", TensorProto.INT32, [1]), ("total", TensorProto.INT32, []))]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, len(table)])]
    for i in range(config["n_layer"]):
        for kind in "kv":
            for when, values in (("past", inputs), ("present", outputs)):
                values.append(helper.make_tensor_value_info("%s.%d.%s" % (when, i, kind),
                                                            TensorProto.FLOAT, room))
    model = helper.make_model(
        helper.make_graph(g.nodes, "gpt2", inputs, outputs, g.weights), ir_version=10,
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, path, save_as_external_data=True)


# ---- Contestants: milliseconds of the prompt and of a token --------------------------


def run_crescent(model, n, threads, *options):
    """Of the prompt, of a token, and the token's share of the bandwidth."""
    out = subprocess.run(
        [CRESCENT, "generate", model, "--prompt-ids", ",".join(map(str, prompt_of(n))), "--tokens",
         str(TOKENS), "--ignore-eos", "--ids", "--stats", "--threads", str(threads), *options],
        check=True, capture_output=True, text=True).stderr
    unit = {"us": 1e-3, "ms": 1, "s": 1e3}
    prompt = re.search(r"of which ([\d.]+) (\w+) for", out)
    return (float(prompt[1]) * unit[prompt[2]],
            1e3 / float(re.search(r"([\d.,]+) a second", out)[1].replace(",", "")),
            float(re.search(r"(\d+)% of what", out)[1]))


def time_peer(feed, n):
    """feed(ids) returns the likeliest next token."""
    start = time.perf_counter()
    token = feed(prompt_of(n), True)
    prompt = time.perf_counter() - start
    times = []
    for _ in range(TOKENS):
        start = time.perf_counter()
        token = feed([token], False)
        times.append(time.perf_counter() - start)
    return [1e3 * prompt, 1e3 * statistics.median(times)]


def torch_feed(folder, threads):
    import torch
    from transformers import GPT2LMHeadModel
    torch.set_num_threads(threads)
    model = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    cache = [None]

    def feed(ids, new):
        with torch.inference_mode():
            out = model(torch.tensor([ids]), past_key_values=None if new else cache[0],
                        use_cache=True, logits_to_keep=1)
        cache[0] = out.past_key_values
        return int(out.logits[0, -1].argmax())
    return feed


def onnx_feed(path, threads):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    cache = {i.name: onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(i.shape, numpy.float32))
             for i in session.get_inputs() if i.name.startswith("past")}
    binding = session.io_binding()
    for name, value in cache.items():
        binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output(name.replace("past", "present"), value)
    binding.bind_output("logits", "cpu")
    before = [0]

    def feed(ids, new):
        first = 0 if new else before[0]
        before[0] = last = first + len(ids)
        for name, array in (("ids", numpy.array([ids], numpy.int64)),
                            ("positions", numpy.arange(first, last, dtype=numpy.int64)[None]),
                            ("seqlens", numpy.array([last - 1], numpy.int32)),
                            ("total", numpy.array(last, numpy.int32))):
            binding.bind_cpu_input(name, array)
        session.run_with_iobinding(binding)
        return int(binding.get_outputs()[-1].numpy()[0, -1].argmax())
    return feed


def llama_feed(path, threads):
    import llama_cpp
    llm = llama_cpp.Llama(path, n_ctx=1024, n_batch=512, n_ubatch=512, n_threads=threads,
                          n_threads_batch=threads, verbose=False)
    import ctypes
    import numpy

    def feed(ids, new):
        if new:
            llm.reset()
            llm._ctx.kv_cache_clear()
        llm.eval(ids)
        logits = llama_cpp.llama_get_logits_ith(llm._ctx.ctx, -1)
        return int(numpy.ctypeslib.as_array(logits, shape=(llm.n_vocab(),)).argmax())
    return feed


FEEDS = {"PyTorch": torch_feed, "ONNX Runtime": onnx_feed, "llama.cpp": llama_feed}


def run_peer(name, model, n, threads):
    out = subprocess.run([sys.executable, os.path.abspath(__file__), "--peer", name, model, str(n),
                          str(threads)], capture_output=True, text=True)
    if out.returncode:
        sys.stderr.write(out.stderr)
        return None
    return json.loads(out.stdout.splitlines()[-1])


# ---- The table -----------------------------------------------------------------------


def least(runs):
    runs = [run for run in runs if run]
    return [min(run[i] for run in runs) for i in (0, 1)] if runs else None


def row(folder, models, n, threads, rounds):
    """models: what each peer reads, by its name."""
    runs = {name: [] for name in ["crescent", *models]}
    for _ in range(rounds):
        runs["crescent"].append(run_crescent(folder, n, threads))
        for name, model in models.items():
            runs[name].append(run_peer(name, model, n, threads))
    best = {name: least(all_of) for name, all_of in runs.items()}
    ours = best.pop("crescent")
    for i, what in enumerate(("the prompt", "a token behind it")):
        ratios = " | ".join("%.2f" % (peer[i] / ours[i]) if peer else "-" for peer in best.values())
        print("| %d | %d | %s | %.4g | %s |" % (n, threads, what, ours[i], ratios), flush=True)


# ---- Narrow weights ------------------------------------------------------------------

# The number of a type for llama.cpp, and the arithmetics of products by it.
TYPES = {"bf16": (32, ["f32"]), "f16": (1, ["f32"]),
         "q8_0": (7, ["f32", "int8"]), "q4_0": (2, ["f32", "int8"])}


def quantise(path, name, out):
    """All matrices alike, so that both read the same numbers."""
    import llama_cpp
    how = llama_cpp.llama_model_quantize_default_params()
    how.ftype, how.pure = TYPES[name][0], True
    return llama_cpp.llama_model_quantize(path.encode(), out.encode(), how)


def make_file(path, name, out):
    """In a process of its own, which says much."""
    run = subprocess.run([sys.executable, os.path.abspath(__file__), "--quantise", path, name, out],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr + "%s: llama.cpp has not made it" % out)


def peak_of(arithmetic, threads):
    """GOP/s of products at most."""
    options = ["--format", "q8", "--arithmetic", "int8"] if arithmetic == "int8" else []
    out = subprocess.run([CRESCENT, "bench", os.path.join(HERE, "..", "graphs", "gpt2_block.lua"),
                          "--set", "T=128", "--seconds", "0.2", "--threads", str(threads),
                          "--json", *options], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["peak_products_gops" if options else "peak_gflops"]


def operations(config, n):
    """Of a prompt, as causality leaves them: layers, the head for the last token, attention."""
    layers, d = config["n_layer"], config["n_embd"]
    return (2 * layers * 12 * d * d * n + 2 * config["vocab_size"] * d +
            layers * 4 * d * n * (n + 1) / 2)


def narrow_rows(path, config, name, n, threads, rounds):
    arithmetics = TYPES[name][1]
    runs = {who: [] for who in [*arithmetics, "llama.cpp"]}
    peaks = dict.fromkeys(arithmetics, 0)
    for _ in range(rounds):
        for arithmetic in arithmetics:
            peaks[arithmetic] = max(peaks[arithmetic], peak_of(arithmetic, threads))
            runs[arithmetic].append(run_crescent(path, n, threads, "--arithmetic", arithmetic))
        runs["llama.cpp"].append(run_peer("llama.cpp", path, n, threads))
    peer = least(runs["llama.cpp"])
    for arithmetic in arithmetics:
        prompt, token = least(runs[arithmetic])
        shares = (100 * operations(config, n) / (prompt * 1e6) / peaks[arithmetic],
                  max(run[2] for run in runs[arithmetic]))
        for i, (what, ours) in enumerate((("the prompt", prompt), ("a token behind it", token))):
            print("| %s, %s | %d | %d | %s | %.4g | %.0f%% | %s |" % (
                name, arithmetic, n, threads, what, ours, shares[i],
                "%.2f" % (peer[i] / ours) if peer else "-"), flush=True)


def narrow_table(path, config, names, threads, rounds):
    print("\n### With narrow weights\n")
    print("| weights, products | prompt | threads | time of | crescent, ms | of the peak, or of the"
          " bandwidth | llama.cpp |")
    print("|---|--:|--:|---|--:|--:|--:|")
    for name in names:
        file = "%s.%s.gguf" % (path, name)
        make_file(path, name, file)
        for n in (2, 512):
            for count in threads:
                narrow_rows(file, config, name, n, count, rounds)
        os.remove(file)


def main(folder):
    def is_there(*modules):
        return all(map(importlib.util.find_spec, modules))

    with tempfile.TemporaryDirectory() as scratch:
        if not folder:
            folder = os.path.join(scratch, "gpt2")
            draw_model(folder)
        models = {"PyTorch": folder} if is_there("transformers") else {}
        if is_there("onnx", "onnxruntime"):
            models["ONNX Runtime"] = os.path.join(scratch, "model.onnx")
            write_onnx(folder, models["ONNX Runtime"])
        if is_there("gguf", "llama_cpp"):
            models["llama.cpp"] = os.path.join(scratch, "model.gguf")
            write_gguf(folder, models["llama.cpp"])
        threads = list(map(int, os.environ.get("THREADS", "1 2").split()))
        rounds = int(os.environ.get("ROUNDS", "3"))
        print("| prompt | threads | time of | crescent, ms | " + " | ".join(models) + " |")
        print("|--:|--:|---|--:|" + "--:|" * len(models))
        for n in PROMPTS:
            for count in threads:
                row(folder, models, n, count, rounds)
        names = os.environ.get("FORMATS", "bf16 f16 q8_0 q4_0").split()
        if "llama.cpp" in models and names:
            config = json.load(open(os.path.join(folder, "config.json")))
            narrow_table(models["llama.cpp"], config, names, threads, rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        name, model, n, threads = sys.argv[2:]
        print(json.dumps(time_peer(FEEDS[name](model, int(threads)), int(n))))
    elif sys.argv[1:2] == ["--quantise"]:
        sys.exit(quantise(*sys.argv[2:]) != 0)
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
