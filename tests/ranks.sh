#!/bin/sh
# ranks.sh TEST_RANKS - several processes, under each MPI that make MPI=1 has built for.
#
# TEST_RANKS is the program of tests/test_ranks.c.  $BUILD has the shared objects.  The last line is
# "N passed, M failed".
set -u

BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"

# ranks N COMMAND...: by mpirun of $family, on this machine, with more ranks than processors if need be.
ranks() {
    n=$1
    shift
    case $family in
    openmpi) timeout 120 "$mpirun" --allow-run-as-root --oversubscribe -np "$n" "$@" ;;
    *) timeout 120 "$mpirun" -np "$n" "$@" ;;
    esac
}

# fails RANK WORDS: of three ranks that one fails; all end, and those words are said, once.
fails() {
    ranks 3 "$test_ranks" fail "$1" >"$T/out" 2>"$log"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c 'fails$' "$log")" = 1 ] &&
        grep -q "$2" "$log"
    report $? "$family: $2"
}

test_ranks=$1
tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    for n in 1 2 3 8; do
        ranks $n "$test_ranks" exchange >"$T/out" 2>"$log" && [ "$(cat "$T/out")" = "$n ranks" ]
        report $? "$family: exchanges of $n ranks"
    done
    fails 2 'rank 2 fails'
    fails -1 'rank 0 fails'
done
[ $tried = 1 ] || echo 'skipped: no MPI was built for (make MPI=1)'

conclude
