#!/bin/sh
# recompute.sh - tests --max-arena.
#
# words   how sizes are written; a word that is not a size is one line, exit status 2
# least   the least arena that a message names is accepted, one byte less is refused
# bits    gradients and training steps have the same bytes within any limit, on every backend
#         and with any number of threads; also a step in C
# counts  recomputed operations are counted apart from those that the model needs
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# refused WHAT PATTERN VERB ARGUMENT...: passes if the command prints one line on stderr, nothing on stdout, and ends
# with status 2.
refused() {
    what=$1 pattern=$2
    shift 2
    "$crescent" "$@" >"$T/out" 2>"$log"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && [ ! -s "$T/out" ] &&
        grep -q "^crescent: $pattern" "$log"
    report $? "$what"
}

# least VERB ARGUMENT...: prints the least arena, which the message for too small an arena names.
least() {
    "$crescent" "$@" --max-arena 1 2>&1 |
        sed -n 's/^crescent: [^ ]*: the arena takes at least \([0-9]*\) bytes, expected --max-arena of that or more$/\1/p'
}

# field NAME: prints a number of the JSON in $log.
field() {
    sed -n "s/^ *\"$1\": \([0-9.]*\),*\$/\1/p" "$log"
}

stack='graphs/gpt2_stack.lua --set n_layer=5 --set n_embd=48 --set n_head=3 --set T=16'
wants='expected a number of bytes from 1 on'

# ---- words ----

for size in 0 -1 '' junk 12x 12KK 1.5K 0x10 K 9223372036854775808 9007199254740992K \
    99999999999999999999G; do
    refused "--max-arena '$size'" "--max-arena .*: $wants" run $stack --max-arena "$size"
done
for size in 524288 512K; do
    "$crescent" bench $stack --grads - --compile-only --json --max-arena $size >"$log" 2>&1
    field arena_bytes >"$T/$size"
done
same '512K are 524288 bytes' "$T/512K" "$T/524288"
for size in 1M 1G; do
    "$crescent" dump $stack --after plan --max-arena $size >"$T/roomy" 2>&1
    "$crescent" dump $stack --after plan >"$T/plain" 2>&1
    same "$size change nothing" "$T/plain" "$T/roomy"
done
"$crescent" bench $stack --grads - --compile-only --json >"$log" 2>&1
arena=$(field arena_bytes)
refused 'without the pass' "graphs/gpt2_stack.lua: the arena takes at least $arena bytes, " \
    run $stack --grads "$T/none" --skip recompute --max-arena $((arena - 1))
refused 'params has no arena' 'params has no option --max-arena' params $stack --max-arena 1M

# ---- least, and bits ----

# within LIMIT NAME ARGUMENT...: passes if the gradients within a limit are those of $T/NAME.
within() {
    limit=$1 name=$2
    shift 2
    "$crescent" run "$@" --grads "$T/within" --max-arena "$limit" >"$log" 2>&1 || report 1 "$name: $limit"
    same "$name: gradients within $limit" "$T/$name" "$T/within"
    rm -f "$T/within"
}

# down NAME SCRIPT...: checks that the least arena is the one that the message names, and that no limit above it
# changes a bit.
down() {
    name=$1
    shift
    "$crescent" run "$@" --grads "$T/$name" >"$log" 2>&1
    report $? "$name: gradients"
    "$crescent" bench "$@" --grads - --compile-only --json >"$log" 2>&1
    plain=$(field arena_bytes)
    lowest=$(least run "$@" --grads "$T/none")
    [ -n "$lowest" ] && [ "$lowest" -lt "$plain" ]
    report $? "$name: from $plain bytes down to $lowest"
    refused "$name: a byte less" "$1: the arena takes at least $lowest bytes, " \
        run "$@" --grads "$T/none" --max-arena $((lowest - 1))
    [ ! -e "$T/none" ]
    report $? "$name: nothing is written"
    for part in 0 1 2 4 7 10; do
        within $((lowest + (plain - lowest) * part / 10)) "$name" "$@"
    done
}

for model in decoder_block heads_block tiny_block gpt2_block stream_block; do
    down $model graphs/$model.lua --set n_embd=48 --set n_head=3 --set B=2 --set T=16
done
down gpt2_stack $stack
lowest=$(least run $stack --grads "$T/none")
within "$lowest" gpt2_stack $stack --threads 3
within "$lowest" gpt2_stack $stack --backend cc
within "$lowest" gpt2_stack $stack --backend standalone
within "$lowest" gpt2_stack $stack --isa plain
"$crescent" compare $stack --grads "$T/grads" --max-arena "$lowest" >"$log" 2>&1
report $? 'compare: all backends agree'
"$crescent" bench $stack --max-arena 30000 --compile-only --json >"$log" 2>&1
[ "$(field arena_bytes)" -le 30000 ]
report $? 'a forward pass alone fits, too'

# ---- joined kernels ----

