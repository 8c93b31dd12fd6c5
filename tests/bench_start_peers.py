#!/usr/bin/env python3
"""Measures what comes before the first result, beside others: the lines of the tables story, start, compile and
size of docs/bench/PROCESSOR.tsv, which bench_tables.sh describes.

    story    the text of README.md by graphs/fables: until the first token, and tokens a second
    start    a GPT-2 block at 64 tokens, on one thread: from the start of a process until its output is there, with
             its weights in a file and everything that has to be loaded
    compile  the same block: from the script to a function that can be called, of torch.compile its first call
    size     what has to be on the disk to run it, in MB: Crescent's program without symbols, or the packages of a
             peer, Python aside

Processes take turns, $ROUNDS of them (5 if it is not set), and the median counts; torch.compile takes one.  $SKIP
names peers to leave out.
"""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import bench_peers
import bench_record
from bench_record import CRESCENT, ROOT, median

ROUNDS = int(os.environ.get("ROUNDS", "5"))
WORD, SETTINGS = "gpt2_block:B=1,T=64", "B=1 T=64"
MODULES = {"PyTorch": "torch", "ONNX Runtime": "onnxruntime"}
PACKAGES = {"PyTorch": ("torch",), "ONNX Runtime": ("onnxruntime",), "llama.cpp of Python": ("llama_cpp",)}


def here(module):
    return importlib.util.find_spec(module) is not None


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


# ---- What the process of a peer does ---------------------------------------------------


def write_files(row, folder):
    """The block as every contestant reads it."""
    import numpy
    row.write(folder)
    numpy.savez(os.path.join(folder, "layers.npz"), *(a for layer in row.layers for pair in layer
                                                      for a in pair))
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(bench_peers.onnx_model(row, False))


def read_row(folder):
    import numpy
    row = bench_peers.Row(WORD)
    row.x = numpy.load(os.path.join(folder, "x.npy"))
    arrays = numpy.load(os.path.join(folder, "layers.npz"))
    arrays = [arrays["arr_%d" % i] for i in range(12)]
    row.layers = [tuple(zip(arrays[0::2], arrays[1::2]))]
    return row


def first_output(peer, folder):
    if peer == "PyTorch":
        bench_peers.peer_torch(read_row(folder), 1, "sdpa")  # runs once
        return
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options,
                                           providers=["CPUExecutionProvider"])
    session.run(None, {"x": numpy.load(os.path.join(folder, "x.npy"))})


def compile_by_torch(folder):
    """Prints the milliseconds of the first call, a later one taken off."""
    row = read_row(folder)
    start = time.perf_counter()
    run, _ = bench_peers.peer_torch(row, 1, "sdpa", "plain")
    first = time.perf_counter() - start
    start = time.perf_counter()
    run()
    print(1e3 * max(first - (time.perf_counter() - start), 0))


# ---- The rows --------------------------------------------------------------------------


def story():
    """The milliseconds until the first token, and tokens a second, of the text in README.md."""
    first, rates = [], []
    for _ in range(ROUNDS):
        text = subprocess.run(
            [CRESCENT, "generate", os.path.join(ROOT, "graphs", "fables"), "--prompt", "Once upon a time",
             "--temperature", "0.7", "--seed", "7", "--stats", "--threads", "1"],
            check=True, capture_output=True, text=True).stderr
        ms = re.search(r"first token after ([\d.]+) (us|ms|s)", text)
        first.append(float(ms[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[ms[2]])
        rates.append(int(re.search(r"([\d,]+) a second", text)[1].replace(",", "")))
    bench_record.row("story", "graphs/fables", "temperature=0.7 seed=7 rate=%d" % median(rates), 1,
                     median(first), None, [])


def start(row, folder):
    commands = {"crescent": bench_peers.crescent("run", *bench_peers.model_arguments(row, folder, 1))}
    for peer, module in MODULES.items():
        if here(module) and not bench_peers.skipped(peer):
            commands[peer] = [sys.executable, os.path.abspath(__file__), "--first", peer, folder]
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    ours = times.pop("crescent")
    bench_record.row("start", row.script, SETTINGS, 1, 1e3 * median(ours), None, [
        (name, 1e3 * median(all_of), median([a / b for a, b in zip(all_of, ours)]), "")
        for name, all_of in times.items()])


def compilation(row, folder):
    text = subprocess.run(bench_peers.crescent(
        "bench", *bench_peers.model_arguments(row, folder, 1), "--compile-only", "--json"),
        check=True, stdout=subprocess.PIPE, text=True).stdout
    ours = 1e-6 * json.loads(text)["compile_ns"]
    peers = []
    if here("torch") and not bench_peers.skipped("torch.compile"):
        run = subprocess.run([sys.executable, os.path.abspath(__file__), "--compile", folder],
                             stdout=subprocess.PIPE, text=True)
        if run.returncode:
            bench_record.line("note", "torch.compile is missing: it ended with status %d" % run.returncode)
        else:
            theirs = float(run.stdout)
            peers.append(("torch.compile", theirs, theirs / ours, ""))
    bench_record.row("compile", row.script, SETTINGS, 1, ours, None, peers)


def megabytes(path):
    """Of a file, or of all files in a folder."""
    files = [path] if os.path.isfile(path) else [
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return sum(os.lstat(file).st_size for file in files) / 1e6


def size(row, folder):
    stripped = os.path.join(folder, "crescent")
    subprocess.run(["strip", "-o", stripped, CRESCENT], check=True)
    ours = megabytes(stripped)
    peers = []
    for peer, modules in PACKAGES.items():
        if all(map(here, modules)) and not bench_peers.skipped(peer):
            theirs = sum(megabytes(os.path.dirname(importlib.util.find_spec(module).origin))
                         for module in modules)
            peers.append((peer, theirs, theirs / ours, ""))
    bench_record.row("size", row.script, SETTINGS, 1, ours, None, peers)


def main():
    bench_record.run("a start")
    bench_record.crescent_contestant()
    row = bench_peers.Row(WORD)
    row.draw()
    with tempfile.TemporaryDirectory() as folder:
        write_files(row, folder)
        story()
        start(row, folder)
        compilation(row, folder)
        size(row, folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first"]:
        first_output(*sys.argv[2:])
    elif sys.argv[1:2] == ["--compile"]:
        compile_by_torch(sys.argv[2])
    else:
        main()
