#!/bin/sh
# demo.sh - shows the whole path of one model on real input: from a Lua script through the passes to C, run in memory
# and as a program of its own, and compared with PyTorch.
#
# The input is tests/fixtures/demo: the weights of a GPT-2 block, an input x, and the output y that PyTorch computed
# from them in double precision.  The C is left in build/demo/. Then a model that Crescent has trained answers a
# question, and another one tells a story.  $CRESCENT is the program, $CC the compiler, $LEVEL its level of
# optimisation (-O2), $CRESCENT_DATA a folder with models from outside the project.  Exit status 1 if a result
# differs.
set -u

crescent="${CRESCENT:-build/crescent}"
cc="${CC:-cc}"
fixture=tests/fixtures/demo
folder=build/demo
c_file="$folder/gpt2_block.c"

fail() {
    echo "demo.sh: $1" >&2
    exit 1
}

step=0
title() {
    step=$((step + 1))
    printf '\n== %d. %s\n\n' "$step" "$1"
}

# Reads case.txt: the script, its options, and the tolerance of the comparison with PyTorch.
script=$(sed -n 's/^script //p' "$fixture/case.txt")
atol=$(sed -n 's/^atol //p' "$fixture/case.txt")
settings=$(sed -n 's/^set /--set /p' "$fixture/case.txt" | tr '\n' ' ' | sed 's/ $//')
files="--weights $fixture/model.safetensors --input x=$fixture/x.npy"
[ -n "$script" ] && [ -n "$atol" ] || fail "$fixture/case.txt: expected a script and an atol"

# Prints a command, with the names of long parts in place of them, and runs it.
show() {
    echo "$ $*" | sed "s,$crescent,crescent,; s,$settings,\$OPTIONS,; s,$files,\$FILES,"
    "$@" || fail "failed: $*"
}

# Prints each pass with the size of the graph after it, and the number of kernels from fuse on.
passes() {
    "$crescent" dump "$script" $settings >"$folder/passes" || return 1
    sed -n 's/^  //p' "$folder/passes" | while read -r pass what; do
        "$crescent" dump "$script" $settings --after "$pass" >"$folder/dump" || exit 1
        awk -v pass="$pass" -v what="$what" '
            /^v\[/ { nodes++ }
            /^-- [0-9]+ kernels$/ { kernels = ", " $2 " kernels" }
            /^static void k[0-9]/ { functions++ }
            { lines++ }
            END {
                if (nodes)
                    printf "%-10s %3d nodes%-11s  %s\n", pass, nodes, kernels, what
                else
                    printf "%-10s %3d lines, %d functions  %s\n", pass, lines, functions, what
            }
        ' "$folder/dump"
    done
}

mkdir -p "$folder" || exit 1
rm -f "$folder"/*

title 'The model: a GPT-2 block, with the weights and the input of a PyTorch block'
show cat "$script"
cat <<END

At the sizes of the weights, which the commands below are given:
OPTIONS="$settings"
FILES="$files"

END
show "$crescent" params "$script" $settings

title 'The passes, from the graph of the script to kernels and their memory'
passes || fail 'a pass could not be dumped'

title 'Compiled in memory by TinyCC, and run'
show "$crescent" run "$script" $settings $files --kernels
echo
"$crescent" run "$script" $settings $files >"$folder/log" || fail 'it did not run again'
sed -n 's/^Compiled: \([0-9]*\) ops -> \([0-9]*\) kernels.*/\1 \2/p' "$folder/log" |
    while read -r before after; do
        echo "Kernels without fusion: $before, one for each operation.  With it: $after."
    done

title 'The same C by the compiler of the system'
show "$crescent" run "$script" $settings $files --backend cc >"$folder/log" || exit 1
grep -E '^(\$|Compiled|Time)' "$folder/log"

title 'Agreement with PyTorch (float64) of the interpreter, TinyCC and the compiler of the system'
show "$crescent" compare "$script" $settings $files --expect "y=$fixture/y.npy" \
    --backends ref,tcc,cc --atol "$atol"

title 'Standalone C: a program of its own, without Crescent'
show "$crescent" emit "$script" $settings -o "$c_file"
show $cc ${LEVEL:--O2} -DGPT2_BLOCK_MAIN "$c_file" -lm -o "$folder/gpt2_block"
show "$folder/gpt2_block" $files --output "y=$folder/y.npy"
echo
echo 'What it wrote, against what TinyCC computes in memory, to the last bit:'
show "$crescent" compare "$script" $settings $files --expect "y=$folder/y.npy" \
    --backends tcc --max-ulp 0

title 'A model that was trained by Crescent: it has learnt to sort ten digits'
show sh tests/train_demo.sh --ask graphs/train_sort.safetensors
echo
echo 'make train-demo trains it anew.'

# Runs a published model if there is one, else our own.
model="${CRESCENT_DATA:-../shared/data}/stories260K-hf" whose='260,000 parameters'
how='--temperature 0.7 --top-p 0.9 --seed 10 --tokens 224'
if ! [ -r "$model/model.safetensors" ]; then
    model=graphs/fables whose='144,000 parameters, trained by Crescent,' how='--temperature 0.7 --seed 7'
fi
title "A whole model, from its folder: a Llama of $whose tells a story"
prompt='Once upon a time'
echo "$ crescent generate $model --prompt '$prompt' $how --stats"
"$crescent" generate "$model" --prompt "$prompt" $how --stats 2>&1 || fail 'it told no story'
echo
echo 'The same seed tells the same story on every machine.  make train-fables trains a model that tells fables.'

rm -f "$folder/passes" "$folder/dump" "$folder/log"
cat <<END

Everything agrees.
    $c_file    the C: the model first, then the runtime it calls
    $folder/gpt2_block.h    its interface
    $folder/gpt2_block      the program made of it
END
