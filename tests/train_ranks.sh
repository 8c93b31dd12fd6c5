#!/bin/sh
# train_ranks.sh - a training by several processes, under each MPI that there is (make test, make MPI=1).
#
# bits     the checkpoint of any number of ranks is that of one process
# kill     when a rank is killed the others end; another number of ranks goes on from the last
#          checkpoint to the same bits
# errors   one line, and all ranks end
# $CRESCENT is the program.  $BUILD has the shared objects.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"

script=tests/scripts/micro_batches.lua folder=tests/fixtures/train_micro_batches
sort='graphs/train_sort.lua --set B=4 --set digits=3 --set n_embd=16 --set n_head=2 --set n_layer=1
    --set micro_batches=5 --set warmup=2 --threads 1'

# ranks N COMMAND...: by mpirun of $family, on this machine, with more ranks than processors if need be.
ranks() {
    n=$1
    shift
    case $family in
    openmpi) timeout 1200 "$mpirun" --allow-run-as-root --oversubscribe -np "$n" "$@" ;;
    *) timeout 1200 "$mpirun" -np "$n" "$@" ;;
    esac
}

# trains N CHECKPOINT OPTION...
trains() {
    n=$1 checkpoint=$2
    shift 2
    rm -f "$checkpoint"
    ranks $n "$crescent" train "$@" --checkpoint "$checkpoint" >"$T/out" 2>"$log" </dev/null
}

# refuses WORDS N COMMAND...: one line, and all ranks end.
refuses() {
    words=$1
    shift
    ranks "$@" >"$T/out" 2>"$log" </dev/null
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep '^crescent: ' "$log" | sort -u | wc -l)" = 1 ] &&
        grep -q "^crescent: .*$words" "$log"
    report $? "$family: $words"
}

# Waits until a file is there, for ten seconds at most.
wait_for() {
    tries=0
    while [ ! -s "$1" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ -s "$1" ]
}

# kill_one RANK: kills that one of four ranks in the middle of a training; the others end by themselves.
kill_one() {
    rm -f "$T"/pid* "$T/kept"
    ranks 4 "$T/with_pid" train $sort --steps 100000 --every 20 --checkpoint "$T/kept" \
        >"$T/out" 2>"$log" </dev/null &
    job=$!
    wait_for "$T/kept" && wait_for "$T/pid$1" && kill -9 "$(cat "$T/pid$1")" 2>"$T/out"
    report $? "$family: rank $1 is killed"
    wait $job
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ]
    report $? "$family: the others end when rank $1 is killed (status $status)"
}

# steps_of CHECKPOINT: how many steps it has behind it.
steps_of() {
    "$crescent" train $sort --resume "$1" --steps 0 --checkpoint "$T/again" |
        sed -n 's/.*the state after step \([0-9]*\)$/\1/p'
}

training() {
    for n in 2 3 4 6; do
        trains $n "$T/all" $script $data
        report $? "$family: trains on $n ranks"
        same "$family: the bits of $n ranks" "$T/one" "$T/all"
    done
    trains 2 "$T/all" $script $data --steps 7 && mv "$T/all" "$T/part" &&
        trains 3 "$T/all" $script $data --resume "$T/part"
    report $? "$family: 7 steps on 2 ranks, the rest on 3"
    same "$family: the bits of 2 ranks, then 3" "$T/one" "$T/all"
    for killed in 0 2; do
        kill_one $killed
        # It goes on from the last checkpoint, to a step behind it.
        made=$(steps_of "$T/kept")
        "$crescent" train $sort --steps $((made + 7)) --checkpoint "$T/whole" >"$log" 2>&1
        trains 2 "$T/all" $sort --resume "$T/kept" --steps 7
        report $? "$family: goes on from step $made on 2 ranks"
        same "$family: the bits of 4 ranks, one killed, then 2" "$T/whole" "$T/all"
        "$crescent" train $sort --resume "$T/kept" --steps 7 --checkpoint "$T/all" >"$log" 2>&1
        same "$family: the bits of 4 ranks, one killed, then 1" "$T/whole" "$T/all"
    done
    refuses 'found 7 ranks for a step of 6 micro-batches' 7 "$crescent" train $script $data
    refuses 'nowhere: ' 2 "$crescent" train $script $data --weights "$T/nowhere"
    refuses 'rank 1 differ from those of rank 0' 2 "$T/by_rank" train $script $data --weights "$T/weights"
}

data="--input ids=$folder/ids.npy --input target=$folder/target.npy --set micro_batches=6
    --set dropout=0.1 --threads 1"
"$crescent" train $script $data --checkpoint "$T/one" >"$log" 2>&1
report $? 'trains in one process'
for rank in 0 1; do
    "$crescent" train $script $data --steps 0 --seed $rank --save "$T/weights$rank" >"$log" 2>&1
    report $? "weights of rank $rank"
done

# Programs that leave their number behind, and that add their rank to the last argument.
rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
printf '#!/bin/sh\necho $$ >"%s/pid%s"\nexec "%s" "$@"\n' "$T" "$rank" "$crescent" >"$T/with_pid"
printf '#!/bin/sh\nexec "%s" "$@"%s\n' "$crescent" "$rank" >"$T/by_rank"
chmod +x "$T/with_pid" "$T/by_rank"

tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    training
done
[ $tried = 1 ] || echo 'skipped: found no MPI (make MPI=1 installs Open MPI)'

conclude
