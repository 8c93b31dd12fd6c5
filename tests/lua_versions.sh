#!/bin/sh
# lua_versions.sh PROGRAM PROGRAM - every script of the tree is the same graph, or the same error, whichever Lua
# has read it.
#
# So suites that are about what becomes of a graph run with one Lua.  The last line is "N passed, M failed".
set -u

. "$(dirname "$0")/report.sh"

# read_by PROGRAM SCRIPT: what it prints, and how it ends.  The lines that nodes are of, at(...), are those
# that a Lua remembers; LuaJIT forgets less of tail calls.
read_by() {
    "$1" dump "$2" --after script >"$T/read" 2>&1
    echo "exit status $?"
    grep -v '^at(' "$T/read"
}

graphs=0
for script in graphs/*.lua graphs/experiments/*.lua docs/*.lua tests/*/*.lua tests/fuzz/corpus/*.lua; do
    case $script in
    tests/lua/*) continue ;; # of the module for Lua
    esac
    read_by "$1" "$script" >"$T/one"
    read_by "$2" "$script" >"$T/other"
    same "$script" "$T/one" "$T/other"
    ! grep -q '^exit status 0$' "$T/one" || graphs=$((graphs + 1))
done
[ "$graphs" -ge 100 ]
report $? "graphs of $graphs scripts"
conclude
