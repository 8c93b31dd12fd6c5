#!/bin/sh
# check_without_lua.sh PROGRAM... - checks that test programs do not contain Lua, so that `make test` may run them
# once and not with each Lua.  The other test programs read scripts, and do contain Lua.  The last line is "N passed,
# M failed".
set -u
. "$(dirname "$0")/report.sh"

# has_lua PROGRAM: succeeds if a function of Lua is linked into it, or imported from a library.
has_lua() {
    nm "$1" >"$T/symbols" 2>"$log" || echo 'luaL_newstate' >"$T/symbols"
    grep 'luaL_newstate\|lua_pcall' "$T/symbols" >"$log"
}

for program; do
    ! has_lua "$program"
    report $? "$program has a Lua in it, expected none: see without_lua in the Makefile"
done
has_lua "$(dirname "$1")/test_frontend"
report $? 'test_frontend has no Lua in it'
conclude
