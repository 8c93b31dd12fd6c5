#!/usr/bin/env python3
"""Measures how fast whole models go on with a text, beside others that do.

    THREADS="1 2" LLAMA_CPP=FOLDER IK_LLAMA_CPP=FOLDER python3 tests/bench_generate_peers.py

Prints lines of docs/bench/PROCESSOR.tsv (bench_tables.sh describes them): for each model, format of weights,
prompt and number of threads what the prompt takes and what a token behind it takes, TOKENS (16) of them.
All have the same weights, drawn by bench_models.py, in float32 or in the blocks of GGUF.  Crescent multiplies
by narrow weights in float32 and, where they have such products, in int8.

$MODELS   of gpt2 (124 million parameters), llama-220m, llama-1b; the first two if it is not set
$FORMATS  of f32 bf16 f16 q8_0 q4_0; all of them if it is not set
$PROMPTS  numbers of tokens, 2 128 512 if it is not set; those that a model has no room for are left out
$ROUNDS   turns of everybody, 3 if it is not set; the median counts
$SKIP     peers to leave out, with commas between
$ISA      the instruction set that Crescent is held to, such as avx2, beside peers that were built for it
$LLAMA_CPP, $IK_LLAMA_CPP  folders of llama.cpp and ik_llama.cpp, built for this machine: with build/bin/llama-bench,
          bin/llama-bench or llama-bench.  Where it is missing the script ends and says how to build it.

Contestants take turns, in an order that turns round.  Each is a process.  Those in this script open
a model, check its logits against Crescent's, run the prompt and two tokens once, and then answer each line with the
milliseconds of a turn.  llama-bench is started for each turn, and warms up by itself.  A peer has all its variants
in the first turn, and goes on with those that took at most 1.1 times as long as its fastest, for the
prompt or for a token; the best median of one of these counts.  The time in which a model is opened does not.

    crescent       libcrescent.so, a generator
    PyTorch        transformers under inference_mode, with its cache of keys and values; f32
    ONNX Runtime   GroupQueryAttention, whose keys and values are updated in place by bound buffers; products by
                   q8_0 and q4_0 are MatMulNBits, of the same numbers, with rows rounded to int8; beside
                   q8_0 also DynamicQuantizeMatMul, int8 weights with one scale a column ("dynamic")
    ONNX Runtime GenAI   the same graph, run by the loop of onnxruntime-genai
    llama.cpp      llama-bench of $LLAMA_CPP, with flash attention and without
    ik_llama.cpp   llama-bench of $IK_LLAMA_CPP, likewise, and with weights repacked when it starts and not
    llama.cpp of Python   llama-cpp-python, as it was installed

A peer that is not installed is left out, and a note says so.
"""
import ctypes
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

import bench_models
import bench_record
from bench_record import HERE, median

TOKENS = int(os.environ.get("TOKENS", "16"))
THREADS = [int(n) for n in os.environ.get("THREADS", "1 2").split()]
ROUNDS = int(os.environ.get("ROUNDS", "3"))

# The arithmetics of Crescent's products by weights of a format.
ARITHMETICS = {"f32": ["f32"], "bf16": ["f32"], "f16": ["f32"], "q8_0": ["f32", "int8"],
               "q4_0": ["f32", "int8"]}
# The largest difference of logits, over the largest logit: of narrow weights, rows may be rounded to 8 bits.
TOLERANCE = {"f32": 1e-3, "bf16": 2e-2, "f16": 2e-2, "q8_0": 5e-2, "q4_0": 5e-2}
DYNAMIC_TOLERANCE = 0.2  # its weights are other numbers, and it rounds all rows by one scale


def prompt_of(n, vocabulary):
    return [(i * 7919 + 13) % vocabulary for i in range(n)]


# ---- Crescent, by its library ----------------------------------------------------------


class Config(ctypes.Structure):
    """crescent_config."""
    _fields_ = [("backend", ctypes.c_int), ("threads", ctypes.c_int), ("isa", ctypes.c_char_p),
                ("skip", ctypes.c_void_p), ("n_skip", ctypes.c_int), ("max_arena", ctypes.c_int64),
                ("format", ctypes.c_char_p), ("arithmetic", ctypes.c_char_p),
                ("target", ctypes.c_char_p)]


