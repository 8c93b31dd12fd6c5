#!/usr/bin/env python3
"""Measures vectors of texts beside ONNX Runtime: the lines of the table embed of docs/bench/PROCESSOR.tsv, which
bench_tables.sh describes.

    ENCODERS="minilm bge-base" THREADS="1 2" python3 tests/bench_embed_peers.py

The models are BERTs with the sizes of all-MiniLM-L6-v2 and bge-base-en-v1.5, of random weights, which PyTorch
writes in both forms.  A row's milliseconds are those of all its texts.  Crescent gets text and tokenizes it; ONNX
Runtime gets ids, the texts of a batch padded to the longest one, and NumPy takes the mean over the tokens.  Its
variants: the operators as exported, those that its own optimiser fuses for BERT, and for int8 its dynamic
quantisation of matrices by channel.  Both sides are in this process and take turns, $ROUNDS of them (11 if it is
not set), and medians count.  A peer whose vectors in float32 differ is not counted.
"""
import ctypes
import importlib.util
import json
import os
import sys
import tempfile
import time

import bench_record
from bench_record import median

ROUNDS = int(os.environ.get("ROUNDS") or 11)
SIZES = {"minilm": (384, 6, 1536), "bge-base": (768, 12, 3072)}  # hidden, layers, intermediate; 12 heads
VOCABULARY, OTHERS = 30522, 104  # the first tokens are special or unused, then come w0, w1 ...
CLS, SEP = 101, 102
MIXED = [5 + 17 * i % 60 for i in range(32)]  # 5 to 64 tokens
TEXTS = (("texts=1 tokens=8", [8]), ("texts=1 tokens=32", [32]), ("texts=1 tokens=128", [128]),
         ("texts=32 tokens=5..64", MIXED))
TOLERANCE = 1e-4
TURN = 0.1  # seconds of Crescent's turns; others do as many runs
PAUSE = 0.05  # seconds before a turn, in which the threads of the last one stop to spin


# ---- The models ------------------------------------------------------------------------


def write_model(name, folder):
    """Writes a folder in Hugging Face's layout, with a vocabulary of words w0, w1 ... and model.onnx beside."""
    import torch
    from transformers import BertConfig, BertModel
    hidden, layers, intermediate = SIZES[name]
    torch.manual_seed(0)
    model = BertModel(BertConfig(
        vocab_size=VOCABULARY, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=12,
        intermediate_size=intermediate, attn_implementation="eager")).eval()
    model.save_pretrained(folder)
    tokens = ["[PAD]"] + ["[unused%d]" % i for i in range(99)] + ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += ["w%d" % i for i in range(VOCABULARY - OTHERS)]
    with open(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(tokens) + "\n")
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, file)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.ones((2, 16), dtype=torch.int64)

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = model

        def forward(self, *inputs):
            return self.bert(**dict(zip(names, inputs))).last_hidden_state

    torch.onnx.export(
        States(), (ids, ids, 0 * ids), os.path.join(folder, "model.onnx"), input_names=names,
        output_names=["states"], opset_version=17, dynamo=False,
        dynamic_axes={each: {0: "batch", 1: "tokens"} for each in names + ["states"]})


