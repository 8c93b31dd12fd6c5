#!/usr/bin/env python3
"""Measures what the ways to attend of tests/variants/layer.lua cost beside the plain one.

    python3 tests/variants.py [PAGE]

Prints the table of docs/variants-cost.md, or writes it into that page, between the lines
`<!-- make variants -->` and `<!-- end -->`.  Each variant takes turns with the plain layer on one
thread, and what is told is the median of the ratios of their times, beside the ratio that its
operations account for:

    products       by their flops, at the speed that those of the plain layer run at: of attention,
                   of its gradients and of all others, each on its own
    for each score, or each element of queries and keys, what is computed more than plain
                   attention does, at the speed of the same elementwise work alone, on data that
                   stays in a cache (tests/variants/extra.lua); with gradients that is done, done
                   again in the backward pass, and followed backwards there
    bytes          of a bias that is as large as the scores, at the speed of memory

A number past the second by more than 10 % is bold.  $CRESCENT is the program, $RUN what a
measurement is run by ("chrt -f 50 taskset -c 1", say), $SIZES the T that are measured, $N_EMBD
and $N_HEAD the widths, $ONLY the variants, $SECONDS_EACH how long each is measured.
"""
import json
import os
import re
import shlex
import subprocess
import sys

CRESCENT = os.environ.get("CRESCENT", "build/crescent")
RUN = shlex.split(os.environ.get("RUN", ""))
SIZES = [int(t) for t in os.environ.get("SIZES", "512 1024").split()]
N_EMBD = int(os.environ.get("N_EMBD", "768"))
N_HEAD = int(os.environ.get("N_HEAD", "12"))
SECONDS = float(os.environ.get("SECONDS_EACH", "0.6"))
AT_A_TIME = 6
LAYER, EXTRA = "tests/variants/layer.lua", "tests/variants/extra.lua"
EXTRA_ELEMENTS = 64 * 256

# variant | what it is | work for each score | work for each element of queries and keys; work is a
# name of extra.lua, or two, of which the second is what plain attention does instead.
ROWS = """
plain | causal softmax attention |  | 
full | without a mask |  | 
windowAnd | `k <= q and q - k < W` |  | 
windowAbs | `abs(q - k) < W`, to both sides |  | 
windowAbsCausal | `k <= q and abs(k - q) < W` |  | 
windowTwice | one mask after another, `k > q - W` |  | 
windowNot | `not (k > q or q - k >= W)` |  | 
prefixOr | `k < P or k <= q` (prefix LM) |  | 
prefixMaximum | `k <= maximum(q, P - 1)` |  | 
prefixWhere | `where(k < P, true, k <= q)` |  | 
prefixTensor | `k < P or k <= q`, P an i32 input | prefix | 
prefixBatch | the same, P an i32 input for each batch | prefix | 
positionTensor | `k <= q + P`, P an i32 input | position | 
padding | causal, and `pad[k] < 2`, an i32 input | padding | 
sinkWindow | `k <= q and (k < 4 or q - k < W)` |  | 
segments | causal within segments, ids an i32 input | segments | 
segmentsFull | within segments alone | segmentsFull | 
alibi | ALiBi, slopes a concat of constants | add | 
alibiComputed | ALiBi, slopes computed | add | 
alibiTrained | ALiBi, slopes a parameter | add | 
t5 | relative position bias by buckets (T5), causal | add | 
t5Full | the same by `abs(q - k)`, without a mask | add | 
bias | a bias [H, T, T], a parameter | add | 
gqa | GQA, heads in groups by broadcast (5-D) |  | 
gqaExpand | GQA, keys and values repeated by `expand` |  | 
gqaConcat | GQA, repeated by a concat of slices |  | 
gqaGather | GQA, repeated by a gather of heads |  | 
mqa | MQA, one head of keys and values |  | 
softcap | `30 tanh(s / 30)` | softcap | 
qkNorm | QK-norm with a trained temperature |  | norm
softmaxOne | `exp(s) / (1 + sum(exp(s)))` |  | 
softmaxOneShifted | the same, shifted by the maximum |  | 
softmaxOneMaximum | the same, shifted by `maximum(max(s), 0)` |  | 
softmaxOneAfter | the same, divided after the product with V |  | 
softmaxOneTimes | the same, times the reciprocal |  | 
sink | a trained score a head in the denominator |  | 
sinkConcat | the same by concat, softmax and slice |  | 
sigmoid | `sigmoid(s)` of masked scores | sigmoid-exp | 
sigmoidZero | `where(mask, sigmoid(s), 0)` | sigmoid-exp | 
sigmoidBias | `sigmoid(s - log T)` | sigmoidBias-exp | 
relu | `where(mask, maximum(s, 0) ^ 2 / T, 0)` | relu-exp | 
biased | separate q, k, v projections with biases |  | 
biasedSome | the same, k without a bias |  | 
rope | rotary positions, halves by slice and concat |  | rotate
ropeHalf | rotary positions, `x cos + rotate_half(x) sin` |  | rotate
ropeInterleaved | rotary positions, neighbours in pairs |  | rotate
ropeGqa | rotary positions and GQA |  | rotate
ropeBiased | rotary positions, biased projections |  | rotate
ropePart | rotary positions of some columns |  | rotate
ropeNorm | a norm of each head's rows, then rotary positions |  | normRotate
ropeNormHalf | the same by `rotate_half` |  | normRotate
differential | the difference of two softmaxes, the second times a trained number |  | 
differentialSum | the sum of two softmaxes, one times 0.25 |  | 
differentialHeads | the difference of two halves of the heads |  | 
differentialPairs | the difference of the heads of each pair |  | 
differentialShared | the difference of two softmaxes of the same scores |  | 
"""


