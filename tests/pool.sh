#!/bin/sh
# pool.sh - tests the pool of threads that a caller of emitted C keeps from run to run.
#
# tests/pool/pool.c runs the entries of model.lua, one of them with gradients, and step.c makes the steps of
# generated/train_add.c: by every installed compiler, with one thread and with several, and under ThreadSanitizer if
# it is there.  The functions of the runtime are compiled once, without optimisation, and linked to the model and the
# pool that each compiler makes (plain_c.sh); tcc compiles whole files.  ThreadSanitizer checks files with the vectors
# of this machine, which access more than one element at a time.  $CRESCENT is the program.  The last line is "N
# passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"

# holds WHAT COMMAND...: passes if the command succeeds and prints nothing.
holds() {
    what=$1
    shift
    "$@" >"$log" 2>&1 && [ ! -s "$log" ]
    report $? "$what"
}

# try FOLDER RUNTIMES COMPILER OPTIONS [RUNNER]: builds and runs both programs from the C of a folder, and from the
# objects that `runtimes` made under the name RUNTIMES, unless that is empty.
try() {
    holds "$3 $4: pool.c" $3 $4 -I"$1" tests/pool/pool.c "$1/model.c" ${2:+"$T/model_$2.o"} -o "$T/pool" -lm
    holds "$3 $4: pool" ${5-} "$T/pool"
    holds "$3 $4: step.c" $3 $4 -I. tests/pool/step.c "$1/train_add.c" ${2:+"$T/train_add_$2.o"} \
        -o "$T/step" -lm
    holds "$3 $4: step" ${5-} "$T/step"
}

# runtimes NAME SET OPTIONS: compiles the functions of the runtime with one instruction set to objects MODEL_NAME.o.
runtimes() {
    for model in model train_add; do
        apart "$2" "$T/$model.c" "$T/apart"
        report $? "the runtime of $model: $2"
        holds "the runtime of $model: $2 $3" runtime_object "$T/apart/${model}_runtime.c" "$T/${model}_$1.o" "$3"
    done
}

mkdir "$T/apart"
cp generated/train_add.[ch] "$T"
"$crescent" emit tests/pool/model.lua -o "$T/model.c" >"$log" 2>&1
report $? "tests/pool/model.lua"

strict="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror"
seven="-DMODEL_THREADS=7 -DTRAIN_ADD_THREADS=7 -pthread"
runtimes here plain ''
for compiler in gcc clang; do
    command -v $compiler >"$log" || { echo "skipped: $compiler is not installed"; continue; }
    try "$T/apart" here $compiler "$strict -O2 $seven"
done
try "$T/apart" here cc "$strict -O1"
if command -v tcc >"$log"; then
    try "$T" "" tcc "-std=c11 -Wall -Werror $seven"
    try "$T" "" tcc "-std=c11 -Wall -Werror"
else
    echo 'skipped: tcc is not installed'
fi

# ThreadSanitizer has a thread of its own, and its shadow memory needs addresses that are not randomised.
watch="-std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -DWATCHED $seven"
if echo 'int main(void) { return 0; }' | cc -fsanitize=thread -x c - -o "$T/probe" 2>"$log" &&
    setarch -R "$T/probe" 2>"$log"; then
    runtimes watched "$(fastest "$crescent")" "-g -fsanitize=thread"
    try "$T/apart" watched cc "$watch" "setarch -R"
else
    echo 'skipped: ThreadSanitizer is not here'
fi
conclude
