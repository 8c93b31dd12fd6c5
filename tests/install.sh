#!/bin/sh
# install.sh - tests what `make install` installs: a program that finds its scripts from any folder, a static and a
# shared library that pkg-config knows, for C and for C++, pages of the manual, and completions; `make uninstall`
# removes everything.
#
# $BUILD is the folder of the build, with the Lua $LUA; $MAKE is make.  The last line is "N passed, M failed".
set -u

build="${BUILD:-build}"
lua="${LUA:-lua5.4}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/hardening.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL CRESCENT_PATH
prefix="$T/opt/crescent"
root=$(pwd)

install() {
    "${MAKE:-make}" -s "$1" BUILD="$build" LUA="$lua" PREFIX="$prefix" >"$log" 2>&1
}

# expect TEXT COMMAND...: passes if the command, run from another folder, prints a line with the text.
expect() {
    text=$1
    shift
    (cd / && "$@") >"$T/out" 2>&1 && grep -q -e "$text" "$T/out"
    status=$?
    cp "$T/out" "$log"
    report $status "$*: expected '$text'"
}

install install-built
report $? 'make install'
grep -q "does not look in $prefix/lib for libcrescent.so.0: set LD_LIBRARY_PATH" "$log"
report $? 'make install does not say how the shared library is found'

# Libraries are stripped of all symbols but those that an archive is linked by; with STRIP= of none.
for file in bin/crescent lib/libcrescent.so; do
    ! nm "$prefix/$file" 2>/dev/null | grep -q . && ! readelf -S "$prefix/$file" | grep -q '\.debug_'
    report $? "$file is not stripped"
done
! readelf -S "$prefix/lib/libcrescent.a" | grep -q '\.debug_'
report $? 'libcrescent.a has debug information'
nm "$prefix/lib/libcrescent.a" 2>/dev/null | grep -q 'T crescent_open$'
report $? 'libcrescent.a has no symbols'
"${MAKE:-make}" -s install-built BUILD="$build" LUA="$lua" PREFIX="$T/whole" STRIP=: >"$log" 2>&1 &&
    nm "$T/whole/bin/crescent" | grep -q ' cr_graph_open_text\| crescent_open$'
report $? 'STRIP=: keeps no symbols'
rm -rf "$T/whole"

# ---- set-up ----

# If a package is missing, and the user is not root and has no sudo, the command to run is printed.
mkdir -p "$T/few"
for tool in sh cat cut tr sed; do ln -s "$(command -v $tool)" "$T/few/$tool"; done
printf '#!/bin/sh\necho 1000\n' >"$T/few/id"
printf '#!/bin/sh\nexit 1\n' >"$T/few/apt-get"
chmod +x "$T/few/id" "$T/few/apt-get"
(unset CC && PATH="$T/few" && export PATH && /bin/sh tests/setup.sh) >"$log" 2>&1
[ $? -eq 1 ] && grep -q '^    apt-get install --no-install-recommends make gcc .*liblua5.4-dev.* check libjansson-dev$' "$log" &&
    grep -q 'Not root, and found no sudo' "$log"
report $? 'make setup without sudo'

# ---- the program ----

expect "crescent $(sed -n 's/^#define CRESCENT_VERSION "\(.*\)"/\1/p' compiler/crescent.h) (Lua" \
    "$prefix/bin/crescent" --version
