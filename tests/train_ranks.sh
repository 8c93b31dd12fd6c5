#!/bin/sh
# train_ranks.sh - tests a training by several processes, under each installed MPI (make test, make MPI=1).
#
# bits     the checkpoint of any number of ranks is that of one process
# kill     $KILLS times (2), a rank is killed at a random moment; the others must end, and another number of ranks
#          continues from the last checkpoint to the same bits
# signals  after a signal to one rank all stop, and the checkpoint is written
# shared   the same bits if states are split by rows, cannot be split, or are read by the validation
# emitted  a step that is emitted for N ranks has these bits, and each rank its share of the states
# adapters the same for a step that trains adapters, or weights of which some are read whole; emitted C continues from
#          checkpoints of several ranks
# memory   a rank has its share of an optimiser's states
# errors   one line, and all ranks end
# No function of an MPI is called otherwise for another model or number of ranks: only the first MPI has all of them.
# $CRESCENT is the program.  $BUILD has the shared objects.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"
. "$(dirname "$0")/mpi.sh"

script=tests/scripts/micro_batches.lua folder=tests/fixtures/train_micro_batches
sort='graphs/train_sort.lua --set B=4 --set digits=3 --set n_embd=16 --set n_head=2 --set n_layer=1
    --set micro_batches=5 --set warmup=2 --threads 1'

# trains N CHECKPOINT OPTION...: trains on N ranks.
trains() {
    n=$1 checkpoint=$2
    shift 2
    rm -f "$checkpoint"
    ranks $n "$crescent" train "$@" --checkpoint "$checkpoint" >"$T/out" 2>"$log" </dev/null
}

# refuses WORDS N COMMAND...: passes if N ranks print one line with these words, and all end.
refuses() {
    words=$1
    shift
    ranks "$@" >"$T/out" 2>"$log" </dev/null
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep '^crescent: ' "$log" | sort -u | wc -l)" = 1 ] &&
        grep -q "^crescent: .*$words" "$log"
    report $? "$family: $words"
}

# group N: prints a number with commas.
group() {
    echo "$1" | sed ':again; s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/; t again'
}

# random N: prints a number from 0 to N - 1.
random() {
    echo $(($(od -An -N2 -tu2 /dev/urandom) % $1))
}

