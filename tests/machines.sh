#!/bin/sh
# machines.sh - the runtime computes the same bits on every machine.
#
# tests/runtime_bits.c hashes the results of each function of the runtime, with each instruction set
# of the machine.  What it prints here it prints, too, when compilers for other processors have
# built it, with options that would change the bits of a runtime that did not say no, and qemu
# runs it; and it finds the instruction set there that should be the fastest.
# A compiler, or qemu, that is not installed is skipped with a word.  The last line is "N passed,
# M failed".
set -u

. "$(dirname "$0")/report.sh"
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I."
sources="tests/runtime_bits.c compiler/exec/draw.c runtime/runtime.c runtime/pool.c"
daring="-O2 -ffp-contract=fast"

have() {
    command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; return 1; }
}

# hash FILE COMPILER OPTIONS [EMULATOR] [ISA]: what the program prints, without a warning or a word.
hash() {
    $2 $strict $3 $sources -o "$T/program" -lm -lpthread >"$log" 2>&1 && [ ! -s "$log" ] &&
        ${4-} "$T/program" ${5-} >"$1" 2>"$log" && [ ! -s "$log" ] && [ -s "$1" ]
    report $? "$2 $3 ${4-}"
}

# there COMPILER OPTIONS EMULATOR ISA: the same lines on another processor.
there() {
    hash "$T/there" "$1" "$2" "$3" "$4" && same "$1 $2" "$T/here" "$T/there"
}

hash "$T/here" "${CC:-cc}" -O1
for machine in aarch64:neon riscv64:plain; do
    cpu=${machine%:*} isa=${machine#*:}
    if have $cpu-linux-gnu-gcc && have qemu-$cpu; then
        there $cpu-linux-gnu-gcc "-O1 -static" qemu-$cpu $isa
        [ $isa = plain ] || there $cpu-linux-gnu-gcc "$daring -static" qemu-$cpu $isa
        [ $isa = plain ] || ! have clang ||
            there "clang --target=$cpu-linux-gnu" "$daring -static" qemu-$cpu $isa
    fi
done
conclude
