# report.sh - functions that the scripts of tests share; they read it with `.`
#
# It creates the folder $T, which is removed at the end, and in it the file $log; counts passed and failed
# checks; and prints the sums.

T=$(mktemp -d) || exit 1
trap "rm -rf '$T'" EXIT
trap 'exit 130' INT TERM
log=$T/log
passed=0 failed=0

# report STATUS WHAT: counts a check as passed if STATUS is 0; else as failed, and prints $log.
report() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        [ ! -s "$log" ] || sed 's/^/    /' "$log"
    fi
}

# same WHAT FILE FILE: passes if the files are equal, byte for byte.
same() {
    cmp "$2" "$3" >"$log" 2>&1
    report $? "$1"
}

# Prints the last line, and sets the exit status.
conclude() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