# Repeats a command until it succeeds.
wait_until() {
    tries=0
    until "$@" || [ $tries = 6000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    "$@"
}

# kill_one RANK SECONDS: kills one of four ranks this long after it began to train, or to load MPI; checks that mpirun
# reports it, and that all ranks end.  If a rank ends while mpirun of MPICH sets ranks up, it reports errors of its own.
kill_one() {
    rm -f "$T"/pid* "$T/kept"
    ranks 4 "$T/with_pid" train $sort --steps 100000 --every 20 --checkpoint "$T/kept" \
        >"$T/out" 2>"$log" </dev/null &
    job=$!
    wait_until [ -s "$T/pid$1" ] && sleep "$2" && kill -9 "$(cat "$T/pid$1")" 2>/dev/null
    report $? "$family: rank $1 is killed after $2 s"
    wait $job
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && cat "$T/out" "$log" | grep -q -i 'kill\|terminat\|^\[mpiexec.*error'
    report $? "$family: mpirun says that rank $1 was killed after $2 s (status $status)"
    for pid in "$T"/pid*; do
        wait_until ended "$(cat "$pid")"
        report $? "$family: ${pid##*/} ends when rank $1 was killed after $2 s"
    done
}

# steps_of CHECKPOINT: prints the number of its steps.
steps_of() {
    "$crescent" train $sort --resume "$1" --steps 0 --checkpoint "$T/again" |
        sed -n 's/.*the state after step \([0-9]*\)$/\1/p'
}

# goes_on RANKS: continues from the last checkpoint, if there is one, and compares with a training that was not
# stopped.
goes_on() {
    made=0 resume=
    [ ! -f "$T/kept" ] || { made=$(steps_of "$T/kept") && resume="--resume $T/kept"; }
    "$crescent" train $sort --steps $((made + 7)) --checkpoint "$T/whole" >"$log" 2>&1
    report $? "trains $((made + 7)) steps in one process"
    trains $1 "$T/all" $sort $resume --steps 7
    report $? "$family: goes on from step $made on $1 ranks"
    same "$family: the bits of 4 ranks, one killed at step $made, then $1" "$T/whole" "$T/all"
}

# Kills ranks at random moments.  Another number of ranks continues.
kills() {
    for round in $(seq "${KILLS:-2}"); do
        kill_one $(random 4) $(random 3).$(random 10)$(random 10)
        goes_on $((1 + $(random 3)))
    done
}

# signals RANK: checks that all of three ranks stop after SIGTERM to RANK, and that the checkpoint is written.
signals() {
    rm -f "$T"/pid* "$T/kept"
    ranks 3 "$T/with_pid" train $sort --steps 100000 --every 5 --checkpoint "$T/kept" \
        >"$T/out" 2>"$log" </dev/null &
    job=$!
    wait_until [ -f "$T/kept" ] && kill -TERM "$(cat "$T/pid$1")"
    report $? "$family: SIGTERM to rank $1"
    wait $job
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q 'Wrote .*kept: the state after' "$T/out"
    report $? "$family: a checkpoint after SIGTERM to rank $1 (status $status)"
}

# shares_states: checks that ranks with parts of the states compute the bits of one process.
shares_states() {
    for n in $some; do
        trains $n "$T/all" $shared --validate-every 3
        report $? "$family: states of $n ranks"
        same "$family: the bits of states of $n ranks" "$T/states" "$T/all"
    done
    trains 4 "$T/all" $shared --steps 5 --validate-every 3 && mv "$T/all" "$T/part" && \
        trains 3 "$T/all" $shared --resume "$T/part" --validate-every 3
    report $? "$family: 5 steps on 4 ranks, the rest on 3"
    same "$family: the bits of states of 4 ranks, then 3" "$T/states" "$T/all"
    refuses 'element 1800 of update.mean.w is -\?nan after step 12' 3 "$crescent" train $shared --set bad=true --checkpoint "$T/bad"
    [ ! -e "$T/bad" ]
    report $? "$family: a state that is NaN is not written"
    # Sent by rank 0 of two: half of the gradients of w and v to rank 1; those of fewer than 1,024 numbers (b, the
    # loss) in blocks of 64 bytes; half of the sum of w, which a product reads; and half of the next w and v.
    trains 2 "$T/all" $shared
    grep -q "has sent $(group $((12 * 4 * (2 * 960 + 64 + 960 + 2 * 960)))) bytes in steps" "$T/out"
    report $? "$family: bytes that are sent"
    trains 4 "$T/all" $large
    grep -q '^Memory: weights 13.6 MiB' "$T/out"
    report $? "$family: a rank reads its share of the weights in the update"
    same "$family: the bits of larger states" "$T/large" "$T/all"
}

# build NAME MODEL OPTIONS...: builds $T/call, a program whose steps are emitted; NAME is that of MODEL.
build() {
    name=$1 capitals=$(echo "$1" | tr a-z A-Z)
    shift
    mkdir -p "$T/apart"
    "$crescent" emit --train "$@" --isa plain -o "$T/$name.c" >"$T/out" 2>"$log" &&
        apart plain "$T/$name.c" "$T/apart" &&
        runtime_object "$T/apart/${name}_runtime.c" "$T/apart/runtime.o" >"$log" 2>&1 &&
        $mpicc -std=c11 -O1 -Wall -Wextra -Werror "-D${capitals}_MPI" -I"$T" "-DMODEL=$name" \
            "-DMODEL_CAPITALS=$capitals" docs/call_training.c "$T/apart/$name.c" "$T/apart/runtime.o" -lm \
            -o "$T/call" >"$log" 2>&1
}

# call_fails WORDS N COMMAND...: passes if $T/call on N ranks fails with these words.  If one rank ends all others, mpiexec
# may lose what they wrote last.
call_fails() {
    words=$1
    shift
    for attempt in 1 2 3 4 5; do
        ranks "$@" "$T/start" 12 "$T/tensors" >"$T/out" 2>"$log" </dev/null
        status=$?
        [ $status -ne 0 ] && [ $status -ne 124 ] || break
        grep -q "$words" "$log" && break
    done
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "$words" "$log"
    report $? "$family: the C says: $words"
}

# emitted: compares steps of docs/call_training.c with one process; 2 and 4 divide the number of rows, 3 does not.
emitted() {
    "$crescent" train $shared --steps 0 --checkpoint "$T/start" >"$log" 2>&1
    report $? 'a checkpoint of no steps'
    for n in $some; do
        rm -f "$T/tensors"
        build shared_states ${shared% --threads 1} --ranks $n
        report $? "$family: emit --train --ranks $n"
        ranks $n "$T/call" "$T/start" 12 "$T/tensors" >"$T/out" 2>"$log" </dev/null
        report $? "$family: twelve steps in C on $n ranks"
        tail -c "$(wc -c <"$T/tensors")" "$T/states" >"$T/expected"
        same "$family: twelve steps in C on $n ranks: the same bits" "$T/tensors" "$T/expected"
    done
    # mean.w and sgd.v are split: 1,920 numbers each, in 48 and 40 rows
    whole=$(state_bytes_of '')
    for n in 2 3 4; do
        [ $((whole - $(state_bytes_of "--ranks $n"))) -eq $((4 * (2 * 1920 - 40 * ((48 + n - 1) / n) - 48 * ((40 + n - 1) / n)))) ]
        report $? "a rank of $n has its share of a state"
    done
    call_fails 'expected CHECKPOINT' 3 "$T/call"
    cp "$T/start" "$T/start0"
    "$crescent" train $shared --steps 0 --seed 1 --checkpoint "$T/start1" >"$log" 2>&1
    call_fails 'ranks have different steps' 4 "$T/call_steps"
    call_fails 'ranks have different steps' 4 "$T/call_other"
}

# calls N CHECKPOINT STEPS: checks that $T/call on N ranks ends with the state of $T/whole.
calls() {
    rm -f "$T/tensors"
    ranks $1 "$T/call" "$2" $3 "$T/tensors" >"$T/out" 2>"$log" </dev/null
    report $? "$family: $3 steps in C on $1 ranks, $*"
    tail -c "$(wc -c <"$T/tensors")" "$T/whole" >"$T/expected"
    same "$family: $3 steps in C on $1 ranks, $*: the same bits" "$T/tensors" "$T/expected"
}

# adapters OPTIONS...: compares six steps of tests/scripts/adapters.lua, of which 4 ranks make the first two, with those
# of one process.
adapters() {
    set -- tests/scripts/adapters.lua "$@"
    "$crescent" train "$@" --threads 1 --checkpoint "$T/whole" >"$log" 2>&1
    report $? "$* in one process"
    trains 4 "$T/all" "$@" --threads 1 --steps 2 && mv "$T/all" "$T/part" &&
        trains 3 "$T/all" "$@" --threads 1 --resume "$T/part"
    report $? "$family: $*, 2 steps on 4 ranks, the rest on 3"
    same "$family: the bits of $*, on 4 ranks, then 3" "$T/whole" "$T/all"
    [ -n "$mpicc" ] || return
    build adapters "$@"
    report $? "$family: emit --train $*"
    calls 3 "$T/part" 4
    build adapters "$@" --ranks 2
    report $? "$family: emit --train $* --ranks 2"
    calls 2 "$T/part" 4
}

# state_bytes_of OPTIONS: prints the bytes of a state of the emitted step.
state_bytes_of() {
    "$crescent" emit --train ${shared% --threads 1} $1 --isa plain -o "$T/bytes.c" >"$T/out" 2>"$log"
    sed -n 's/^#define [A-Z_]*_STATE_BYTES \([0-9]*\)L$/\1/p' "$T/bytes.h"
}

training() {
    some=4
    [ $first = 0 ] || some='2 3 4'
    for n in $some 6; do
        trains $n "$T/all" $script $data
        report $? "$family: trains on $n ranks"
        same "$family: the bits of $n ranks" "$T/one" "$T/all"
    done
    trains 2 "$T/all" $script $data --steps 7 && mv "$T/all" "$T/part" &&
        trains 3 "$T/all" $script $data --resume "$T/part"
    report $? "$family: 7 steps on 2 ranks, the rest on 3"
    same "$family: the bits of 2 ranks, then 3" "$T/one" "$T/all"
    shares_states
    mpicc=$(command -v mpicc.$family || command -v mpicc) && emitted
    [ $first = 0 ] || adapters
    adapters --set all=true --set adapters=false
    kills
    signals 2
    refuses 'found 7 ranks for a step of 6 micro-batches' 7 "$crescent" train $script $data
    refuses 'nowhere: ' 2 "$crescent" train $script $data --weights "$T/nowhere"
    refuses 'alone/weights1: cannot be opened' 3 "$T/by_rank" train $script $data --weights "$T/alone/weights"
    refuses 'rank 1 differ from those of rank 0' 2 "$T/by_rank" train $script $data --weights "$T/weights"
    refuses 'ids[01]: contents of rank 1 differ from those of rank 0' 2 "$T/by_rank" train $script $data --input "ids=$T/ids"
}

shared='tests/scripts/shared_states.lua --threads 1'
large='graphs/train_sort.lua --set B=2 --set digits=3 --set n_embd=256 --set n_head=2 --set n_layer=2
    --set micro_batches=4 --set warmup=2 --threads 1 --steps 3'
data="--input ids=$folder/ids.npy --input target=$folder/target.npy --set micro_batches=6
    --set dropout=0.1 --threads 1"
"$crescent" train $script $data --checkpoint "$T/one" >"$log" 2>&1
report $? 'trains in one process'
"$crescent" train $shared --validate-every 3 --checkpoint "$T/states" >"$log" 2>&1
report $? 'trains with several kinds of states in one process'
"$crescent" train $large --checkpoint "$T/large" >"$T/out" 2>"$log" && grep -q '^Memory: weights 18.1 MiB' "$T/out"
report $? 'trains with larger states in one process'
for rank in 0 1; do
    "$crescent" train $script $data --steps 0 --seed $rank --save "$T/weights$rank" >"$log" 2>&1
    report $? "weights of rank $rank"
done
mkdir "$T/alone" && cp "$T/weights0" "$T/alone" # of which rank 0 finds its own
cp $folder/ids.npy "$T/ids0"
{ head -c -8 $folder/ids.npy && printf '\001\0\0\0\0\0\0\0'; } >"$T/ids1" # another last batch

# Programs that write their process number to a file, and that append their rank to the last argument.
rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
printf '#!/bin/sh\necho $$ >"%s/pid%s"\nexec "%s" "$@"\n' "$T" "$rank" "$crescent" >"$T/with_pid"
printf '#!/bin/sh\nexec "%s" "$@"%s\n' "$crescent" "$rank" >"$T/by_rank"
# Programs that call $T/call, rank 1 with another number of steps or another checkpoint.
printf '#!/bin/sh\nexec "%s" "$1" "$2%s" "$3"\n' "$T/call" "$rank" >"$T/call_steps"
printf '#!/bin/sh\nexec "%s" "$1$((%s == 1))" "$2" "$3"\n' "$T/call" "$rank" >"$T/call_other"
chmod +x "$T/with_pid" "$T/by_rank" "$T/call_steps" "$T/call_other"

tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    first=$((!tried)) tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    training
done
[ $tried = 1 ] || echo 'skipped: found no MPI (make MPI=1 installs Open MPI)'

conclude
