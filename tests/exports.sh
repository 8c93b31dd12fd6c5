#!/bin/sh
# exports.sh - tests models as PyTorch exports them: their outputs, and the scripts that are made of them.
#
# tests/exports/NAME.onnx is a model, NAME.x.npy and NAME.y.npy are its input and its output, and NAME.lua is the
# script that `crescent import` writes; BLESS=1 rewrites it.  In NAME_dynamic, sizes are lengths.  $CRESCENT is the
# program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
bless="${BLESS:-}"
exports=tests/exports
. "$(dirname "$0")/report.sh"

kernels() {
    "$crescent" dump "$@" --after fuse | sed -n 's/^--   kernel [0-9]*: *\([a-z]*\).*/\1/p'
}

lengths_of_dynamic="--length batch=4 --length seq=12"
for model in "$exports"/*.onnx; do
    name=$(basename "$model" .onnx)
    case $name in
    *_dynamic) lengths=$lengths_of_dynamic ;;
    *) lengths= ;;
    esac
    "$crescent" compare "$model" $lengths --input x="$exports/$name.x.npy" \
        --expect y="$exports/$name.y.npy" --atol 1e-5 --rtol 1e-4 --backends ref,tcc >"$log" 2>&1
    report $? "$model computes what PyTorch does"

    "$crescent" import "$model" $lengths -o "$T/$name.lua" >"$log" 2>&1
    report $? "$model is imported"
    if [ -n "$bless" ]; then
        cmp -s "$T/$name.lua" "$exports/$name.lua" || cp "$T/$name.lua" "$exports/$name.lua"
    fi
    diff -u "$exports/$name.lua" "$T/$name.lua" >"$log"
    report $? "$model becomes $exports/$name.lua"
    "$crescent" compare "$T/$name.lua" --weights "$T/$name.safetensors" \
        --input x="$exports/$name.x.npy" --expect y="$exports/$name.y.npy" --atol 1e-5 \
        --rtol 1e-4 --strict --backends tcc >"$log" 2>&1
    report $? "the script of $model computes the same"
done

# For the sizes of the file and for the bounds, the outputs have the bits of a model that is made for that size.
dynamic=$exports/gpt2_dynamic
for sizes in 'batch=1 seq=6' 'batch=4 seq=12'; do
    input="--input x=$dynamic.x.npy"
    [ "$sizes" = 'batch=1 seq=6' ] || input=
    "$crescent" run "$dynamic.onnx" $lengths_of_dynamic $input --output y="$T/length.npy" >"$log" 2>&1 &&
        "$crescent" run "$dynamic.onnx" --set "${sizes% *}" --set "${sizes#* }" $input \
            --output y="$T/size.npy" >"$log" 2>&1 && cmp "$T/length.npy" "$T/size.npy" >>"$log" 2>&1
    report $? "a model with lengths gives the bits of $sizes"
done

# An exported block has as many kernels, of the same kinds in the same order, as the block of graphs/.
kernels "$exports/gpt2_block.onnx" >"$T/theirs"
kernels graphs/gpt2_block.lua --set B=2 --set T=6 --set n_embd=16 --set n_head=2 >"$T/ours"
[ -s "$T/ours" ] && diff -u "$T/ours" "$T/theirs" >"$log"
report $? "an exported block of GPT-2 fuses like graphs/gpt2_block.lua"

conclude
