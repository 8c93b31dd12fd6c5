#!/usr/bin/env python3
"""What the scripts of `make bench-peers` print: lines of docs/bench/PROCESSOR.tsv, whose form
bench_tables.sh describes; and what they say of the processor and of those who were built for it.

    python3 tests/bench_record.py --file         PROCESSOR, the name that the program gives this processor's target, too
    python3 tests/bench_record.py --processor    the first line of the file
"""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CRESCENT = os.environ.get("CRESCENT", os.path.join(ROOT, "build", "crescent"))

# ---- Lines -----------------------------------------------------------------------------


def line(*fields):
    print("\t".join(str(f).replace("\t", " ").replace("\n", " ") for f in fields), flush=True)


def run(name):
    """Begins a run.  $BENCH_NOTE is what else there is to say of it, such as what ran beside it; $RUN makes it another
    one than that which has the name alone."""
    import time
    name += ", " * bool(os.environ.get("RUN")) + os.environ.get("RUN", "")
    about = "%s cores seen, load average %.1f when it began. %s" % (
        os.cpu_count(), os.getloadavg()[0], os.environ.get("BENCH_NOTE", ""))
    line("run", name, time.strftime("%Y-%m-%d"), about.strip())


def number(value, digits=4):
    return "" if value is None else "%.*g" % (digits, value) if value < 1e4 else "%.0f" % value


def row(table, model, settings, threads, ms, share, peers):
    """peers: (name, ms, ratio, variant) of each; a share or a ratio may be None."""
    line("row", table, model, settings, threads, number(ms), "" if share is None else "%.3f" % share,
         *("%s|%s|%s|%s" % (name, number(theirs), "" if ratio is None else "%.3f" % ratio, variant)
           for name, theirs, ratio, variant in peers))


def median(values):
    values = sorted(values)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2


# ---- The processor ---------------------------------------------------------------------


def cpuinfo():
    """What Linux says of the first core."""
    lines = {}
    with open("/proc/cpuinfo") as file:
        for text in file:
            key, _, value = text.partition(":")
            if not key.strip():
                break
            lines[key.strip()] = value.strip()
    return lines


def processor_file():
    info = cpuinfo()
    vendor = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}.get(info.get("vendor_id"), "x86")
    if "vendor_id" not in info:
        return "arm-%x" % int(info.get("CPU part", "0"), 16)
    return "%s-%s-%s" % (vendor, info["cpu family"], info["model"])


def architecture(vendor, family, model):
    """The name of a processor's design, or ""."""
    if vendor == "AuthenticAMD" and family == 25:
        return "Zen 4" if model in range(0x10, 0x20) or model in range(0x60, 0x80) or model >= 0xa0 \
            else "Zen 3"
    if vendor == "AuthenticAMD":
        return {23: "Zen 1 or 2", 26: "Zen 5"}.get(family, "")
    if vendor == "GenuineIntel" and family == 6:
        return {0x55: "Skylake or Cascade Lake", 0x6a: "Ice Lake", 0x8f: "Sapphire Rapids",
                0xcf: "Emerald Rapids", 0xad: "Granite Rapids"}.get(model, "")
    return ""


def flags():
    """Those of the processor's instruction sets that a product can use."""
    have = cpuinfo().get("flags", "").split()
    known = (("avx2", "AVX2"), ("fma", "FMA"), ("avx512f", "AVX-512"), ("avx512_vnni", "VNNI"),
             ("avx_vnni", "AVX-VNNI"), ("avx512_bf16", "AVX512_BF16"), ("amx_int8", "AMX"))
    return " ".join(name for flag, name in known if flag in have) or "none of those known here"


def processor():
    info = cpuinfo()
    name = re.sub(r" (Processor|CPU)\b.*", "", info.get("model name", "a processor without a name"))
    design = architecture(info.get("vendor_id"), int(info.get("cpu family", 0)),
                          int(info.get("model", 0)))
    text = subprocess.run([CRESCENT, "targets", "--target", "host"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    sizes = dict(re.findall(r"^(\w+) = (\d+)", text, re.M))
    caches = ", ".join("L%d %d KiB" % (i, int(sizes["l%d_bytes" % i]) // 1024) for i in (1, 2, 3)
                       if "l%d_bytes" % i in sizes)
    return name + (" (%s)" % design if design else ""), "%s, %d cores seen, %s: %s." % (
        info.get("model name", name), os.cpu_count(), flags(), caches)


# ---- Who was built for what ------------------------------------------------------------


def contestant(name, version, built):
    line("contestant", name, version, built)


def crescent_contestant():
    text = subprocess.run([CRESCENT, "--version"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    version = re.search(r"\d+\.\d+\S*", text)
    isa = re.search(r"\b(amx|vnni|avx512|avx2|neon|plain)\b", text)
    contestant("crescent", version[0] if version else "",
               "%s, chosen when it runs" % (isa[0] if isa else "its best"))


def package_version(package):
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def torch_capability():
    """What PyTorch takes on this machine."""
    run = subprocess.run([sys.executable, "-c",
                          "import torch; print(torch.backends.cpu.get_cpu_capability())"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "chosen when it runs" + (": " + run.stdout.strip() if run.returncode == 0 else "")


# Instructions, as objdump writes them, that tell a set.
MARKS = (("AVX2", r"vp\w+\s.*%ymm|vfmadd\w+\s.*%ymm"), ("AVX-512", r"%zmm"),
         ("VNNI", r"vpdpbusd"), ("AVX512_BF16", r"vdpbf16ps"), ("AMX", r"tdpb"),
         ("NEON", r"fmla\s+v"), ("SDOT", r"sdot\s"), ("I8MM", r"smmla\s"))


def instructions(files):
    """The instruction sets that the code of programs and libraries has, whatever their builder says."""
    found = set()
    for path in files:
        try:
            process = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       errors="replace")
        except FileNotFoundError:
            return "unknown: objdump is missing"
        for text in process.stdout:
            if "%ymm" in text or "%zmm" in text or "%tmm" in text or "vp" in text or "\tf" in text or "\ts" in text:
                found.update(name for name, mark in MARKS if name not in found and re.search(mark, text))
        process.wait()
    return " ".join(name for name, _ in MARKS if name in found) or "none of those known here"


def find_program(folder, name, build):
    """The program of a peer's folder and the libraries beside it; ends with how to build it if there is none."""
    for place in ("build/bin", "bin", ""):
        path = os.path.join(folder, place, name)
        if os.access(path, os.X_OK):
            libraries = sum((glob.glob(os.path.join(folder, place, pattern)) for pattern in
                             ("*.so", "../ggml/src/*.so", "../src/*.so")), [])
            return os.path.abspath(path), [path] + libraries
    sys.exit("bench_record.py: %s: found no %s in it, in bin or in build/bin, expected one; where these are its sources: %s"
             % (folder, name, build % {"folder": folder}))


if __name__ == "__main__":
    if sys.argv[1:] == ["--file"]:
        print(processor_file())
    elif sys.argv[1:] == ["--processor"]:
        line("processor", *processor())
    else:
        sys.exit("bench_record.py: found %s, expected --file or --processor" % sys.argv[1:])
