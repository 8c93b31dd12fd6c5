#!/bin/sh
# c_identifiers.sh - tests that emitted C compiles without a warning, whatever names a script and its tensors have.
#
# words      keywords of C and C++, macros that the installed compilers predefine, macros of POSIX, and all
#            identifiers of emitted C: each as the name of an input, an output, a parameter, a tap and a scope
# twins      names that are equal in all letters and digits, and very long names
# models     names of scripts that are also names in the runtime, of kernels or in POSIX
# files      names of scripts and of emitted files
# The .c is compiled by gcc, clang and tcc, and the .h by g++, if they are installed; the model also by TinyCC in
# memory.  $CRESCENT is the program, $JOBS the number of commands that run at a time.  The last line is "N passed, M
# failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"
jobs="$T/jobs"
: >"$jobs"

have() {
    command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; return 1; }
}

compilers= cplusplus=
for compiler in gcc clang tcc; do
    have $compiler && compilers="$compilers $compiler"
done
have g++ && cplusplus=g++

# job COMMAND: queues a line of shell that must succeed and print nothing.
job() {
    printf '%s\n' "$*" >>"$jobs"
}

# check COMPILER FILE OPTIONS: compiles FILE.c.  assert() makes a string of the file's name, and clang warns about a
# string that is not UTF-8; gcc and tcc do not.
strict="-Wall -Wextra -Wpedantic -Werror"
check() {
    case $1 in
    clang) job "clang -std=c11 $strict -Wno-invalid-source-encoding $3 -fsyntax-only '$2.c'" ;;
    tcc) job "tcc -Wall -Werror $3 -c '$2.c' -o '$2.tcc.o'" ;;
    *) job "$1 -std=c11 $strict $3 -fsyntax-only '$2.c'" ;;
    esac
}

# compile FILE OPTIONS: compiles FILE.c by all compilers, and FILE.h as C++.
compile() {
    for compiler in $compilers; do
        check $compiler "$1" "$2"
    done
    [ -z "$cplusplus" ] || job "g++ $strict -fsyntax-only -x c++ '$1.h'"
}

# quick FILE OPTIONS: compiles FILE.c by the fastest compiler, without vectors, whose identifiers the list of words
# has.
quick() {
    short="$(dirname "$1")/plain"
    mkdir "$short" && plain "$1.c" "$short" >"$log" 2>&1
    report $? "$1.c: cannot be made plain"
    set -- "$short/$(basename "$1")" "$2" $compilers
    eval "check \$$# \"\$1\" \"\$2\""
}

# emit SCRIPT FILE: emits FILE.c, and compiles the script in memory.
emit() {
    "$crescent" emit "$1" -o "$2.c" >"$log" 2>&1
    report $? "$1: emit"
    "$crescent" run "$1" --threads 1 >"$log" 2>&1
    report $? "$1: run"
}

# check_length HEADER: fails if an identifier is longer than the 63 characters that C11 distinguishes.
check_length() {
    grep -v '^ \*' "$1" | tr -cs 'A-Za-z0-9_' '\n' | awk 'length > 63' >"$log"
    [ ! -s "$log" ]
    report $? "$1: identifiers that C does not tell apart"
}

# ---- words ----

cat >"$T/keywords" <<'END'
_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Float128
_Float16 _Float32 _Float32x _Float64 _Float64x _Generic _Imaginary _Noreturn _Pragma
_Static_assert _Thread_local __FILE__ __LINE__ __asm__ __attribute__ __builtin_expect __extension__
__func__ __inline __int128 __label__ __real__ __restrict __thread __typeof__ __volatile__ __func
alignas alignof and and_eq asm atomic_cancel atomic_commit auto bitand bitor bool break case catch
char char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast
consteval constexpr constinit continue decltype default defined delete do double dynamic_cast else
enum explicit export extern false final float for fortran friend goto if import inline int long
main module mutable namespace new noexcept not not_eq nullptr operator or or_eq override private
protected public reflexpr register reinterpret_cast requires restrict return short signed sizeof
static static_assert static_cast struct switch synchronized template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t
while xor xor_eq
errno stdin stdout stderr EOF NULL NAN INFINITY I complex imaginary noreturn assert offsetof
i386 linux unix mips arm sparc vax sun hpux m68k near far huge pascal cdecl vector pixel interface
w out rt a args begin end item scratch stream0 v0 v1 v1_x k1_x x X W
_ __ ___a A_ 1 2x 007
END

