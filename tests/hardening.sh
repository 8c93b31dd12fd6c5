# hardening.sh - functions that test how programs and libraries are linked; scripts read it with `.`, after report.sh

# hardened FILE: passes if all memory that the loader writes is read-only afterwards, and code is
# position-independent.
hardened() {
    {
        readelf -hW "$1" | grep 'Type: *DYN' && readelf -lW "$1" | grep GNU_RELRO &&
            readelf -dW "$1" | grep 'BIND_NOW\|FLAGS_1.* NOW' && readelf -lW "$1" | grep 'GNU_STACK.* RW ' &&
            ! readelf -dW "$1" | grep TEXTREL
    } >"$log" 2>&1
    report $? "$1: expected PIE, RELRO, BIND_NOW, no executable stack, no relocations of code"
}

# without_writable_code WHAT COMMAND...: passes if the command succeeds where written pages cannot be executed.
without_writable_code() {
    what=$1
    shift
    [ -x "$T/no_writable_code" ] || ${CC:-cc} tests/no_writable_code.c -o "$T/no_writable_code"
    "$T/no_writable_code" "$@" >"$log" 2>&1
    status=$?
    if [ $status -eq 77 ]; then
        echo "skipped: this kernel has no PR_SET_MDWE: $what"
    else
        report $status "$what, where no written page can be executed"
    fi
}
