#!/bin/sh
# fuzz_readers.sh PROGRAM... - runs the fuzz targets of tests/fuzz_readers/ on mutations of small files: $N inputs for
# each, or as many as $SECONDS allow.  The programs are linked with libFuzzer or with driver.c.  An input that makes
# one end is kept in build/, under the name that is printed.
#
# $CRESCENT writes the first inputs.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
n="${N:-400}" seconds="${SECONDS_EACH:-20}" seed="${SEED:-1}"
. "$(dirname "$0")/report.sh"

# ---- first inputs ----

mkdir "$T/npy" "$T/safetensors" "$T/json" "$T/checkpoint" "$T/script" "$T/config" "$T/folder" "$T/tokenizer" \
    "$T/pattern" "$T/gguf" "$T/onnx" "$T/onnx_nodes" "$T/family"

# array NAME DICT BYTES [VERSION]: writes a .npy file with BYTES bytes of elements.
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

# tensors NAME HEADER BYTES: writes a .safetensors file.
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

# Numbers that choose a file of tests/configs and the depth of the test, and changes of keys and values.
for file in 000 001 002 003 004 005 006 007 010 011; do
    printf "\\$file\\002\\001\\003\\006\\003\\007\\061\\021" >"$T/family/incremental-$file"
    printf "\\$file\\005\\004\\007\\011\\062" >"$T/family/graph-$file"
done

# Files of the folders of models.
printf '{"metadata": {"total_size": 8}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}' \
    >"$T/folder/index"
printf '{"x": [1.5e3, {"y": null}, []], "weight_map": {"a": "a.safetensors"}}' >"$T/folder/one"
printf '{"a": {"b": [true, false]}, "model_type": "gpt\\u0032", "eos_token_id": [1, 2]}' \
    >"$T/folder/config"

# Tokenizers.
for name in llama3 spm_first parts prefixed bert_uncased unigram_map scripts word_level; do
    cp tests/tokenizers/$name.json "$T/tokenizer"
done
cp tests/tokenizers/sp_*.model "$T/tokenizer"

# pattern NAME REGEX: writes a regular expression of Oniguruma.
pattern() { printf '%s' "$2" >"$T/pattern/$1"; }
pattern cl100k "(?i:'s|'t)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s+(?!\S)|\s+"
pattern classes '[a[^b-d]&&[[:punct:]\w]&&-]|[]x-]+|[\xc3\xa9\x{20}-\u007f]{1,3}?|[^\s[.,!?]]{2}{,3}'
pattern groups '(?x: a # c
)|(?im-x:k|(?i)s)|(?<n>a)|(?>b*)|(?<=a)\b|(?<!\h)\B|(1)\1|\R\N\O|^\A\G.\Z\z$|(?#c)\p{^Han}\P{Alpha}\101'

# GGUF files.  The functions print the numbers, texts and values of such a file.
bytes() { # VALUE BYTES: the lowest one first
    rest=$1 count=$2
    while [ "$count" -gt 0 ]; do
        printf '%b' "\\0$(printf '%o' $((rest % 256)))"
        rest=$((rest / 256)) count=$((count - 1))
    done
}
text() {
    bytes "$(printf '%s' "$1" | wc -c)" 8
    printf '%s' "$1"
}
integer() { text "$1"; bytes 4 4; bytes "$2" 4; }
string() { text "$1"; bytes 8 4; text "$2"; }
texts() { # KEY TEXT...
    text "$1"; bytes 9 4; bytes 8 4; bytes $(($# - 1)) 8
    shift
    for item in "$@"; do text "$item"; done
}
numbers() { # KEY TYPE NUMBER...
    text "$1"; bytes 9 4; bytes "$2" 4; bytes $(($# - 2)) 8
    shift 2
    for item in "$@"; do bytes "$item" 4; done
}
tensor() { # NAME TYPE PLACE AXIS...
    name=$1 type=$2 place=$3
    shift 3
    text "$name"; bytes $# 4
    for axis in "$@"; do bytes "$axis" 8; done
    bytes "$type" 4; bytes "$place" 8
}
model() { # FAMILY: eight values
    string general.architecture "$1"
    integer "$1.block_count" 1
    integer "$1.context_length" 8
    integer "$1.embedding_length" 32
    integer "$1.feed_forward_length" 64
    integer "$1.attention.head_count" 2
    integer tokenizer.ggml.bos_token_id 1
    integer tokenizer.ggml.eos_token_id 2
}
{
    printf GGUF; bytes 3 4; bytes 4 8; bytes 14 8
    model llama
    text llama.rope.freq_base; bytes 6 4; bytes 1140457472 4
    string llama.rope.scaling.type linear
    string tokenizer.ggml.model llama
    texts tokenizer.ggml.tokens '<unk>' '<s>' '</s>' '<0x0A>' '▁' a b '▁a' ab
    numbers tokenizer.ggml.scores 6 0 0 0 0 3238002688 3238002688 3238002688 3212836864 3221225472
    numbers tokenizer.ggml.token_type 5 2 3 3 6 1 1 1 1 1
    tensor token_embd.weight 8 0 32 2
    tensor blk.0.attn_q.weight 2 96 32 4
    tensor blk.0.attn_k.bias 0 192 4
    tensor rope_freqs.weight 1 224 8
    head -c 300 /dev/zero | tr '\0' '?'
} >"$T/gguf/llama"
{
    printf GGUF; bytes 3 4; bytes 3 8; bytes 14 8
    model gpt2
    integer general.alignment 64
    text flag; bytes 7 4; bytes 1 1
    string tokenizer.ggml.model gpt2
    string tokenizer.ggml.pre llama-bpe
    texts tokenizer.ggml.tokens a b Ġ ab Ġa '<s>'
    texts tokenizer.ggml.merges 'a b' 'Ġ a'
    tensor token_embd.weight 30 0 32 2
    tensor output.weight 3 128 32 2
    tensor blk.0.ffn_up.weight 12 192 256
    head -c 500 /dev/zero | tr '\0' '?'
} >"$T/gguf/gpt2"

cp tests/onnx/*.onnx "$T/onnx"

# Lists of nodes: any bytes are a valid list.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    printf "$(awk -v s="$i" 'BEGIN {
        for (k = 0; k < 300; k++) {
            s = s * 16807 % 2147483647
            printf "\\%03o", int(s / 65536) % 256
        }
    }')" >"$T/onnx_nodes/$i"
done

# Scripts, and graphs as `crescent dump` prints them after a pass.
cp tests/golden/*.lua graphs/*_block.lua "$T/script"
for script in gpt2_block heads_block; do
    for pass in script join; do
        "$crescent" dump graphs/$script.lua --set T=4 --set n_embd=16 --set n_head=2 \
            --after $pass >"$T/script/$script.$pass" || exit 1
    done
done

# ---- running ----

# If all is well, only the number of inputs is taken from the output of libFuzzer.
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
