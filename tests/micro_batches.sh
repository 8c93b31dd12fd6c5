#!/bin/sh
# micro_batches.sh - tests a training step over micro-batches.
#
# tree     its bits are those of one graph in which every micro-batch is written out and added along
#          the same tree, for any number of micro-batches, on every backend, for any threads and shapes
# torch    twenty steps agree with PyTorch's
# resume   a checkpoint in the middle changes no bit
# c        an emitted step has the same bits
# data     each micro-batch takes a batch of the files, and random numbers by its own number
# errors   one line, exit status 2
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"

script=tests/scripts/micro_batches.lua

# ids ROWS COLUMNS SEED FILE: writes numbers below 7.
ids() {
    cat >"$T/ids.lua" <<END
local x, ids = random(const($3, {}, "i32"), {$1, $2}, 5) * 7, const(0, {$1, $2}, "i32")
for value = 1, 6 do ids = ids + where(ge(x, value), const(1, {$1, $2}, "i32"), 0) end
return {ids = ids}
END
    "$crescent" run "$T/ids.lua" --output ids="$4" >"$log" 2>&1 || exit 1
}

# params WEIGHTS FILE: writes all parameters as one row.
params() {
    "$crescent" run $script --set what=params $shape --weights "$1" --output params="$2" >"$log" 2>&1
}

train() {
    "$crescent" train "$@" >"$log" 2>&1 </dev/null
}

# ---- the tree ----

# tree MICRO_BATCHES N C H OPTION...: compares twenty steps with one graph of all micro-batches.
tree() {
    n=$1 shape="--set N=$2 --set C=$3 --set H=$4"
    shift 4
    what="$n micro-batches, $shape, $*"
    ids $((20 * n)) $(echo "$shape" | sed 's/--set N=\([0-9]*\).*/\1/') "$n" "$T/ids.npy"
    ids $((20 * n)) $(echo "$shape" | sed 's/--set N=\([0-9]*\).*/\1/') 9 "$T/target.npy"
    options="$shape --set micro_batches=$n --input ids=$T/ids.npy --input target=$T/target.npy"
    "$crescent" run $script $options --set what=unrolled --output params="$T/unrolled.npy" >"$log" 2>&1
    report $? "$what: one graph"
    train $script $options "$@" --save "$T/trained" && params "$T/trained" "$T/trained.npy"
    report $? "$what: trained"
    same "$what: the same bits" "$T/trained.npy" "$T/unrolled.npy"
}

tree 1 9 6 10
tree 2 4 3 33 --threads 1
tree 3 17 16 8 --backend cc
tree 4 1 5 64 --threads 2
tree 6 9 6 10 --backend standalone
tree 7 12 7 20 --threads 3
tree 8 5 24 3
tree 13 3 8 16

# ---- PyTorch ----

shape= folder=tests/fixtures/train_micro_batches
data="--input ids=$folder/ids.npy --input target=$folder/target.npy --set micro_batches=6"
for backend in ref tcc cc; do
    train $script $data --backend $backend --weights $folder/model.safetensors --save "$T/torch" &&
        "$crescent" compare $script --set what=params --weights "$T/torch" \
            --expect params=$folder/params.npy --atol 2e-6 >"$log" 2>&1
    report $? "twenty steps by $backend are PyTorch's"
done

# ---- checkpoints ----

train $script $data --set dropout=0.1 --checkpoint "$T/twenty"
report $? 'twenty steps with dropout'
train $script $data --set dropout=0.1 --steps 7 --threads 2 --backend cc --checkpoint "$T/seven" &&
    train $script $data --resume "$T/seven" --checkpoint "$T/rest"
report $? 'seven steps, a checkpoint, and the rest'
same 'a checkpoint in the middle' "$T/twenty" "$T/rest"

# ---- C ----

# Writes docs/call_training.c with data: each step reads its part of both files.
inputs='data[0] + i * MICRO_BATCHES_IN_IDS_ELEMENTS, data[1] + i * MICRO_BATCHES_IN_TARGET_ELEMENTS,'
ids 120 9 3 "$T/ids.npy"
ids 120 9 4 "$T/target.npy"
own="--set micro_batches=6 --input ids=$T/ids.npy --input target=$T/target.npy"
"$crescent" emit --train $script --set micro_batches=6 -o "$T/micro_batches.c" >"$log" 2>&1 &&
    train $script $own --steps 0 --checkpoint "$T/start" &&
    train $script $own --checkpoint "$T/twenty_in_c"
report $? 'emit --train'
# The runtime is compiled once, with the instruction set of this machine; see plain_c.sh.
apart=$T/apart
mkdir "$apart" && apart "$(fastest "$crescent")" "$T/micro_batches.c" "$apart" &&
    runtime_object "$apart/micro_batches_runtime.c" "$apart/runtime.o" >"$log" 2>&1
report $? 'emit --train: the runtime'
call="-I$T -DMODEL=micro_batches -DMODEL_CAPITALS=MICRO_BATCHES"
for how in 'gcc -O1' 'clang -O2 -DMICRO_BATCHES_THREADS=2' tcc; do
    if command -v ${how%% *} >/dev/null 2>&1; then
        case $how in
        tcc) files=$T/micro_batches.c ;; # which compiles the whole file in a moment
        *) files="$apart/micro_batches.c $apart/runtime.o" ;;
        esac
        $how -std=c11 -Wall -Wextra -pthread $call "-DINPUTS=$inputs" docs/call_training.c $files \
            -o "$T/call" -lm >"$log" 2>&1 &&
            [ ! -s "$log" ] &&
            "$T/call" "$T/start" 20 "$T/tensors" "$T/ids.npy" "$T/target.npy" >"$log" 2>&1
        report $? "twenty steps in C by $how"
        tail -c "$(wc -c <"$T/tensors")" "$T/twenty_in_c" >"$T/expected"
        same "twenty steps in C by $how: the same bits" "$T/tensors" "$T/expected"
    else
        echo "skipped: ${how%% *} is not installed"
    fi
