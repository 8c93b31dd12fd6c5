#!/bin/sh
# train.sh - what `crescent train` promises.
#
# C        a step that was emitted makes the same bits, and has no memory of its own
# bits     ten steps are five, a checkpoint, and five more: the same bytes, whatever the
#          backend and the threads; batches come in turn; a signal loses no step
# words    one line where nobody looks, a line every so many steps where it is asked for,
#          one that is written over on a terminal
# errors   one line, exit status 2, and no file left behind
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# make SCRIPT OUTPUT FILE: the value of an output as a .npy file, made by a script.
make() {
    printf '%s\n' "$1" >"$T/make.lua"
    "$crescent" run "$T/make.lua" --output "$2=$3" >/dev/null || exit 1
}

# Ids 0, 1, .. as the training script has them; targets of two batches, one after the other.
make 'return {ids = concat({iota({7}, 1), iota({5}, 1)}, 1)}' ids "$T/ids.npy"
for batch in 0 1; do
    make "return {t = where(lt(iota({12}, 1), 6), const($batch, {12}, 'i32'), 3)}" t "$T/$batch.npy"
done
make 'local function batch(n)
    return where(lt(iota({1, 12}, 2), 6), const(n, {1, 12}, "i32"), 3)
end
return {t = concat({batch(0), batch(1)}, 1)}' t "$T/both.npy"

small=tests/scripts/train_one.lua
data="--input ids=$T/ids.npy --input target=$T/both.npy"

train() {
    "$crescent" train "$@" >"$log" 2>&1 </dev/null
}

# steps NAME N OPTION...: so many steps of the small net, to the checkpoint $T/NAME.
steps() {
    name=$1 n=$2
    shift 2
    train $small $data --steps "$n" --checkpoint "$T/$name" "$@"
    report $? "$n steps to $name"
}

# ---- bits ----

steps ten 10 --threads 1
steps five 5 --threads 2 --backend cc
steps more 5 --threads 1 --backend tcc --resume "$T/five"
same '10 steps are 5 by cc, a checkpoint, and 5 by tcc' "$T/ten" "$T/more"
steps five 5 --threads 3
steps five 5 --threads 2 --backend cc --resume "$T/five" # over itself
same '10 steps are 5 by tcc, and 5 by cc into the same file' "$T/ten" "$T/five"
steps ten_cc 10 --threads 2 --backend cc
same '10 steps by tcc are 10 by cc' "$T/ten" "$T/ten_cc"
steps seeded 10 --seed 7
! cmp -s "$T/ten" "$T/seeded"
report $? 'another seed, the same bits'
steps none 0
! cmp -s "$T/ten" "$T/none"
report $? 'no step, the same bits as after ten'
steps none_more 10 --resume "$T/none"
same '10 steps after a checkpoint of the beginning' "$T/ten" "$T/none_more"
train $small $data --backend ref --steps 2 --checkpoint "$T/ref"
report $? 'the interpreter trains'

# The batches of a file, against the same from files of one batch each.
steps two 2
data="--input ids=$T/ids.npy --input target=$T/0.npy"
steps first 1
data="--input ids=$T/ids.npy --input target=$T/1.npy"
steps second 1 --resume "$T/first"
same 'two batches in turn' "$T/two" "$T/second"
data="--input ids=$T/ids.npy --input target=$T/both.npy"

# ---- options ----

# A checkpoint has the options of its script, and the seed: what is resumed goes on as it was
# made, unless it is told otherwise, and then it says so.
wide='--set digits=3 --set n_embd=16 --set n_head=2 --set n_layer=1 --set B=8 --set warmup=2'
options="$wide --set steps=60 --set lr=0.01 --seed 3"
train graphs/train_sort.lua $options --steps 8 --checkpoint "$T/eight"
train graphs/train_sort.lua $options --steps 4 --checkpoint "$T/four"
train graphs/train_sort.lua --resume "$T/four" --steps 4 --checkpoint "$T/rest"
report $? 'a training goes on without its options'
same '8 steps are 4, a checkpoint, and 4 that are told nothing' "$T/eight" "$T/rest"
train graphs/train_sort.lua --resume "$T/four" --steps 4 --checkpoint "$T/other" \
    --set lr=0.02 --set B=8
[ "$(wc -l <"$log")" -eq 4 ] &&
    grep -q "^crescent: note: $T/four: made with lr=0.01, goes on with lr=0.02\$" "$log"
