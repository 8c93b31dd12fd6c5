#!/bin/sh
# train.sh - tests `crescent train`.
#
# bits     five steps, a checkpoint, and five more steps have the bytes of ten steps, on every backend and
#          with any threads; batches are used in order; a signal loses no step
# words    one line if output is not a terminal, a line every so many steps with --every, and one line
#          that is written over on a terminal
# curve    it continues after --resume, also on a logarithmic axis and beside that of a validation
# lost     if a result could not be saved, this is reported before the first step; a full disk, a closed
#          terminal and a loss that is NaN leave the last good file
# errors   one line, exit status 2, and no new file
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# make SCRIPT OUTPUT FILE: runs a script and writes one of its outputs to a .npy file.
make() {
    printf '%s\n' "$1" >"$T/make.lua"
    "$crescent" run "$T/make.lua" --output "$2=$3" >/dev/null || exit 1
}

# Ids 0, 1, ... as the training script makes them; targets of two batches, one after the other.
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

# steps NAME N OPTION...: makes N steps of the small net, and writes the checkpoint $T/NAME.
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

# The batches of one file, compared with files of one batch each.
steps two 2
data="--input ids=$T/ids.npy --input target=$T/0.npy"
steps first 1
data="--input ids=$T/ids.npy --input target=$T/1.npy"
steps second 1 --resume "$T/first"
same 'two batches in turn' "$T/two" "$T/second"

# The same batches in Fortran order: the transposed array with another header.
make 'local function batch(n)
    return where(lt(iota({12, 1}, 1), 6), const(n, {12, 1}, "i32"), 3)
end
return {t = concat({batch(0), batch(1)}, 2)}' t "$T/columns.npy"
LC_ALL=C sed '1s/False, .shape.: (12, 2)/True , '"'shape'"': (2, 12)/' "$T/columns.npy" >"$T/fortran.npy"
data="--input ids=$T/ids.npy --input target=$T/fortran.npy"
steps fortran 2
same 'two batches in turn, in Fortran order' "$T/two" "$T/fortran"
data="--input ids=$T/ids.npy --input target=$T/both.npy"

# ---- options ----

# A checkpoint keeps the options of its script and the seed: a resumed training continues with them.  If the command
# line says otherwise, that counts, and a note says so.
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
    grep -q "^crescent: note: $T/four: the checkpoint was made with lr=0.01, the training continues with lr=0.02\$" "$log"
report $? 'another rate is told, an option set to what it was is not'
! cmp -s "$T/eight" "$T/other"
report $? 'another rate, the same bits'
train graphs/train_sort.lua --resume "$T/four" --log 30
tail -n 2 "$log" | grep -q '^Trained 56 steps after 4: '
report $? 'the steps in all are those of the first command'

# --every keeps the checkpoint of the last multiple, unless the last step replaces it.
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

# ---- a Llama, whose options are in a file ----

echo 'return {model = "llama", digits = 3, n_embd = 16, n_head = 2, n_layer = 1, B = 8, warmup = 2,
    steps = 60, lr = 0.01}' >"$T/llama.lua"
train graphs/train_sort.lua --config "$T/llama.lua" --steps 8 --checkpoint "$T/eight"
train graphs/train_sort.lua --config "$T/llama.lua" --steps 4 --checkpoint "$T/four"
train graphs/train_sort.lua --resume "$T/four" --steps 4 --checkpoint "$T/rest"
report $? 'a Llama goes on without the file of its options'
same 'a Llama: 8 steps are 4, a checkpoint, and 4 that are told nothing' "$T/eight" "$T/rest"
train graphs/train_sort.lua --config "$T/llama.lua"
awk '/^Trained 60 steps: loss/ { falls = $7 + 0 < $5 * 0.8 } END { exit !falls }' "$log"
report $? 'a Llama: the loss falls'
sh tests/train_demo.sh --ask graphs/train_sort_llama.safetensors llama >"$log" 2>&1
report $? 'graphs/train_sort_llama.safetensors: 99% of the answers are right'

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

# started OPTION...: starts a training of about a minute in the background as $pid, and returns after its first steps;
# its output goes to $T/lines through a pipe, which no limit of file sizes stops.
started() {
    rm -f "$T/pipe" "$T/lines"
    mkfifo "$T/pipe"
    : >"$T/lines" # so that no line of the one before is taken for one of this
    cat "$T/pipe" >>"$T/lines" &
    reader=$!
    "$crescent" train $sort --set steps=60 --steps 300000 --log 1 "$@" >"$T/pipe" 2>&1 </dev/null &
    pid=$!
    while ! grep -q '^step 3/' "$T/lines" && kill -0 $pid 2>/dev/null; do
        sleep 0.05
    done
}

