#!/bin/sh
# setup.sh [pictures | mpi] - installs missing packages that building and testing need; with `pictures` also
# those that draw the pictures of docs/, with `mpi` also Open MPI, unless there is an MPI.
#
# Prints each package and why it is needed before the package manager is called.  If nothing is missing it prints
# nothing and uses neither network nor disk.  Tools that only some tests use (clang, cross compilers, qemu-user,
# valgrind) are not installed: those tests report that they were skipped.
set -u

for_what="${1-}"
compiler="${CC:-cc}"

# PACKAGE | a command that succeeds if it is installed | why it is needed
needs() {
    cat <<TABLE
make|have make|runs the Makefile
gcc|have $compiler|C compiler
libc6-dev|compiles stdio.h|C library headers
pkg-config|have pkg-config|finds the libraries below
liblua5.4-dev|pkg-config --exists lua5.4|Lua 5.4, the language of model scripts
libluajit-5.1-dev|pkg-config --exists luajit|LuaJIT, the other Lua that Crescent runs with
lua5.4|have lua5.4|runs the tests of the module for Lua
luajit|have luajit|runs them, too
lua-busted|has_busted|runs their specs
libtcc-dev|links libtcc.h tcc_new tcc|TinyCC, which compiles generated C in memory
tcc|have tcc|compiles emitted C for the tests, where gcc takes long
libpcre2-dev|pkg-config --exists libpcre2-8|PCRE2, the patterns of tokenizers
libutf8proc-dev|pkg-config --exists libutf8proc|utf8proc, the normal forms of Unicode for tokenizers
check|pkg-config --exists check|the framework of the unit tests
libjansson-dev|links jansson.h json_null jansson|another reader of JSON, for the unit tests
TABLE
    [ "$for_what" != pictures ] || echo 'gnuplot-nox|have gnuplot|draws the pictures of docs/'
    [ "$for_what" != mpi ] || cat <<TABLE
libopenmpi-dev|have mpicc|Open MPI, by which several machines work together
openmpi-bin|have mpirun|starts them
TABLE
}

have() {
    command -v "$1" >/dev/null 2>&1
}

compiles() {
    echo "#include <$1>" | $compiler -x c -fsyntax-only - 2>/dev/null
}

# links HEADER FUNCTION LIBRARY: tests libraries without a .pc file, and static archives.
links() {
    printf '#include <%s>\nint main(void) { return (void *)%s == 0; }\n' "$1" "$2" |
        $compiler -x c - -o /dev/null -l"$3" -ldl -lpthread -lm 2>/dev/null
}

has_busted() {
    lua5.4 -e 'require "busted.runner"' && luajit -e 'require "busted.runner"'
}

# Prints the rows of the table whose packages are missing.
missing() {
    needs | while IFS='|' read -r package test why; do
        $test >/dev/null 2>&1 </dev/null || echo "$package|$test|$why"
    done
}

# Runs a command as root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

fail() {
    echo "setup.sh: $1" >&2
    exit 1
}

rows=$(missing)
[ -n "$rows" ] || exit 0

echo 'Crescent needs these Debian packages, which are not installed:'
echo "$rows" | while IFS='|' read -r package test why; do
    printf '    %-20s %s\n' "$package" "$why"
done
packages=$(echo "$rows" | cut -d'|' -f1)

have apt-get || fail 'found no apt-get: install the equivalents by hand, then run make again'
if [ "$(id -u)" -ne 0 ] && ! have sudo; then
    echo 'Not root, and found no sudo. Run this as root, and then make again:'
    echo "    apt-get install --no-install-recommends $(echo $packages)"
    exit 1
fi

echo 'Installing them with apt-get.'
as_root apt-get update -q || echo 'setup.sh: apt-get update failed; trying with the old lists' >&2
as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $packages ||
    fail "apt-get install failed; to run by hand: apt-get install --no-install-recommends $(echo $packages)"

rows=$(missing)
[ -z "$rows" ] ||
    fail "still missing after the installation: $(echo "$rows" | cut -d'|' -f1 | tr '\n' ' ')"