report $? 'another rate is told, an option set to what it was is not'
! cmp -s "$T/eight" "$T/other"
report $? 'another rate, the same bits'
train graphs/train_sort.lua --resume "$T/four" --log 30
tail -n 2 "$log" | grep -q '^Trained 56 steps after 4: '
report $? 'the steps in all are those of the first command'

# --every leaves the checkpoint of the last multiple, were it not for the last one.
train $small $data --steps 7 --every 2 --checkpoint "$T/seven"
report $? '--every'
steps seven_plain 7
same 'checkpoints on the way change nothing' "$T/seven" "$T/seven_plain"

# ---- --save, and a training that learns ----

sort='graphs/train_sort.lua --set B=8 --set digits=3 --set n_embd=16 --set n_head=2
    --set n_layer=1 --set lr=0.01 --set warmup=2'
train $sort --set steps=60 --save "$T/weights" --checkpoint "$T/sixty" --loss-curve "$T/curve.svg"
status=$?
if command -v gnuplot >/dev/null 2>&1; then
    report $status 'a training to its end'
    grep -q '</svg>' "$T/curve.svg" && grep -q 'gnuplot_plot_1' "$T/curve.svg"
    report $? 'the curve has a line'
else
    echo 'skipped: the curve, as gnuplot is not here'
    grep -q 'gnuplot' "$log" && [ $status -eq 2 ]
    report $? 'no gnuplot is an error that names it'
    train $sort --set steps=60 --save "$T/weights" --checkpoint "$T/sixty"
    report $? 'a training to its end'
fi
awk '/^Trained 60 steps: loss/ { falls = $7 + 0 < $5 * 0.8 } END { exit !falls }' "$log"
report $? 'the loss falls'
"$crescent" run $sort --set task=answer --weights "$T/weights" --strict >"$log" 2>&1
report $? '--save writes the parameters alone'

# ---- the model that is committed ----

sh tests/train_demo.sh --ask graphs/train_sort.safetensors >"$log" 2>&1
report $? 'graphs/train_sort.safetensors: 99% of the answers are right'
[ "$(grep -c '^    [0-9]* -> [0-9]*$' "$log")" -eq 8 ] &&
    awk '/->/ {
        n = split($1, digit, "")
        for (i = 2; i <= n; i++) # insertion, of the question
            for (j = i; j > 1 && digit[j - 1] > digit[j]; j--) {
                d = digit[j]; digit[j] = digit[j - 1]; digit[j - 1] = d
            }
        sorted = ""
        for (i = 1; i <= n; i++) sorted = sorted digit[i]
        right += n == 10 && sorted == $3
    } END { exit !(right >= 7) }' "$log"
report $? 'seven of the eight answers that are shown, sorted here, too'
sh tests/train_demo.sh --ask "$T/weights" >"$log" 2>&1
[ $? -eq 1 ]
report $? 'weights of another model do not pass'

# ---- signals ----

# interrupt SIGNAL: ends a training that would take a minute, once it made some steps, and holds
# what it wrote against a training of as many.
interrupt() {
    rm -f "$T/part"
    : >"$T/lines"
    "$crescent" train $sort --set steps=60 --steps 300000 --checkpoint "$T/part" --log 1 \
        >>"$T/lines" 2>&1 </dev/null &
    pid=$!
    while ! grep -q '^step 3/' "$T/lines" && kill -0 $pid 2>/dev/null; do
        sleep 0.05
    done
    kill -"$1" $pid
    wait $pid
    [ $? -eq 130 ]
    report $? "$1: exit status 130"
    grep "^Wrote $T/part" "$T/lines" >"$log"
    report $? "$1: the state is written"
    made=$(sed -n 's/^Wrote .* after step //p' "$T/lines")
    train $sort --set steps=60 --steps "$made" --checkpoint "$T/whole"
    same "$1: the state after step $made" "$T/part" "$T/whole"
}

interrupt INT
interrupt TERM

# ---- a step as standalone C ----

# symbols OBJECT: what a step may not have: variables that change, other names, allocation.
symbols() {
    nm "$1" | awk '
        $(NF - 1) ~ /[bBdDCsSgG]/ { print $NF " changes" }
        $(NF - 1) ~ /[TRVW]/ && $NF !~ /^_?train_sort_/ { print $NF " is no name of the model" }
        $1 == "U" && $2 ~ /^_?(malloc|calloc|realloc|free|aligned_alloc|mmap)$/ {
            print $2 " is called"
        }'
}

