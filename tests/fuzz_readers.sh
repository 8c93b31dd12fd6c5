#!/bin/sh
# fuzz_readers.sh PROGRAM... - runs the fuzz targets of tests/fuzz_readers/ on mutations of small
# files: $N inputs for each, or as many as $SECONDS allow.  The programs are linked with
# libFuzzer or with driver.c.  What makes one end is kept in build/, as its name says.
#
# $CRESCENT makes the seeds.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
n="${N:-400}" seconds="${SECONDS_EACH:-20}" seed="${SEED:-1}"
. "$(dirname "$0")/report.sh"

# ---- seeds ----

mkdir "$T/npy" "$T/safetensors" "$T/json" "$T/checkpoint" "$T/script" "$T/config" "$T/folder" "$T/tokenizer"

# array NAME DICT BYTES [VERSION]: a .npy file of so many bytes of elements.
array() {
    version=${4:-1} length=$(printf '%s' "$2" | wc -c)
    case $version in
    1) width='\000' ;;
    *) width='\000\000\000' ;;
    esac
    {
        printf '\223NUMPY\00%d\000%b%b%s' "$version" "\\0$(printf '%o' "$length")" "$width" "$2"
        head -c "$3" /dev/zero | tr '\0' '?'
    } >"$T/npy/$1"
}

array f4 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" 24
array f8 "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2, 1), }" 32 2
array f2 "{'descr': '>f2', 'fortran_order': True, 'shape': (3, 2), }" 12 3
array i4 "{'descr': '<i4', 'fortran_order': False, 'shape': (), }" 4
array i8 "{'descr': '>i8', 'fortran_order': True, 'shape': (0, 7), }" 0
cp tests/fixtures/train_sgd/*.npy "$T/npy" 2>/dev/null

# tensors NAME HEADER BYTES: a .safetensors file.
tensors() {
    length=$(printf '%s' "$2" | wc -c)
    printf '%s' "$2" >"$T/json/$1"
    {
        printf '%b%b\000\000\000\000\000\000' "\\0$(printf '%o' $((length % 256)))" \
            "\\0$(printf '%o' $((length / 256)))"
        printf '%s' "$2"
        head -c "$3" /dev/zero | tr '\0' '?'
    } >"$T/safetensors/$1"
}

tensors none '{}' 0
tensors two '{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b\u00e9\ud83d\ude00":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}}' 12
tensors meta '{"__metadata__":{"format":"pt","k":"v\n\"é"},"a.b":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}, "c" : {"data_offsets":[2,10],"shape":[1,1,1],"dtype":"F64"}}' 10
tensors types '{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},"b":{"dtype":"BOOL","shape":[0,3],"data_offsets":[2,2]},"c":{"dtype":"C64","shape":[1],"data_offsets":[2,10]}}' 10
printf '[1, -2, 3.5e2, "\\ud834\\udd1e", true, null, {"a": [0, 9223372036854775807]}]' >"$T/json/values"

make() {
    printf '%s\n' "$1" >"$T/make.lua"
    "$crescent" run "$T/make.lua" --output "y=$2" >/dev/null || exit 1
}
make 'return {y = concat({iota({7}, 1), iota({5}, 1)}, 1)}' "$T/ids"
make "return {y = where(lt(iota({12}, 1), 6), const(1, {12}, 'i32'), 3)}" "$T/targets"
export FUZZ_IDS="ids=$T/ids" FUZZ_TARGETS="target=$T/targets"
for steps in 0 1; do
    "$crescent" train tests/scripts/train_one.lua --input "$FUZZ_IDS" --input "$FUZZ_TARGETS" \
        --steps $steps --checkpoint "$T/checkpoint/$steps" >/dev/null 2>&1 || exit 1
done

# Values for options.
printf '{"n": 4, "x": -2.5e-1, "b": false, "s": ["a", 1.5, null], "c": "two"}' >"$T/config/json"
printf '{"t": {"n": null, "s": "\\u00e9"}, "list": [[1, {}], {"a": true}], "many": {"0": 1e3}}' \
    >"$T/config/nested"
printf 'return {n = 2 * 3, t = {s = "b"}, list = {{1}, 2}, c = "two", b = not true}' >"$T/config/lua"

# What folders of models hold.
printf '{"metadata": {"total_size": 8}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}' \
    >"$T/folder/index"
printf '{"x": [1.5e3, {"y": null}, []], "weight_map": {"a": "a.safetensors"}}' >"$T/folder/one"
printf '{"a": {"b": [true, false]}, "model_type": "gpt\\u0032", "eos_token_id": [1, 2]}' \
    >"$T/folder/config"

# Tokenizers.
for name in llama3 spm_first parts prefixed; do
    cp tests/tokenizers/$name.json "$T/tokenizer"
done

# Scripts, and graphs as a pass leaves them.
cp tests/golden/*.lua graphs/*_block.lua "$T/script"
for script in gpt2_block heads_block; do
    for pass in script join; do
        "$crescent" dump graphs/$script.lua --set T=4 --set n_embd=16 --set n_head=2 \
            --after $pass >"$T/script/$script.$pass" || exit 1
    done
done

# ---- running ----

# Of libFuzzer's output only the count of inputs is of interest when all is well.
for program in "$@"; do
    target=$(basename "$program")
    left="build/fuzz-$target"
    if "$program" -help=1 2>&1 | grep -q libFuzzer; then
        "$program" -max_total_time="$seconds" -runs="$n" -seed="$seed" -timeout=60 \
            -rss_limit_mb=4096 -artifact_prefix="$left-" -close_fd_mask=1 "$T/$target" \
            >"$log" 2>&1
    else
        "$program" N="$n" SECONDS="$seconds" SEED="$seed" CRASH="$left-crash" "$T/$target"/* \
            >"$log" 2>&1
    fi
    status=$?
    [ "$status" -ne 0 ] && tail -n 40 "$log" >"$T/end" && mv "$T/end" "$log"
    report $status "$target: ended with status $status; the input is in $left-*"
    [ "$status" -ne 0 ] || sed -n "s/^\(Done \)\{0,1\}\([0-9]*\) \(runs\|inputs\).*/$target: \2 inputs/p" "$log"
done

conclude
