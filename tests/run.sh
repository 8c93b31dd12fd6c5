#!/bin/sh
# run.sh COMMAND... - runs test suites one after another and sums up.
#
# A suite reports either in libcheck's words ("100%: Checks: 12, Failures: 0, Errors: 0")
# or as "12 passed, 0 failed".  Its exit status has the last word: a suite that fails
# without naming a failure counts as one.  The last line is "N passed, M failed".
set -u

export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-120}"
log=$(mktemp) || exit 1
status_file=$(mktemp) || exit 1
trap 'rm -f "$log" "$status_file"' EXIT
trap 'exit 130' INT TERM

# count STATUS: "PASSED FAILED" of the suite whose output is in $log.
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
        }' "$log"
}

passed=0 failed=0 broken=
for suite in "$@"; do
    printf '\n== %s\n' "$suite"
    { sh -c "$suite" 2>&1; echo $? >"$status_file"; } | tee "$log"
    status=$(cat "$status_file")
    set -- $(count "$status")
    passed=$((passed + $1)) failed=$((failed + $2))
    if [ "$status" -ne 0 ] || [ "$2" -ne 0 ]; then
        broken="$broken
    $suite (exit status $status)"
    fi
done

echo
[ -z "$broken" ] || echo "failed:$broken"
echo "$passed passed, $failed failed"
[ -z "$broken" ]