# docs/call_training.c, for a step that has two more outputs.
sed 's/train_add/train_sort/g; s/TRAIN_ADD/TRAIN_SORT/g; s/float loss;/float loss, rate, tokens;/
    s/&loss, arena/\&loss, \&rate, \&tokens, arena/' docs/call_training.c >"$T/call_training.c"

# ten_in_c COMPILER OPTIONS: ten steps by that program are ten of `crescent train`.
ten_in_c() {
    what="ten steps in C by $1 $2"
    $1 -Wall -Werror -I"$T" $2 "$T/call_training.c" "$T/train_sort.c" -o "$T/ten_in_c" -lm \
        >"$log" 2>&1 && "$T/ten_in_c" "$T/start" 10 "$T/tensors" >"$log" 2>&1
    report $? "$what: built and run"
    tail -c "$(wc -c <"$T/tensors")" "$T/steps" >"$T/expected"
    same "$what: the same bits" "$T/tensors" "$T/expected"
    rm -f "$T/tensors"
}

train $sort --set steps=60 --steps 0 --checkpoint "$T/start"
train $sort --set steps=60 --steps 10 --checkpoint "$T/steps"
"$crescent" emit --train $sort --set steps=60 -o "$T/train_sort.c" >"$log" 2>&1
report $? 'emit --train'
strict='-std=c11 -Wextra -Wpedantic'
daring='-march=native -ffp-contract=fast' # which the file undoes
for compiler in gcc clang; do
    if command -v $compiler >/dev/null 2>&1; then
        ten_in_c $compiler "$strict -O2"
        ten_in_c $compiler "$strict -O3 $daring -DTRAIN_SORT_THREADS=2 -pthread"
    else
        echo "skipped: $compiler is not installed"
    fi
done
if command -v tcc >/dev/null 2>&1; then
    ten_in_c tcc '-std=c11'
else
    echo 'skipped: tcc is not installed'
fi
if [ -d /proc/self/task ]; then
    ten_in_c cc '-O1 -g -fsanitize=address,undefined -fno-sanitize-recover'
else
    echo 'skipped: sanitizers need /proc'
fi
cc -O1 -fno-pic -fno-pie -c "$T/train_sort.c" -o "$T/train_sort.o" >"$log" 2>&1
report $? 'a step in C, without PIC'
symbols "$T/train_sort.o" >"$log"
[ ! -s "$log" ]
report $? 'a step in C has no memory of its own'
echo 'return {y = neg(input("x", {2}))}' >"$T/plain.lua"
"$crescent" emit --train "$T/plain.lua" -o "$T/plain.c" >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'no output has the name of a parameter' "$log" && [ ! -e "$T/plain.c" ]
report $? 'emit --train of what is no step'

# ---- words ----

train $small $data --steps 5
[ "$(wc -l <"$log")" -eq 2 ] && grep -q '^Trained 5 steps: loss [0-9.]* to [0-9.]*, ' "$log"
report $? 'two lines where nobody looks'
train $small $data --steps 6 --log 2
[ "$(grep -c '^step [246]/6: loss [0-9.]*, .* steps/s$' "$log")" -eq 3 ] &&
    [ "$(wc -l <"$log")" -eq 5 ]
report $? 'a line every two steps'
train $sort --set steps=4 --log 2
grep -q '^step 2/4: loss [0-9.]*, lr [0-9.e-]*, [0-9,]* tokens/s$' "$log"
report $? 'learning rate and tokens, where the script has them'
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "'$crescent' train $(echo $sort) --set steps=4" /dev/null >"$log" 2>&1 </dev/null
    tr '\r' '\n' <"$log" | grep -q '^step 4/4: loss .*, .* tokens/s, 0 s left'
    report $? 'on a terminal, a line that is written over'
else
    echo 'skipped: the line on a terminal, as there is no script(1) to make one'
fi

cat >"$T/misspelt.lua" <<'END'
local w, b = param("layer.weight", {2}), param("layer.bias", {2})
return {["layer.weight"] = w * 0.5, ["layer.bais"] = b * 0.5, norm = w,
    loss = sum(w + b, 1):reshape{}}
END
train "$T/misspelt.lua" --steps 1
grep -q '^crescent: note: .*output layer.bais replaces nothing, did you mean layer.bias?$' "$log" &&
    [ "$(wc -l <"$log")" -eq 3 ]
report $? 'an output that is nearly a parameter'

# ---- errors ----

