#!/bin/sh
# families.sh - tests the families of docs/add-a-family.md: each script is found for its folder, every verb accepts
# it, `generate` computes the logits of `run` in chunks of any size, and an encoder is embedded, used to classify, and
# emitted.
#
# tests/fixtures.sh compares their outputs and gradients with PyTorch.  $CRESCENT is the program.  The last line is "N
# passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

n=12 prompt=3,5,30,9,11,2,15,17,5,21,23,1
{
    printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (1, $n)}"
    for id in $(echo $prompt | tr , ' '); do printf "\\$(printf %o "$id")\\000\\000\\000"; done
} >"$T/ids.npy"

# succeeds WHAT COMMAND...: passes if the command succeeds.
succeeds() {
    what=$1
    shift
    "$@" >"$log" 2>&1 </dev/null
    report $? "$what"
}

# elements FILE: prints the bytes of the last rows of logits in a file.
elements() {
    tail -c $((4 * n * 37)) "$1"
}

# generate MODEL CHUNK OPTION...: writes the logits of the prompt to $T/chunks.npy.
generate() {
    model=$1 chunk=$2
    shift 2
    "$crescent" generate "$model" --prompt-ids $prompt --ids --tokens 1 --chunk "$chunk" \
        --logits "$T/chunks.npy" "$@"
}

for family in olmo2:olmo2 mixtral:mixtral; do
    folder=tests/fixtures/model_${family%:*} script=docs/families/${family#*:}.lua
    ! "$crescent" params "$folder" >"$log" 2>&1 && grep -q "^crescent: .*--script F.lua, ${family#*:}.lua in" "$log"
    report $? "$folder: what to type"
    succeeds "$script: run" "$crescent" run "$folder" --script "$script" --set B=1 --set T=$n \
        --input "ids=$T/ids.npy" --output "logits=$T/all.npy"
    elements "$T/all.npy" >"$T/all"
    for chunk in 1 5 12; do
        succeeds "$script: generate" generate "$folder" $chunk --script "$script"
        elements "$T/chunks.npy" | cmp - "$T/all" >"$log" 2>&1
        report $? "$script: the bits of run in chunks of $chunk"
    done
    succeeds "$script: generate, on CRESCENT_PATH" env CRESCENT_PATH=docs/families \
        "$crescent" generate "$folder" --prompt-ids $prompt --ids --tokens 3
    succeeds "$script: folders for --config and --weights" "$crescent" run "$script" --config "$folder" \
        --weights "$folder" --set B=1 --set T=$n --input "ids=$T/ids.npy" --output "logits=$T/other.npy"
    elements "$T/other.npy" | cmp - "$T/all" >"$log" 2>&1
    report $? "$script: the same by hand"
done

# ---- an encoder ----

# encoder CASE: copies a fixture to $T/encoder, with a tokenizer whose words are w0, w1, ...
script=docs/families/megatron-bert.lua
encoder() {
    rm -rf "$T/encoder"
    cp -r "tests/fixtures/$1" "$T/encoder"
    words=$(seq 0 18 | sed 's/.*/"w&": &/' | paste -sd ,)
    echo "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"w0\", \"vocab\": {$words}}," \
        '"pre_tokenizer": {"type": "WhitespaceSplit"}}' >"$T/encoder/tokenizer.json"
}

encoder model_megatron_bert
! "$crescent" embed "$T/encoder" --text w3 >"$log" 2>&1 && grep -q '^crescent: .*--script F.lua, megatron-bert.lua in' "$log"
report $? "$script: what to type"
printf 'w3 w7 w1\nw5\nw18 w2 w2 w9 w11 w4 w6 w8\n' >"$T/lines"
succeeds "$script: embed" "$crescent" embed "$T/encoder" "$T/lines" --script $script --pooling cls
cp "$log" "$T/vectors"
sed -n 2p "$T/vectors" >"$T/second"
CRESCENT_PATH=docs/families "$crescent" embed "$T/encoder" --text w5 --pooling cls >"$T/alone" 2>"$log" &&
    cmp "$T/alone" "$T/second" >"$log" 2>&1
report $? "$script: a text alone, on CRESCENT_PATH"
{
    printf '\223NUMPY\001\000\166\000'
    printf '%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1)}"
    printf '\005\000\000\000'
} >"$T/one.npy"
succeeds "$script: run" "$crescent" run "$T/encoder" --script $script --set T=1 --set pooler=false \
    --input "ids=$T/one.npy" --output "last_hidden_state=$T/one_state.npy"
tail -c 48 "$T/one_state.npy" | od -An -v -tf4 -w48 | awk 'NR == FNR { gsub(/[][,]/, " "); split($0, v) }
    NR > FNR { for (i = 1; i <= NF; i++) worse += ($i - v[i]) ^ 2 > 1e-10; n = NF } END { exit n != 12 || worse > 0 }' \
    "$T/second" - >"$log" 2>&1
report $? "$script: the vector of embed is the first row of run"
succeeds "$script: emit --embed-text" "$crescent" emit "$T/encoder" --embed-text --script $script --pooling cls --isa plain -o "$T/x.c"
name=$(sed -n 's/^#ifdef \([A-Z_0-9]*\)_MAIN$/\1/p' "$T/x.c" | sed 1q)
succeeds "$script: emitted C" ${CC:-cc} -O0 "-D${name}_MAIN" "$T/x.c" -lm -o "$T/x"
"$T/x" "$T/encoder/model.safetensors" <"$T/lines" 2>"$log" | cmp - "$T/vectors" >>"$log" 2>&1
report $? "$script: the vectors of emitted C"

encoder model_megatron_bert_classes
echo 'w7 w13 w9' >"$T/lines"
succeeds "$script: classify" "$crescent" classify "$T/encoder" "$T/lines" --script $script --set name_prefix=bert. --json
[ "$(grep -o LABEL_ "$log" | wc -l)" -eq 3 ]
report $? "$script: three labels"

# ---- other verbs, with the smallest family ----

olmo2="tests/fixtures/model_olmo2 --script docs/families/olmo2.lua"
succeeds params "$crescent" params $olmo2
succeeds dump "$crescent" dump $olmo2 --after fuse
succeeds emit "$crescent" emit $olmo2 -o "$T/olmo2.c"
succeeds compare "$crescent" compare $olmo2 --backends ref,tcc
succeeds explain "$crescent" explain $olmo2 -o "$T/olmo2.html"
succeeds bench "$crescent" bench $olmo2 --seconds 0.01
succeeds 'emit --generate' "$crescent" emit $olmo2 --generate --ids \
    -o "$T/generate.c"
grep -q 'docs/families/olmo2.lua' "$T/olmo2.html" && grep -q 'Norms come before heads are split' "$T/olmo2.html"
report $? "explain has the script's lines"

conclude
