# plain.sh - a shorter form of emitted C; scripts of tests read it with `.`
#
# The runtime stands in an emitted file once for each set of vectors.  Those of x86 take a C compiler
# two thirds of its time, and their text is the same in all files but for the list of ops.  So a suite
# compiles a few files as they are, with each compiler and level, and others with plain C alone.

# plain FILE.c FOLDER: FILE.c and FILE.h in the folder, without the vectors of x86.
plain() {
    sed 's/^#define CR_X86 1$/#define CR_X86 0/' "$1" >"$2/$(basename "$1")" &&
        ! cmp -s "$1" "$2/$(basename "$1")" && cp "${1%.c}.h" "$2"
}
