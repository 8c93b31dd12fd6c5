#!/bin/sh
# run.sh COMMAND... - runs test suites, one more at a time than there are processors (or $JOBS), since some wait;
# prints their output in order, and the sums.  Long suites come first: a long one that starts last would run alone.
#
# A suite reports in the words of libcheck ("100%: Checks: 12, Failures: 0, Errors: 0") or as "12 passed, 0 failed".
# Its exit status decides: a suite that fails without reporting a failure counts as one failure.  The last line is "N
# passed, M failed".
set -u

# libcheck ends a test that hangs.  Its limits are seconds of elapsed time, so they leave room for a slow and busy
# machine.
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-120}"
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-20}"
here=$(cd "$(dirname "$0")" && pwd)
jobs=${JOBS:-$(($(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))}
folder=$(mktemp -d) && KEPT=$(mktemp -d) || exit 1
trap 'rm -rf "$folder" "$KEPT"' EXIT
trap 'exit 130' INT TERM

# Suites neither read nor write the cache folder of the user.
export XDG_CACHE_HOME="$KEPT/cache"
unset CRESCENT_TARGET

# Backends compile each text once; see cc_cache.sh.
export KEPT KEPT_CC="${CC:-cc}" CC="sh $here/cc_cache.sh"

# count STATUS LOG: prints "PASSED FAILED" for the output of a suite.
count() {
    awk -v status="$1" '
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ {
            gsub(/[^0-9]+/, " "); split($0, n, " ")
            passed += n[2] - n[3] - n[4]; failed += n[3] + n[4]; known = 1
        }
        /^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; known = 1 }
        END {
            if (status != 0 && !failed) failed = 1
            if (status == 0 && !known) passed = 1
            print passed + 0, failed + 0
        }' "$2"
}

# Each suite is a file; it writes FILE.log and then FILE.status.
number=1000
for suite in "$@"; do
    number=$((number + 1))
    printf '%s\n' "$suite" >"$folder/$number"
done

# Prints the output of each suite once it has ended, in order, and collects the sums and the failures.
report() {
    passed=0 failed=0
    for number in $(seq 1001 "$1"); do
        suite=$(cat "$folder/$number")
        printf '\n== %s\n' "$suite"
        until [ -f "$folder/$number.status" ]; do
            [ ! -f "$folder/over" ] || [ -f "$folder/$number.status" ] ||
                echo 1 >"$folder/$number.status"
            sleep 0.1
        done
        cat "$folder/$number.log"
        status=$(cat "$folder/$number.status")
        counts=$(count "$status" "$folder/$number.log")
        passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
        [ "$status" -eq 0 ] && [ "${counts#* }" -eq 0 ] ||
            echo "    $suite (exit status $status)" >>"$folder/broken"
    done
    echo
    [ ! -f "$folder/broken" ] || { echo "failed:" && cat "$folder/broken"; }
    echo "$passed passed, $failed failed"
}
report "$number" &

# Suites do not run in the background, where a shell makes them ignore SIGINT, which some of them test.
ls -d "$folder"/* | xargs -P "$jobs" -n 1 sh -c '
    start=$(date +%s)
    sh "$1" >"$1.log" 2>&1
    status=$?
    wall=$(($(date +%s) - start))
    times >"$1.times" # of this shell, and then of all it has waited for
    awk -v wall=$wall "NR == 2 {
        split(\$1, own, /[ms]/); split(\$2, kernel, /[ms]/)
        printf \"%d s, %.1f s of processor time\\n\", wall,
            60 * (own[1] + kernel[1]) + own[2] + kernel[2]
    }" "$1.times" >>"$1.log"
    echo "$status" >"$1.new" && mv "$1.new" "$1.status"' run
: >"$folder/over"
wait
[ ! -f "$folder/broken" ]
