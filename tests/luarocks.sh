#!/bin/sh
# luarocks.sh [LUA...] - what `luarocks make` installs from a checkout: a module that has what it needs with
# it.  Of each LUA, lua5.4 and luajit if none is named: the checkout is cloned, the rock is made in a tree of
# its own, and from another folder the module runs, finds the shipped scripts, and tells a story; then the
# rock is removed.  It compiles everything, which takes minutes.  The last line is "N passed, M failed".
set -u

. "$(dirname "$0")/report.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL CRESCENT_PATH LUA_PATH LUA_CPATH LUA_INIT

git clone -q . "$T/clone" >"$log" 2>&1
report $? 'a clone of the checkout'

# Options of luarocks for a Lua.
options_of() {
    case "$1" in
    luajit) echo "--lua-version 5.1 $(pkg-config --variable=includedir luajit)" ;;
    *) echo "--lua-version ${1#lua} $(pkg-config --variable=includedir "$1")" ;;
    esac
}

cat >"$T/use.lua" <<'LUA'
local crescent = require "crescent"
local m = crescent.model(function() return {y = require("nn").gelu(input("x", {2})) * 2} end)
assert(m:run{x = {0, 1}}.y[1] == 0)
local block = crescent.open("graphs/gpt2_block.lua", {set = {B = 1, T = 4, n_embd = 12, n_head = 3}})
assert(#block:params() == 12)
assert(block:run{x = 0}.y.shape[3] == 12)
print((crescent.generator("graphs/fables"):generate("", {tokens = 5})))
LUA

for lua in ${*:-lua5.4 luajit}; do
    tree="$T/tree-$lua"
    # shellcheck disable=SC2046
    set -- $(options_of "$lua")
    (cd "$T/clone" && luarocks --tree "$tree" "$1" "$2" make LUA_INCDIR="$3") >"$log" 2>&1
    report $? "$lua: luarocks make"
    found=$(cd / && LUA_CPATH="$tree/lib/lua/$2/?.so" "$lua" "$T/use.lua" 2>"$log")
    [ "$found" = 'Once upon a time,' ]
    report $? "$lua: the module in the tree: found '$found'"
    luarocks --tree "$tree" "$1" "$2" remove crescent >"$log" 2>&1 && find "$tree" -name '*crescent*' >"$log"
    [ ! -s "$log" ]
    report $? "$lua: luarocks remove"
done
conclude