cat >"$T/below.lua" <<'END'
local o = options {nan = false}
local w = param("w", {2}, {fill = 1})
return {w = w * 2, loss = sum(o.nan and log(-w) or -w, 1):reshape{}}
END

# refused TEXT OPTION...: exit status 2, and a line that has the text.
refused() {
    text=$1
    shift
    train "$@"
    status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -qFe "$text" "$log"
    report $? "exit status $status, expected 2 and '$text': $*"
}

# bad TEXT SCRIPT OPTION...: a script that is no training.
bad() {
    text=$1
    printf '%s\n' "$2" >"$T/bad.lua"
    shift 2
    refused "$text" "$T/bad.lua" --steps 1 "$@"
}

weight='local w = param("w", {2}); local l = sum(w * w, 1):reshape{}'
bad 'bad.lua: no output loss, expected' "$weight return {w = w}"
bad 'no output has the name of a parameter' "$weight return {loss = l}"
bad 'output loss is f32 [2], expected one number' "$weight return {w = w, loss = w}"
bad 'output w is f32 [], expected f32 [2] as the parameter' "$weight return {w = l, loss = l}"
bad 'output s is f32 [], expected i32 [] as the input it replaces' \
    "$weight input('s', {}, 'i32') return {w = w, s = l, loss = l}"
bad 'input x has no data, expected --input x=F.npy' \
    "$weight return {w = w * input('x', {2}), loss = l}"
bad 'an output of that name is its value' \
    "$weight return {w = w, x = input('x', {12}, 'i32'), loss = l}" --input "x=$T/0.npy"
refused 'no --steps' $small $data
make 'return {t = iota({2, 6}, 1)}' t "$T/shape.npy"
refused 'the array has shape [2, 6], expected [12]' $small $data --steps 1 \
    --input "ids=$T/shape.npy"
make 'return {t = iota({2, 12}, 2)}' t "$T/range.npy"
refused 'element 7 is 7, expected an id from 0 to 6' $small $data --steps 1 \
    --input "ids=$T/range.npy"
refused 'no input of that name' $small $data --input "id=$T/0.npy" --steps 1
refused 'cannot be opened' $small $data --input "ids=$T/nothing.npy" --steps 1
refused '--every 2: expected --checkpoint' $small $data --steps 1 --every 2
refused '--weights' $small $data --steps 1 --resume "$T/ten" --weights "$T/ten"
refused 'a checkpoint of --seed 7' $small $data --steps 1 --resume "$T/seeded" --seed 0
refused 'no --steps' "$T/misspelt.lua"
refused 'no tensor' $small $data --steps 1 --resume "$T/sixty"
refused 'crescent.step' $sort --steps 1 --resume "$T/weights"
head -c 1000 "$T/ten" >"$T/short"
refused "$T/short" $small $data --steps 1 --resume "$T/short"
refused 'cannot be written' $small $data --steps 1 --checkpoint "$T/nowhere/c"
refused 'cannot be written' $small $data --steps 1 --save "$T/nowhere/c"
refused 'named for two results' $small $data --steps 1 --checkpoint "$T/c" --save "$T/c"
refused 'a folder, expected' $small $data --steps 1 --checkpoint "$T"
if command -v gnuplot >/dev/null 2>&1; then
    refused 'cannot be written' $small $data --steps 1 --loss-curve "$T/nowhere/c.svg"
    refused 'expected a name that ends in .svg or .png' $small $data --steps 1 --loss-curve "$T/c"
    train $small $data --steps 0 --loss-curve "$T/none.svg"
    grep -q '^Wrote no curve: no step was made$' "$log" && [ ! -e "$T/none.svg" ]
    report $? 'no step, no curve'
    train "$T/below.lua" --steps 3 --loss-curve "$T/below.svg"
    grep -q 'gnuplot_plot_1' "$T/below.svg"
    report $? 'a curve of losses below 0'
    train "$T/below.lua" --steps 2 --set nan=true --loss-curve "$T/nan.svg"
    grep -q '^Wrote no curve: no loss is a number$' "$log"
    report $? 'losses that are no numbers'
fi
sed 's/= 12, 7, 16$/= 12, 7, 24/' $small >"$T/wider.lua"
refused 'is of another shape or type' "$T/wider.lua" $data --steps 1 --resume "$T/ten"

[ "$(find "$T" -name '.crescent*' | wc -l)" -eq 0 ]
report $? 'files left behind'

conclude