done

# The same program for mpirun: on any number of ranks it computes the bits of one process.
tail -c "$(wc -c <"$T/tensors")" "$T/twenty_in_c" >"$T/expected"
tried=0
for family in openmpi mpich; do
    mpicc=$(command -v mpicc.$family) && mpirun=$(command -v mpirun.$family) || continue
    tried=1
    "$mpicc" -O1 -Wall -Wextra -DMICRO_BATCHES_MPI $call "-DINPUTS=$inputs" docs/call_training.c \
        "$apart/micro_batches.c" "$apart/runtime.o" \
        -o "$T/call_ranks" -lm >"$log" 2>&1 && [ ! -s "$log" ]
    report $? "emit --train by mpicc.$family"
    options=
    [ $family != openmpi ] || options='--allow-run-as-root --oversubscribe'
    for n in 1 2 3 4 8; do
        rm -f "$T/tensors"
        timeout -k 60 1200 "$mpirun" $options -np $n "$T/call_ranks" "$T/start" 20 "$T/tensors" "$T/ids.npy" \
            "$T/target.npy" >"$log" 2>&1 </dev/null
        report $? "$family: twenty steps in C on $n ranks"
        same "$family: twenty steps in C on $n ranks: the same bits" "$T/tensors" "$T/expected"
    done
done
[ $tried = 1 ] || echo 'skipped: found no mpicc'

# ---- data ----

# losses OPTION...: prints the loss of each step of a training whose weights do not change.
losses() {
    "$crescent" train graphs/train_sort.lua --set B=4 --set digits=3 --set n_embd=16 --set n_head=2 \
        --set n_layer=1 --set lr=0 --log 1 "$@" 2>"$log" | sed -n 's/^step [0-9/]*: loss \([0-9.]*\).*/\1/p'
}
losses --steps 6 >"$T/single"
losses --steps 2 --set micro_batches=3 >"$T/threes"
awk 'NR == FNR { mean[int((NR - 1) / 3)] += $1 / 3; next }
    { n++; if ($1 - mean[FNR - 1] > 2e-4 || mean[FNR - 1] - $1 > 2e-4) exit 1 }
    END { exit n != 2 }' "$T/single" "$T/threes"
report $? 'micro-batch i of step s draws the data of step 3 s + i'
! [ "$(sort -u "$T/single" | wc -l)" -lt 6 ]
report $? 'and these differ'

train $script $data --validate-every 5 --validation-input ids=$folder/ids.npy \
    --validation-input target=$folder/target.npy --checkpoint "$T/validated" &&
    train $script $data --checkpoint "$T/plain"
report $? 'a training with validation'
tail -c 400 "$T/validated" >"$T/a" && tail -c 400 "$T/plain" >"$T/b"
same 'validation changes no bit' "$T/a" "$T/b"

# ---- errors ----

# refuse WHAT TEXT SCRIPT OPTION...: passes if the script, appended to the lines above, is refused.
refuse() {
    what=$1 text=$2
    cat >"$T/refused.lua" <<END
local nn, optim = require "nn", require "optim"
local x, step, next_step = input("x", {4, 3}), optim.step()
local micro = optim.micro_batches(2)
local loss = nn.mse_loss(scope("fc", nn.linear, x, 2), const(1, {4, 2}))
local params = parameters()
$3
END
    shift 3
    train "$T/refused.lua" --input x="$T/x.npy" --steps 1 "$@"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q "$text" "$log"
    report $? "refused: $what"
}
printf 'return {x = const(1, {4, 3})}\n' >"$T/x.lua"
"$crescent" run "$T/x.lua" --output x="$T/x.npy" >"$log" 2>&1
step='local next = optim.sgd(params, micro.mean(optim.gradients(loss, params)), {lr = 0.1})'
refuse 'the loss of one micro-batch as that of the step' \
    'entry update reads input x, which differs from micro-batch to micro-batch' \
    "$step next.loss = loss return micro.step(next)"
refuse 'random numbers by the step' 'refused.lua:6: found random numbers that depend on the number of the step' \
    "loss = loss * nn.dropout(const(1, {1}), 0.5, step):reshape{}
    $step next.step, next.loss = next_step, micro.mean(loss, 'loss') return micro.step(next)"
refuse 'a micro-batch that depends on a mean' 'depends on the mean of loss over all micro-batches' \
    "local mean = micro.mean(loss, 'loss') loss = loss * mean
    $step next.loss = mean return micro.step(next)"
refuse 'a step without its number' 'entry update has no constant output micro_batches' \
    "$step next.loss = micro.mean(loss, 'loss') local all = micro.step(next)
    all.update.micro_batches = nil return all"
refuse 'no micro-batch' 'optim.micro_batches: found 0, expected a whole number' 'optim.micro_batches(0)'
refuse 'data for a sum' 'found data for input sum.loss, which the training sets' \
    "$step next.loss = micro.mean(loss, 'loss') return micro.step(next)" --input sum.loss="$T/x.npy"
refuse 'no loss' 'no output loss' "$step return micro.step(next)"

conclude
