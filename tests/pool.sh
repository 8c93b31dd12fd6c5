#!/bin/sh
# pool.sh - threads that a caller of emitted C keeps from run to run.
#
# tests/pool/pool.c runs the entries of model.lua, one of them with gradients, and step.c makes the
# steps of generated/train_add.c: by every compiler at hand, with one thread and with several, and
# under ThreadSanitizer where there is one; at -O2 with the vectors that run here, else with the plain
# runtime, see plain.sh.  $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain.sh"

# holds WHAT COMMAND...: the command succeeds without a word.
holds() {
    what=$1
    shift
    "$@" >"$log" 2>&1 && [ ! -s "$log" ]
    report $? "$what"
}

# try FOLDER COMPILER OPTIONS [RUNNER]: both programs, of the C in a folder.
try() {
    holds "$2 $3: pool.c" $2 $3 -I"$1" tests/pool/pool.c "$1/model.c" -o "$T/pool" -lm
    holds "$2 $3: pool" ${4-} "$T/pool"
    holds "$2 $3: step.c" $2 $3 -I. tests/pool/step.c "$1/train_add.c" -o "$T/step" -lm
    holds "$2 $3: step" ${4-} "$T/step"
}

mkdir "$T/plain" "$T/fast"
isa=$(fastest "$crescent")
cp generated/train_add.[ch] "$T"
"$crescent" emit tests/pool/model.lua -o "$T/model.c" >"$log" 2>&1 &&
    plain "$T/model.c" "$T/plain" && plain "$T/train_add.c" "$T/plain" &&
    only "$isa" "$T/model.c" "$T/fast" && only "$isa" "$T/train_add.c" "$T/fast"
report $? "tests/pool/model.lua"

strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror"
seven="-DMODEL_THREADS=7 -DTRAIN_ADD_THREADS=7 -pthread"
for compiler in gcc clang; do
    command -v $compiler >"$log" || { echo "skipped: $compiler is not installed"; continue; }
    try "$T/fast" $compiler "$strict -O2 $seven"
done
try "$T/plain" cc "$strict -O1"
if command -v tcc >"$log"; then
    try "$T" tcc "-std=c11 -Wall -Werror $seven"
    try "$T" tcc "-std=c11 -Wall -Werror"
else
    echo 'skipped: tcc is not installed'
fi

# ThreadSanitizer keeps a thread of its own, and its shadow memory wants addresses as they are.
watch="-std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -DWATCHED $seven"
if echo 'int main(void) { return 0; }' | cc -fsanitize=thread -x c - -o "$T/probe" 2>"$log" &&
    setarch -R "$T/probe" 2>"$log"; then
    try "$T/plain" cc "$watch" "setarch -R"
else
    echo 'skipped: ThreadSanitizer is not here'
fi
conclude