# ended STATUS WHAT: passes if the training ends with that exit status.
ended() {
    wait $pid
    status=$?
    wait $reader
    grep -v '^step ' "$T/lines" >"$log"
    [ $status -eq "$1" ]
    report $? "$2: exit status $status, expected $1"
}

# interrupt SIGNAL: compares the result of an interrupted training with that of a training of as many steps.
interrupt() {
    rm -f "$T/part"
    started --checkpoint "$T/part"
    kill -"$1" $pid
    ended 130 "$1"
    grep -q "^Wrote $T/part" "$T/lines"
    report $? "$1: the state is written"
    made=$(sed -n 's/^Wrote .* after step //p' "$T/lines")
    train $sort --set steps=60 --steps "$made" --checkpoint "$T/whole"
    same "$1: the state after step $made" "$T/part" "$T/whole"
}

interrupt INT
interrupt TERM
interrupt HUP

# Closing a terminal sends several signals; under nohup none of them ends a training.
started --checkpoint "$T/part"
while kill -HUP $pid 2>/dev/null; do :; done
ended 130 'several signals of a terminal that is closed'
grep -q "^Wrote $T/part" "$T/lines"
report $? 'several signals of a terminal that is closed: the state is written'
trap '' HUP
started --checkpoint "$T/part"
trap - HUP
kill -HUP $pid
lines=$(wc -l <"$T/lines")
while [ "$(wc -l <"$T/lines")" -lt $((lines + 300)) ] && kill -0 $pid 2>/dev/null; do
    sleep 0.05
done
kill -0 $pid
report $? 'SIGHUP that is ignored ends nothing'
kill -TERM $pid
ended 130 'SIGTERM after it'

# ---- a step as standalone C, see train_c.sh ----

echo 'return {y = neg(input("x", {2}))}' >"$T/plain.lua"
"$crescent" emit --train "$T/plain.lua" -o "$T/plain.c" >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'no output has the name of a parameter' "$log" && [ ! -e "$T/plain.c" ]
report $? 'emit --train of what is no step'

# ---- words ----

train $small $data --steps 5 --save "$T/some"
[ "$(wc -l <"$log")" -eq 3 ] && grep -q '^Trained 5 steps: loss [0-9.]* to [0-9.]*, ' "$log"
report $? 'two lines where nobody looks, and one for a file'
train $small $data --steps 1
[ "$(wc -l <"$log")" -eq 3 ] &&
    head -n 1 "$log" | grep -q '^crescent: note: .*: neither --checkpoint nor --save, nothing'
report $? 'a line where nothing is saved'
for option in --save --checkpoint; do
    train $small $data --steps 1 $option "$T/some"
    ! grep -q 'nothing that is learned' "$log"
    report $? "no such line with $option"
done
train $small $data --steps 6 --log 2 --save "$T/some"
[ "$(grep -c '^step [246]/6: loss [0-9.]*, .* steps/s$' "$log")" -eq 3 ] &&
    [ "$(wc -l <"$log")" -eq 6 ]
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
train "$T/misspelt.lua" --steps 1 --save "$T/some"
grep -q '^crescent: note: .*output layer.bais has the name of no parameter or input, did you mean layer.bias?$' "$log" &&
    [ "$(wc -l <"$log")" -eq 4 ]
report $? 'an output that is nearly a parameter'

# ---- errors ----

cat >"$T/below.lua" <<'END'
local w = param("w", {2}, {fill = 1})
return {w = w * 2, loss = sum(-w, 1):reshape{}}
END

# refused TEXT OPTION...: passes if the exit status is 2, and the line has the text.
refused() {
    text=$1
    shift
    train "$@"
    status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -qFe "$text" "$log"
    report $? "exit status $status, expected 2 and '$text': $*"
}

