#!/bin/sh
# train_fables.sh - trains a small Llama that tells fables: draws stories from a grammar, trains on them, and tells
# one.
#
# train_fables.sh FOLDER   writes a folder in Hugging Face's layout: config.json and grammar.txt are those of
#                          graphs/fables, tokenizer.json and model.safetensors are made
# $CRESCENT is the program, $MAKE_FABLES that of tests/make_fables.c, $STEPS the number of steps.
set -u

crescent="${CRESCENT:-build/crescent}"
make_fables="${MAKE_FABLES:-build/make_fables}"
steps="${STEPS:-3000}"
folder="${1:?expected the folder that the model is written to}"
config=graphs/fables/config.json
grammar=graphs/fables/grammar.txt
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT

fail() {
    echo "train_fables.sh: $1" >&2
    exit 1
}

# Prints a command and runs it.
show() {
    echo "$ $*" | sed "s,$crescent,crescent,; s,$make_fables,make_fables,; s,$T/,,g"
    "$@" || fail "failed: $*"
}

# Prints the number that config.json has for a key.
size() {
    sed -n 's/^ *"'"$1"'": *\([0-9]*\),*$/\1/p' "$config"
}

settings= vocabulary=$(size vocab_size) context=$(size max_position_embeddings)
for key in vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads \
    num_key_value_heads; do
    settings="$settings --set $key=$(size $key)"
done
curve=
if command -v gnuplot >/dev/null 2>&1; then
    curve="--loss-curve $folder/loss.svg"
fi

mkdir -p "$folder" || exit 1
cp "$config" "$grammar" "$folder" || fail "$folder: cannot be written"
echo 'Stories by the grammar, the words they are made of, and ids to learn from:'
echo
show "$make_fables" "$grammar" stories 3 1
"$make_fables" "$grammar" tokenizer "$vocabulary" >"$folder/tokenizer.json" || fail 'no tokenizer'
show "$make_fables" "$grammar" ids "$vocabulary" 2 1000 16 $((context + 1)) "$T/ids.npy"
show "$make_fables" "$grammar" ids "$vocabulary" 3 4 16 $((context + 1)) "$T/others.npy"
echo
echo 'A Llama that knows nothing learns to tell them; the validation is of stories it does not see.'
echo
show "$crescent" train graphs/train_fables.lua $settings --set T="$context" --set steps="$steps" \
    --input ids="$T/ids.npy" --validation-input ids="$T/others.npy" --validate-every 250 --log 250 \
    --save "$folder/model.safetensors" $curve
echo
echo "$ crescent generate $folder --prompt 'Once upon a time' --temperature 0.7 --seed 7 --stats"
"$crescent" generate "$folder" --prompt 'Once upon a time' --temperature 0.7 --seed 7 --stats ||
    fail 'it tells no story'
