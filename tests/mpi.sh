# mpi.sh - functions that run several processes; scripts of tests read it with `.` after report.sh
#
# $family is `openmpi` or `mpich`, $mpirun its mpirun.

# ended PID: succeeds if the process has ended, whether or not its parent has waited for it.
ended() {
    ! grep '^State:' "/proc/$1/status" 2>/dev/null | grep -qv Z
}

# has_child PID: succeeds if a process that it started still runs.
has_child() {
    for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
        ended "$child" || return 0
    done
    return 1
}

# end_mpirun: kills the mpirun whose process number is in $T/mpirun if all its threads sleep for ten seconds after its
# ranks have ended.  After MPI_Abort, mpirun of Open MPI 4.1 may wait for a lock of PMIx for ever (in 3 of 100 runs on
# a busy machine).
end_mpirun() {
    begun=0 slept=0
    while sleep 1; do
        pid=$(cat "$T/mpirun" 2>/dev/null)
        if has_child "$pid"; then
            begun=1 slept=0
        elif [ $begun = 0 ] || grep -q '^State:.[RD]' "/proc/$pid"/task/*/status 2>/dev/null; then
            slept=0
        else
            slept=$((slept + 1))
            [ $slept -lt 10 ] || { kill -9 "$pid" && return; }
        fi
    done
}

# ranks N COMMAND...: runs N ranks by mpirun of $family on this machine, even if it has fewer processors.  The status
# is 124 if the ranks do not end.
ranks() {
    n=$1
    shift
    case $family in
    openmpi) set -- --allow-run-as-root --oversubscribe -np "$n" "$@" ;;
    *) set -- -np "$n" "$@" ;;
    esac
    rm -f "$T/mpirun"
    end_mpirun >/dev/null 2>&1 &
    watcher=$!
    timeout 1200 sh -c 'echo $$ >"$0" && exec "$@"' "$T/mpirun" "$mpirun" "$@"
    ranks_status=$?
    kill $watcher 2>/dev/null
    wait $watcher 2>/dev/null
    return $ranks_status
}