# bad TEXT SCRIPT OPTION...: the same for a script that is not a training.
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
bad 'found a state, whose next value is the output of that name' \
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
refused 'a folder, expected' $small $data --steps 1 --checkpoint "$T"
if command -v gnuplot >/dev/null 2>&1; then
    refused 'cannot be written' $small $data --steps 1 --loss-curve "$T/nowhere/c.svg"
    refused 'expected a name that ends in .svg or .png' $small $data --steps 1 --loss-curve "$T/c"
    train $small $data --steps 0 --loss-curve "$T/none.svg"
    grep -q '^Wrote no curve: no loss is known$' "$log" && [ ! -e "$T/none.svg" ]
    report $? 'no step, no curve'
    train "$T/below.lua" --steps 3 --loss-curve "$T/below.svg"
    grep -q 'gnuplot_plot_1' "$T/below.svg"
    report $? 'a curve of losses below 0'
    train $sort --set steps=60 --steps 20 --validate-every 10 --loss-curve "$T/both.svg"
    grep -q 'gnuplot_plot_2' "$T/both.svg"
    report $? 'a curve with a validation'
    train $sort --set steps=60 --steps 20 --log-scale --loss-curve "$T/log.png"
    tail -c 8 "$T/log.png" | grep -q IEND
    report $? 'a logarithmic curve as PNG'
fi
sed 's/= 12, 7, 16$/= 12, 7, 24/' $small >"$T/wider.lua"
refused 'is of another shape or type' "$T/wider.lua" $data --steps 1 --resume "$T/ten"

# ---- files that cannot be written: an error before the first step ----

# unsavable TEXT OPTION...: passes if this is refused before the first step.
unsavable() {
    refused "$@"
    ! grep -q '^Trained' "$log"
    report $? "a step was made: $*"
}

one="$small $data --steps 1"
printf 'local o = options {text = "a"}\nlocal w = param("w", {2}, {fill = 1})
return {w = w * 0.5, loss = sum(w, 1):reshape{}}\n' >"$T/text.lua"
latin=$(printf '\351t\351')
unsavable "option text is '\xe9t\xe9', expected UTF-8" "$T/text.lua" --set "text=$latin" --steps 1 \
    --checkpoint "$T/text"
train "$T/text.lua" --set "text=$latin" --steps 1 --save "$T/text"
report $? 'parameters alone have no options in them'

# One file under two names: the same path, another path, and links, also of a folder; whether or not the file exists.
mkdir "$T/dir" && ln -s dir "$T/link_of_dir"
: >"$T/old" && ln "$T/old" "$T/hard" && ln -s old "$T/soft"
for pair in c:c c:./c dir/c:link_of_dir/c dir/c:dir/../dir/c old:./old old:hard old:soft; do
    unsavable 'name this file, expected a file for each' $one --checkpoint "$T/${pair%:*}" \
        --save "$T/${pair#*:}"
done
[ ! -s "$T/old" ] && [ ! -e "$T/c" ]
report $? 'a file that was refused is as it was'
here=$(cd "$(dirname "$crescent")" && pwd)
(cd "$T" && "$here/$(basename "$crescent")" train text.lua --steps 1 --save new --checkpoint ./new) \
    >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'both --checkpoint and --save (new) name this file' "$log"
report $? 'a name without a folder'
cp "$T/text.lua" "$T/mine.lua" && cp "$T/0.npy" "$T/mine.npy"
unsavable 'both --save and the script' "$T/mine.lua" --steps 1 --save "$T/./mine.lua"
unsavable 'both --checkpoint and --input' $small --input "ids=$T/ids.npy" \
    --input "target=$T/mine.npy" --steps 1 --checkpoint "$T/mine.npy"
unsavable 'both --save and --resume' $small $data --steps 1 --resume "$T/ten" --save "$T/ten"
unsavable 'both --save and --weights' $one --weights "$T/ten" --save "$T/ten"

# A path that is no regular file, that has no folder, or that must not be replaced.
long=$(printf '%0300d' 0)
for option in --checkpoint --save; do
    unsavable 'a folder, expected' $one $option "$T/dir"
    unsavable 'cannot be written: No such file' $one $option "$T/nowhere/c"
    unsavable 'cannot be written: Not a directory' $one $option "$T/old/c"
    unsavable 'cannot be written: File name too long' $one $option "$T/$long"
    unsavable "$option: an empty name" $one $option ''
    unsavable 'a character device, expected' $one $option /dev/full
    (ulimit -f 1 && train $one $option "$T/large") # 512 or 1024 bytes
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && [ ! -e "$T/large" ] &&
        grep -q "^crescent: $T/large: cannot be written: File too large\$" "$log"
    report $? "$option: no room for the file"
