#!/bin/sh
# train_demo.sh - trains a small GPT or Llama that sorts ten digits, and tests it.
#
# train_demo.sh [MODEL]         trains graphs/train_sort.lua from random weights, on questions that the script
#                               draws, then tests it; leaves the weights and the curve of the losses in
#                               build/train-demo/.  MODEL is gpt2 or llama
# train_demo.sh --ask WEIGHTS [MODEL]
#                               tests weights: prints eight answers, and how many of 10000 answers are right
#                               in every digit
# $CRESCENT is the program.  Exit status 1 if fewer than 99% of the answers are right.
set -u

crescent="${CRESCENT:-build/crescent}"
script=graphs/train_sort.lua
folder=build/train-demo
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT

fail() {
    echo "train_demo.sh: $1" >&2
    exit 1
}

# Prints a command and runs it.
show() {
    echo "$ $*" | sed "s,$crescent,crescent,"
    "$@" || fail "failed: $*"
}

learn() {
    curve=
    if command -v gnuplot >/dev/null 2>&1; then
        curve="--loss-curve $folder/loss.svg"
    fi
    mkdir -p "$folder" || exit 1
    rm -f "$folder"/*
    case $model in
    gpt2) echo 'A GPT of two layers, which knows ten digits and nothing of them, learns to sort.' ;;
    *) echo 'A Llama of two layers, which knows ten digits and nothing of them, learns to sort.' ;;
    esac
    echo
    show "$crescent" train "$script" --set model=$model --save "$folder/sort.safetensors" $curve
    echo
    echo 'There are 10,000,000,000 questions; it saw 160,000.  Here are eight of the others:'
    echo
}

# answer SEED N: runs N questions; leaves question, answer and exact in $T as .npy files.
answer() {
    "$crescent" run "$script" --set model=$model --set task=answer --seed "$1" --set B="$2" --strict \
        --weights "$weights" --output "question=$T/question" --output "answer=$T/answer" \
        --output "exact=$T/exact" >"$T/log" 2>&1 || fail "no answers: $(cat "$T/log")"
}

# Prints the elements of a .npy file, of the type $1 (in the notation of od), $2 on a line.
elements() {
    header=$(od -An -tu2 -j8 -N2 "$3")
    od -An -v "-t$1" "-w$((4 * $2))" -j $((header + 10)) "$3" | tr -d ' '
}

ask() {
    weights=$1
    answer 2 8
    elements d4 10 "$T/question" >"$T/questions"
    elements d4 10 "$T/answer" | paste -d' ' "$T/questions" - | sed 's/.* /    &-> /'
    answer 1 10000
    echo
    elements f4 1 "$T/exact" | awk '{
        printf "Right in every digit: %.0f of 10000 answers\n", $1 * 10000
        exit !($1 >= 0.99)
    }' || fail 'that is less than 99%'
}

case "${1-} $#" in
' 0') model=gpt2 ;;
'gpt2 1' | 'llama 1') model=$1 ;;
'--ask 2') model=gpt2 ;;
'--ask 3') model=$3 ;;
*) fail "found '$*', expected a MODEL, nothing or --ask WEIGHTS [MODEL]" ;;
esac
case "${1-}" in
--ask) ask "$2" ;;
*) learn && ask "$folder/sort.safetensors" ;;
esac
