#!/bin/sh
# accuracy.sh - what narrow weights cost: perplexity, divergence and agreement of models at hand under every
# format and arithmetic, as the table of docs/accuracy.md.
#
# accuracy.sh     $CRESCENT is the program, $MAKE_FABLES that of tests/make_fables.c.
# The texts are the same in every run: fables of the grammar that graphs/fables was not trained on, stories that
# stories260K generates, and digits with their order.  A model that is not on this machine is left out, with a note.
set -u

crescent="${CRESCENT:-build/crescent}"
make_fables="${MAKE_FABLES:-build/make_fables}"
data=../shared/data
kinds='bf16:f32 bf16:bf16 f16:f32 q8:f32 q8:int8 q4:f32 q4:int8'
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT

fail() {
    echo "accuracy.sh: $1" >&2
    exit 1
}

# Prints the value of a key in the output of the last evaluation.
value() {
    sed -n 's/^ *"'"$1"'": *\([-0-9.e]*\),*$/\1/p' "$T/json"
}

# measure NAME OPTION...: prints a row for the model as it is, and one for each format of weights.
measure() {
    name=$1
    shift
    "$crescent" evaluate "$@" --json >"$T/json" || fail "$name: evaluate failed"
    printf '| %s, %s tokens | f32 | f32 | %.5f | | | |\n' "$name" "$(value tokens)" \
        "$(value perplexity)"
    for kind in $kinds; do
        "$crescent" evaluate "$@" --json --format "${kind%:*}" --arithmetic "${kind#*:}" \
            >"$T/json" || fail "$name: $kind failed"
        printf '| | %s | %s | %.5f | %.5f | %.2g | %.2f%% |\n' "${kind%:*}" "${kind#*:}" \
            "$(value format_perplexity)" "$(value ratio)" "$(value divergence)" \
            "$(value agreement | awk '{ print 100 * $1 }')"
    done
}

# Prints the digits of nano_sort.lua, in some order and then sorted, one sequence after another.
digits() {
    awk 'BEGIN {
        state = 7
        for (i = 0; i < 300; i++) {
            split("0 0 0", count, " ")
            for (j = 0; j < 6; j++) {
                state = (state * 1103515245 + 12345) % 2147483648
                d = int(state / 65536) % 3
                count[d + 1]++
                printf "%s%d", i + j ? "," : "", d
            }
            n = 0
            for (d = 0; d < 3; d++)
                for (j = 0; j < count[d + 1]; j++)
                    if (n++ < 5)
                        printf ",%d", d
        }
    }'
}

echo '| model | weights | arithmetic | perplexity | ratio | KL divergence | same token |'
echo '|---|---|---|---|---|---|---|'
"$make_fables" graphs/fables/grammar.txt stories 150 77 >"$T/fables" || fail 'no fables'
measure fables graphs/fables "$T/fables"
if [ -d "$data/stories260K-hf" ]; then
    for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        "$crescent" generate "$data/stories260K-hf" --temperature 1 --seed $seed 2>/dev/null ||
            fail 'no stories'
    done >"$T/stories"
    measure stories260K "$data/stories260K-hf" "$T/stories"
else
    echo "accuracy.sh: left out: $data/stories260K-hf is not here" >&2
fi
if [ -d "$data/gpt-nano-sort" ]; then
    measure 'sorting digits' tests/nano_sort.lua --weights "$data/gpt-nano-sort/model.safetensors" \
        --context 11 --prompt-ids "$(digits)"
else
    echo "accuracy.sh: left out: $data/gpt-nano-sort is not here" >&2
fi