# Prints the macros that compilers predefine, and macros of headers whose names have a lower-case letter.
cat >"$T/posix.c" <<'END'
#include <complex.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <iso646.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
END
: >"$T/empty.c"
for compiler in $compilers $cplusplus; do
    $compiler -dM -E "$T/empty.c" >>"$T/macros" 2>/dev/null
    $compiler -std=c99 -dM -E "$T/empty.c" >>"$T/macros" 2>/dev/null
done
cc -D_GNU_SOURCE -dM -E "$T/posix.c" 2>/dev/null |
    awk '$2 !~ /^_/ && ($2 ~ /[a-z]/ || NR % 8 == 0)' >>"$T/macros"
{
    tr ' ' '\n' <"$T/keywords"
    awk '{ sub(/[(].*/, "", $2); print $2 }' "$T/macros"
    cat generated/gpt2_stack.[ch] generated/train_add.[ch] | tr -cs 'A-Za-z0-9_' '\n' |
        grep '^[A-Za-z_]'
} | grep . | sort -u >"$T/words"
words=$(wc -l <"$T/words")
[ "$words" -gt 1500 ]
report $? "only $words words were found"

# script FILE LUA: writes a script with the words as the table N, followed by LUA.
script() {
    {
        echo 'local N = {'
        sed 's/.*/"&",/' "$T/words"
        echo '}'
        echo "$2"
    } >"$T/$1.lua"
}

# Kernels with eight different operands each.
script inputs 'local o, s = {}
for i, n in ipairs(N) do
    local x = input(n, {1, 2})
    s = s and s + x or x
    if i % 8 == 0 or i == #N then
        o["sum." .. i], s = s * i, nil
    end
    o[n] = scope(n, function() return matmul(x, const(i, {2, 2})), 0 end)
end
return o'
script params 'local o, s = {}
for i, n in ipairs(N) do
    local x = param(n, {1, 2})
    s = s and s + x or x
    if i % 8 == 0 or i == #N then
        o["sum." .. i], s = s * i, nil
    end
end
local y = input("the-input", {1, 2})
for i, n in ipairs(N) do
    y = tap(n .. ".tap", matmul(y, param("p-" .. i, {2, 2})) * i)
end
for i = 1, 40 do
    y = tap(N[i], matmul(y, param("q-" .. i, {2, 2})) * i)
end
o.y = y
return o'
emit "$T/inputs.lua" "$T/inputs"
compile "$T/inputs" ""
emit "$T/params.lua" "$T/params"
compile "$T/params" ""

# ---- twins ----

long=$(printf '%0240d' 0 | tr 0 n)
cat >"$T/twins.lua" <<END
local N = {"a.b", "a_b", "a-b", "a_B", "A.B", "a..b", "a__b", "a.b.", ".a.b", "a.-b", ".", "-", "_",
           "unnamed", "v1", "v1_a_b", "k1", "$long", "${long}1", "${long}2", "$long.1", "${long}_1"}
local o, s, t = {}
for i, n in ipairs(N) do
    local x = input(n .. "i", {2}) * param(n .. "p", {2})
    local y = param(n, {2})
    s, t = s and s + x or x, t and t * y or y
    o[n] = x + i
    tap("-" .. n, x)
end
o.s, o.t = s, t
return o
END
emit "$T/twins.lua" "$T/twins"
compile "$T/twins" -DTWINS_MAIN
[ "$(grep -c '^#define TWINS_IN_' "$T/twins.h")" -eq 22 ]
report $? "twins: not 22 inputs"
check_length "$T/twins.h"

