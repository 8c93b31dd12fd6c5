#!/bin/sh
# library.sh PROGRAM SEARCH - tests that PROGRAM, built from docs/call_library.c, does what docs/library-example.md
# says, and that crescent.h can be included anywhere.
#
# output     PROGRAM prints the lines of the page; a missing folder is one line on stderr
# weights    `crescent run` reads the weights that it saved
# C          the file that it emits is the one that `crescent emit --train` writes
# search     SEARCH, built from docs/search_folder.c, finds sections of docs/, and reports a missing model
# header     C11 and C++ compile crescent.h alone without a warning
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
program="$1" search="$2"
. "$(dirname "$0")/report.sh"

"$program" "$T" >"$T/out" 2>"$log"
report $? 'call_library'
sed -n '/^    \$ .\/call_library/,/^$/s/^    //p' docs/library-example.md | sed 1d >"$T/page"
[ -s "$T/page" ] && diff "$T/out" "$T/page" >"$log"
report $? 'call_library: other lines than in docs/library-example.md'

"$program" "$T/none" >/dev/null 2>"$log"
[ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q "$T/none/xor" "$log"
report $? 'call_library with a folder that is not there'

# The script in the source of the program, as a file.
sed -n '/^static const char script/,/;$/s/^ *"\(.*\)\\n";*$/\1/p' docs/call_library.c >"$T/xor.lua"
"$crescent" run "$T/xor.lua" --weights "$T/xor.safetensors" --strict >/dev/null 2>"$log"
report $? 'crescent run with the weights of call_library'
mkdir "$T/theirs"
whole=$(realpath "$crescent")
(cd "$T" && "$whole" emit xor.lua --train -o theirs/xor.c) >/dev/null 2>"$log" &&
    cmp "$T/xor.c" "$T/theirs/xor.c" >"$log" && cmp "$T/xor.h" "$T/theirs/xor.h" >"$log"
report $? 'the C of call_library and that of crescent emit differ'

"$search" tests/fixtures/embed_gemma3 docs 'what is fused' >"$T/found" 2>"$log" &&
    [ "$(grep -c '^-*[01]\.[0-9]* *docs/.*\.md:[0-9]* ' "$T/found")" -eq 5 ]
report $? 'search_folder'
"$search" "$T/none" docs x >/dev/null 2>"$log"
[ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q "^search_folder: $T/none" "$log"
report $? 'search_folder with a model that is not there'

echo '#include "compiler/crescent.h"' >"$T/c.c"
cp "$T/c.c" "$T/c.cc"
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only "$T/c.c" 2>"$log"
report $? 'crescent.h in C'
if command -v c++ >/dev/null 2>&1; then
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only "$T/c.cc" 2>"$log"
    report $? 'crescent.h in C++'
else
    echo 'skipped: there is no C++ compiler'
fi
conclude
