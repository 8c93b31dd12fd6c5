#!/bin/sh
# luarocks.sh [LUA...] - tests that `luarocks make` in a checkout installs a module with all that it needs.  For each
# LUA (lua5.4 and luajit by default): clones the checkout, builds the rock in a tree of its own, runs the module from
# another folder, checks that it finds the installed scripts and tells a story, and removes the rock.  It compiles
# everything, which takes minutes.  The last line is "N passed, M failed".
set -u

. "$(dirname "$0")/report.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL CRESCENT_PATH LUA_PATH LUA_CPATH LUA_INIT

git clone -q . "$T/clone" >"$log" 2>&1
report $? 'a clone of the checkout'

# Prints options of luarocks for a Lua, besides its version: for LuaJIT, the headers.
headers_of() {
    [ "$1" != luajit ] || pkg-config --variable=includedir luajit | sed 's/^/LUA_INCDIR=/'
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
    version=${lua#lua}
    [ "$lua" != luajit ] || version=5.1
    # shellcheck disable=SC2046
    (cd "$T/clone" && luarocks --tree "$tree" --lua-version "$version" make $(headers_of "$lua")) >"$log" 2>&1
    report $? "$lua: luarocks make"
    found=$(cd / && LUA_CPATH="$tree/lib/lua/$version/?.so" "$lua" "$T/use.lua" 2>"$log")
    [ "$found" = 'Once upon a time,' ]
    report $? "$lua: the module in the tree: found '$found'"
    luarocks --tree "$tree" --lua-version "$version" remove crescent >"$log" 2>&1 && find "$tree" -name '*crescent*' >"$log"
    [ ! -s "$log" ]
    report $? "$lua: luarocks remove"
done

# Installs from the archive that the rockspec names, in a folder without a checkout.
mkdir "$T/archive"
make -s -C "$T/clone" dist >"$log" 2>&1 && mv "$T"/clone/crescent-*.tar.gz "$T/archive" &&
    cp "$T"/clone/crescent-*.rockspec "$T/archive" && (cd "$T/archive" &&
        luarocks --tree "$T/tree" --lua-version 5.4 install crescent-*.rockspec) >"$log" 2>&1
report $? 'luarocks install of the archive'
found=$(cd / && LUA_CPATH="$T/tree/lib/lua/5.4/?.so" lua5.4 "$T/use.lua" 2>"$log")
[ "$found" = 'Once upon a time,' ]
report $? "the module of the archive: found '$found'"
conclude