done

# Root may write everything, so these tests run as another user.
chmod 755 "$T" && mkdir -m 1777 "$T/sticky" && : >"$T/sticky/old" && chmod 666 "$T/sticky/old"
mkdir -m 777 "$T/open" && : >"$T/open/read_only" && chmod 444 "$T/open/read_only"
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
if [ "$(id -u)" -eq 0 ] && $nobody "$crescent" --version >/dev/null 2>&1; then
    for case in "dir/c:Permission denied" "open/read_only:Permission denied" \
        "sticky/old:it is somebody else's"; do
        $nobody "$crescent" train "$T/text.lua" --steps 1 --save "$T/${case%%:*}" >"$log" 2>&1
        [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] &&
            grep -q "/${case%%:*}: cannot be written: ${case#*:}" "$log"
        report $? "${case%%:*}, by somebody who may not"
    done
elif [ "$(id -u)" -ne 0 ]; then
    unsavable 'cannot be written: Permission denied' $one --save "$T/open/read_only"
else
    echo 'skipped: files of somebody else, as there is no setpriv(1)'
fi

# A file that is a mount point, and a file system that is too small, if this user may mount.
mounted='mount --bind "$1" "$1" && mount -t tmpfs -o size=4k none "$2"'
mkdir "$T/tmpfs" && : >"$T/mount"
if unshare -m sh -c "$mounted" sh "$T/mount" "$T/tmpfs" 2>/dev/null; then
    for case in "mount:something is mounted there" "tmpfs/c:No space left on device"; do
        unshare -m sh -c "$mounted"' && shift 2 && "$@"' sh "$T/mount" "$T/tmpfs" \
            "$crescent" train $sort --set steps=60 --steps 1 --save "$T/${case%%:*}" >"$log" 2>&1
        [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] &&
            grep -q "/${case%%:*}: cannot be written: ${case#*:}" "$log"
        report $? "${case%%:*}: ${case#*:}"
    done
else
    echo 'skipped: small file systems, as none can be mounted'
fi

# ---- a disk that is full when a file is written ----

# A limit of file sizes stands for a full disk.  The previous checkpoint is kept, files on other disks are still
# written, and no message says that a file was written that was not.
if command -v prlimit >/dev/null 2>&1; then
    train $sort --set steps=60 --steps 2 --checkpoint "$T/part"
    cp "$T/part" "$T/before"
    started --resume "$T/before" --checkpoint "$T/part" --save "$T/full_weights"
    prlimit --pid $pid --fsize=8192
    kill -TERM $pid
    ended 2 'a full disk at the end'
    grep -q "^crescent: $T/part: cannot be written: File too large\$" "$log" &&
        ! grep -q '^Wrote' "$log" && [ ! -e "$T/full_weights" ]
    report $? 'a full disk at the end: a line'
    same 'a full disk at the end: the checkpoint of before' "$T/part" "$T/before"
    started --resume "$T/before" --checkpoint "$T/part" --every 1
    prlimit --pid $pid --fsize=8192
    ended 2 'a full disk on the way'
    grep -q "^crescent: $T/part: cannot be written: File too large\$" "$log" &&
        train $sort --steps 1 --resume "$T/part" --save "$T/some"
    report $? 'a full disk on the way: a line, and the last checkpoint is whole'
else
    echo 'skipped: a full disk, as there is no prlimit(1)'
fi

# ---- the curve ----

# A program in place of gnuplot keeps the script that it is given.  $END is how its picture ends.
mkdir "$T/bin"
cat >"$T/bin/gnuplot" <<END
#!/bin/sh
cat >"$T/script"
printf '<svg>%s\n\n' "\$END"
END
chmod 755 "$T/bin/gnuplot"
real_path=$PATH
PATH=$T/bin:$PATH END='</svg>'
export END

# drawn NAME: copies the script of the last curve to $T/NAME.
drawn() {
    report $? "a curve: $1"
    mv "$T/script" "$T/$1"
}

