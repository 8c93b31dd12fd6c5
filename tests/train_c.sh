#!/bin/sh
# train_c.sh - tests that a step that `crescent emit --train` writes has the bits of `crescent train`, by every
# installed compiler, and allocates no memory.
#
# Each compiler compiles the step with -O2 and -O3 and links it to a runtime with one instruction set (plain_c.sh);
# standalone.sh compiles a whole file, of another script.  $CRESCENT is the program.  The last line is "N passed, M
# failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"

sort='graphs/train_sort.lua --set B=8 --set digits=3 --set n_embd=16 --set n_head=2
    --set n_layer=1 --set lr=0.01 --set warmup=2 --set steps=60'

# symbols OBJECT: prints symbols that a step must not have: variables that change, other names, allocation.
symbols() {
    nm "$1" | awk '
        $(NF - 1) ~ /[bBdDCsSgG]/ { print $NF " changes" }
        $(NF - 1) ~ /[TRVW]/ && $NF !~ /^_?train_sort_/ { print $NF " is no name of the model" }
        $1 == "U" && $2 ~ /^_?(malloc|calloc|realloc|free|aligned_alloc|mmap)$/ {
            print $2 " is called"
        }'
}

# docs/call_training.c for the two steps, one of which has two more outputs.
sorting='-DMODEL=train_sort -DMODEL_CAPITALS=TRAIN_SORT -DOUTPUTS=&loss,other,other'
replacing='-DMODEL=replaced_states -DMODEL_CAPITALS=REPLACED_STATES'

# ten_in_c FILES COMPILER OPTIONS: compares ten steps of that program with ten of `crescent train`.
ten_in_c() {
    what="ten steps in C by $2 $3"
    $2 -Wall -Werror -I"$T" $3 $sorting docs/call_training.c $1 -o "$T/ten_in_c" -lm \
        >"$log" 2>&1 && "$T/ten_in_c" "$T/start" 10 "$T/tensors" >"$log" 2>&1
    report $? "$what: built and run"
    tail -c "$(wc -c <"$T/tensors")" "$T/steps" >"$T/expected"
    same "$what: the same bits" "$T/tensors" "$T/expected"
    rm -f "$T/tensors"
}

mkdir "$T/plain" "$T/apart"
"$crescent" train $sort --steps 0 --checkpoint "$T/start" >"$log" 2>&1 &&
    "$crescent" train $sort --steps 10 --checkpoint "$T/steps" >"$log" 2>&1
report $? 'checkpoints of no step and of ten'
isa=$(fastest "$crescent")
"$crescent" emit --train $sort -o "$T/train_sort.c" >"$log" 2>&1 && plain "$T/train_sort.c" "$T/plain" &&
    apart "$isa" "$T/train_sort.c" "$T/apart"
report $? 'emit --train'
runtime_object "$T/apart/train_sort_runtime.c" "$T/runtime.o" >"$log" 2>&1
report $? 'the runtime of a step'
strict='-std=c11 -Wextra -Wpedantic'
daring='-march=native -ffp-contract=fast' # which the file undoes
for compiler in gcc clang; do
    if command -v $compiler >/dev/null 2>&1; then
        ten_in_c "$T/apart/train_sort.c $T/runtime.o" $compiler "$strict -O2"
        ten_in_c "$T/apart/train_sort.c $T/runtime.o" $compiler "$strict -O3 $daring -DTRAIN_SORT_THREADS=2 -pthread"
    else
        echo "skipped: $compiler is not installed"
    fi
done
if command -v tcc >/dev/null 2>&1; then
    ten_in_c "$T/train_sort.c" tcc '-std=c11'
else
    echo 'skipped: tcc is not installed'
fi
if [ -d /proc/self/task ]; then
    # standalone.sh has the runtime under UBSan, too
    runtime_object "$T/apart/train_sort_runtime.c" "$T/watched.o" -fsanitize=address >"$log" 2>&1
    report $? 'the runtime of a step under AddressSanitizer'
    ten_in_c "$T/apart/train_sort.c $T/watched.o" cc '-O0 -g -fsanitize=address,undefined -fno-sanitize-recover'
else
    echo 'skipped: sanitizers need /proc'
fi

# steps_of_states HOW [OPTION]: compares 24 steps in C, whose states are read in every order, with `crescent train`.
steps_of_states() {
    cc -Wall -Wextra -Werror -O1 -I"$T" $replacing ${2-} docs/call_training.c "$T/replaced_states.c" -lm -o "$T/replace" >"$log" 2>&1 &&
        "$T/replace" "$T/start" 24 "$T/tensors" >"$log" 2>&1
    report $? "states are stored $1: built and run"
    tail -c "$(wc -c <"$T/tensors")" "$T/steps" >"$T/expected"
    same "states are stored $1: the same bits" "$T/tensors" "$T/expected"
    rm -f "$T/tensors"
}

script=tests/scripts/replaced_states.lua
"$crescent" train $script --steps 0 --checkpoint "$T/start" >"$log" 2>&1 &&
    "$crescent" train $script --steps 24 --checkpoint "$T/steps" >"$log" 2>&1 &&
    "$crescent" emit --train $script --isa plain -o "$T/replaced_states.c" >"$log" 2>&1
report $? 'a step that replaces states'
steps_of_states 'over their old values'
steps_of_states 'elsewhere' -DTWO_STATES

cc -O0 -fno-pic -fno-pie -c "$T/plain/train_sort.c" -o "$T/train_sort.o" >"$log" 2>&1
report $? 'a step in C, without PIC'
symbols "$T/train_sort.o" >"$log"
[ ! -s "$log" ]
report $? 'a step in C has no memory of its own'

conclude
