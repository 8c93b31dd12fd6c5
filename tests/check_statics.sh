#!/bin/sh
# check_statics.sh LIBRARY... - proves that the libraries hold no variable that changes without
# a lock: several threads may use them at the same time.  The variables that may be there are
# listed below, with what protects them.  The last line is "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"

# OBJECT NAME
cat >"$T/allowed" <<'END'
jit_tcc.o lock
tensor_memory.o limit
tensor_memory.o once
runtime_text.o declarations
runtime_text.o lock
train.o stop
END
# each lock is a mutex, that of runtime_text.o for declarations; limit is set under pthread_once; train.o belongs to the
# command line: stop is set by a signal.

for library in "$@"; do
    nm -f sysv "$library" >"$T/symbols" 2>"$log"
    [ -s "$T/symbols" ]
    report $? "$library: nm lists no symbols"
    if grep -q '__asan_\|__tsan_\|__ubsan_' "$T/symbols"; then
        echo "skipped: $library is built with a sanitizer, which adds variables"
        continue
    fi
    # "safetensors.o:" or "Symbols from lib.a[safetensors.o]:", then NAME|...|SECTION
    awk -F'|' '
        FNR == NR { split($0, w, " "); allowed[w[1] " " w[2]] = 1; next }
        /^Symbols from / { object = $0; sub(/.*\[/, "", object); sub(/\].*/, "", object) }
        NF == 7 {
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