held="--validate-every 3 --validation-input ids=$T/ids.npy --validation-input target=$T/both.npy"
curve="--loss-curve $T/c.svg"
train $small $data --steps 20 $curve $held --checkpoint "$T/twenty"
drawn whole
train $small $data --steps 7 $held --checkpoint "$T/seven"
train $small $data --steps 13 $curve $held --resume "$T/seven" --checkpoint "$T/thirteen"
drawn resumed
same 'a curve of a training that was resumed is that of one that was not' "$T/whole" "$T/resumed"
same 'checkpoints have the losses of both runs' "$T/twenty" "$T/thirteen"
[ "$(sed -n '/^\$losses/,/^END/p' "$T/whole" | grep -c '^[0-9]')" -eq 20 ]
report $? 'a point for each of few steps'
[ "$(sed -n '/^\$validations/,/^END/p' "$T/whole" | grep -c '^[0-9]')" -eq 7 ]
report $? 'validations after 0, 3, .. 18 steps'
grep -q "title 'validation'" "$T/whole" && ! grep -q 'logscale' "$T/whole"
report $? 'a line for the validation'
train $small $data --steps 0 $curve --log-scale --resume "$T/seven"
drawn logarithmic
grep -q '^set logscale y$' "$T/logarithmic" && grep -q 'xrange \[0:7\]' "$T/logarithmic"
report $? 'a logarithmic axis; a checkpoint is enough to draw'
train "$T/below.lua" --steps 3 $curve --log-scale
grep -q '^Wrote no curve: no loss is above 0$' "$log"
report $? 'no loss that a logarithmic axis has room for'
unsavable '--log-scale: expected --loss-curve' $one --log-scale
unsavable 'both --save and --loss-curve' $one --save "$T/same.svg" --loss-curve "$T/./same.svg"
mkdir "$T/dir.svg"
for kind in dir.svg:'a folder' nowhere/c.svg:'cannot be written'; do
    unsavable "${kind#*:}" $one --loss-curve "$T/${kind%%:*}"
done

# An incomplete picture is an error, and the previous picture is kept.
echo before >"$T/c.svg"
END=
train $small $data --steps 2 $curve --save "$T/some"
status=$? END='</svg>'
[ $status -eq 2 ] && grep -q "^crescent: $T/c.svg: gnuplot's picture is cut short" "$log" &&
    grep -q "^Wrote $T/some" "$log" && grep -q '^before$' "$T/c.svg"
report $? 'a picture that is cut off'
if command -v prlimit >/dev/null 2>&1; then
    started $curve
    prlimit --pid $pid --fsize=4
    kill -TERM $pid
    ended 2 'a full disk for the curve'
    [ "$(grep '^crescent: ' "$log" | grep -vc '^crescent: note: ')" -eq 1 ] &&
        ! grep -q '^Wrote' "$log" && grep -q '^before$' "$T/c.svg"
    report $? 'a full disk for the curve: a line, and the picture of before'
fi
PATH=$real_path

# ---- validation ----

# The loss is that of the weights on other data, without dropout; the training itself has the same bits with and
# without validation.
train $small $data --steps 9 --save "$T/plain"
train $small $data --steps 9 --save "$T/validated" $held
same 'a validation changes nothing that is learned' "$T/plain" "$T/validated"
train $small $data --steps 9 --save "$T/validated" --validate-every 9 \
    --validation-input "ids=$T/ids.npy" --validation-input "target=$T/both.npy"
shown=$(sed -n 's/^Trained .*, validation \([0-9.]*\), .*/\1/p' "$log")
for batch in 0 1; do
    "$crescent" run $small --set validation=true --weights "$T/plain" --input "ids=$T/ids.npy" \
        --input "target=$T/$batch.npy" --output "loss=$T/loss$batch.npy" >/dev/null 2>&1
done
expected=$(for batch in 0 1; do tail -c 4 "$T/loss$batch.npy" | od -An -tf4; done |
    awk '{ sum += $1 } END { printf "%.4f", sum / 2 }')
[ -n "$shown" ] && [ "$shown" = "$expected" ]
report $? "the loss of the validation is '$shown', expected '$expected'"
for backend in cc ref; do
    train $small $data --steps 9 --save "$T/some" $held --backend $backend
    grep -q ", validation $expected, " "$log"
    report $? "validation by $backend"
