#!/bin/sh
# lua_module.sh MODULE LUA - tests the module for Lua, MODULE (crescent.so), in the interpreter LUA.
#
# symbols    the library exports only the function that `require` calls, and imports only functions of Lua and libc
# specs      tests/lua/*_spec.lua, one of which is the session of docs/lua.md; and the examples
# states     a program with two states of Lua, tests/lua/two_states.c
# $CRESCENT is the program, built with the same Lua.  The last line is "N passed, M failed".
set -u

module="$1" lua="$2"
crescent=$(realpath "${CRESCENT:-build/crescent}")
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/hardening.sh"

[ "$(nm -D --defined-only "$module" | awk '{ print $3 }')" = luaopen_crescent ]
report $? 'other names than luaopen_crescent are seen'
nm -D -u "$module" | awk '{ print $2 }' | grep '^lua' | grep -v -e '^lua_' -e '^luaL_' -e '^luaopen_' >"$log"
[ ! -s "$log" ]
report $? 'names of Lua that are no part of its interface'
! readelf -d "$module" | grep NEEDED | grep -i lua >"$log"
report $? 'a Lua of its own'
hardened "$module"

if ! command -v "$lua" >/dev/null 2>&1; then
    echo "skipped: there is no $lua"
    conclude
    exit
fi
LUA_CPATH="$(dirname "$(realpath "$module")")/?.so;;"
export LUA_CPATH
unset LUA_PATH LUA_INIT LUA_CPATH_5_2 LUA_PATH_5_2 LUA_CPATH_5_3 LUA_PATH_5_3 LUA_CPATH_5_4 LUA_PATH_5_4

# Runs specs by busted if it is installed for this Lua, else by a program of a few lines.
specs=$(ls tests/lua/*_spec.lua)
if "$lua" -e 'require "busted.runner"' >/dev/null 2>&1 && [ -z "${NO_BUSTED-}" ]; then
    echo 'require("busted.runner")({standalone = false})' >"$T/busted.lua"
    runner="$T/busted.lua --output=TAP"
else
    runner=tests/lua/run_specs.lua
fi
# shellcheck disable=SC2086
FOLDER=$T XDG_CACHE_HOME=$T/cache CRESCENT=$crescent "$lua" $runner $specs >"$T/specs" 2>&1
status=$?
while read -r line; do
    case "$line" in
    'ok '*) passed=$((passed + 1)) ;;
    'not ok '*) cp "$T/specs" "$log"; report 1 "$line" ;;
    esac
done <"$T/specs"
[ $status -eq 0 ] && grep -q '^ok ' "$T/specs"
report $? "the specs ended with status $status"

# Runs with increasing memory, up to enough.  Skipped in a shell without memory limits, and for LuaJIT on some
# machines.
short=0 bad=
for kilobytes in 26000 30000 34000 38000 42000 46000 50000 54000 60000 90000; do
    (ulimit -v $kilobytes && "$lua" tests/lua/little_memory.lua) >"$T/little" 2>&1
    status=$?
    [ $status -le 1 ] || bad="$bad $kilobytes:$status"
    ! grep -q 'out of memory\|not enough memory' "$T/little" || short=$((short + 1))
    ! grep -q '^crescent: .*memory' "$T/little" || grep -q '^still good' "$T/little" || bad="$bad $kilobytes"
done
echo "$bad" >"$log"
[ -z "$bad" ] && [ $short -gt 0 ]
report $? "little memory: $short times too little"

flags=$(pkg-config --cflags --libs "$lua")
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -Wall -Wextra -Werror tests/lua/two_states.c -o "$T/two_states" -Wl,-E $flags -lpthread \
    >"$log" 2>&1 && "$T/two_states" >"$log" 2>&1 && [ "$(cat "$log")" = '15 15' ]
report $? 'tests/lua/two_states.c'

"$lua" docs/train_xor.lua >"$T/xor" 2>"$log" && grep -q '^1 xor 0 = 1' "$T/xor"
report $? 'docs/train_xor.lua'
# LuaJIT's own compiler would end the process there.
case "$lua" in luajit) alone='luajit -joff' ;; *) alone=$lua ;; esac
# shellcheck disable=SC2086
without_writable_code 'docs/train_xor.lua' $alone docs/train_xor.lua
printf 'The fox\n' | "$lua" docs/chat.lua graphs/fables 8 >"$T/chat" 2>"$log" && grep -q fox "$T/chat"
report $? 'docs/chat.lua'
"$lua" docs/search.lua >"$T/found" 2>"$log" && [ "$(wc -l <"$T/found")" -eq 5 ] &&
    sed -n 1p "$T/found" | grep -q 'Then winter came, and snow fell.$'
report $? 'docs/search.lua'

# The example that searches Markdown: sections begin at headings, except in code; also as a module, with the results
# of the example in C.
mkdir "$T/notes"
printf 'Before the first heading.\n# Cats\nA cat sleeps.\n```\n# no heading\n```\n## Empty\n# Dogs #\nA dog barks.' \
    >"$T/notes/a.md"
printf '# The moon\nIt heard the wish.\n' >"$T/notes/b c.md"
"$lua" docs/search_folder.lua tests/fixtures/embed_qwen3 "$T/notes" 'what sleeps' >"$T/found" 2>"$log" &&
    cut -d' ' -f3- "$T/found" | LC_ALL=C sort >"$T/sections" && printf '%s\n' " $T/notes/a.md:1  $T/notes/a.md" \
    " $T/notes/a.md:2  Cats" " $T/notes/a.md:8  Dogs #" " $T/notes/b c.md:1  The moon" |
    sed 's/^ //' | LC_ALL=C sort | diff - "$T/sections" >>"$log"
report $? 'docs/search_folder.lua'
(cd docs && "$lua" -e 'local s = require("search_folder").open("../tests/fixtures/embed_qwen3", "'"$T/notes"'")
    local found = s:find("what sleeps", 2)
    assert(#s == 4 and #found == 2 and found[1].cosine >= found[2].cosine)') 2>"$log"
report $? 'docs/search_folder.lua as a module'
program=$(dirname "$module")/search_folder
if [ -x "$program" ]; then
    "$program" tests/fixtures/embed_qwen3 "$T/notes" 'what sleeps' 2>"$log" | diff - "$T/found" >>"$log"
    report $? 'docs/search_folder.c prints the same'
else
    echo "skipped: there is no $program"
fi
conclude