# Their masks are run-time data, so the compiler counts all keys: those that the data shows are about
# those of the plain layer.
MASKED_BY_DATA = ("prefixTensor", "prefixBatch", "positionTensor")


def rows():
    only = os.environ.get("ONLY", "").split()
    table = [[cell.strip() for cell in line.split(" | ")] for line in ROWS.strip().split("\n")]
    return [row for row in table if not only or row[0] in only]


def settings(T, n_embd=N_EMBD, n_head=N_HEAD):
    return ["--set", f"T={T}", "--set", f"n_embd={n_embd}", "--set", f"n_head={n_head}"]


def bench(script, options, grads):
    command = RUN + [CRESCENT, "bench", script, "--threads", "1", "--json", "--per-kernel"]
    command += options + (["--grads", "none"] if grads else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def dump(variant, options, grads, after):
    command = [CRESCENT, "dump", LAYER, "--set", f"variant={variant}", "--after", after] + options
    command += ["--grads", "none"] if grads else []
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kernels(variant, options, grads):
    """Of each kernel: its kind and its flops."""
    text = dump(variant, options, grads, "fuse")
    found = re.findall(r"^--   kernel \d+: (.*?) v\[.*\n--     loops.*; (\d+) flop", text, re.M)
    return [(kind, int(flops)) for kind, flops in found]


def flops_by_kind(variant, T, grads):
    sums = {}
    for kind, flops in kernels(variant, settings(T), grads):
        sums[kind] = sums.get(kind, 0) + flops
    return sums


def stored(variant, grads):
    """How many arrays [H, T, T] are in the arena at once: what grows as the square of T."""
    sizes = []
    for T in (1024, 2048):
        text = dump(variant, settings(T, 64, 4), grads, "plan")
        sizes.append(int(re.search(r"arena: (\d+) bytes", text).group(1)))
    return round((sizes[1] - 2 * sizes[0]) / (4 * 4 * 2 * 1024 * 1024))


class Plain:
    """The plain layer of a size: how fast its kernels are, by kind."""

    def __init__(self, T, grads):
        self.T, self.grads = T, grads
        result = bench(LAYER, settings(T) + ["--seconds", str(SECONDS)], grads)
        self.memory = result["memory_gb_s"]
        self.flops, self.time = flops_by_kind("plain", T, grads), {}
        for kernel in result["kernels"]:
            kind = self.kind_of(kernel)
            self.time[kind] = self.time.get(kind, 0) + kernel["median_ns"]
        self.total = sum(self.time.values())

    def kind_of(self, kernel):
        """By its flops: attention and its gradients are alone with theirs."""
        for kind in ("attention", "attention backward"):
            if kernel["flops"] == self.flops.get(kind):
                return kind
        return "gemm" if kernel["flops"] > 1e8 else "other"

    def accounts_for(self, row, work):
        """The time that a variant should take, relative to the plain layer."""
        name, _, of_scores, of_elements = row
        like = "plain" if name in MASKED_BY_DATA else name
        flops, width = flops_by_kind(like, self.T, self.grads), N_EMBD // N_HEAD
        time = self.time.get("other", 0)
        for kind in ("gemm", "attention", "attention backward"):
            if kind in self.flops:
                time += self.time[kind] * flops.get(kind, 0) / self.flops[kind]
        scores = flops["attention"] / (4 * width)
        for names, count in ((of_scores, scores), (of_elements, 2 * self.T * N_EMBD)):
            for sign, one in zip((1, -1), names.split("-") if names else []):
                time += sign * count * work[one]
        if name == "bias":
            passes = 3 if self.grads else 1  # its gradient is written
            time += passes * scores * 4 / self.memory
        return time / self.total


def work_times(grads):
    """Nanoseconds for an element, of all works."""
    names = {one for row in rows() for cell in row[2:] for one in cell.split("-") if one}
    times = {}
    for name in sorted(names):
        options = ["--set", f"work={name}", "--seconds", "0.1"]
        if name.lower().startswith("norm"):
            options += ["--set", f"rows={EXTRA_ELEMENTS // 64}", "--set", "columns=64"]
        passes = [False, True] if grads else [False]
        times[name] = sum(bench(EXTRA, options, p)["median_ns"] for p in passes) / EXTRA_ELEMENTS
    return times


def measured(T, grads):
    """Of each variant: its time relative to the plain layer."""
    names, times = [row[0] for row in rows()], {}
    for i in range(0, len(names), AT_A_TIME):
        some = names[i:i + AT_A_TIME]
        options = settings(T) + ["--seconds", str(SECONDS)]
        for name in some:
            options += ["--vs", f"set=variant={name}"]
        for name, vs in zip(some, bench(LAYER, options, grads)["vs"]):
            times[name] = 1 / vs["ratio"]
        print(f"T={T}{' with gradients' if grads else ''}:", " ".join(some), file=sys.stderr)
    return times


def pair(time, accounted):
    text = f"{time:.2f} / {accounted:.2f}"
    return f"**{text}**" if time > 1.10 * accounted else text


def both(variant, count):
    return f"{count(variant, False)}, {count(variant, True)}"


def table():
    cells = {}
    for grads in (False, True):
        work = work_times(grads)
        for T in SIZES:
            plain, times = Plain(T, grads), measured(T, grads)
            for row in rows():
                cells[row[0], T, grads] = pair(times[row[0]], plain.accounts_for(row, work))
    columns = [(T, grads) for T in SIZES for grads in (False, True)]
    yield "| variant | | kernels | [T, T] | " + " | ".join(
        f"T = {T}" + (", gradients" if grads else "") for T, grads in columns) + " |"
    yield "|---|---|--:|--:|" + "--:|" * len(columns)
    for row in rows():
        counted = [both(row[0], lambda v, g: len(kernels(v, settings(1024), g))),
                   both(row[0], stored)]
        times = [cells[(row[0], *column)] for column in columns]
        yield f"| `{row[0]}` | " + " | ".join([row[1]] + counted + times) + " |"


def main():
    lines = list(table())
    if len(sys.argv) < 2:
        print("\n".join(lines))
        return
    with open(sys.argv[1]) as page:
        text = page.read()
    begin = text.index("<!-- make variants -->\n") + len("<!-- make variants -->\n")
    end = text.index("<!-- end -->", begin)
    with open(sys.argv[1], "w") as page:
        page.write(text[:begin] + "\n".join(lines) + "\n" + text[end:])


main()
