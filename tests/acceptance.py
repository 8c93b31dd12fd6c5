#!/usr/bin/env python3
"""Holds the program against PyTorch at random sizes; for developers, needs torch and numpy.

    python3 tests/acceptance.py [--crescent build/crescent] [--trials N] [--seed S] [GRAPH...]

For each graph, with random weights of odd sizes:
    accuracy    every backend within 2e-5 of PyTorch's float64 (or 5 times the error of
                PyTorch's float32, where that is more)
    gradients   of the input and every parameter: the same tolerance, on every backend, and
                equal bits for TinyCC and the system's compiler, 1 and 2 threads
    bits        TinyCC and the system's compiler, 1 and 2 threads: equal bits
    batch       each item of a batch alone: equal bits
    prefix      causal graphs: the first 20 of 37 rows alone: equal bits
    compare     `crescent compare` agrees, and objects to a wrong expectation
    refusals    a missing parameter, a wrong shape, a truncated file: exit status 2, one line
"""
import argparse
import os
import subprocess
import sys
import tempfile
import zlib

import numpy as np

import make_fixtures as fixtures

REF_MAX_ELEMENTS = 40000  # the interpreter is slow: only small cases
CAUSAL = [name for name in fixtures.GRAPHS if name != "stream_block"]


class Tally:
    """Counts checks and prints the ones that fail, with what is needed to repeat them."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, what):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("FAILED: %s" % what)


class Model:
    """A graph with options, random weights and an input, on disk in a folder of its own."""

    def __init__(self, crescent, graph, options, seed, folder):
        self.crescent, self.graph, self.options, self.folder = crescent, graph, options, folder
        self.module, self.rng = fixtures.build(graph, options, seed)
        self.weights = self.path("model.safetensors")
        fixtures.write_model(self.weights, self.module, options.get("prefix", ""))
        shape = options["B"], options["T"], options["n_embd"]
        self.x = self.rng.standard_normal(shape).astype(np.float32)
        self.y, self.torch_error = fixtures.reference(self.module, self.x)
        self.atol = max(2e-5, 5 * self.torch_error)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, verb, options, weights, x):
        np.save(self.path("x.npy"), x)
        settings = [arg for key, value in options.items()
                    for arg in ("--set", "%s=%s" % (key, fixtures.option_text(value)))]
        return [self.crescent, verb, "graphs/%s.lua" % self.graph, *settings,
                "--weights", weights, "--input", "x=" + self.path("x.npy")]

    def run(self, x=None, backend="tcc", threads=1):
        """The output for x, whose shape gives B and T; None with a message on failure."""
        x = self.x if x is None else x
        options = {**self.options, "B": x.shape[0], "T": x.shape[1]}
        target = self.path("out.npy")
        if os.path.exists(target):
            os.remove(target)
        done = call(self.command("run", options, self.weights, x) +
                    ["--output", "y=" + target, "--backend", backend, "--threads", str(threads)])
        if done.returncode != 0:
            print("exit status %d: %s" % (done.returncode, done.stderr.strip()))
            return None
        return np.load(target)

    def __str__(self):
        return self.graph + " " + " ".join("%s=%s" % item for item in self.options.items())


def call(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def same_bits(a, b):
    """NaNs would compare unequal as numbers and hide: compare the bytes."""
    return a is not None and b is not None and a.shape == b.shape and a.tobytes() == b.tobytes()


def check_accuracy(tally, model):
    backends = ["tcc", "cc"] + (["ref"] if model.x.size <= REF_MAX_ELEMENTS else [])
    worst = {}
    for backend in backends:
        y = model.run(backend=backend)
        ok = y is not None and y.shape == model.y.shape and np.isfinite(y).all()
        worst[backend] = np.abs(y - model.y).max() if ok else np.inf
        tally.check(worst[backend] <= model.atol,
                    "accuracy of %s, %s: off by %.1e (PyTorch: %.1e)" %
                    (backend, model, worst[backend], model.torch_error))
    print("%s: %s PyTorch %.1e" % (model, " ".join("%s %.1e" % item for item in worst.items()),
                                   model.torch_error))


def check_gradients(tally, model):
    c = (2 * model.rng.standard_normal(model.x.shape) + 0.5).astype(np.float32)
    grads, error = fixtures.reference_grads(model.module, model.x, c)
    prefix = model.options.get("prefix", "")
    np.save(model.path("c.npy"), c)
    fixtures.write_safetensors(model.path("grads.safetensors"),
                               {name if name == "x" else prefix + name: np.ascontiguousarray(grad)
                                for name, grad in grads.items()})
    cotangent = ["--cotangent", "y=" + model.path("c.npy")]
    backends = "tcc,cc,ref" if model.x.size <= REF_MAX_ELEMENTS else "tcc,cc"
    done = call(model.command("compare", model.options, model.weights, model.x) + cotangent +
                ["--expect-grads", model.path("grads.safetensors"), "--backends", backends,
                 "--atol", str(max(2e-5, 5 * error))])
    tally.check(done.returncode == 0, "gradients of %s: exit status %d: %s%s" %
                (model, done.returncode, done.stderr, done.stdout))
    files = [model.path("grads%d.safetensors" % threads) for threads in (1, 2)]
    for threads, path in zip((1, 2), files):
        call(model.command("run", model.options, model.weights, model.x) + cotangent +
             ["--grads", path, "--threads", str(threads)])
    first, second = (open(path, "rb").read() for path in files)
    tally.check(first == second, "gradients of %s with 1 and 2 threads" % model)


def check_bits(tally, model):
    first = model.run()
    for backend, threads in (("tcc", 2), ("cc", 1), ("cc", 2)):
        other = model.run(backend=backend, threads=threads)
        tally.check(same_bits(first, other), "bits of %s, %d threads, %s" %
                    (backend, threads, model))
    for i in range(min(model.x.shape[0], 3) if model.x.shape[0] > 1 else 0):
        alone = model.run(model.x[i:i + 1])
        tally.check(first is not None and same_bits(first[i:i + 1], alone),
                    "bits of item %d alone, %s" % (i, model))


def check_prefix(tally, model):
    """model has T=37."""
    whole, part = model.run(), model.run(np.ascontiguousarray(model.x[:, :20]))
    tally.check(whole is not None and
                same_bits(np.ascontiguousarray(whole[:, :20]), part), "prefix of %s" % model)


def check_compare(tally, model):
    command = model.command("compare", model.options, model.weights, model.x)
    command += ["--backends", "tcc,cc", "--atol", str(model.atol), "--expect"]
    np.save(model.path("right.npy"), model.y)
    wrong = model.y.copy()
    wrong.flat[wrong.size // 2] += 1e-3
    np.save(model.path("wrong.npy"), wrong)
    for name, expected in (("right", 0), ("wrong", 1)):
        done = call(command + ["y=%s" % model.path(name + ".npy")])
        tally.check(done.returncode == expected, "compare with %s values, %s: exit status %d: %s" %
                    (name, model, done.returncode, done.stderr.strip()))


def check_refusals(tally, model):
    tensors = {model.options.get("prefix", "") + name: np.ascontiguousarray(t.numpy())
               for name, t in model.module.state_dict().items()}
    parameters = [n for n, p in model.module.named_parameters() if p.ndim == 2]
    name = model.options.get("prefix", "") + parameters[0]  # buffers may be missing
    damaged = {
        "missing": {n: t for n, t in tensors.items() if n != name},
        "wrong_shape": {**tensors, name: np.ascontiguousarray(tensors[name][:, 1:])},
        "truncated": tensors,
    }
    for case, content in damaged.items():
        path = model.path(case + ".safetensors")
        fixtures.write_safetensors(path, content)
        if case == "truncated":
            os.truncate(path, os.path.getsize(path) - 4)
        target = model.path("refused.npy")
        done = call(model.command("run", model.options, path, model.x) +
                    ["--output", "y=" + target])
        lines = done.stderr.strip().split("\n")
        tally.check(done.returncode == 2 and len(lines) == 1 and lines[0].startswith("crescent: ")
                    and (case == "truncated" or name in lines[0]) and not os.path.exists(target),
                    "refusal of %s, %s: exit status %d: %s" %
                    (case, model, done.returncode, done.stderr.strip()))


def random_options(graph, rng, **fixed):
    """Sizes that are rarely multiples of anything a kernel likes."""
    n_head = int(rng.randint(1, 8))
    options = dict(B=int(rng.randint(1, 6)), T=int(rng.choice([1, 2, 7, 31, 65, 129, 200])),
                   n_embd=n_head * int(rng.randint(16 // n_head + 1, 70)), n_head=n_head)
    if graph == "heads_block":
        options["block_size"] = 256
    if graph == "stream_block":
        options["d_ff"] = int(rng.randint(1, 700))
    if graph in ("decoder_block", "tiny_block"):
        options["bias"] = bool(rng.randint(2))
    if graph in ("gpt2_block", "gpt2_stack"):
        options["layout"] = str(rng.choice(["conv1d", "linear"]))
        options["prefix"] = str(rng.choice(["", "transformer."]))
        options["layer_norm_epsilon"] = float(rng.choice([1e-5, 1e-3]))
    if graph == "gpt2_stack":
        options["n_layer"] = int(rng.randint(1, 5))
    if options.get("prefix") == "":
        del options["prefix"]
    return {**options, **fixed}


def check_graph(tally, crescent, graph, trials, seed):
    rng = np.random.RandomState((zlib.crc32(graph.encode()) + seed) % 2**32)
    for trial in range(trials):
        with tempfile.TemporaryDirectory() as folder:
            model = Model(crescent, graph, random_options(graph, rng), seed + trial, folder)
            check_accuracy(tally, model)
            check_gradients(tally, model)
            check_bits(tally, model)
            check_compare(tally, model)
    with tempfile.TemporaryDirectory() as folder:
        model = Model(crescent, graph, random_options(graph, rng, B=2, T=37), seed, folder)
        if graph in CAUSAL:
            check_prefix(tally, model)
        check_refusals(tally, model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--crescent", default="build/crescent")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help="default: all six")
    args = parser.parse_args()
    unknown = set(args.graphs) - set(fixtures.GRAPHS)
    if unknown:
        parser.error("unknown graph %s, expected some of: %s" %
                     (", ".join(sorted(unknown)), " ".join(fixtures.GRAPHS)))

    crescent = os.path.abspath(args.crescent)
    os.chdir(os.path.dirname(fixtures.HERE))
    tally = Tally()
    for graph in args.graphs or fixtures.GRAPHS:
        check_graph(tally, crescent, graph, args.trials, args.seed)
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    sys.exit(tally.failed != 0)


if __name__ == "__main__":
    main()
