#!/bin/sh
# golden.sh [NAME...] - compares what the compiler makes of small scripts with files.
#
# tests/golden/NAME.lua is the script, whose first line says what it shows.  The files beside it have the expected
# texts; their endings:
#
#     .script .simplify .join .fma .fuse .outline .plan   the dump after that pass
#     .program   what the dump after schedule says of the program
#     .kernels   the lines of the dump after states that name the kernels, and bounds on their keys
#     .joined    the lines of the dump after join_tiles that name the kernels
#     .c         the model's C
#     .emitted   its C with sizes by name, as `crescent emit` writes it
#     .err       the one line on stderr, with exit status 2
#
# A script without .err also has to compute the same with tcc as with the interpreter.  BLESS=1 rewrites the expected
# texts; an empty file requests one more.  $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
bless="${BLESS:-}"
. "$(dirname "$0")/report.sh"
found=$T/found

# produce SCRIPT ENDING: prints the text to compare.
produce() {
    case "$2" in
    kernels) "$crescent" dump "$1" --after states | sed -n '/^-- [0-9]* kernels*$/p; /^--   kernel /p; /^--     key /p' ;;
    joined) "$crescent" dump "$1" --after join_tiles | sed -n '/^-- [0-9]* kernels*$/p; /^--   kernel /p' ;;
    program) "$crescent" dump "$1" --after schedule | sed -n '/^-- program /,$p' ;;
    c) "$crescent" dump "$1" --after emit ;;
    emitted)
        "$crescent" emit "$1" --isa plain -o "$T/emitted.c" >"$T/emitted.log" &&
            sed -n '/^\/\* ---- the model/,/^\/\* Computes the outputs/p' "$T/emitted.c"
        ;;
    err)
        "$crescent" run "$1" 2>&1 >/dev/null
        [ $? -eq 2 ]
        ;;
    *) "$crescent" dump "$1" --after "$2" ;;
    esac
}

# check SCRIPT EXPECTED: compares the text with the file.
check() {
    produce "$1" "${2##*.}" >"$found"
    status=$?
    [ -s "$found" ] || status=1
    if [ -n "$bless" ] && [ $status -eq 0 ]; then
        cmp -s "$found" "$2" || { cp "$found" "$2" && echo "blessed $2"; }
    elif [ $status -eq 0 ]; then
        diff -u "$2" "$found"
        status=$?
    fi
    report $status "$2"
}

[ $# -gt 0 ] || set -- $(cd tests/golden && ls | sed -n 's/\.lua$//p')
for name in "$@"; do
    script="tests/golden/$name.lua" checks=0
    for expected in tests/golden/"$name".*; do
        case "$expected" in *.lua) continue ;; esac
        check "$script" "$expected"
        checks=$((checks + 1))
    done
    [ $checks -gt 0 ]
    report $? "$script: nothing is expected of it"
    if [ ! -e "tests/golden/$name.err" ]; then
        "$crescent" compare "$script" --backends ref,tcc >"$found" 2>&1 || cat "$found"
        grep -q '^agreement' "$found"
        report $? "$script: tcc and the interpreter"
    fi
done
conclude
