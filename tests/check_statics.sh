#!/bin/sh
# check_statics.sh LIBRARY... - checks that the libraries have no variable that changes without a lock, since several
# threads may use them at the same time; and that they neither print nor end the process.  The exceptions are listed
# below, with reasons.  The last line is "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"

# OBJECT NAME
cat >"$T/allowed" <<'END'
jit_tcc.o lock
tensor_memory.o limit
tensor_memory.o once
END
# lock is a mutex; limit is set under pthread_once.

# TinyCC, and its standard streams, which are set when the library is loaded; jit_tcc.c calls TinyCC under a lock.
foreign='libtcc.o tcc_libc.o'

# OBJECT SYMBOL
cat >"$T/callers" <<'END'
eval.o abort
fuse.o abort
fuse.o stderr
gradient.o abort
interpreter.o __assert_fail
jit_cc.o __assert_fail
jit_tcc.o __assert_fail
join_ranks.o abort
kernels.o __assert_fail
layers.o __assert_fail
npy.o __assert_fail
npy_read.o __assert_fail
outline.o __assert_fail
peak_rates.o abort
pool.o __assert_fail
program.o __assert_fail
rules.o abort
safelib.o stderr
safetensors_read.o __assert_fail
script_errors.o abort
simplify.o __assert_fail
unwind.o abort
unwind.o stderr
END
# safelib.o: a script may print.  unwind.o: ends the process if there is no guard, which every function of crescent.h
# has, and in a debug build.  The others: code that no input reaches.

for library in "$@"; do
    nm -f sysv "$library" >"$T/symbols" 2>"$log"
    [ -s "$T/symbols" ]
    report $? "$library: nm lists no symbols"
    if grep -q '__asan_\|__tsan_\|__ubsan_' "$T/symbols"; then
        echo "skipped: $library is built with a sanitizer, which adds variables"
        continue
    fi
    nm -A "$library" 2>/dev/null | awk -v foreign=" $foreign " '
        FNR == NR { allowed[$1 " " $2] = 1; next }
        { object = $1; sub(/:$/, "", object); sub(/.*:/, "", object) }
        index(foreign, " " object " ") { next }
        $(NF - 1) == "U" && $NF ~ /^(_?exit|abort|__assert_fail|v?printf|puts|putchar|perror|stdout|stderr|__v?printf_chk)$/ {
            if (!((object " " $NF) in allowed))
                print object ": " $NF
        }' "$T/callers" - >"$log"
    [ ! -s "$log" ]
    report $? "$library: objects that print or end the process, expected those of tests/check_statics.sh only"
    # "safetensors.o:" or "Symbols from lib.a[safetensors.o]:", then NAME|...|SECTION
    awk -F'|' -v foreign=" $foreign " '
        FNR == NR { split($0, w, " "); allowed[w[1] " " w[2]] = 1; next }
        /^Symbols from / { object = $0; sub(/.*\[/, "", object); sub(/\].*/, "", object) }
        NF == 7 && !index(foreign, " " object " ") {
            gsub(/ /, "", $1); gsub(/ /, "", $7)
            name = $1
            sub(/\.[0-9]+$/, "", name)
            if ($7 ~ /^\.(data|bss)$/ && !((object " " name) in allowed))
                print object ": " name
        }' "$T/allowed" "$T/symbols" >"$log"
    [ ! -s "$log" ]
    report $? "$library: variables that change, expected those of tests/check_statics.sh only"
done

conclude