expect 'shapes match' "$prefix/bin/crescent" run graphs/tiny_block.lua --set T=2 --set n_embd=12
expect '^' "$prefix/bin/crescent" params graphs/gpt2.lua --config graphs/configs/gpt2.lua
expect 'Once' "$prefix/bin/crescent" generate graphs/fables --tokens 3
hardened "$prefix/bin/crescent"
hardened "$prefix/lib/libcrescent.so"
without_writable_code 'crescent generate' "$prefix/bin/crescent" generate graphs/fables --tokens 3
expect 'shapes match' "$prefix/bin/crescent" run tiny_block.lua --set T=2 --set n_embd=12
expect '^' "$prefix/bin/crescent" params gpt2.lua --config configs/gpt2.lua
expect 'Once' "$prefix/bin/crescent" generate fables --tokens 3
expect 'model_type' "$prefix/bin/crescent" inspect fables
expect 'did you mean tiny_block.lua?' sh -c '! "$@"' sh "$prefix/bin/crescent" run tiny_block
expect 'configs: cannot be read' sh -c '! "$@"' sh "$prefix/bin/crescent" run configs
mkdir "$T/here"
echo 'return {own = input("x", {2}) + 1}' >"$T/here/tiny_block.lua"
(cd "$T/here" && "$prefix/bin/crescent" dump tiny_block.lua --after script) >"$log" 2>&1 && grep -q own "$log"
report $? 'a local script comes first'
ln -s "$prefix/bin/crescent" "$T/linked"
expect 'shapes match' "$T/linked" run graphs/tiny_block.lua --set T=2 --set n_embd=12
mkdir -p "$T/mine/graphs"
echo 'return {mine = input("x", {2}) + 1}' >"$T/mine/graphs/tiny_block.lua"
(cd / && CRESCENT_PATH="$T/none:$T/mine" "$prefix/bin/crescent" dump graphs/tiny_block.lua \
    --after script) >"$log" 2>&1 && grep -q mine "$log"
report $? 'CRESCENT_PATH comes first'
(cd / && "$prefix/bin/crescent" run graphs/none.lua) >"$log" 2>&1
[ $? -eq 2 ] && [ "$(cat "$log")" = 'crescent: graphs/none.lua: cannot be read: No such file or directory' ]
report $? 'a script that is nowhere'

# ---- the library ----

PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
export PKG_CONFIG_PATH
sed 's,"compiler/crescent.h",<crescent.h>,' docs/call_library.c >"$T/call.c"
compile() {
    compiler=$1
    shift
    # shellcheck disable=SC2086
    $compiler ${SANITIZE-} "$@" >"$log" 2>&1
}
compile "${CC:-cc} -std=c11" "$T/call.c" -o "$T/call" $(pkg-config --cflags --libs crescent)
report $? 'a program that is linked with the shared library'
(cd "$T" && LD_LIBRARY_PATH="$prefix/lib" ./call "$T") >"$T/shared" 2>"$log"
report $? 'and run'
without_writable_code 'a program with the shared library' env LD_LIBRARY_PATH="$prefix/lib" "$T/call" "$T"
# TinyCC and other libraries that have an archive are linked statically; Lua may be a shared library.
compile "${CC:-cc} -std=c11" "$T/call.c" -o "$T/static" $(pkg-config --cflags crescent) \
    "$prefix/lib/libcrescent.a" $(pkg-config --static --libs crescent | sed 's/-lcrescent //')
report $? 'a program that is linked with the archives'
(cd "$T" && ./static "$T") >"$T/archives" 2>"$log" && cmp "$T/shared" "$T/archives" >"$log"
report $? 'and prints the same'
without_writable_code 'a program with the archives' "$T/static" "$T"
if command -v c++ >/dev/null 2>&1; then
    printf '#include <crescent.h>\n#include <cstdio>\nint main() { std::puts(crescent_version()); }\n' \
        >"$T/plus.cc"
    compile 'c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror' "$T/plus.cc" -o "$T/plus" \
        $(pkg-config --cflags --libs crescent)
    report $? 'a program in C++'
    LD_LIBRARY_PATH="$prefix/lib" "$T/plus" >"$log" 2>&1
    report $? 'and run'
else
    echo 'skipped: there is no C++ compiler'
