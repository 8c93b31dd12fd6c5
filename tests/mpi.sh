# mpi.sh - how scripts of tests run several processes; they read it with `.` after report.sh
#
# $family is `openmpi` or `mpich`, $mpirun its mpirun.

# ended PID: it has ended, and may not have been waited for.
ended() {
    ! grep '^State:' "/proc/$1/status" 2>/dev/null | grep -qv Z
}

# has_child PID: a process that it started has not ended.
has_child() {
    for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
        ended "$child" || return 0
    done
    return 1
}

# end_mpirun: kills the mpirun that has written its number to $T/mpirun if all its threads sleep for ten seconds after
# its ranks have ended.  After MPI_Abort, mpirun of Open MPI 4.1 may wait for a lock of PMIx for ever (3 of 100 times on
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

# ranks N COMMAND...: by mpirun of $family, on this machine, with more ranks than processors if need be.  The status
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
