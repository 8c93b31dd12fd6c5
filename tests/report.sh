# report.sh - what the scripts of tests have in common; they read it with `.`
#
# It gives them $T, a folder that is gone when they end, and $log, a file in it; counts what
# passes and what fails; and says so at the end.

T=$(mktemp -d) || exit 1
trap "rm -rf '$T'" EXIT
trap 'exit 130' INT TERM
log=$T/log
passed=0 failed=0

# report STATUS WHAT: 0 is a success; else what is in $log is shown.
report() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        [ ! -s "$log" ] || sed 's/^/    /' "$log"
    fi
}

# same WHAT FILE FILE: byte for byte.
same() {
    cmp "$2" "$3" >"$log" 2>&1
    report $? "$1"
}

# The last line, and the exit status.
conclude() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
