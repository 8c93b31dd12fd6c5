#!/bin/sh
# variants.sh [PAGE] - the table of docs/variants.md: what the ways to attend of
# tests/variants/layer.lua cost beside the plain one.
#
# Kernels, whether the arena grows as the square of T, and the time on one thread relative to the
# plain layer, measured in turns.  With a PAGE the table is written into it, between the lines
# `<!-- make variants -->` and `<!-- end -->`.  $CRESCENT is the program, $SIZES the size that is
# measured, $SECONDS_EACH for how long, and $RUN what the measurement is run by (taskset, say).
set -u

crescent="${CRESCENT:-build/crescent}"
script=tests/variants/layer.lua
sizes="${SIZES:-T=1024 n_embd=256 n_head=4}"
seconds="${SECONDS_EACH:-0.3}"
run="${RUN:-}"
page="${1-}"
T=$(mktemp -d) && trap 'rm -rf "$T"' EXIT || exit 2

# The rows: a variant of the script, and what it is.
cat >"$T/rows" <<'ROWS'
plain|causal softmax attention
full|without a mask
windowAnd|`k <= q and q - k < W`
windowAbs|`abs(q - k) < W`, to both sides
windowAbsCausal|`k <= q and abs(k - q) < W`
windowTwice|one mask after another, `k > q - W`
windowNot|`not (k > q or q - k >= W)`
prefixOr|`k < P or k <= q` (prefix LM)
prefixMaximum|`k <= maximum(q, P - 1)`
prefixWhere|`where(k < P, true, k <= q)`
prefixTensor|`k < P or k <= q`, P an i32 input
prefixBatch|the same, P an i32 input for each batch
positionTensor|`k <= q + P`, P an i32 input
padding|causal, and `pad[k] < 2`, an i32 input
sinkWindow|`k <= q and (k < 4 or q - k < W)`
segments|causal within segments, ids an i32 input
segmentsFull|within segments alone
alibi|ALiBi, slopes a concat of constants
alibiComputed|ALiBi, slopes computed
alibiTrained|ALiBi, slopes a parameter
t5|relative position bias by buckets (T5), causal
t5Full|the same by `abs(q - k)`, without a mask
bias|a bias [H, T, T], a parameter
gqa|GQA, heads in groups by broadcast (5-D)
gqaExpand|GQA, keys and values repeated by `expand`
gqaConcat|GQA, repeated by a concat of slices
gqaGather|GQA, repeated by a gather of heads
mqa|MQA, one head of keys and values
softcap|`30 tanh(s / 30)`
qkNorm|QK-norm with a trained temperature
softmaxOne|`exp(s) / (1 + sum(exp(s)))`
softmaxOneShifted|the same, shifted by the maximum
softmaxOneMaximum|the same, shifted by `maximum(max(s), 0)`
softmaxOneAfter|the same, divided after the product with V
softmaxOneTimes|the same, times the reciprocal
sink|a trained score a head in the denominator
sinkConcat|the same by concat, softmax and slice
sigmoid|`sigmoid(s)` of masked scores
sigmoidZero|`where(mask, sigmoid(s), 0)`
sigmoidBias|`sigmoid(s - log T)`
relu|`where(mask, maximum(s, 0) ^ 2 / T, 0)`
biased|separate q, k, v projections with biases
biasedSome|the same, k without a bias
rope|rotary positions, halves by slice and concat
ropeHalf|rotary positions, `x cos + rotate_half(x) sin`
ropeInterleaved|rotary positions, neighbours in pairs
ropeGqa|rotary positions and GQA
ropeBiased|rotary positions, biased projections
ropePart|rotary positions of some columns
ropeNorm|a norm of each head's rows, then rotary positions
ropeNormHalf|the same by `rotate_half`
ROWS

settings() {
    for setting in $sizes; do
        printf ' --set %s' "$setting"
    done
}

# dumped VARIANT T PASS LABEL: the number that stands before or behind a label in a dump.
dumped() {
    "$crescent" dump "$script" --set "variant=$1" $(settings) --set "T=$2" --after "$3" |
        sed -n "s/^-- \(.*$4.*\)/\1/p" | sed 's/[^0-9]*\([0-9]*\).*/\1/; q'
}

# Times of plain attention over that of six variants at a time, in the order of the rows.
measure() {
    cut -d'|' -f1 "$T/rows" | xargs -n 6 | while read -r names; do
        against=
        for name in $names; do
            against="$against --vs set=variant=$name"
        done
        $run "$crescent" bench "$script" $(settings) --threads 1 --seconds "$seconds" $against \
            --markdown | tail -n 1 | awk -F'|' -v n="$(echo "$names" | wc -w)" \
            '{ for (i = NF - n; i < NF; i++) print 1 / $i }' || exit 1
    done
}

table() {
    echo '| variant | | kernels | [T, T] stored | time |'
    echo '|---|---|--:|---|--:|'
    measure >"$T/times"
    paste -d'|' "$T/rows" "$T/times" | while IFS='|' read -r name what time; do
        kernels=$(dumped "$name" 1024 fuse kernels)
        short=$(dumped "$name" 1024 plan arena:)
        long=$(dumped "$name" 2048 plan arena:)
        stored=$([ $((long * 10)) -gt $((short * 21)) ] && echo yes || echo no)
        printf '| `%s` | %s | %s | %s | %.2f |\n' "$name" "$what" "$kernels" "$stored" "$time"
    done
}

table >"$T/table" || exit 1
if [ -z "$page" ]; then
    cat "$T/table"
    exit
fi
awk -v table="$T/table" '
/^<!-- make variants -->$/ { print; while ((getline line < table) > 0) print line; skip = 1 }
/^<!-- end -->$/ { skip = 0 }
!skip && !/^<!-- make variants -->$/ { print }' "$page" >"$T/page" && cp "$T/page" "$page"
