#!/bin/sh
# threads.sh [valgrind] - tests four threads that use the installed library at once (tests/call_threads.c): under
# ThreadSanitizer if the library was built with it ($SANITIZE), and with `valgrind` under valgrind.
#
# $BUILD is the folder of the build, with the Lua $LUA; $MAKE is make.  The last line is "N passed, M failed".
set -u

build="${BUILD:-build}"
lua="${LUA:-lua5.4}"
under="${1-}"
. "$(dirname "$0")/report.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
prefix="$T/opt/crescent"

"${MAKE:-make}" -s install-built BUILD="$build" LUA="$lua" PREFIX="$prefix" SANITIZE="${SANITIZE-}" >"$log" 2>&1
report $? 'make install'
PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib"
export PKG_CONFIG_PATH LD_LIBRARY_PATH
# shellcheck disable=SC2046,SC2086
${CC:-cc} -std=c11 -g -Wall -Wextra -Werror ${SANITIZE-} tests/call_threads.c -o "$T/call_threads" \
    $(pkg-config --cflags --libs crescent) -lpthread >"$log" 2>&1
report $? 'a program that is linked with the shared library'

# run EXPECTED COMMAND...: passes if the command succeeds and prints EXPECTED. setarch turns off the randomisation of
# addresses, as ThreadSanitizer supports only some ranges of them.
run() {
    expected=$1
    shift
    "$@" >"$T/out" 2>"$log" && [ "$(cat "$T/out")" = "$expected" ]
    report $? "$*: found '$(cat "$T/out")', expected '$expected'"
}
fixed=
! setarch -R true 2>/dev/null || fixed='setarch -R'
TSAN_OPTIONS='halt_on_error=0 exitcode=66'
export TSAN_OPTIONS
# shellcheck disable=SC2086
case "$under" in
valgrind)
    run '4 threads, 4 models' valgrind -q --error-exitcode=9 --leak-check=full --fair-sched=yes \
        "$T/call_threads" 1 graphs/fables ;;
*) run '4 threads, 40 models' $fixed "$T/call_threads" 10 graphs/fables ;;
esac
conclude
