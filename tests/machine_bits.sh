#!/bin/sh
# machine_bits.sh - tests that the runtime computes the same bits on every machine.
#
# tests/runtime_bits.c prints hashes of the results of each function of the runtime, for each instruction set of the
# machine.  The lines that it prints here with the library of $CRESCENT are compared with those of builds by compilers
# for other processors, run by qemu.  These builds use options that would change bits if the runtime did not forbid
# it.  Each build must also choose the fastest instruction set of its processor.  A missing compiler or qemu is
# skipped with a note.  The last line is "N passed, M failed".
set -u

. "$(dirname "$0")/report.sh"
strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I."
driver="tests/runtime_bits.c compiler/exec/random_fill.c"
sources="$driver runtime/runtime.c runtime/pool.c"
# The runtime with NEON alone; riscv64, which has no vectors, has that in plain C.
sed '/^#include "vector_plain.h"/,/^#include "runtime.inc"/d; /^static int cr_has_plain/,/^}/d; /{&cr_runtime_plain,/d' \
    runtime/runtime.c >"$T/runtime.c"
neon_alone="-Iruntime $driver $T/runtime.c runtime/pool.c"
# With these options gcc, where it optimises, and clang fuse products and sums to fma unless the text forbids it.
daring="-ffp-contract=fast -static"

have() {
    command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; return 1; }
}

# hash FILE COMPILER OPTIONS SOURCES [EMULATOR] [ISA]: builds and runs the program, and writes what it prints to FILE;
# fails on a warning or a message.
hash() {
    $2 $strict $3 $4 -o "$T/program" -lm -lpthread >"$log" 2>&1 && [ ! -s "$log" ] &&
        ${5-} "$T/program" ${6-} >"$1" 2>"$log" && [ ! -s "$log" ] && [ -s "$1" ]
    report $? "$2 $3 ${5-}"
}

# there COMPILER OPTIONS SOURCES EMULATOR ISA: compares the lines of another processor.
there() {
    hash "$T/there" "$1" "$2" "$3" "$4" "$5" && same "$1 $2" "$T/here" "$T/there"
}

# The library is in the folder of the program, or in the folder of its Lua.  A library with sanitizers does not link,
# so another one is built.
folder=$(dirname "${CRESCENT:-build/crescent}")
library=$folder/libcrescent_rt.a
[ -f "$library" ] || library=$folder/../libcrescent_rt.a
${CC:-cc} $strict -O1 $driver "$library" -o "$T/program" -lm -lpthread >"$log" 2>&1 || library=
hash "$T/here" "${CC:-cc}" -O1 "${library:+$driver }${library:-$sources}"
if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
    there aarch64-linux-gnu-gcc "-O1 -fexpensive-optimizations $daring" "$neon_alone" qemu-aarch64 neon
    ! have clang || there "clang --target=aarch64-linux-gnu" "-O1 $daring" "$neon_alone" qemu-aarch64 neon
fi
if have riscv64-linux-gnu-gcc && have qemu-riscv64; then
    there riscv64-linux-gnu-gcc "-O1 $daring" "$sources" qemu-riscv64 plain
fi
conclude
