#!/bin/sh
# import.sh - tests the ONNX files of tests/onnx: their outputs on all backends, and those of the script that
# `crescent import` writes, are compared with ONNX's reference evaluator.  A script is written completely or not at
# all.
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# Options for the files of a model, derived from the names of its outputs: mlp.y.npy.
options() { # OPTION NAME VALUE...
    option=$1 name=$2
    shift 2
    for value in "$@"; do
        printf ' %s %s=tests/onnx/%s.%s.npy' "$option" "$value" "$name" "$value"
    done
}

# try NAME INPUTS OUTPUTS [SETTINGS]: compares a model with its files.
try() {
    inputs=$(options --input "$1" $2) outputs=$(options --expect "$1" $3)
    "$crescent" compare "tests/onnx/$1.onnx" $inputs $outputs --atol 2e-6 --rtol 1e-5 \
        --backends ref,tcc >"$log" 2>&1
    report $? "$1 gives what ONNX's reference evaluator does"
    "$crescent" import "tests/onnx/$1.onnx" ${4-} -o "$T/$1.lua" >"$log" 2>&1 &&
        "$crescent" compare "$T/$1.lua" --weights "$T/$1.safetensors" --strict $inputs $outputs \
            --atol 2e-6 --rtol 1e-5 --backends tcc >"$log" 2>&1
    report $? "$1 as a script gives the same"
}

try mlp x y '--set n=3'
try masked 'q k v mask' y
try pictures x y
try resizes x y
try bits 'a b n' y
try pools 'x v' y
try signals 'x s w q' y
try samples 'x g v gv th rois' y
try cells x y
try quantised x y
try contrib x y
try shapes x 'y z' '--set n=3'
try functions x y
try lookups ids 'y which z more e'
try loops x 'y ys'
try scans 'x u' 'y ys'
try batches 'h0 x' 'y ys'
try known x 'sums picked put largest products column unique y best which at back count kept'

# The script has no input for one without elements, but the file of that is checked.
"$crescent" compare tests/onnx/past.onnx $(options --input past past x) \
    $(options --expect past y mean sizes) --backends ref,tcc >"$log" 2>&1
report $? "past gives what ONNX's reference evaluator does"
"$crescent" import tests/onnx/past.onnx --set p=0 -o "$T/past.lua" >"$log" 2>&1 &&
    ! grep -q 'input("past"' "$T/past.lua" && "$crescent" compare "$T/past.lua" --strict \
    $(options --input past x) $(options --expect past y mean sizes) --backends tcc >"$log" 2>&1
report $? "past as a script gives the same"

# Lines of an imported script.
grep -q 'kept = const(' "$T/known.lua" &&
    ! grep -E '(argmax|cumsum|gather|matmul|mean|narrow|scatter|sum|where)\(' "$T/known.lua"
report $? "what is made of constants is computed before it runs"

grep -q 'scope("ln", nn.layer_norm, x, {eps = 1e-5})' "$T/mlp.lua" && grep -q 'nn.gelu_tanh(' "$T/mlp.lua"
report $? "a layer norm and a GELU are those of the library"

"$crescent" run tests/onnx/mlp.onnx --set n=2 2>"$log" | grep -qx 'Model: mlp (tests/onnx/mlp.onnx)'
report $? "a model is called like its file, without the ending"

# Other verbs.
for verb in 'dump --after fuse' params 'emit -o M.c' 'bench --compile-only'; do
    case $verb in
    emit*) words="emit tests/onnx/mlp.onnx --set n=3 -o $T/mlp.c" ;;
    *) words="${verb%% *} tests/onnx/mlp.onnx --set n=3 ${verb#"${verb%% *}"}" ;;
    esac
    "$crescent" $words >"$log" 2>&1
    report $? "crescent $words"
done

# With lengths, too.
for verb in 'dump --after fuse' params 'explain -o E.html' 'bench --compile-only'; do
    words="${verb%% *} tests/exports/gpt2_dynamic.onnx --length batch=4 --length seq=8"
    case $verb in
    explain*) words="$words -o $T/gpt2.html" ;;
    *) words="$words ${verb#"${verb%% *}"}" ;;
    esac
    "$crescent" $words >"$log" 2>&1
    report $? "crescent $words"
done

# refused WORDS ARGUMENTS: passes if the command ends with status 2 and one line with the words, and writes nothing.
refused() {
    words=$1
    shift
    "$crescent" "$@" >"$T/out" 2>"$log"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q -e "$words" "$log"
    report $? "crescent $* is refused: $words"
}
refused 'expected --set n=N' run tests/onnx/mlp.onnx
refused 'found another shape, expected the shape of input .past.' run tests/onnx/past.onnx --set p=0 \
    --input past=tests/onnx/past.x.npy
refused 'expected a bound from 4 on' bench tests/onnx/mlp.onnx --length n=2
refused 'expected an ONNX file' run docs/tour.lua --length T=8
refused 'no symbolic size' run tests/onnx/mlp.onnx --set n=3 --set m=2
refused 'expected -o NAME.lua' import tests/onnx/mlp.onnx
refused 'ends in .lua' import tests/onnx/mlp.onnx -o "$T/mlp.txt"
head -c 300 tests/onnx/mlp.onnx >"$T/cut.onnx"
refused 'cut short' import "$T/cut.onnx" -o "$T/cut.lua"
refused 'cannot be read' params "$T/none.onnx"
[ ! -e "$T/cut.lua" ] && [ ! -e "$T/cut.safetensors" ]
report $? "nothing is written of a file that is refused"

# Outputs without elements, of each kind: run, written, compared, emitted and read again.
cat >"$T/empty.lua" <<'EOF'
local none = const(0, {0, 3})
return {b = const(1, {0}, "bool"), i = const(0, {2, 0}, "i32"), none = none, again = none}
EOF
"$crescent" run "$T/empty.lua" --output none="$T/none.npy" --output i="$T/i.npy" >"$log" 2>&1 &&
    grep -q 'Output shape: \[2, 0\] (i)' "$log" && grep -aq "'<i4'.*(2, 0)" "$T/i.npy" &&
    "$crescent" compare "$T/empty.lua" --backends ref,tcc --expect none="$T/none.npy" >"$log" 2>&1 &&
    grep -q '^none .* ok ' "$log"
report $? "outputs without elements are written and compared"
"$crescent" emit "$T/empty.lua" --isa plain -o "$T/empty.c" >"$log" 2>&1 &&
    cc -O0 -Wall -Wextra -Wpedantic -Werror -DEMPTY_MAIN "$T/empty.c" -o "$T/empty" -lm -pthread 2>"$log" &&
    "$T/empty" --output none="$T/none2.npy" 2>"$log" && cmp -s "$T/none.npy" "$T/none2.npy"
report $? "the emitted C of outputs without elements writes them"

# docs/onnx-operators.md lists the table of operators.
"$crescent" ops --onnx >"$T/ops" && grep -q 'com.microsoft.FastGelu' "$T/ops"
report $? "crescent ops --onnx lists the operators"

conclude
