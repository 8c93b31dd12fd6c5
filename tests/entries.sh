#!/bin/sh
# entries.sh - tests the standalone C of scripts that return several entries.
#
# The file compiles without a warning, with and without optimisation and threads, by every installed compiler; with
# optimisation, by gcc for some entries and clang for others.  The main of each entry writes what `crescent run
# --entry` writes, bit for bit.  The runtime, whose text is the same in all files, is compiled once for a model,
# without vectors, and linked to the rest as each compiler makes it (plain_c.sh); tcc compiles the whole file.
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/apart"
. "$(dirname "$0")/plain_c.sh"
passed=0 failed=0

# check WHAT COMMAND...: passes if the command succeeds and prints nothing.
check() {
    what=$1
    shift
    if said=$("$@" 2>&1) && [ -z "$said" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s: %s\n' "$what" "$said" | head -5
    fi
}

# noted COMMAND...: runs a command, and ignores notes about tensors that the model does not have, such as the gradient
# of x.
noted() {
    "$@" 2>"$scratch/log"
}

# A stack of layers with attention in two entries: one returns its output, the other its loss and gradients.
cat >"$scratch/stack.lua" <<'END'
local nn, attention = require "nn", require "attention"
local h, target = input("x", {2, 8, 16}), input("target", {2, 8, 24})
for i = 0, 3 do
    h = scope("h." .. i, function()
        local n = scope("ln", nn.layer_norm, h, {eps = 1e-5})
        local a = scope("attn", attention.fused, n, {n_head = 2, project = nn.linear,
            mask = attention.causal_mask(8), qkv_name = "qkv", out_name = "out"})
        return h + scope("fc", nn.linear, nn.gelu(h + a), 16)
    end)
end
local y = scope("head", nn.linear, h, 24)
local loss = nn.mse_loss(y, target)
return {logits = {y = y}, step = {loss = loss, dx = grad(loss, {input("x", {2, 8, 16})})[1]}}
END
cp docs/entries.lua docs/session.lua "$scratch"

# files_of COMPILER NAME: prints the names of the C files of a model: the emitted file, or one with the runtime apart.
files_of() {
    case $1 in
    tcc) echo "$scratch/$2.c" ;;
    *) echo "$scratch/apart/$2.c $scratch/apart/$2_runtime.o" ;;
    esac
}

# compare MODEL COMPILER OPTIONS ENTRY INPUTS OUTPUTS: compares the main of the entry with `crescent run`.
compare() {
    name=$(basename "$1" .lua)
    macro=$(echo "${name}_$4" | tr a-z A-Z)
    out="$scratch/main"
    check "$2 $3 of $name $4" $2 -std=c11 -Wall -Wextra -Wpedantic -Werror $3 "-D${macro}_MAIN" \
        $(files_of "$2" "$name") -o "$out" -lm
    inputs= outputs=
    for port in $5; do
        inputs="$inputs --input $port=$scratch/$port.npy"
    done
    for port in $6; do
        outputs="$outputs --output $port=$scratch/main_$port.npy"
    done
    rm -f "$scratch"/main_*.npy
    check "$name $4" noted "$out" --weights "$scratch/$name.safetensors" $inputs $outputs
    for port in $6; do
        check "$2 $3, $name $4: $port" cmp "$scratch/main_$port.npy" "$scratch/$4_$port.npy"
    done
}

# expected MODEL ENTRY INPUTS OUTPUTS: writes ENTRY_OUTPUT.npy by `crescent run`.
expected() {
    name=$(basename "$1" .lua) arguments=
    for port in $3; do
        arguments="$arguments --input $port=$scratch/$port.npy"
    done
    for port in $4; do
        arguments="$arguments --output $port=$scratch/$2_$port.npy"
    done
    "$crescent" run "$1" --entry "$2" --weights "$scratch/$name.safetensors" $arguments \
        >"$scratch/log" 2>&1
}

# model SCRIPT ENTRY/INPUTS/OUTPUTS...: emits and compares a model.  Names of parameters among the outputs stand for
# their gradients.
model() {
    script="$scratch/$1.lua" name=$1
    shift
    "$crescent" emit "$script" -o "$scratch/$name.c" >"$scratch/log" &&
        apart plain "$scratch/$name.c" "$scratch/apart" &&
        runtime_object "$scratch/apart/${name}_runtime.c" "$scratch/apart/${name}_runtime.o" || failed=$((failed + 1))
    for row; do
        entry=${row%%/*} ports=${row#*/}
        expected "$script" "$entry" "$(echo "${ports%%/*}" | tr , ' ')" \
            "$(echo "${ports#*/}" | tr , ' ')" || failed=$((failed + 1))
    done
    for compiler in gcc clang tcc; do
        command -v $compiler >"$scratch/log" || { echo "skipped: $compiler is not installed"; continue; }
        for options in -O0 "-O1 -D$(echo "$name" | tr a-z A-Z)_THREADS=2 -pthread"; do
            case "$compiler $options" in
            "clang -O0" | "tcc -O1"*) continue ;;
            esac
            for row; do
                case "$compiler $options $row" in # the others are tried by the other compiler
                "gcc -O1"*" "[bclp]*/* | "clang -O1"*" "[des]*/*) continue ;;
                esac
                entry=${row%%/*} ports=${row#*/}
                compare "$script" $compiler "$options" "$entry" \
                    "$(echo "${ports%%/*}" | tr , ' ')" "$(echo "${ports#*/}" | tr , ' ')"
            done
        done
    done
}

# draw NAME SHAPE: writes NAME.npy with standard normal numbers.
draw() {
    echo "local x = input('$1', $2) return {$1 = x}" >"$scratch/draw.lua"
    "$crescent" run "$scratch/draw.lua" --seed 5 --output "$1=$scratch/$1.npy" >"$scratch/log" ||
        failed=$((failed + 1))
}

draw x '{8, 32}'
draw code '{8, 4}'
"$crescent" run docs/entries.lua --entry both --grads "$scratch/entries.safetensors" \
    >"$scratch/log" || failed=$((failed + 1))
model entries both/x/y,loss decode/code/y encode/x/z

draw x '{2, 8, 16}'
draw target '{2, 8, 24}'
"$crescent" run "$scratch/stack.lua" --entry logits --grads "$scratch/stack.safetensors" \
    >"$scratch/log" || failed=$((failed + 1))
model stack logits/x/y step/x,target/dx,loss

# States are zeros when a main begins; one entry neither reads nor replaces all of them.
sed -i 's/^return {$/replace(at, at * 0, "clear")\n&\n    clear = {before = at:float()},/' "$scratch/session.lua"
draw prompt '{8, 32}'
draw token '{1, 32}'
"$crescent" run docs/session.lua --entry decode --grads "$scratch/session.safetensors" \
    >"$scratch/log" || failed=$((failed + 1))
model session clear//before decode/token/y prefill/prompt/y

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