fi
nm -D --defined-only "$prefix/lib/libcrescent.so" | awk '$3 !~ /^crescent_/ { print $3 }' >"$log"
[ ! -s "$log" ]
report $? 'names that are not of crescent.h are seen'
sed -n 's/^[a-z].*[ *]\(crescent_[a-z0-9_]*\)(.*/\1/p' compiler/crescent.h | sort -u >"$T/declared"
nm -D --defined-only "$prefix/lib/libcrescent.so" | awk '{ print $3 }' | sort -u >"$T/defined"
diff "$T/declared" "$T/defined" >"$log"
report $? 'functions of crescent.h, and those of the library'
sed -n '/^## Function by function/,$p' docs/library.md | grep '^|' | cut -d'|' -f2 | grep -o 'crescent_[a-z0-9_]*' |
    sort | diff "$T/declared" - >"$log"
report $? 'functions of crescent.h, and the rows of docs/library.md'

# ---- manual and completions ----

for page in "$prefix"/share/man/man1/crescent*.1; do
    if command -v groff >/dev/null 2>&1; then
        groff -man -Tascii -ww -z "$page" >"$log" 2>&1
        [ ! -s "$log" ]
        report $? "${page##*/}: warnings of groff"
    fi
    grep -q '^\.SH NAME' "$page" && [ "$(wc -l <"$page")" -gt 20 ]
    report $? "${page##*/}: no page"
done
verbs=$("$prefix/bin/crescent" help | sed -n '/^verbs:/,/^$/s/^  [a-z][a-z]* .*/x/p' | wc -l)
[ "$(ls "$prefix/share/man/man1" | wc -l)" -eq $((verbs + 1)) ]
report $? 'a page for each verb'
for shell in bash zsh fish; do
    "$prefix/bin/crescent" help --completion $shell >"$T/completion"
    if command -v $shell >/dev/null 2>&1; then
        $shell -n "$T/completion" 2>"$log"
        report $? "completions of $shell"
    fi
done
if command -v bash >/dev/null 2>&1; then
    bash -c '. "$1"; COMP_WORDS=(crescent gen); COMP_CWORD=1; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --we); COMP_CWORD=2; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent help tok); COMP_CWORD=2; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --backend st); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --backend = t); COMP_CWORD=4; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --backend =); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --isa avx); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --format q); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent dump --after fu); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --target zen); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run --target compil); COMP_CWORD=3; _crescent; echo "${COMPREPLY[*]}"
        COMP_WORDS=(crescent run compil); COMP_CWORD=2; _crescent; echo "${COMPREPLY[*]}"' bash \
        "$prefix/share/bash-completion/completions/crescent" >"$log" 2>&1
    [ "$(cat "$log")" = "$(printf '%s\n' generate --weights tokenize standalone tcc 'tcc cc ref standalone' \
        'avx512 avx2' 'q8 q4' fuse 'zen5 zen4 zen3 zen2' compiler compiler)" ]
    report $? 'what bash completes'
fi
# Completions offer all formats and arithmetics.
for option in format arithmetic; do
    completed=$("$prefix/bin/crescent" help --completion bash | sed -n "s/^ *--$option) .* -W '\([^']*\)'.*/\1/p")
    "$prefix/bin/crescent" run graphs/tiny_block.lua --$option none 2>"$log"
    [ -n "$completed" ] && [ "$completed" = "$(sed 's/.*expected one of //; s/,//g' "$log")" ]
    report $? "--$option completes '$completed'"
done
if command -v zsh >/dev/null 2>&1; then
    grep -q -- "'\*--isa\[.*:(amx vnni avx512 avx2 neon plain)'" "$prefix/share/zsh/site-functions/_crescent"
    report $? 'what zsh completes'
fi
if command -v fish >/dev/null 2>&1; then
    (cd / && fish -c "source '$prefix/share/fish/vendor_completions.d/crescent.fish'
        complete -C 'crescent run --backend st'; complete -C 'crescent dump --after fu'") >"$log" 2>&1
    grep -q '^standalone' "$log" && grep -q '^fuse' "$log"
    report $? 'what fish completes'
fi

install uninstall
report $? 'make uninstall'
find "$T/opt" -type f -o -type l 2>/dev/null >"$log"
[ ! -s "$log" ]
report $? 'what uninstall left'
cd "$root" || exit 1
conclude