# Without a limit, one kernel stores the largest value of each row of v[2] together with v[7]. In a kernel of their
# own these values need 128 bytes more.
cat >"$T/joined.lua" <<'EOF'
local v = graph("joined")
v[0] = const(1, {2, 16, 3}, "f32")
v[1] = const(1, {2, 3, 16}, "f32")
v[2] = matmul(v[0], v[1])
v[3] = max(v[2], 3)
v[4] = sum(v[2], 3)
v[5] = expand(v[4], {2, 16, 16})
v[6] = const(1, {2, 16, 16}, "f32")
v[7] = div(v[6], v[5])
v[8] = input("x", {1, 16, 14}, "f32")
v[9] = const(1, {1, 16, 14}, "f32")
v[10] = concat({v[9], v[8]}, 1)
v[11] = input("z", {2, 16, 3}, "f32")
v[12] = permute(v[7], {1, 3, 2})
v[13] = matmul(v[12], v[11])
v[14] = const(1, {2, 3, 14}, "f32")
v[15] = matmul(v[13], v[14])
v[16] = matmul(v[0], v[14])
v[17] = add(v[15], v[16])
v[18] = add(v[10], v[17])
return { ["most"] = v[3], ["y"] = v[18] }
EOF
"$crescent" bench "$T/joined.lua" --compile-only --json >"$log" 2>&1
plain=$(field arena_bytes)
lowest=$(least run "$T/joined.lua")
[ -n "$lowest" ] && [ "$lowest" -le "$plain" ]
report $? "joined kernels: the least of $plain bytes is no more"
"$crescent" run "$T/joined.lua" --output y="$T/y.npy" >"$log" 2>&1
"$crescent" run "$T/joined.lua" --max-arena "$lowest" --output y="$T/within.npy" >"$log" 2>&1
same "joined kernels: the same within $lowest" "$T/y.npy" "$T/within.npy"
refused 'joined kernels: a byte less' "$T/joined.lua: the arena takes at least $lowest bytes, " \
    run "$T/joined.lua" --max-arena $((lowest - 1))

# ---- training ----

sort='graphs/train_sort.lua --set B=8 --set digits=4 --set steps=120'
train() {
    "$crescent" train $sort --steps 10 "$@" >"$log" 2>&1 </dev/null
}

train --checkpoint "$T/steps"
report $? 'ten steps'
lowest=$(least train $sort --steps 10)
for limit in $((lowest * 2)) "$lowest"; do
    train --checkpoint "$T/within" --max-arena "$limit"
    grep -q '^Memory: .* arena [0-9.]* [KM]iB, .* activations kept for the backward pass ' "$log"
    report $? 'train tells of memory'
    same "ten steps within $limit" "$T/steps" "$T/within"
done
refused 'train: a byte less' "graphs/train_sort.lua: the arena takes at least $lowest bytes, " \
    train $sort --steps 1 --max-arena $((lowest - 1))

"$crescent" train $sort --steps 0 --checkpoint "$T/start" >"$log" 2>&1
"$crescent" emit --train $sort --max-arena "$lowest" --isa plain -o "$T/train_sort.c" >"$log" 2>&1 &&
    cc -O1 -I"$T" -DMODEL=train_sort -DMODEL_CAPITALS=TRAIN_SORT '-DOUTPUTS=&loss, other, other' \
        docs/call_training.c "$T/train_sort.c" -lm -o "$T/steps_in_c" >"$log" 2>&1 &&
    "$T/steps_in_c" "$T/start" 10 "$T/tensors" >"$log" 2>&1
report $? 'a step in C within the least arena: built and run'
tail -c "$(wc -c <"$T/tensors")" "$T/steps" >"$T/expected"
same 'a step in C within the least arena: the same bits' "$T/tensors" "$T/expected"
refused 'emit: a byte less' "graphs/train_sort.lua: the arena takes at least $lowest bytes, " \
    emit --train $sort -o "$T/none.c" --max-arena $((lowest - 1))
[ ! -e "$T/none.c" ] && [ ! -e "$T/none.h" ]
report $? 'emit: nothing is written'

# ---- dumps ----

for pass in recompute plan; do
    "$crescent" dump $sort --max-arena "$lowest" --after $pass >"$T/dump.lua" 2>"$log"
    "$crescent" run "$T/dump.lua" --output loss="$T/again.npy" >"$log" 2>&1
    report $? "the dump after $pass reads back"
    "$crescent" run $sort --output loss="$T/loss.npy" >"$log" 2>&1
    same "the dump after $pass computes the same" "$T/loss.npy" "$T/again.npy"
done
arena=$(sed -n 's/^-- arena: \([0-9]*\) bytes.*/\1/p' "$T/dump.lua")
[ "$arena" -eq "$lowest" ]
report $? 'the plan has the arena that was told'

# ---- counts ----

# With a limit, join_tiles leaves the statistics of norms in kernels of their own, whose operations are counted apart.
counted="$stack --grads - --compile-only --json --skip join_tiles"
"$crescent" bench $counted >"$log" 2>&1
flops=$(field flops) kept=$(field activation_bytes) arena=$(field arena_bytes)
[ "$(field recomputed_flops)" -eq 0 ] && [ "$kept" -gt 0 ] && [ "$kept" -le "$arena" ]
report $? 'nothing is computed again unless it is asked for'
"$crescent" bench $counted --max-arena $((arena / 2)) >"$log" 2>&1
[ "$(field flops)" -eq "$flops" ] && [ "$(field recomputed_flops)" -gt 0 ] &&
    [ "$(field activation_bytes)" -lt "$kept" ]
report $? 'what is computed again counts apart'
steps='tests/scripts/stack_training.lua --set n_layer=4'
"$crescent" bench $steps --compile-only --json >"$log" 2>&1
looped=$(field arena_bytes) text=$(field text_bytes)
"$crescent" bench $steps --compile-only --json --max-arena $((looped - 1)) >"$log" 2>&1
[ "$(field recomputed_flops)" -eq 0 ] && [ "$(field text_bytes)" -gt "$text" ] &&
    [ "$(field arena_bytes)" -lt "$looped" ]
report $? 'loops are given up before anything is computed again'
"$crescent" bench $stack --compile-only --json >"$log" 2>&1
[ -z "$(field activation_bytes)" ]
report $? 'without a backward pass there are no activations'
"$crescent" run $stack --grads "$T/grads" --max-arena $((arena / 2)) >"$log" 2>&1
grep -q '^Recomputed: [0-9]* of the calls, ' "$log"
report $? 'run tells what is computed again'

conclude