# The same for the names that a training step derives.
cat >"$T/step.lua" <<END
local o, loss = {}, input("in.x", {2})
for i, n in ipairs {"a.b", "a_b", "unix", "_Bool", "$long.1", "${long}_1"} do
    local w = param(n, {2})
    o[n], loss = w * (0.5 + i), loss + w
end
o.loss = sum(loss, 1)
return o
END
"$crescent" emit "$T/step.lua" --train -o "$T/step.c" >"$log" 2>&1
report $? "step: emit --train"
compile "$T/step" ""

# ---- models ----

# Names of ports that could be functions of the model.
for name in cr cr_pool cr_main Cr_main CR_MAIN _ _Foo 2x if unix main in out in_a out_a k1 k1_a \
    sched pack layouts errno template stdio a__b "$long" "${long}2" "in_$long" "in_${long}2"; do
    mkdir "$T/$name.d"
    cat >"$T/$name.d/$name.lua" <<'END'
local x = input("execute", {2}) + input("a.execute", {2}) + input("run", {2})
x = x + input(string.rep("execute", 20), {2}) + input(string.rep("execute", 21), {2})
local y = scope("execute", function() return exp(x), 0 end)
return {run = tap("a.run", sum(y, 1)), execute = neg(x), load = x}
END
    emit "$T/$name.d/$name.lua" "$T/$name.d/m"
    macro=$(sed -n 's/#define \(.*\)_PARAMS .*/\1/p' "$T/$name.d/m.h")
    quick "$T/$name.d/m" "-D${macro}_MAIN"
    check_length "$T/$name.d/m.h"
done
for name in "$long" "in_$long"; do
    cmp -s "$T/$name.d/m.h" "$T/${name}2.d/m.h"
    [ $? -eq 1 ]
    report $? 'two long names of models are one'
done

# ---- files ----

# path SCRIPT FILE: emits a script under this name into a file of this name.
count=0
path() {
    count=$((count + 1))
    folder="$T/p$count"
    mkdir "$folder"
    echo "return {y = neg(input('x', {2}))}" >"$folder/$1.lua"
    "$crescent" emit "$folder/$1.lua" -o "$folder/$2.c" >"$log" 2>&1
}

newline='
'
for script in 'a*b' '*' '??(' 'a\' "a'b" 'a"b' 'a b' 'für' 'a%sb' "a${newline}b" "$(printf 'a\033[1mb')" '//'; do
    [ "$script" != // ] || script=.lua
    path "$script" m
    report $? "emit $script"
    macro=$(sed -n 's/#define \(.*\)_PARAMS .*/\1/p' "$folder/m.h")
    quick "$folder/m" "-D${macro}_MAIN"
done
for file in 'a*b' 'a b' 'für' 'a%sb' '%n' '-' "$(printf 'a\377b')" '#' '@(x)' '$x'; do
    path m "$file"
    report $? "emit -o $file"
    quick "$folder/$file" -DM_MAIN
done
for file in 'a"b' 'a\b' 'a??=b' "a${newline}b" "$(printf 'a\033b')" "$(printf 'a\342\200\256b')"; do
    path m "$file"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && [ "$(ls "$folder")" = m.lua ]
    report $? "emit -o $file: is not refused, expected one line and no file"
done

# ---- running the jobs ----

tr '\n' '\0' <"$jobs" | xargs -0 -n 1 -P "${JOBS:-2}" sh -c '
    said=$(sh -c "$2" 2>&1 </dev/null)
    if [ $? -eq 0 ] && [ -z "$said" ]; then
        printf . >>"$1/done"
    else
        printf "FAILED: %s\n%.1000s\n" "$2" "$said"
    fi' job "$T"
succeeded=$(cat "$T/done" 2>/dev/null | wc -c)
passed=$((passed + succeeded)) failed=$((failed + $(wc -l <"$jobs") - succeeded))
conclude
