#!/bin/sh
# out_of_memory.sh - tests that with little memory a program ends with status 0, or with status 2 and one line.
#
# Starts with the least memory in which the program can start, and adds a little for each run until the run of a model
# succeeds.  $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# in_memory KB COMMAND...: returns its status; its messages are in $log.
in_memory() {
    kilobytes=$1
    shift
    (ulimit -v "$kilobytes" && exec "$@") >"$T/out" 2>"$log" </dev/null
}

# The shell also reports programs that end by a signal.
exec 2>/dev/null

# Programs with a sanitizer reserve more address space than any limit.
if ! in_memory 1000000 "$crescent" --help; then
    echo "skipped: the program needs more than 1 GB of addresses"
    conclude
    exit
fi
least=1000
until in_memory $least "$crescent" --help; do
    least=$((least + 100))
done

# sweep STEP ARGUMENT...: runs the command with increasing memory until it succeeds.
sweep() {
    step=$1 memory=$least tries=0 status=2
    shift
    while [ $status -ne 0 ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        in_memory $memory "$crescent" "$@"
        status=$?
        [ $status -eq 0 ] || { [ $status -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ]; }
        report $? "$* in $memory KB: status $status"
        memory=$((memory + step))
    done
    [ $tries -gt 1 ] && [ $tries -lt 100 ]
    report $? "$*: $tries tries"
}

block="graphs/gpt2_block.lua --set n_embd=48 --set n_head=3 --set T=16"
sweep 300 run $block --threads 2
sweep 500 run $block --backend ref
sweep 500 run $block --grads none
sweep 700 emit $block -o "$T/block.c"
sweep 700 train graphs/train_add.lua --steps 1 --save "$T/w.safetensors"

# An emitted text that is large in comparison: there is enough memory for the model, but not to compile the text.
cat >"$T/large.lua" <<'END'
local o = {}
for i = 1, 400 do
    o["y" .. i] = matmul(input("x" .. i, {1, 4 + i % 97}), param("w" .. i, {4 + i % 97, 1 + i % 31}))
end
return o
END
sweep 2000 run "$T/large.lua"

conclude
