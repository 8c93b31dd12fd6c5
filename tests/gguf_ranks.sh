#!/bin/sh
# gguf_ranks.sh TEST_GGUF_RANKS - tests GGUF files on several ranks, under each installed MPI (make test, make MPI=1).
#
# bits     logits and generated ids are those of one process, for every type of tensors, and whether blocks are kept
#          as they are (--format) or converted
# memory   a rank maps no more than the header and reads its own part: four ranks run a model under a limit
#          (ulimit -v) that is too small for the file
# errors   if two ranks have different files, or one rank cannot read its file, all ranks end with a message
# No function of an MPI is called otherwise for another type, so only the first MPI has all of them.
# TEST_GGUF_RANKS is the program of tests/test_gguf_ranks.c, $CRESCENT the program.  $BUILD has the shared objects.
# The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/mpi.sh"
writer=$1

# writes FOLDER TYPE FAMILY: writes a model whose tensors have the type with this number in GGUF files.
writes() {
    mkdir -p "$1" && "$writer" write "$1" "$2" "$3" >"$log" 2>&1
    report $? "a file of $3, type $2"
}

# bits FOLDER OPTIONS...: checks that its logits and ids on several ranks are those of one process.
bits() {
    model=$1/model.gguf
    shift
    "$crescent" run "$model" "$@" --threads 1 --output logits="$T/one.npy" >"$log" 2>&1
    report $? "$model $*"
    "$crescent" generate "$model" "$@" --ids --prompt-ids 3,1,4 --tokens 8 --ignore-eos --threads 1 >"$T/one" 2>"$log"
    report $? "generate $model $*"
    for n in $counts; do
        rm -f "$T/all.npy"
        ranks "$n" "$crescent" run "$model" "$@" --threads 1 --output logits="$T/all.npy" >"$T/out" 2>"$log"
        same "$family: $model $* on $n ranks" "$T/one.npy" "$T/all.npy"
        ranks "$n" "$crescent" generate "$model" "$@" --ids --prompt-ids 3,1,4 --tokens 8 --ignore-eos --threads 1 \
            >"$T/all" 2>"$log"
        same "$family: generate $model $* on $n ranks" "$T/one" "$T/all"
    done
}

# memory: 256 MiB of weights in f32, a quarter for each of four ranks, under 250 MiB of address space.
memory() {
    for type in $wide; do
        rm -f "$T/all.npy"
        ranks 4 sh -c 'ulimit -v 256000 && exec "$@"' sh "$crescent" run "$T/wide.lua" --threads 1 \
            --weights "$T/wide$type/wide.gguf" --output y="$T/all.npy" >"$T/out" 2>"$log"
        same "$family: a share of the memory (type $type)" "$T/wide$type.npy" "$T/all.npy"
    done
}

# refuses WORDS OPTIONS...: checks that two ranks with different files report that, and end.
refuses() {
    words=$1
    shift
    ranks 2 "$T/by_rank" "$@" >"$T/out" 2>"$log"
    status=$?
    [ $status -ne 0 ] && [ "$(grep '^crescent: ' "$log" | sort -u | wc -l)" = 1 ] && grep -q "^crescent: .*$words" "$log"
    report $? "$family: $words"
}

# F32, F16, BF16, Q8_0, Q4_0, Q4_1
for type in 0 1 30 8 2 3; do
    writes "$T/llama$type" $type llama
done
writes "$T/qwen2" 8 qwen2
writes "$T/gpt2" 2 gpt2
writes "$T/mixed" -1 llama
wide='0 2'
echo 'return {y = matmul(input("x", {1, 8192}), param("w", {8192, 8192}, {normal = 1}))}' >"$T/wide.lua"
for type in $wide; do
    writes "$T/wide$type" $type wide
    "$crescent" run "$T/wide.lua" --weights "$T/wide$type/wide.gguf" --output y="$T/wide$type.npy" >"$log" 2>&1
    report $? "type $type in one process"
done

# A program that appends the number of its rank to its last argument, the name of a folder.
mkdir "$T/by0" "$T/by1" "$T/types0" "$T/types1" "$T/lost0"
for folder in by0 types0 lost0; do cp "$T/llama0/model.gguf" "$T/$folder"; done
{ head -c -4 "$T/llama0/model.gguf" && printf '\0\0\0\100'; } >"$T/by1/model.gguf" &&
    cp "$T/llama1/model.gguf" "$T/types1"
report $? "a file for each rank"
cat >"$T/by_rank" <<END
#!/bin/sh
for last in "\$@"; do :; done
exec "$crescent" run "\$last\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}/model.gguf"
END
chmod +x "$T/by_rank"

# types: models whose tensors have the other types.
types() {
    counts=3
    bits "$T/llama1"
    bits "$T/llama1" --format f16
    bits "$T/llama30"
    bits "$T/llama8"
    bits "$T/llama2"
    counts='2 4'
    bits "$T/llama8" --format q8
    bits "$T/llama2" --format q4
    bits "$T/llama3" --format q4
    bits "$T/mixed" --format q8
    bits "$T/qwen2" --format q8
    bits "$T/gpt2" --format q4
    bits "$T/gpt2" --format q4 --arithmetic int8
}

tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    first=$((!tried)) tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    counts=3
    [ $first = 0 ] || counts='1 2 3 8'
    bits "$T/llama0"
    [ $first = 0 ] || types
    memory
    refuses 'contents of rank 1 differ from those of rank 0' "$T/by"
    refuses 'contents of rank 1 differ from those of rank 0' "$T/types"
    refuses 'lost1/model.gguf: cannot be read' "$T/lost"
done
[ $tried = 1 ] || echo 'skipped: found no MPI (make MPI=1 installs Open MPI)'

conclude