done
train $sort --set steps=60 --steps 2 --validate-every 1 --save "$T/some"
grep -q ', validation [0-9.]*, ' "$log"
report $? 'a script that draws its own data of validation'
cat >"$T/state.lua" <<'END'
local o = options {validation = false}
local w, seen = param("w", {2}), input("seen", {}, "f32", {fill = 0})
return {w = w * 0.5, seen = seen + 1, loss = o.validation and seen * 2 or sum(w, 1):reshape{}}
END
train "$T/state.lua" --steps 3 --validate-every 3 --save "$T/some"
grep -q ', validation 6.0000, ' "$log"
report $? 'the state of a validation is that of the training'
sed 's/, validation = false//; s/not o.validation and step or nil/step/' $small >"$T/dropout.lua"
train "$T/dropout.lua" $data $held --steps 1 --set dropout=0 --save "$T/some"
report $? 'a script without the option, and without dropout'
unsavable 'the loss depends on random numbers' "$T/dropout.lua" $data $held --steps 1
unsavable 'no data for the validation, expected --validation-input NAME' "$T/dropout.lua" $data \
    --steps 1 --validate-every 1
unsavable 'input ids has no data for the validation' $one --validate-every 1
unsavable '--validation-input x: no input of that name' $one $held --validation-input "x=$T/0.npy"
unsavable '--validation-input step: found a state' $one $held \
    --validation-input "step=$T/0.npy"
unsavable 'the array has shape [2, 6], expected [12]' $one $held \
    --validation-input "ids=$T/shape.npy"
unsavable '--validation-input ids: expected --validate-every' $one \
    --validation-input "ids=$T/ids.npy"
unsavable 'both --save and --validation-input' $one $held --validation-input "ids=$T/mine.npy" \
    --save "$T/mine.npy"

# ---- losses and parameters that are not finite ----

# `bad` is the step whose loss is not finite.  With `late`, the parameters are not finite after that step, and no loss
# shows it.  `unseen` is the step after which the loss of the validation is not finite.
cat >"$T/diverge.lua" <<'END'
local o = options {bad = 4, infinite = false, late = false, unseen = -1, validation = false}
local step = input("step", {}, "i32", {fill = 0})
local w = param("w", {2}, {fill = 1})
local at = float(step + 1) -- from 1
local bad = eq(at, o.bad)
local value = o.infinite and 1e30 * 1e30 or log(-float(step + 1))
local loss = sum(w, 1):reshape{}
local next = w * 0.5
if o.late then
    next = where(bad:expand{2}, w * 0 / 0, next)
    loss = loss * 0 + 1
elseif o.validation then
    loss = where(eq(float(step), o.unseen), value, loss)
else
    loss = where(bad, value, loss)
end
return {w = next, step = step + 1, loss = loss}
END

# diverges TEXT STEP OPTION...: passes if the status is 2 and one line has the text; checkpoint and weights are those
# after STEP.
diverges() {
    text=$1 made=$2
    shift 2
    train "$T/diverge.lua" "$@" --steps "$made" --checkpoint "$T/good" --save "$T/good_weights"
    report $? "$made steps before those that diverge"
    cp "$T/good" "$T/kept"
    cp "$T/good_weights" "$T/kept_weights"
    train "$T/diverge.lua" "$@" --steps 4 --every 1 --checkpoint "$T/good" --save "$T/good_weights"
    [ $? -eq 2 ] && [ "$(grep -c '^crescent: ' "$log")" -eq 1 ] && grep -qFe "$text" "$log" &&
        ! grep -q '^Wrote' "$log"
    report $? "a line with '$text'"
    same "$text: the last good checkpoint" "$T/good" "$T/kept"
    same "$text: the parameters of before" "$T/good_weights" "$T/kept_weights"
}

diverges 'the loss of step 4 is' 3
diverges 'the loss of step 4 is inf' 3 --set infinite=true
diverges 'w is ' 3 --set late=true
diverges 'the loss of the validation after step 2 is' 1 --set unseen=2 --validate-every 1
train "$T/diverge.lua" --set bad=1 --steps 4 --checkpoint "$T/none_good"
[ $? -eq 2 ] && [ ! -e "$T/none_good" ]
report $? 'no file where no step was good'
train "$T/diverge.lua" --set late=true --set bad=1 --steps 1 --checkpoint "$T/none_good"
[ $? -eq 2 ] && [ ! -e "$T/none_good" ]
report $? 'no file of parameters that are no numbers'
PATH=$T/bin:$PATH
train "$T/diverge.lua" --steps 4 $curve --checkpoint "$T/none_good"
[ $? -eq 2 ] && grep -q "^Wrote $T/c.svg: the losses of steps 1 to 3\$" "$log"
report $? 'the curve of a training that diverged'
PATH=$real_path

[ "$(find "$T" -name '.crescent*' | wc -l)" -eq 0 ]
report $? 'files left behind'

conclude
