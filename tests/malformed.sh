#!/bin/sh
# malformed.sh - gives a collection of malformed files to the program and to the main of a standalone file.  A file
# that must be refused ends with status 2 and one line on stderr; no file makes a program end by a signal, run for 10
# seconds, or use 1 GB.
#
# The collection is not part of the project: without ../shared/data/malformed the test is skipped.  $CRESCENT is the
# program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
data=../shared/data/malformed
if [ ! -f "$data/manifest.json" ]; then
    echo "skipped: $data is not here"
    echo "0 passed, 0 failed"
    exit 0
fi
. "$(dirname "$0")/report.sh"

# A model without parameters: a message about weights is then about the file alone.
echo "return {y = neg(input('x', {2, 3}))}" >"$T/plain.lua"
main="$T/plain"
"$crescent" emit "$T/plain.lua" --isa plain -o "$main.c" >/dev/null &&
    ${CC:-cc} -O1 -DPLAIN_MAIN "$main.c" -o "$main" -lm || exit 1
echo "return {x = const(1, {2, 3})}" >"$T/ones.lua"
"$crescent" run "$T/ones.lua" --output "x=$T/x.npy" >/dev/null || exit 1

# Programs with a sanitizer reserve more address space than any limit.
limit="ulimit -v 1000000"
sh -c "$limit && '$crescent' --version" >/dev/null 2>&1 || limit=true

# try KIND PROGRAM...: reads $data/$file as weights or as input.  Sets `status`.
try() {
    kind=$1 weights= input="$T/x.npy"
    shift
    case $kind in
    weights) weights="--weights $data/$file" ;;
    input) input="$data/$file" ;;
    esac
    rm -f "$T/y.npy"
    (eval "$limit" && exec timeout 600 "$@" $weights --input "x=$input" \
        --output "y=$T/y.npy") >"$T/out" 2>"$log" </dev/null
    status=$?
}

# Succeeds if `status` and the text on stderr are as expected: accept, reject, or either.
is_fine() {
    lines=$(wc -l <"$log")
    case "$1 $status" in
    'accept 0' | 'either 0') [ "$lines" -le 1 ] && [ -f "$T/y.npy" ] ;;
    'reject 2' | 'either 2') [ "$lines" -eq 1 ] && [ ! -f "$T/y.npy" ] ;;
    *) false ;;
    esac
}

check() {
    is_fine "$1"
    report $? "$2: $file: exit status $status, expected to $1"
}

# The manifest has one field a line; the name of each file and the expected result are taken from it.
sed -n 's/^ *"file": "\(.*\)",$/\1/p; s/^ *"expect": "\(.*\)",$/\1/p' "$data/manifest.json" |
    paste -d ' ' - - >"$T/list"
[ -s "$T/list" ] || { echo "$data/manifest.json: no files in it"; exit 1; }

# Succeeds if program and main may refuse $file for different reasons: the program reads GGUF, a main does not.
is_gguf() {
    [ "$(head -c 4 "$data/$file")" = GGUF ]
}

# A valid array is refused, too, if its shape is not that of the input.
while read -r file expect; do
    [ "$expect" = accept-format ] && expect=accept
    kind=weights
    case $file in
    *.npy)
        kind=input
        [ "$expect" = accept ] && expect=either
        ;;
    esac
    try $kind "$crescent" run "$T/plain.lua"
    check "$expect" crescent
    reason=$(sed 's/^crescent: //' "$log") first=$status
    try $kind "$main"
    check "$expect" main
    [ "$first" -eq "$status" ] && { [ "$status" -eq 0 ] || [ "$reason" = "$(cat "$log")" ] ||
        [ "$kind" = input ] || is_gguf; }
    report $? "$file: the program says '$reason', the main another thing"
done <"$T/list"

conclude