class Generation(ctypes.Structure):
    """crescent_generation."""
    _fields_ = [("context", ctypes.c_int64), ("chunk", ctypes.c_int64), ("all_logits", ctypes.c_int),
                ("least", ctypes.c_int64)]


class Report(ctypes.Structure):
    """crescent_report, up to the bytes of the weights."""
    _fields_ = [("name", ctypes.c_char_p), ("backend", ctypes.c_int), ("isa", ctypes.c_char_p),
                ("threads", ctypes.c_int), ("compiled", ctypes.c_int), ("passes_ns", ctypes.c_int64),
                ("emit_ns", ctypes.c_int64), ("compile_ns", ctypes.c_int64),
                ("text_bytes", ctypes.c_size_t), ("ops", ctypes.c_int), ("n_kernels", ctypes.c_int),
                ("n_calls", ctypes.c_int), ("n_products", ctypes.c_int), ("n_rounded", ctypes.c_int),
                ("weights_bytes", ctypes.c_int64), ("rest", ctypes.c_char * 512)]


class Crescent:
    def __init__(self, job):
        folder = os.path.dirname(bench_record.CRESCENT)
        self.lib = lib = ctypes.CDLL(os.path.join(folder, "libcrescent.so"))
        pointer = ctypes.c_void_p
        lib.crescent_context_new.restype = lib.crescent_generator_model.restype = pointer
        lib.crescent_error.restype = ctypes.c_char_p
        lib.crescent_generator_logits.restype = ctypes.POINTER(ctypes.c_float)
        lib.crescent_machine_products.restype = ctypes.c_double
        lib.crescent_machine_read_weights.restype = ctypes.c_double
        self.context, self.job = pointer(lib.crescent_context_new()), job
        self.generator, self.machine = pointer(), pointer()
        config = Config(threads=job["threads"], arithmetic=job["arithmetic"].encode(),
                        isa=os.environ.get("ISA", "").encode() or None)
        path = job["gguf"].encode()
        self.check(lib.crescent_generator_open(
            self.context, path, None, ctypes.byref(config),
            ctypes.byref(Generation(context=job["context"])), ctypes.byref(self.generator)))
        self.model = pointer(lib.crescent_generator_model(self.generator))
        self.check(lib.crescent_load_weights(self.model, (ctypes.c_char_p * 1)(path), 1, 0, None))
        report = Report()
        self.check(lib.crescent_report_of(self.model, ctypes.byref(report)))
        self.bytes = report.weights_bytes
        self.check(lib.crescent_machine_open(self.model, ctypes.byref(self.machine)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.crescent_error(self.context).decode())

    def reset(self):
        self.check(self.lib.crescent_generator_reset(self.generator))

    def feed(self, ids):
        self.check(self.lib.crescent_generator_feed(
            self.generator, (ctypes.c_int32 * len(ids))(*ids), ctypes.c_int64(len(ids)), None))

    def logits(self):
        return self.lib.crescent_generator_logits(self.generator)[:self.job["vocab"]]

    def limits(self):
        """Operations and bytes a nanosecond that the machine has at most, right now."""
        return {"peak": self.lib.crescent_machine_products(self.machine,
                                                           self.job["arithmetic"].encode()),
                "bandwidth": self.lib.crescent_machine_read_weights(self.machine, ctypes.c_int64(0)),
                "bytes": self.bytes}


# ---- Peers in Python -------------------------------------------------------------------
# Each has reset(), feed(ids) and logits(), of the last token.


class Torch:
    def __init__(self, job):
        import torch
        from transformers import AutoModelForCausalLM
        torch.set_num_threads(job["threads"])
        self.torch = torch
        self.model = AutoModelForCausalLM.from_pretrained(job["folder"], dtype=torch.float32).eval()
        self.cache = None

    def reset(self):
        self.cache = None

    def feed(self, ids):
        with self.torch.inference_mode():
            out = self.model(self.torch.tensor([ids]), past_key_values=self.cache, use_cache=True,
                             logits_to_keep=1)
        self.cache, self.last = out.past_key_values, out.logits[0, -1]

    def logits(self):
        return self.last.tolist()


class OnnxRuntime:
    def __init__(self, job):
        import numpy
        import onnxruntime
        self.numpy, self.used, self.context = numpy, 0, job["context"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = job["threads"]
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(job["onnx"], "model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.names = [i.name for i in self.session.get_inputs()]
        self.binding = self.session.io_binding()
        for port in self.session.get_inputs():
            if port.name.startswith("past"):
                shape = [n if isinstance(n, int) else job["context"] for n in port.shape]
                value = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, numpy.float32))
                self.binding.bind_ortvalue_input(port.name, value)
                self.binding.bind_ortvalue_output(port.name.replace("past_key_values", "present"), value)
        self.binding.bind_output("logits", "cpu")

    def reset(self):
        self.used = 0

    def feed(self, ids):
        first, self.used = self.used, self.used + len(ids)
        values = {"input_ids": self.numpy.array([ids], self.numpy.int64),
                  "attention_mask": self.numpy.ones((1, self.used), self.numpy.int64),
                  "position_ids": self.numpy.arange(first, self.used, dtype=self.numpy.int64)[None]}
        for name, value in values.items():
            if name in self.names:
                self.binding.bind_cpu_input(name, value)
        self.session.run_with_iobinding(self.binding)

    def logits(self):
        names = [o.name for o in self.session.get_outputs()]
        values = dict(zip([n for n in names if n != "logits"] + ["logits"],
                          self.binding.get_outputs()))
        return values["logits"].numpy()[0, -1].tolist()


class GenAI:
    """Its loop chooses the tokens itself: a token is what generate_next_token takes."""

    def __init__(self, job):
        import onnxruntime_genai
        self.og = onnxruntime_genai
        path = os.path.join(job["onnx"], "genai_config.json")
        with open(path) as file:
            config = json.load(file)
        config["model"]["decoder"]["session_options"] = {"intra_op_num_threads": job["threads"],
                                                         "inter_op_num_threads": 1}
        with open(path, "w") as file:
            json.dump(config, file)
        self.model = onnxruntime_genai.Model(job["onnx"])
        self.context = job["context"]

    def reset(self):
        parameters = self.og.GeneratorParams(self.model)
        parameters.set_search_options(max_length=self.context, min_length=self.context, do_sample=False)
        self.generator = self.og.Generator(self.model, parameters)
        self.begun = False

    def feed(self, ids):
        if not self.begun:
            self.generator.append_tokens(ids)
            self.begun = True
            self.last = self.generator.get_logits()[0, -1].tolist()
        self.generator.generate_next_token()

    def logits(self):
        return self.last


class LlamaOfPython:
    def __init__(self, job):
        import llama_cpp
        self.llama_cpp = llama_cpp
        self.llm = llama_cpp.Llama(job["gguf"], n_ctx=job["context"], n_batch=512, n_ubatch=512,
                                   n_threads=job["threads"], n_threads_batch=job["threads"],
                                   verbose=False)

    def reset(self):
        self.llm.reset()
        self.llm._ctx.kv_cache_clear()

    def feed(self, ids):
        self.llm.eval(ids)

    def logits(self):
        last = self.llama_cpp.llama_get_logits_ith(self.llm._ctx.ctx, -1)
        return last[:self.llm.n_vocab()]


# Peer: its class, the modules that it needs, and for each format of weights its variants.
GRAPHS = {"f32": [""], "q8_0": ["MatMulNBits", "dynamic"], "q4_0": ["MatMulNBits"]}
PYTHON_PEERS = {
    "PyTorch": (Torch, ("torch", "transformers"), {"f32": [""]}),
    "ONNX Runtime": (OnnxRuntime, ("onnx", "onnxruntime"), GRAPHS),
    "ONNX Runtime GenAI": (GenAI, ("onnx", "onnxruntime_genai"), GRAPHS),
    "llama.cpp of Python": (LlamaOfPython, ("llama_cpp",), dict.fromkeys(ARITHMETICS, [""])),
}
PACKAGES = {"PyTorch": ("torch", "transformers"), "ONNX Runtime": ("onnxruntime",),
            "ONNX Runtime GenAI": ("onnxruntime-genai",), "llama.cpp of Python": ("llama-cpp-python",)}


def worker(name, job):
    """A process that measures one of them: a line in, a line of JSON out."""
    kind = Crescent if name == "crescent" else PYTHON_PEERS[name][0]
    try:
        peer = kind(job)
        ids = prompt_of(job["prompt"], job["vocab"])
        peer.reset()
        peer.feed(ids)
        answer = {"logits": list(peer.logits())}
        peer.feed([1])
        peer.feed([2])
    except Exception as problem:  # whatever a library does is a reason to be named
        print(json.dumps({"missing": str(problem).strip().split("\n")[0][:120]
                          or type(problem).__name__}), flush=True)
        return
    print(json.dumps(answer), flush=True)
    for _ in sys.stdin:
        peer.reset()
        start = time.perf_counter()
        peer.feed(ids)
        prompt = time.perf_counter() - start
        tokens = []
        for i in range(TOKENS):
            start = time.perf_counter()
            peer.feed([i % job["vocab"]])
            tokens.append(time.perf_counter() - start)
        answer = {"prompt": 1e3 * prompt, "token": 1e3 * median(tokens)}
        if name == "crescent":
            answer.update(peer.limits())
        print(json.dumps(answer), flush=True)


# ---- Contestants -----------------------------------------------------------------------


class Worker:
    """A contestant that this script is, in a process of its own."""

    def __init__(self, name, variant, job):
        self.name, self.variant, self.answers = name, variant, []
        env = dict(os.environ, OMP_NUM_THREADS=str(job["threads"]), MKL_NUM_THREADS=str(job["threads"]))
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--worker", name, json.dumps(job)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.first = self.read()

    def read(self):
        text = self.process.stdout.readline()
        return json.loads(text) if text else {"missing": "its process ended"}

    def turn(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return
        answer = self.read()
        if "prompt" in answer:
            self.answers.append(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class LlamaBench:
    """llama-bench, started for each turn: once for the prompt, once for tokens behind it."""

    def __init__(self, name, variant, job, program, options, behind):
        self.name, self.variant, self.answers, self.first = name, variant, [], {}
        self.command = [program, "-m", job["gguf"], "-t", str(job["threads"]), "-r", "1", "-o", "json",
                        "-ngl", "0", *options]
        n, tokens = str(job["prompt"]), str(TOKENS)
        self.tests = {"prompt": ["-p", n, "-n", "0"], "token": behind(n, tokens)}

    def measure(self, test):
        """Nanoseconds of each token that is timed."""
        run = subprocess.run(self.command + self.tests[test], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        if run.returncode:
            raise RuntimeError((run.stderr.strip().split("\n") or ["nothing"])[-1][:160])
        found = json.loads(run.stdout[run.stdout.index("["):])[-1]
        known = str(found.get("build_commit", "unknown")) != "unknown"
        self.build = "b%s (%s)" % (found["build_number"], found["build_commit"]) if known else ""
        return 1e9 / found["avg_ts"]

    def turn(self):
        try:
            self.answers.append({"prompt": 1e-6 * self.measure("prompt") * int(self.tests["prompt"][1]),
                                 "token": 1e-6 * self.measure("token")})
        except (RuntimeError, ValueError) as problem:
            self.first = {"missing": str(problem)}

    def close(self):
        pass


BUILD = "cmake -S %(folder)s -B %(folder)s/build -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON && " \
    "cmake --build %(folder)s/build --target llama-bench"
# Peer: the variable that names its folder, its variants, and how tokens behind a prompt are asked for.
NATIVE_PEERS = {
    "llama.cpp": ("LLAMA_CPP", [("flash attention", ["-fa", "1"]), ("", ["-fa", "0"])],
                  lambda n, tokens: ["-p", "0", "-n", tokens, "-d", n]),
    "ik_llama.cpp": ("IK_LLAMA_CPP",
                     [(a + b, c + d) for a, c in (("flash attention", ["-fa", "1"]),
                                                  ("no flash attention", ["-fa", "0"]))
                      for b, d in ((", repacked", ["-rtr", "1"]), ("", ["-rtr", "0"]))],
                     lambda n, tokens: ["-p", "0", "-n", "0", "-gp", n + "," + tokens]),
}


def skipped(name):
    return name in os.environ.get("SKIP", "").split(",")


def installed(modules):
    return all(importlib.util.find_spec(module) for module in modules)


def built_for(name):
    if name == "PyTorch":
        return bench_record.torch_capability()
    if name == "llama.cpp of Python":
        folder = os.path.dirname(importlib.util.find_spec("llama_cpp").origin)
        return "built with " + bench_record.instructions(glob.glob(os.path.join(folder, "lib", "*.so")))
    return "chosen when it runs"


def find_peers():
    """The native ones that were named, with the files of their code; says what is there of the others."""
    programs, code = {}, {}
    bench_record.crescent_contestant()
    for name, (_, modules, _) in PYTHON_PEERS.items():
        if not installed(modules):
            bench_record.line("note", "%s is missing: it needs %s" % (name, " and ".join(modules)))
        elif not skipped(name):
            versions = [bench_record.package_version(p) or "" for p in PACKAGES[name]]
            bench_record.contestant(name, " with transformers ".join(versions), built_for(name))
    for name, (variable, _, _) in NATIVE_PEERS.items():
        folder = os.environ.get(variable)
        if skipped(name):
            continue
        if not folder:
            bench_record.line("note", "%s is missing: $%s does not name its folder" % (name, variable))
            continue
        programs[name], code[name] = bench_record.find_program(folder, "llama-bench", BUILD)
    return programs, code


def no_part(c, job):
    return "%s%s has no part in %s, %s: %s" % (c.name, c.variant and " (%s)" % c.variant, job["model"],
                                               job["format"], c.first.get("missing", "it ended"))


def enlist(job, programs, notes, errors):
    """Starts everybody, one after the other; returns those that gave the right logits.  errors: how far those of a
    variant were off at most, over the largest logit."""
    contestants = [Worker("crescent", a, dict(job, arithmetic=a)) for a in ARITHMETICS[job["format"]]]
    expected = contestants[0].first.get("logits")
    if not expected:
        sys.exit("bench_generate_peers.py: crescent: " + contestants[0].first["missing"])
    for name, (_, modules, formats) in PYTHON_PEERS.items():
        if skipped(name) or not installed(modules):
            continue
        for variant in formats.get(job["format"], ()):
            dynamic = variant == "dynamic"
            c = Worker(name, variant, dict(job, onnx=job["onnx"] + "." + variant * dynamic))
            found = c.first.get("logits")
            if found:
                error = max(abs(a - b) for a, b in zip(found, expected)) / max(map(abs, expected))
                if len(found) == len(expected) and \
                        error <= (DYNAMIC_TOLERANCE if dynamic else TOLERANCE[job["format"]]):
                    key = "%s%s, %s in %s" % (name, variant and " (%s)" % variant, job["model"],
                                              job["format"])
                    errors[key] = max(error, errors.get(key, 0))
                    contestants.append(c)
                    continue
                c.first = {"missing": "its logits are off by %.2g" % error}
            c.close()
            notes.add(no_part(c, job))
    for name, program in programs.items():
        _, variants, behind = NATIVE_PEERS[name]
        contestants += [LlamaBench(name, v, job, program, options, behind) for v, options in variants]
    return contestants


def keep_best(contestants):
    """Without those variants of a peer that are clearly not its best."""
    def best(name, test):
        return min(c.answers[0][test] for c in contestants if c.name == name and c.answers)
    return [c for c in contestants if c.name == "crescent" or c.answers and any(
        c.answers[0][test] <= 1.1 * best(c.name, test) for test in ("prompt", "token"))]


def operations(m, n):
    """Of a prompt, as causality leaves them: layers, the head for the last token, attention."""
    matrices = sum(t.size for name, t in m["tensors"].items() if name[0].isdigit() and t.ndim == 2)
    return 2 * matrices * n + 2 * m["vocab"] * m["width"] + \
        m["layers"] * 4 * m["width"] * n * (n + 1) / 2


def share_of(m, job, answers, test):
    """Of the peak for a prompt; of the bandwidth for a token, which reads the weights, and keys and values in f32."""
    ms = median([a[test] for a in answers])
    if test == "prompt":
        return operations(m, job["prompt"]) / (1e6 * ms) / max(a["peak"] for a in answers)
    kept = 2 * 4 * m["layers"] * bench_models.kv_width(m) * (job["prompt"] + TOKENS / 2)
    return (answers[0]["bytes"] + kept) / (1e6 * ms) / max(a["bandwidth"] for a in answers)


def print_rows(m, job, contestants):
    """A row for each arithmetic of ours and each test; the ratio is the median of those of the turns."""
    for ours in (c for c in contestants if c.name == "crescent"):
        settings = "weights=%s products=%s prompt=%d" % (job["format"], ours.variant, job["prompt"])
        for test in ("prompt", "token"):
            peers = []
            for name in dict.fromkeys(c.name for c in contestants if c.name != "crescent"):
                mine = [c for c in contestants if c.name == name and len(c.answers) == len(ours.answers)]
                if not mine:
                    continue
                best = min(mine, key=lambda c: median([a[test] for a in c.answers]))
                ratio = median([b[test] / a[test] for a, b in zip(ours.answers, best.answers)])
                peers.append((name, median([a[test] for a in best.answers]), ratio, best.variant))
            bench_record.row(test, job["model"], settings, job["threads"],
                             median([a[test] for a in ours.answers]),
                             share_of(m, job, ours.answers, test), peers)


def measure(m, job, programs, notes, errors):
    print("bench_generate_peers: %s" % {k: job[k] for k in ("model", "format", "prompt", "threads")},
          file=sys.stderr)
    everybody = contestants = enlist(job, programs, notes, errors)
    try:
        for i in range(ROUNDS):
            for c in contestants if i % 2 else contestants[::-1]:
                time.sleep(0.02)  # until the threads of the one before are asleep
                c.turn()
            if i == 0:
                for c in contestants:
                    if not c.answers:
                        notes.add(no_part(c, job))
                contestants = keep_best(contestants)
        print_rows(m, job, contestants)
        return {c.name: c.build for c in contestants if hasattr(c, "build")}
    finally:
        for c in everybody:
            c.close()


def main():
    bench_record.run("whole models")
    programs, code = find_peers()
    notes, builds, errors = set(), {}, {}
    prompts = [int(n) for n in os.environ.get("PROMPTS", "2 128 512").split()]
    with tempfile.TemporaryDirectory() as scratch:
        for name in os.environ.get("MODELS", "gpt2 llama-220m").split():
            if name not in bench_models.SIZES:
                sys.exit("bench_generate_peers.py: %s: a model that is unknown, expected one of %s"
                         % (name, ", ".join(bench_models.SIZES)))
            m = bench_models.draw(name)
            fit = [n for n in prompts if n + TOKENS <= m["positions"]]
            context = min(m["positions"], -(-(max(fit, default=1) + TOKENS + 8) // 64) * 64)
            folder = os.path.join(scratch, name)
            bench_models.write_folder(m, folder)
            for kind in os.environ.get("FORMATS", "f32 bf16 f16 q8_0 q4_0").split():
                gguf, onnx = folder + "." + kind + ".gguf", folder + "." + kind
                bench_models.write_gguf(m, kind, gguf)
                for variant in GRAPHS.get(kind, ()) if installed(("onnx",)) else ():
                    dynamic = variant == "dynamic"
                    bench_models.write_onnx(m, "dynamic" if dynamic else kind, context,
                                            onnx + "." + variant * dynamic)
                for n in fit:
                    for threads in THREADS:
                        job = dict(model=name, format=kind, prompt=n, threads=threads, folder=folder,
                                   gguf=gguf, onnx=onnx, context=context, vocab=m["vocab"],
                                   arithmetic="f32")
                        builds.update(measure(m, job, programs, notes, errors))
                subprocess.run(["rm", "-r", "-f", gguf, onnx + ".", onnx + ".dynamic"], check=True)
    for name, files in code.items():
        bench_record.contestant(name, builds.get(name, ""),
                                "built with " + bench_record.instructions(files))
    for key, error in errors.items():
        notes.add("%s: its logits differ from Crescent's by %.2g of the largest at most" % (key, error))
    for note in sorted(notes):
        bench_record.line("note", note)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], json.loads(sys.argv[3]))
    elif importlib.util.find_spec("gguf") and importlib.util.find_spec("numpy"):
        main()
    else:
        sys.exit("bench_generate_peers.py: gguf or numpy is missing, expected them to draw the models with")
