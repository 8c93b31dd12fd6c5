#!/bin/sh
# machine_bits.sh - the runtime computes the same bits on every machine.
#
# tests/runtime_bits.c hashes the results of each function of the runtime, with each instruction set
# of the machine.  What it prints here, with the library that $CRESCENT comes with, it prints, too, when
# compilers for other processors have built it, with options that would change the bits of a runtime that
# did not say no, and qemu runs it; and it finds the instruction set there that should be the fastest.
# A compiler, or qemu, that is not installed is skipped with a word.  The last line is "N passed,
# M failed".
set -u

. "$(dirname "$0")/report.sh"
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I."
driver="tests/runtime_bits.c compiler/exec/random_fill.c"
sources="$driver runtime/runtime.c runtime/pool.c"
# gcc makes an fma of what the text does not fuse where optimisations are expensive, clang anywhere.
daring="-ffp-contract=fast -static"

have() {
    command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; return 1; }
}

# hash FILE COMPILER OPTIONS SOURCES [EMULATOR] [ISA]: what the program prints, without a warning or a word.
hash() {
    $2 $strict $3 $4 -o "$T/program" -lm -lpthread >"$log" 2>&1 && [ ! -s "$log" ] &&
        ${5-} "$T/program" ${6-} >"$1" 2>"$log" && [ ! -s "$log" ] && [ -s "$1" ]
    report $? "$2 $3 ${5-}"
}

# there COMPILER OPTIONS EMULATOR ISA: the same lines on another processor.
there() {
    hash "$T/there" "$1" "$2" "$sources" "$3" "$4" && same "$1 $2" "$T/here" "$T/there"
}

# The library is next to the program, or next to the folder of its Lua.  One with sanitizers does not
# link: it is built anew.
folder=$(dirname "${CRESCENT:-build/crescent}")
library=$folder/libcrescent_rt.a
[ -f "$library" ] || library=$folder/../libcrescent_rt.a
${CC:-cc} $strict -O1 $driver "$library" -o "$T/program" -lm -lpthread >"$log" 2>&1 || library=
hash "$T/here" "${CC:-cc}" -O1 "${library:+$driver }${library:-$sources}"
if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
    there aarch64-linux-gnu-gcc "-O1 -fexpensive-optimizations $daring" qemu-aarch64 neon
    ! have clang || there "clang --target=aarch64-linux-gnu" "-O1 $daring" qemu-aarch64 neon
fi
if have riscv64-linux-gnu-gcc && have qemu-riscv64; then
    there riscv64-linux-gnu-gcc "-O1 $daring" qemu-riscv64 plain
fi
conclude
