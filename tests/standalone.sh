#!/bin/sh
# standalone.sh - tests emitted files with many compilers and options.
#
# warnings   no compiler warns, at any level of optimisation
# refused    options that change arithmetic end in a line
# symbols    no variables that change, no names but the model's, no allocation
# step       docs/call_training.c makes the steps of generated/train_add.c that `crescent
#            train` makes
# bits       the main of a fixture's model writes what `crescent run` writes, bit for bit, for
#            every compiler, options, threads and machine (by qemu); also gradients
# The runtime, which takes most of the time of a compiler, has the same text in all files but for the list of ops,
# once for each instruction set.  So tests of a model's own text compile files without it (plain_c.sh). Whole files
# are compiled by each compiler: at -O1 and -O3, and by gcc at -O2, with one instruction set, with all sets in one file
# without optimisation, and with threads; but not every model with all of these.
#
# A missing compiler or qemu is skipped with a note.  $CRESCENT is the program, $JOBS the number of commands that run
# at a time.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
jobs="$scratch/jobs"
strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"
short="$scratch/plain" fast="$scratch/fast" avx2="$scratch/avx2" neon="$scratch/neon" bare="$scratch/bare"
mkdir "$short" "$fast" "$avx2" "$neon" "$bare"
: >"$jobs"
. "$(dirname "$0")/plain_c.sh"
isa=$(fastest "$crescent")
[ "$isa" = avx512 ] || [ "$isa" = avx2 ] || avx2=$short # which other machines cannot run

have() {
    command -v "$1" >/dev/null 2>&1 || { echo "skipped: $1 is not installed"; return 1; }
}

compilers=
for compiler in gcc clang; do
    have $compiler && compilers="$compilers $compiler"
done

# job COMMAND: queues a line of shell that must succeed and print nothing.
job() {
    printf '%s\n' "$*" >>"$jobs"
}

# Returns a new name for a program or an object.
count=0
fresh() {
    count=$((count + 1))
    out="$scratch/$count"
}

upper() {
    echo "$1" | tr a-z A-Z
}

# ---- generated/ ----

# build COMPILER OPTIONS SOURCE: compiles, and discards the object.  The warnings of clang do not depend on the level
# of optimisation, except those about loops; the programs below are compiled at other levels.
build() {
    fresh
    case $1 in
    clang) job "$1 $strict $2 -fsyntax-only $3" ;;
    *) job "$1 $strict $2 -c $3 -o $out.o && rm $out.o" ;;
    esac
}

