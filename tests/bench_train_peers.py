#!/usr/bin/env python3
"""Measures a step of a training beside others: forward, backward and AdamW of GPT-2 with 124 million parameters in
float32, without dropout.  Prints lines of docs/bench/PROCESSOR.tsv (bench_tables.sh describes them).

$STEPS    their sizes, "B=4,T=64" if it is not set
$THREADS  numbers of threads, "1" if it is not set
$ROUNDS   turns of everybody, 5 if it is not set; the median counts
$SKIP     peers to leave out, with commas between
$LLM_C    a folder with the sources of llm.c, which is compiled here with the options of its Makefile

All begin with the same weights, which bench_models.py draws, and have the same tokens in each step.  A turn is a step.  A
peer whose losses of the first two steps differ from Crescent's is left out.

    crescent  libcrescent.so, a trainer of tests/scripts/gpt2_step.lua
    PyTorch   transformers' GPT2LMHeadModel and torch.optim.AdamW: fused, or a loop over tensors
    llm.c     gpt2_forward, gpt2_backward and gpt2_update of its train_gpt2.c
"""
import ctypes
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import bench_generate_peers
import bench_models
import bench_record
from bench_record import HERE, median

ROUNDS = int(os.environ.get("ROUNDS", "5"))
STEPS = os.environ.get("STEPS", "B=4,T=64").split()
THREADS = [int(n) for n in os.environ.get("THREADS", "1").split()]
SCRIPT = os.path.join(HERE, "scripts", "gpt2_step.lua")
TOLERANCE = 1e-3  # of a loss, over Crescent's


def tokens_of(job):
    """Ids and targets of a step: two lists of B T numbers."""
    n = job["B"] * job["T"] + 1
    ids = [(i * 7919 + 13) % job["vocab"] for i in range(n)]
    return ids[:-1], ids[1:]


# ---- Contestants: each has step(), which returns the loss before it ---------------------


