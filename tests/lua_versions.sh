#!/bin/sh
# lua_versions.sh PROGRAM PROGRAM - tests that two programs, built with different versions of Lua, make the same
# graph, or the same error, of every script of the tree and every model of fixtures.sh.  Therefore suites that test
# what happens to a graph run with one Lua.  The last line is "N passed, M failed".
set -u

. "$(dirname "$0")/report.sh"

# read_by PROGRAM SCRIPT OPTION...: prints the graph and the exit status.  Lines at(...), the places of nodes, are
# left out where versions of Lua differ: LuaJIT keeps more of tail calls.
read_by() {
    program=$1
    shift
    "$program" dump "$@" --after script >"$T/read" 2>&1
    echo "exit status $?"
    grep -v '^at(' "$T/read"
}

# is_alike SCRIPT OPTION...: passes if both programs print the same; counts graphs.
is_alike() {
    read_by "$first" "$@" >"$T/one"
    read_by "$second" "$@" >"$T/other"
    same "$*" "$T/one" "$T/other"
    ! grep -q '^exit status 0$' "$T/one" || graphs=$((graphs + 1))
}

first=$1 second=$2 graphs=0
for script in graphs/*.lua graphs/experiments/*.lua docs/*.lua tests/*/*.lua tests/fuzz/corpus/*.lua; do
    case $script in
    tests/lua/*) continue ;; # of the module for Lua
    esac
    is_alike "$script"
done
[ "$graphs" -ge 100 ]
report $? "graphs of $graphs scripts"

graphs=0
for folder in tests/fixtures/*; do
    script= options=
    while read -r key value; do
        case $key in
        script) script=$value ;;
        config) options="$options --config $folder/$value" ;;
        set) options="$options --set $value" ;;
        esac
    done <"$folder/case.txt"
    is_alike "$script" $options
done
[ "$graphs" -eq "$(ls -d tests/fixtures/* | wc -l)" ]
report $? "graphs of $graphs fixtures, expected one for each"
conclude