def write_variants(name, folder):
    """Writes fused.onnx and int8.onnx."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    plain = os.path.join(folder, "model.onnx")
    optimizer.optimize_model(plain, model_type="bert", num_heads=12, hidden_size=SIZES[name][0]) \
        .save_model_to_file(os.path.join(folder, "fused.onnx"))
    quantize_dynamic(plain, os.path.join(folder, "int8.onnx"), weight_type=QuantType.QInt8, per_channel=True)


def draw_texts(lengths):
    """Texts as lists of numbers of words; a length counts [CLS] and [SEP]."""
    import numpy
    rng = numpy.random.default_rng(1)
    return [rng.integers(0, VOCABULARY - OTHERS, n - 2).tolist() for n in lengths]


# ---- The two sides: functions from texts to vectors --------------------------------------


class Config(ctypes.Structure):
    """crescent_config of crescent.h."""
    _fields_ = [("backend", ctypes.c_int), ("threads", ctypes.c_int), ("isa", ctypes.c_char_p),
                ("skip", ctypes.c_void_p), ("n_skip", ctypes.c_int), ("max_arena", ctypes.c_int64),
                ("format", ctypes.c_char_p), ("arithmetic", ctypes.c_char_p), ("target", ctypes.c_char_p)]


def load_library():
    library = ctypes.CDLL(os.path.join(os.path.dirname(bench_record.CRESCENT), "libcrescent.so"))
    pointer = ctypes.c_void_p
    library.crescent_context_new.restype = pointer
    library.crescent_error.restype = ctypes.c_char_p
    library.crescent_error.argtypes = [pointer]
    library.crescent_embedder_open.argtypes = [pointer, ctypes.c_char_p] + 4 * [pointer]
    library.crescent_embedder_close.argtypes = [pointer]
    library.crescent_embed.argtypes = [pointer, ctypes.c_char_p, ctypes.c_size_t, pointer, pointer]
    return library


def open_crescent(library, folder, size, int8, threads):
    import numpy
    context, embedder = library.crescent_context_new(), ctypes.c_void_p()
    config = Config(threads=threads, format=b"q8" if int8 else None, arithmetic=b"int8" if int8 else None)
    if library.crescent_embedder_open(context, folder.encode(), None, ctypes.byref(config), None,
                                      ctypes.byref(embedder)):
        sys.exit("bench_embed_peers.py: " + library.crescent_error(context).decode())

    def embed(texts):
        vectors = numpy.empty((len(texts), size), "f4")
        for text, vector in zip(texts, vectors):
            text = " ".join("w%d" % word for word in text).encode()
            if library.crescent_embed(embedder, text, len(text), vector.ctypes.data, None):
                sys.exit("bench_embed_peers.py: " + library.crescent_error(context).decode())
        return vectors
    return embed, lambda: library.crescent_embedder_close(embedder)


def open_onnxruntime(path, threads):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {port.name: "i4" if "int32" in port.type else "i8" for port in session.get_inputs()}

    def embed(texts):
        shape = len(texts), 2 + max(map(len, texts))
        ids, mask = numpy.zeros(shape, "i8"), numpy.zeros(shape, "i8")
        for row, seen, text in zip(ids, mask, texts):
            row[:len(text) + 2] = [CLS] + [OTHERS + word for word in text] + [SEP]
            seen[:len(text) + 2] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
        states = session.run(None, {name: inputs[name].astype(kind) for name, kind in types.items()})[0]
        return [rows[:len(text) + 2].mean(0) for rows, text in zip(states, texts)]
    return embed


# ---- The rows --------------------------------------------------------------------------


def differ(ours, theirs):
    return max(float(abs(a - b).max()) for a, b in zip(ours, theirs))


def measure(ours, variants, texts, tolerance, label):
    """Returns the milliseconds of ours, and of the variants that count (name, ms, ratio)."""
    times = {name: [] for name in ["crescent", *variants]}
    expected = ours(texts)
    start = time.perf_counter()
    ours(texts)
    runs = max(1, round(TURN / (time.perf_counter() - start)))
    for name, variant in list(variants.items()):
        error = differ(expected, variant(texts))
        if error > tolerance:
            bench_record.line("note", "ONNX Runtime (%s), %s: its vectors differ by %.2g, it is left out"
                              % (name, label, error))
            del variants[name]
    for _ in range(ROUNDS):
        for name, run in {"crescent": ours, **variants}.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            for _ in range(runs):
                run(texts)
            times[name].append(1e3 * (time.perf_counter() - start) / runs)
    mine = times["crescent"]
    return median(mine), [(name, median(times[name]), median([a / b for a, b in zip(times[name], mine)]))
                          for name in variants]


def write_rows(library, name, folder, threads, int8):
    """The rows of one model with one number of threads, in float32 or int8."""
    files = {"dynamic": "int8.onnx"} if int8 else {"as exported": "model.onnx", "fused": "fused.onnx"}
    ours, close = open_crescent(library, folder, SIZES[name][0], int8, threads)
    variants = {variant: open_onnxruntime(os.path.join(folder, file), threads)
                for variant, file in files.items()}
    for settings, lengths in TEXTS:
        label = "%s, %s" % (name, settings)
        ms, peers = measure(ours, dict(variants), draw_texts(lengths), float("inf") if int8 else TOLERANCE, label)
        best = sorted(peers, key=lambda peer: peer[1])[:1]
        bench_record.row("embed", name, "%s %s" % ("weights=q8 products=int8" if int8 else "weights=f32", settings),
                         threads, ms, None, [("ONNX Runtime", theirs, ratio, variant)
                                             for variant, theirs, ratio in best])
    close()


def main():
    missing = [name for name in ("torch", "transformers", "onnxruntime") if not importlib.util.find_spec(name)]
    if missing:
        bench_record.run("vectors of texts")
        bench_record.line("note", "ONNX Runtime is missing: its files are made by " + " and ".join(missing))
        return
    import onnxruntime
    bench_record.run("vectors of texts")
    bench_record.crescent_contestant()
    bench_record.contestant("ONNX Runtime", onnxruntime.__version__, "chosen when it runs")
    library = load_library()
    for name in (os.environ.get("ENCODERS") or "minilm bge-base").split():
        if name not in SIZES:
            sys.exit("bench_embed_peers.py: found the encoder %s, expected one of %s" % (name, ", ".join(SIZES)))
        with tempfile.TemporaryDirectory() as folder:
            write_model(name, folder)
            write_variants(name, folder)
            for threads in map(int, (os.environ.get("THREADS") or "1 2").split()):
                for int8 in (False, True):
                    write_rows(library, name, folder, threads, int8)


if __name__ == "__main__":
    main()
