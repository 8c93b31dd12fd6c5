#!/bin/sh
# step_bytes.sh - checks that rank 0 sends as many bytes in the steps of a training of GPT-2 as docs/micro-batches.md
# computes, under each installed MPI (make test, make MPI=1).
#
# $CRESCENT is the program.  $BUILD has the shared objects.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/mpi.sh"

steps=2 micro_batches=4
model='tests/scripts/gpt2_step.lua --set B=1 --set T=8 --set n_layer=2 --set n_embd=64 --set n_head=2 --set n_positions=8
    --set vocab_size=259'

# computed R: prints the bytes, computed from the shapes that `crescent params` prints.  A rank of R owns `share` of n
# rows (the last ranks fewer), and rank r updates as many rows from `begin` on.  Of a tensor, rank 0 sends
#   before the sums    all gradients but those of its own rows,
#   before the update  its own rows that the next ranks update as well, if R does not divide n,
#   after the update   its own rows of the parameter to all others.
# A tensor of fewer than 1,024 numbers, and the loss, go to all others in blocks of 64 bytes.
computed() {
    "$crescent" params $model | awk -v R="$1" -v steps=$steps '
        function least(a, b) { return a < b ? a : b }
        match($0, /\[.*\]/) {
            axes = split(substr($0, RSTART + 1, RLENGTH - 2), shape, ", ")
            elements = 1
            for (i = 1; i <= axes; i++)
                elements *= shape[i]
            for (axis = 1; axis < axes && shape[axis] == 1; axis++)
                ;
            n = shape[axis]
            if (elements < 1024 || n < R) {
                floats += (R - 1) * 16 * int((elements + 15) / 16)
                next
            }
            share = int((n + R - 1) / R)
            rows = n - share + (R - 1) * share
            for (r = 1; r < R; r++) {
                begin = least(r * share, n - share)
                rows += begin < share ? share - begin : 0
            }
            floats += rows * elements / n
        }
        END { print 4 * steps * (floats + (R - 1) * 16) }'
}

# array NAME BEGIN: writes a .npy of $micro_batches * $steps x 1 x 8 ids.
array() {
    {
        printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (8, 1, 8), }"
        for i in $(seq "$2" $(($2 + 63))); do
            printf "\\$(printf %03o $((i * 7 % 256)))\000\000\000"
        done
    } >"$T/$1.npy"
}

array ids 0
array target 1
tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    for n in 2 4; do
        ranks $n "$crescent" train $model --set micro_batches=$micro_batches --steps $steps --threads 1 \
            --input ids="$T/ids.npy" --input target="$T/target.npy" >"$T/out" 2>"$log"
        report $? "$family: trains on $n ranks"
        sent=$(sed -n 's/.*has sent \([0-9,]*\) bytes.*/\1/p' "$T/out" | tr -d ,) expected=$(computed $n)
        echo "found $sent, expected $expected" >"$log"
        [ "$sent" = "$expected" ]
        report $? "$family: bytes that rank 0 of $n sends"
    done
done
[ $tried = 1 ] || echo 'skipped: found no MPI (make MPI=1 installs Open MPI)'

conclude