tcc=
have tcc && tcc=tcc
for source in generated/*.c; do
    name=$(basename "$source" .c)
    main="-D$(upper "$name")_MAIN" threads="-D$(upper "$name")_THREADS=2 -pthread"
    if [ -n "$tcc" ]; then
        fresh
        job "tcc -Wall -Werror -c $source -o $out.o && tcc -Wall -Werror $main -c $source -o $out.o"
    fi
    apart plain "$source" "$bare" || job "echo '$source: its runtime cannot be left out'"
    for compiler in $compilers; do
        build "$compiler" "-O0 $main $threads" "$bare/$name.c"
        build "$compiler" "-O2" "$bare/$name.c"
        [ $compiler = clang ] || build "$compiler" "-O3 $threads" "$bare/$name.c"
        case $name in
        gpt2_stack) # both together, at each level, are below
            build "$compiler" "-O1 $main" "$bare/$name.c"
            build "$compiler" "-O1 -U__unix__ $main" "$bare/$name.c" # reads files without mmap
            ;;
        esac
    done
done

# Prints symbols, listed by nm, that the model `name` must not have.
cat >"$scratch/symbols.awk" <<'END'
$(NF - 1) ~ /[bBdDCsSgG]/ { print $NF " changes" }
$(NF - 1) ~ /[TRVW]/ && $NF !~ "^_?" name "_" && $NF != other { print $NF " is no name of the model" }
$1 == "U" && $2 ~ /^_?(malloc|calloc|realloc|free|aligned_alloc|mmap|printf|fopen)$/ {
    print $2 " is called"
}
END

# symbols_of FILE.c OBJECT [OTHER]: prints the command that compiles the object and lists its symbols; OTHER is an
# allowed symbol.  In position-independent code constants that hold addresses count as variables, hence no PIC.
symbols_of() {
    echo "cc -fno-pic -fno-pie -O0 -D$(upper "$(basename "$1" .c)")_THREADS=2 -pthread -c $1 -o $2 &&" \
        "nm $2 | awk -v name=$(basename "$1" .c) -v other=${3-} -f $scratch/symbols.awk"
}

# cplusplus NAME OBJECT: prints the command that links a caller in C++ and runs it; it cannot link unless the header
# has extern "C".
cplusplus() {
    cat >"$out.cc" <<END
#include "generated/$1.h"
int main() { return $1_load(0, 0, 0) == 1 && $(upper "$1")_ARENA_BYTES > 0 ? 0 : 1; }
END
    echo "g++ -Wall -Wextra -Wpedantic -Werror -I. -no-pie $out.cc $2 -lm -pthread -o $out && $out"
}

# All models without the runtime, and one with the plain runtime; `hundred_here` below compiles all vectors.
for header in generated/*.h; do
    fresh
    job "$(symbols_of "$bare/$(basename "$header" .h).c" "$out.o" cr_pool_parallel)"
done
fresh
calls=
have g++ && calls="&& $(cplusplus gpt2_stack "$out.o")"
plain generated/gpt2_stack.c "$short" && job "$(symbols_of "$short/gpt2_stack.c" "$out.o") $calls" ||
    job "echo 'generated/gpt2_stack.c cannot be made plain'"

# ---- the main of a fixture's model ----

# sets FILE.c: writes the file with one instruction set to the folder of each.
sets() {
    only "$isa" "$1" "$fast" && only avx2 "$1" "$scratch/avx2" && only neon "$1" "$neon" &&
        plain "$1" "$short"
}

# emit CASE [OPTION...]: writes its C to $scratch/CASE.c and its output to $scratch/CASE.npy.  Sets `macro`, the
# model's name in capitals, and `files`, the arguments of its main.
emit() {
    arguments= case=$1
    shift
    while read -r key value; do
        case $key in
        script) arguments="$value $arguments" macro=$(upper "$(basename "$value" .lua)") ;;
        set) arguments="$arguments --set $value" ;;
        esac
    done <"tests/fixtures/$case/case.txt"
    files="--weights tests/fixtures/$case/model.safetensors --input x=tests/fixtures/$case/x.npy"
    "$crescent" emit $arguments "$@" -o "$scratch/$case.c" >/dev/null &&
        sets "$scratch/$case.c" &&
        "$crescent" run $arguments $files --output "y=$scratch/$case.npy" >/dev/null \
            2>"$scratch/log"
}

# bits FILE.c COMPILER THREADS OPTIONS [EMULATOR]: builds and runs the main of the model that was emitted last, and
# compares.  The main may print a note that the fixture has more tensors than the model.
bits() {
    fresh
    threads=
    [ "$3" = 1 ] || threads="-D${macro}_THREADS=$3 -pthread"
    job "$2 $4 -D${macro}_MAIN $threads $1 -o $out -lm &&" \
        "${5-} $out $files --output y=$out.npy 2>$out.log &&" \
        "cmp $out.npy $scratch/$case.npy && rm $out || { cat $out.log; false; }"
}

# here FOLDER COMPILER THREADS OPTIONS: the same, skipped if the compiler is not installed.
here() {
    case " $compilers " in
    *" $2 "*) bits "$1/$case.c" "$2" "$3" "$strict $4" ;;
    esac
}

# model_alone COMPILER OPTIONS: the same for the text of the model, with a runtime that is compiled without
# optimisation.
model_alone() {
    case " $compilers " in
    *" $1 "*) ;;
    *) return ;;
    esac
    fresh
    mkdir "$out.apart"
    apart plain "$scratch/$case.c" "$out.apart" && runtime_object "$out.apart/${case}_runtime.c" "$out.runtime.o" ||
        job "echo '$case: its runtime cannot be compiled apart'"
    job "$1 $strict $2 -D${macro}_MAIN $out.apart/$case.c $out.runtime.o -o $out -lm &&" \
        "$out $files --output y=$out.npy 2>$out.log && cmp $out.npy $scratch/$case.npy && rm $out ||" \
        "{ cat $out.log; false; }"
}

# CFLAGS of a user that would change the bits of a file that does not forbid it.
daring="-march=native -ffp-contract=fast"

# programs: queues the programs of the case that was emitted last.
programs() {
    case $case in
    gpt2_long)
        here "$fast" gcc 2 "-O3 $daring"
        here "$scratch" clang 1 "-O0 $daring"
        if [ -d /proc/self/task ]; then
            bits "$fast/$case.c" cc 2 "-O0 -fsanitize=address,undefined -fno-sanitize-recover"
        else
            echo "skipped: sanitizers need /proc"
        fi
        ;;
    decoder)
        model_alone gcc "-O2 -D${macro}_THREADS=3 -pthread"
        model_alone clang "-O2 $daring"
        ;;
    heads)
        here "$short" gcc 1 "-O0 $daring"
        model_alone clang "-O1 -D${macro}_THREADS=2 -pthread $daring"
        ;;
    stack_linear) model_alone gcc "-O1 $daring" ;;
    stream) here "$short" clang 2 "-O3 $daring" ;;
    tiny_nobias) here "$short" gcc 2 "-O3 $daring" ;;
    esac
}

# programs_of_others: queues programs for other processors, which qemu runs.
programs_of_others() {
    [ "$case" = gpt2_long ] && for cpu in aarch64 riscv64; do
        if have $cpu-linux-gnu-gcc && have qemu-$cpu; then
            bits "$scratch/$case.c" $cpu-linux-gnu-gcc 2 "$strict -O3 -static -ffp-contract=fast" qemu-$cpu
        fi
    done
}

# kernels COMPILER LEVEL: compiles the kernels of the case that was emitted last, and links them with the library's
# runtime.
printf '#!/bin/sh\nexec $COMPILER "$@" $LEVEL\n' >"$scratch/at_level" && chmod +x "$scratch/at_level"
kernels() {
    fresh
    job "COMPILER=$1 LEVEL=$2 CC=$scratch/at_level $crescent run $arguments $files --backend cc" \
        "--output y=$out.npy >$out.log 2>&1 || { cat $out.log; false; }; cmp $out.npy $scratch/$case.npy"
}

passed=0 failed=0
for case in gpt2_long decoder heads stack_linear stream tiny_nobias; do
    if ! emit "$case"; then
        echo "FAILED: $case: cannot be emitted and run"
        cat "$scratch/log"
        failed=$((failed + 1))
        continue
    fi
    if have tcc; then
        bits "$scratch/$case.c" tcc 1 "-Wall -Werror"
    fi
    programs
    programs_of_others
    for compiler in $compilers; do
        kernels $compiler -O3
        case $compiler in
        gcc) kernels gcc -O1 ;; # -O0 and -O2: fixtures.sh
        *) kernels $compiler -O0 ;;
        esac
    done
done

# ---- weights in narrow formats ----

# narrow COMPILER OPTIONS: runs the main of a model with int8 products, with all instruction sets, on weights of a
# fixture.
narrow() {
    case=narrow arguments="graphs/gpt2_block.lua --set B=1 --set T=150 --set n_embd=24 --set n_head=3"
    arguments="$arguments --format q8,mlp.*=q4 --arithmetic int8" macro=GPT2_BLOCK
    files="--weights tests/fixtures/gpt2_long/model.safetensors --input x=tests/fixtures/gpt2_long/x.npy"
    "$crescent" emit $arguments -o "$scratch/narrow.c" >"$scratch/log" &&
        "$crescent" run $arguments $files --output "y=$scratch/narrow.npy" >"$scratch/log" 2>&1 &&
        bits "$scratch/narrow.c" "$1" 2 "$2"
}

if ! narrow cc "$strict -O0"; then
    echo 'FAILED: a model with narrow weights: cannot be emitted and run'
    cat "$scratch/log"
    failed=$((failed + 1))
fi

# Functions that only another format needs are left out: clang warns about unused functions, before it generates code.
if "$crescent" emit graphs/tiny_block.lua --format q4 --arithmetic int8 -o "$scratch/q4.c" >"$scratch/log"; then
    case $compilers in
    *clang*) build clang "-O0" "$scratch/q4.c" ;;
    *) build cc "-O0" "$scratch/q4.c" ;;
    esac
else
    job "echo 'a model of one format: cannot be emitted'"
fi

# Options that let compilers change arithmetic are refused by a line.
for compiler in $compilers; do
    for option in -Ofast -ffast-math -ffinite-math-only; do
        job "$compiler -std=c11 $option -fsyntax-only generated/tiny_block.c 2>&1 |" \
            "grep -q 'error.*this needs arithmetic as it is written'"
    done
done

# ---- a backward pass, whose gradients are outputs ----

# gradients FOLDER CASE COMPILER OPTIONS: checks that the main of C with a backward pass writes, for every
# output, what `crescent run` writes.
gradients() {
    emit "$2" --grads none || return 1
    fresh
    ours= theirs= compare=
    for name in y gradient:x \
        $("$crescent" params $arguments | awk '$2 ~ /\[/ { print "gradient:" $1 }'); do
        ours="$ours --output $name=$out.$name"
        theirs="$theirs --output $name=$out.$name.npy"
        compare="$compare && cmp $out.$name $out.$name.npy"
    done
    "$crescent" run $arguments $files --grads none $theirs >/dev/null 2>"$scratch/log" || return 1
    job "$3 $strict $4 -D${macro}_MAIN -D${macro}_THREADS=2 -pthread $1/$2.c" \
        "-o $out -lm && $out $files $ours 2>$out.log $compare"
}

if ! gradients "$fast" tiny cc "-O1 $daring"; then
    echo 'FAILED: gradients of tiny: cannot be emitted and run'
    cat "$scratch/log"
    failed=$((failed + 1))
fi

# ---- integers ----

# integers FOLDER COMPILER OPTIONS [EMULATOR]: checks that the main reads and writes int32, bit for bit.
integers() {
    fresh
    given= written= compare=
    for name in ids table x; do
        given="$given --input $name=$scratch/$name.npy"
    done
    for name in along down first rows; do
        written="$written --output $name=$out.$name"
        compare="$compare && cmp $out.$name $scratch/integers.$name"
    done
    job "$2 $3 -DINTEGERS_MAIN $1/integers.c -o $out -lm && ${4-} $out $given $written $compare"
}

cat >"$scratch/given.lua" <<'END'
local n = iota({9, 5}, 1) * 5 + iota({9, 5}, 2)
return {table = n * 123456789 + -2 ^ 31, x = float(n), ids = iota({6}, 1) * 3 - 8}
END
"$crescent" run "$scratch/given.lua" --output "table=$scratch/table.npy" \
    --output "x=$scratch/x.npy" --output "ids=$scratch/ids.npy" >"$scratch/log" &&
    "$crescent" emit tests/golden/integers.lua -o "$scratch/integers.c" >"$scratch/log" &&
    sets "$scratch/integers.c" &&
    "$crescent" run tests/golden/integers.lua --backend ref --input "table=$scratch/table.npy" \
        --input "x=$scratch/x.npy" --input "ids=$scratch/ids.npy" \
        --output "along=$scratch/integers.along" --output "down=$scratch/integers.down" \
        --output "first=$scratch/integers.first" --output "rows=$scratch/integers.rows" >"$scratch/log"
for name in along down first rows; do
    job "grep -q \"'descr': '<i4'\" $scratch/integers.$name"
done
if have tcc; then
    integers "$scratch" tcc "-Wall -Werror"
fi
for compiler in $compilers; do
    case $compiler in
    gcc) integers "$fast" "$compiler" "$strict -O2 $daring" ;;
    *) integers "$short" "$compiler" "$strict -O1 $daring" ;;
    esac
done
if [ -d /proc/self/task ]; then
    integers "$short" cc "-O0 -fsanitize=address,undefined -fno-sanitize-recover"
fi
for cpu in aarch64 riscv64; do
    if have $cpu-linux-gnu-gcc && have qemu-$cpu; then
        integers "$scratch" $cpu-linux-gnu-gcc "$strict -O1 -static" qemu-$cpu
    fi
done

# ---- a step of a training ----

# hundred FOLDER COMPILER OPTIONS [EMULATOR]: checks that a hundred steps end with the tensors of a checkpoint.
hundred() {
    fresh
    job "$2 $3 -Igenerated docs/call_training.c $1/train_add.c -o $out -lm && $(hundred_alike "${4-}")"
}

hundred_alike() {
    echo "$1 $out $scratch/start 100 $out.tensors >$out.log &&" \
        "tail -c \$(wc -c <$out.tensors) $scratch/hundred | cmp - $out.tensors"
}

# hundred_here FOLDER COMPILER OPTIONS: the same, and checks the symbols of the object.  In files with vectors, a
# compiler that does not optimise keeps functions of its own headers, such as _mm_malloc.
hundred_here() {
    fresh
    job "$2 $3 -fno-pic -fno-pie -c $1/train_add.c -o $out.o &&" \
        "nm $out.o | awk -v name=train_add -f $scratch/symbols.awk &&" \
        "$2 $3 -Igenerated -fno-pie -no-pie docs/call_training.c $out.o -o $out -lm && $(hundred_alike '')"
}

if sets generated/train_add.c && "$crescent" train graphs/train_add.lua --steps 0 --checkpoint "$scratch/start" >"$scratch/log" &&
    "$crescent" train graphs/train_add.lua --steps 100 --checkpoint "$scratch/hundred" \
        >"$scratch/log"; then
    if have tcc; then
        hundred generated tcc "-std=c11 -Wall -Werror"
    fi
    for compiler in $compilers; do
        case $compiler in
        gcc) hundred_here "$avx2" "$compiler" "$strict -O2 -DTRAIN_ADD_THREADS=2 -pthread" ;;
        *) hundred_here "$fast" "$compiler" "$strict -O1 $daring" ;;
        esac
    done
    if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
        hundred "$neon" aarch64-linux-gnu-gcc "$strict -O1 -static" qemu-aarch64
    fi
else
    echo 'FAILED: graphs/train_add.lua: cannot be trained'
    failed=$((failed + 1))
fi

# ---- running the jobs ----

# The output of a job is kept together; a job that succeeds adds a dot to $scratch/passed.
tr '\n' '\0' <"$jobs" | xargs -0 -n 1 -P "${JOBS:-2}" sh -c '
    said=$(sh -c "$2" 2>&1 </dev/null)
    status=$?
    if [ $status -eq 0 ] && [ -z "$said" ]; then
        printf . >>"$1/passed"
    else
        printf "FAILED (exit status %s): %s\n%s\n" "$status" "$2" "$said"
    fi' job "$scratch"
succeeded=$(cat "$scratch/passed" 2>/dev/null | wc -c)
total=$(wc -l <"$jobs")
failed=$((failed + total - succeeded)) passed=$((passed + succeeded))

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
