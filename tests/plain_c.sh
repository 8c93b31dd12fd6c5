# plain_c.sh - functions that make smaller variants of an emitted file; scripts of tests read it with `.`
#
# An emitted file compiles its template once for each instruction set, and a machine runs only one of them, the
# fastest that it has.  The others take most of the time of a C compiler.  So a suite compiles a few files unchanged,
# by each compiler and level, and others with one instruction set: plain C, without vectors, for tests of the model's
# own text; the fastest one of this machine for tests of bits; and AVX2 for code that other machines would run.

# one_set SET FILE: prints the file with only one of plain, avx2, avx512 and neon.
one_set() {
    awk -v kept="$1" '
        /^static int cr_has_(plain|avx2|avx512|neon)\(/ && $0 !~ "cr_has_" kept "\\(" { dropped = 1 }
        /^ *\{&cr_runtime_/ && $0 !~ "cr_runtime_" kept "," { next }
        kept == "plain" && /^#include <([a-z0-9]*intrin|arm_neon)\.h>$/ { next } # half a second each time
        begun { # a comment
            if (/^ \* vector_(plain|avx2|avx512|neon)\.h - /) other = $0 !~ "_" kept "\\."
            if (!other) print "/*"
            begun = 0
        }
        $0 == "/*" { begun = 1; next }
        !other && !dropped { print }
        /^#include CR_TEMPLATE$/ { other = 0 }
        # The text of a file that can be read from standard input repeats the template, which ends with this line.
        other && /^#ifdef CR_TARGET$/ { ending = 1 }
        ending && /^#if/ { depth++ }
        ending && /^#endif/ && --depth == 0 { ending = other = 0 }
        /^}$/ { dropped = 0 }' "$2"
}

# only SET FILE.c FOLDER: writes FILE.c with one set, and FILE.h, to the folder.
only() {
    one_set "$1" "$2" >"$3/$(basename "$2")" &&
        grep -q "{&cr_runtime_$1, cr_has_$1}" "$3/$(basename "$2")" &&
        [ "$(grep -c '{&cr_runtime_' "$3/$(basename "$2")")" -eq 1 ] &&
        [ "$(grep -c '^#include CR_TEMPLATE$' "$3/$(basename "$2")")" -eq 1 ] &&
        cp "${2%.c}.h" "$3"
}

# plain FILE.c FOLDER: writes FILE.c without vectors.
plain() {
    only plain "$1" "$2"
}

# apart SET FILE.c FOLDER: writes FILE.c and FILE.h without the functions of the runtime to the folder, and with one
# set FILE_runtime.c, which has these functions and nothing of the model.  That is compiled once, and FILE.c by each
# compiler at each level.  Declarations and vector.h are in both files; FILE.c has the pool.
apart() {
    whole=$(basename "$2" .c)
    only "$1" "$2" "$3" && mv "$3/$whole.c" "$3/$whole.whole" &&
        awk -v model="$3/$whole.c" -v runtime="$3/${whole}_runtime.c" '
        function put(line) {
            header = line ~ /^#include <[a-z.\/]*>$/ && line !~ /mpi/ # the first to include one does it for all
            vectors = line ~ /^#include <([a-z0-9]*intrin|arm_neon)\.h>$/
            if ((part != "runtime" || header) && !vectors) print line >model
            sub(/^#define CR_TEMPLATE "[^"]*"/, "#define CR_TEMPLATE __FILE__", line) # of TinyCC
            if (part != "model" || header) print line >runtime
        }
        /^\/\* ---- the model ---- \*\/$/ { part = "model"; found++ }
        /^\/\* ---- what the functions of the header call ---- \*\/$/ { part = ""; found++ }
        /^\/\* ---- the functions of the header ---- \*\/$/ { part = "model"; found++ }
        /^\/\* ---- the runtime ---- \*\/$/ { part = "runtime"; found++ }
        /^#else \/\* CR_ISA \*\/$/ { part = ""; put($0); part = "runtime"; found++; next }
        /^#endif \/\* CR_ISA \*\/$/ { part = "" }
        begun { # a comment
            if (/^ \* pool\.c - /) { part = "model"; found++ }
            if (/^ \* vector\.h - /) { part = ""; found++ }
            put("/*")
            begun = 0
        }
        $0 == "/*" { begun = 1; next }
        /^\/\* Prefetches into all caches/ { part = "runtime" }
        /^CR_API .*(cr_runtime_select|cr_pool_parallel)\(/ { sub(/^CR_API /, "") }
        { put($0) }
        END { exit found != 7 }' "$3/$whole.whole" && rm "$3/$whole.whole"
}

# runtime_object FILE_runtime.c OBJECT [OPTIONS]: compiles a file of `apart` without optimisation: plain C by TinyCC,
# in a thirtieth of the time of gcc, other sets once for all suites of run.sh.
runtime_object() {
    if [ -z "${3-}" ] && grep -q '{&cr_runtime_plain,' "$1" && command -v tcc >/dev/null 2>&1; then
        # Without this section the linker warns about an executable stack.
        echo '__asm__(".section .note.GNU-stack,\"\",@progbits");' >>"$1" && tcc -w -c "$1" -o "$2"
        return
    fi
    [ -n "${KEPT-}" ] || { cc -w -O0 ${3-} -c "$1" -o "$2"; return; }
    object=$KEPT/runtime.$(echo "${3-}" | cat - "$1" | sha256sum | cut -c 1-64)
    [ -f "$object" ] || { cc -w -O0 ${3-} -c "$1" -o "$object.$$" && mv "$object.$$" "$object"; } || return
    cp "$object" "$2"
}

# quickest: prints the compiler for programs that any compiler may build: TinyCC if it is installed, which takes a
# twentieth of the time of others.
quickest() {
    command -v tcc >/dev/null 2>&1 && echo 'tcc -w' || echo 'cc -w -O0'
}

# fastest CRESCENT: prints the instruction set that emitted C without narrow formats uses on this machine.
fastest() {
    for isa in avx512 avx2 neon plain; do
        ! "$1" run graphs/tiny_block.lua --isa $isa >/dev/null 2>&1 || { echo $isa; return; }
    done
}
