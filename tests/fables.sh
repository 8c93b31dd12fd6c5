#!/bin/sh
# fables.sh - tests graphs/fables, a model trained by Crescent that tells stories: its tokenizer is the one that
# tests/make_fables.c makes of its grammar, the first steps of its training have the recorded losses, and it tells the
# same stories on every backend.  $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
folder=graphs/fables
grammar=$folder/grammar.txt
. "$(dirname "$0")/report.sh"

# ---- the data of its training ----------------------------------------------------------------------

${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Wpedantic -Werror tests/make_fables.c \
    -o "$T/make_fables" >"$log" 2>&1
report $? 'tests/make_fables.c compiles without a warning'
"$T/make_fables" $grammar tokenizer 512 >"$T/tokenizer.json" 2>"$log"
same 'tokenizer.json is made by the grammar' $folder/tokenizer.json "$T/tokenizer.json"

# Stories are tokenized as the tokenizer of the folder does it: the first sequence of ids begins with all ids of the
# first story.
"$T/make_fables" $grammar ids 512 5 1 1 257 "$T/ids.npy" >"$log" 2>&1
"$T/make_fables" $grammar stories 1 5 | tr -d '\n' >"$T/story"
od -An -v -td4 -w4 -j128 "$T/ids.npy" | awk '$1 == 1 { exit } { printf "%s%d", sep, $1; sep = " " }' \
    >"$T/expected"
"$crescent" tokenize $folder "$T/story" 2>"$log" | tr -d '\n' >"$T/found"
same 'ids of a story' "$T/expected" "$T/found"

if "$T/make_fables" $grammar stories 2000 6 >"$T/stories" 2>"$log"; then
    sort -u "$T/stories" | awk 'END { print NR " different stories of 2000, expected 1900 at least"
        exit NR < 1900 }' >"$log"
fi
report $? 'stories are different'
printf 'story:\n    {one} and {two}\none:\n    a\n' >"$T/broken"
"$T/make_fables" "$T/broken" stories 1 1 >"$log" 2>&1
[ $? -eq 2 ] && [ "$(cat "$log")" = 'make_fables: is neither kept nor a rule: two' ]
report $? 'a rule that is not there'

# Eight steps from random weights: the loss falls from that of a uniform guess.
"$T/make_fables" $grammar ids 512 2 8 2 65 "$T/ids.npy" >"$log" 2>&1 &&
    "$crescent" train graphs/train_fables.lua --set B=2 --set T=64 --set warmup=2 --input ids="$T/ids.npy" \
        --steps 8 --save "$T/model.safetensors" >"$log" 2>&1 &&
    sed -n 's/^Trained 8 steps: loss \([0-9.]*\) to \([0-9.]*\).*/\1 \2/p' "$log" |
    awk '{ n++; good = $1 < 6.4 && $2 < $1 - 0.3 } END { exit !(n && good) }'
report $? 'graphs/train_fables.lua learns'

# ---- its stories -----------------------------------------------------------------------------------

# tells WHAT FILE OPTION...: passes if the model continues a text as the file has it, to the end of the story.
tells() {
    what=$1 expected=$2
    shift 2
    "$crescent" generate $folder --prompt 'Once upon a time' "$@" >"$T/found" 2>"$log"
    status=$?
    if grep -q 'not on this machine' "$log"; then
        echo "skipped: $what, which this machine does not have"
    elif [ $status -ne 0 ]; then
        report 1 "$what"
    else
        same "$what" "$expected" "$T/found"
    fi
}

for isa in plain avx2 avx512 neon; do
    for backend in tcc cc; do
        tells "greedy, $isa, $backend" tests/fables/greedy.txt --isa $isa --backend $backend
        tells "drawn, $isa, $backend" tests/fables/drawn.txt --isa $isa --backend $backend \
            --temperature 0.7 --seed 1
    done
done
tells 'greedy, one thread, token by token' tests/fables/greedy.txt --threads 1 --chunk 1
tells 'drawn, three threads' tests/fables/drawn.txt --threads 3 --temperature 0.7 --seed 1

# At least eighteen of twenty stories end by themselves, with a whole sentence, and have only words of the grammar.
words() {
    tr -cs 'A-Za-z' '\n' <"$1" | sed '/^$/d' | LC_ALL=C sort -u
}
words "$T/stories" >"$T/words"
whole=0
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$crescent" generate $folder --prompt 'Once upon a time' --temperature 0.7 --seed $seed \
        >"$T/told" 2>"$log"
    words "$T/told" | LC_ALL=C comm -23 - "$T/words" >"$T/others"
    if grep -q '\.$' "$T/told" && [ "$(wc -w <"$T/told")" -lt 180 ] && ! [ -s "$T/others" ]; then
        whole=$((whole + 1))
    fi
done
echo "$whole whole stories of 20, expected 18 at least" >"$log"
[ $whole -ge 18 ]
report $? 'stories are whole'

conclude