class Setting(ctypes.Structure):
    """crescent_setting."""
    _fields_ = [("key", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Script(ctypes.Structure):
    """crescent_script, up to the settings; the rest is zeros."""
    _fields_ = [("settings", ctypes.POINTER(Setting)), ("n_settings", ctypes.c_int), ("rest", ctypes.c_char * 256)]


class Status(ctypes.Structure):
    """crescent_training."""
    _fields_ = [("step", ctypes.c_int64), ("loss", ctypes.c_double), ("rest", ctypes.c_char * 256)]


class Crescent:
    def __init__(self, job):
        pointer = ctypes.c_void_p
        self.lib = lib = ctypes.CDLL(os.path.join(os.path.dirname(bench_record.CRESCENT), "libcrescent.so"))
        lib.crescent_context_new.restype = lib.crescent_trainer_model.restype = pointer
        lib.crescent_error.restype = ctypes.c_char_p
        lib.crescent_machine_products.restype = ctypes.c_double
        self.context, graph = pointer(lib.crescent_context_new()), pointer()
        self.trainer, self.machine = pointer(), pointer()
        settings = (Setting * 2)(*(Setting(k.encode(), str(job[k]).encode()) for k in "BT"))
        self.check(lib.crescent_graph_open(self.context, SCRIPT.encode(),
                                           ctypes.byref(Script(settings=settings, n_settings=2)), ctypes.byref(graph)))
        config = bench_generate_peers.Config(threads=job["threads"])
        self.check(lib.crescent_trainer_open(graph, ctypes.byref(config), ctypes.byref(self.trainer)))
        model = pointer(lib.crescent_trainer_model(self.trainer))
        paths = (ctypes.c_char_p * 1)(os.path.join(job["folder"], "model.safetensors").encode())
        self.check(lib.crescent_load_weights(model, paths, 1, 0, None))
        for i, values in enumerate(tokens_of(job)):
            self.check(lib.crescent_trainer_set_input(self.trainer, i, (ctypes.c_int32 * len(values))(*values)))
        self.check(lib.crescent_trainer_start(self.trainer))
        self.check(lib.crescent_machine_open(model, ctypes.byref(self.machine)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.crescent_error(self.context).decode())

    def step(self):
        self.check(self.lib.crescent_trainer_step(self.trainer))
        status = Status()
        self.check(self.lib.crescent_trainer_status(self.trainer, ctypes.byref(status)))
        return status.loss

    def peak(self):
        """Operations a nanosecond that the machine has at most, right now."""
        return self.lib.crescent_machine_products(self.machine, b"f32")


class Torch:
    def __init__(self, job):
        import torch
        from transformers import GPT2LMHeadModel
        torch.set_num_threads(job["threads"])
        self.torch = torch
        self.model = GPT2LMHeadModel.from_pretrained(job["folder"], resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
        self.model.train()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0,
                                           fused=job["variant"] == "fused")
        shape = (job["B"], job["T"])
        self.ids, self.target = (torch.tensor(values).reshape(shape) for values in tokens_of(job))

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        logits = self.model(self.ids).logits
        loss = self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.target.flatten())
        loss.backward()
        self.optimiser.step()
        return loss.item()


# The functions that this script calls of train_gpt2.c, whose own main is left out.
LLM_C = """
#define TESTING
#include "train_gpt2.c"
static GPT2 model;
void open_model(const char *path) { gpt2_build_from_checkpoint(&model, path); }
float make_step(int *ids, int *targets, int B, int T, int t)
{
    gpt2_forward(&model, ids, targets, B, T);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, t);
    return model.mean_loss;
}
"""


def write_checkpoint(m, path):
    """llm.c's file: 256 numbers, then parameters by kind, each of all layers; the vocabulary is padded."""
    import numpy
    padded = (m["vocab"] + 127) // 128 * 128
    header = [20240326, 3, m["positions"], m["vocab"], m["layers"], m["heads"], m["width"], padded]
    tensors = m["tensors"]
    kinds = ["ln_1", "ln_1.bias", "attn.c_attn", "attn.c_attn.bias", "attn.c_proj", "attn.c_proj.bias", "ln_2",
             "ln_2.bias", "mlp.c_fc", "mlp.c_fc.bias", "mlp.c_proj", "mlp.c_proj.bias"]
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", *(header + [0] * (256 - len(header)))))
        file.write(tensors["wte"].tobytes())
        file.write(numpy.zeros((padded - m["vocab"], m["width"]), numpy.float32).tobytes())
        file.write(tensors["wpe"].tobytes())
        for kind in kinds:
            for i in range(m["layers"]):
                file.write(tensors["%d.%s" % (i, kind)].tobytes())
        file.write(tensors["ln_f"].tobytes() + tensors["ln_f.bias"].tobytes())


class LlmC:
    def __init__(self, job):
        self.job, self.steps = job, 0
        self.lib = ctypes.CDLL(os.path.join(job["folder"], "llm_c.so"))
        self.lib.make_step.restype = ctypes.c_float
        self.ids, self.target = ((ctypes.c_int * len(v))(*v) for v in tokens_of(job))
        self.lib.open_model(os.path.join(job["folder"], "llm_c.bin").encode())

    def step(self):
        self.steps += 1
        return self.lib.make_step(self.ids, self.target, self.job["B"], self.job["T"], self.steps)


def compile_llm_c(sources, m, folder):
    """Returns what it was compiled for."""
    with open(os.path.join(folder, "llm_c.c"), "w") as file:
        file.write(LLM_C)
    library = os.path.join(folder, "llm_c.so")
    subprocess.run(["cc", "-Ofast", "-fno-finite-math-only", "-march=native", "-fopenmp", "-DOMP", "-w", "-fPIC",
                    "-shared", "-I", sources, os.path.join(folder, "llm_c.c"), "-o", library, "-lm"], check=True)
    write_checkpoint(m, os.path.join(folder, "llm_c.bin"))
    return bench_record.instructions([library])


KINDS = {"crescent": Crescent, "PyTorch": Torch, "llm.c": LlmC}


def worker(name, job):
    """A process that makes steps: a line in, a line of JSON out.  What a library prints goes where errors go."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        contestant = KINDS[name](job)
        answer = {"losses": [contestant.step(), contestant.step()]}
    except Exception as problem:  # whatever a library does is a reason to be named
        answer = {"missing": str(problem).strip().split("\n")[0][:120] or type(problem).__name__}
    print(json.dumps(answer), file=answers, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        contestant.step()
        answer = {"ms": 1e3 * (time.perf_counter() - start)}
        if name == "crescent":
            answer["peak"] = contestant.peak()
        print(json.dumps(answer), file=answers, flush=True)


# ---- Turns -----------------------------------------------------------------------------


class Contestant:
    def __init__(self, name, variant, job):
        self.name, self.variant, self.answers = name, variant, []
        threads = str(job["threads"])
        env = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads)
        if name == "PyTorch":  # freed memory is kept for the next step
            env.update(MALLOC_MMAP_THRESHOLD_="10000000000", MALLOC_TRIM_THRESHOLD_="20000000000")
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--worker", name, json.dumps(dict(job, variant=variant))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.first = self.read()

    def read(self):
        text = self.process.stdout.readline()
        return json.loads(text) if text else {"missing": "its process ended"}

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.answers.append(self.read())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def enlist(job, peers):
    """Crescent, then the peers whose losses are Crescent's; the others are noted."""
    crescent = Contestant("crescent", "", job)
    if "missing" in crescent.first:
        sys.exit("bench_train_peers.py: crescent: " + crescent.first["missing"])
    contestants = [crescent]
    for name, variant in peers:
        c = Contestant(name, variant, job)
        losses = c.first.get("losses")
        if losses and all(abs(a - b) <= TOLERANCE * b for a, b in zip(losses, crescent.first["losses"])):
            contestants.append(c)
            continue
        c.close()
        bench_record.line("note", "%s has no part in the step: %s" % (
            name, c.first.get("missing") or "its losses are %s, Crescent's %s" % (losses, crescent.first["losses"])))
    return contestants


def operations(m, job):
    """Of the products by weights in forward and backward pass."""
    weights = sum(t.size for name, t in m["tensors"].items() if bench_models.is_matrix(name, t))
    return 6 * weights * job["B"] * job["T"]


def measure(m, job, peers):
    contestants = enlist(job, peers)
    for i in range(ROUNDS):
        for c in contestants[i % len(contestants):] + contestants[:i % len(contestants)]:
            c.turn()
    for c in contestants:
        c.close()
    ours = [a["ms"] for a in contestants[0].answers]
    best = {}
    for c in contestants[1:]:
        theirs = [a["ms"] for a in c.answers]
        row = (c.name, median(theirs), median([a / b for a, b in zip(theirs, ours)]), c.variant)
        best[c.name] = min(best.get(c.name, row), row, key=lambda r: r[1])
    share = median([operations(m, job) / (1e6 * a["ms"] * a["peak"]) for a in contestants[0].answers])
    bench_record.row("step", "gpt2", "B=%d T=%d" % (job["B"], job["T"]), job["threads"], median(ours), share,
                     list(best.values()))


def skipped(peer):
    return peer in os.environ.get("SKIP", "").split(",")


def find_peers(m, folder):
    peers = []
    if all(importlib.util.find_spec(module) for module in ("torch", "transformers")) and not skipped("PyTorch"):
        peers += [("PyTorch", "fused"), ("PyTorch", "a loop over tensors")]
        bench_record.contestant("PyTorch", "%s with transformers %s" % tuple(
            map(bench_record.package_version, ("torch", "transformers"))), bench_record.torch_capability())
    sources = os.environ.get("LLM_C")
    if sources and not skipped("llm.c"):
        peers.append(("llm.c", ""))
        bench_record.contestant("llm.c", "", "built with " + compile_llm_c(sources, m, folder))
    elif not skipped("llm.c"):
        bench_record.line("note", "llm.c is missing: $LLM_C does not name its folder")
    return peers


def main():
    bench_record.run("a training")
    bench_record.crescent_contestant()
    m = bench_models.draw("gpt2")
    with tempfile.TemporaryDirectory() as folder:
        bench_models.write_folder(m, folder)
        peers = find_peers(m, folder)
        for step in STEPS:
            sizes = dict(pair.split("=") for pair in step.split(","))
            for threads in THREADS:
                measure(m, dict(folder=folder, threads=threads, vocab=m["vocab"], B=int(sizes["B"]),
                                T=int(sizes["T"])), peers)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
