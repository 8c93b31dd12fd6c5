#!/bin/sh
# check_setup.sh - on a machine where nothing is installed yet, `make test` compiles nothing before `setup` has installed
# what compilers need, however many jobs run: each file that a compiler makes has `setup` among the prerequisites of its
# prerequisites.
set -eu

unset MAKEFLAGS MAKELEVEL MFLAGS
rules=$(mktemp)
trap 'rm -f "$rules"' EXIT

# The rules of a build in a folder that is not there, and the commands that would make it; nothing is made.
make -pnr BUILD=not-there test >"$rules" 2>/dev/null || :

awk '
# A rule: each target that stands before `setup` or before a file that waits for it waits, too.
/^[^#\t ].*:( |$)/ && !/ [:+?]?= / {
    target = $1
    sub(/:$/, "", target)
    for (i = 2; i <= NF; i++) {
        if ($i != "|") { needed_by[$i] = needed_by[$i] " " target }
    }
}
{
    for (i = 1; i < NF; i++) {
        if ($i == "-o" && $(i + 1) ~ /^not-there\//) { sub(/;$/, "", $(i + 1)); compiled[$(i + 1)] = 1 }
    }
}
function wait(file,    n, i, by) {
    n = split(needed_by[file], by, " ")
    for (i = 1; i <= n; i++) {
        if (!(by[i] in waits)) { waits[by[i]] = 1; wait(by[i]) }
    }
}
END {
    wait("setup")
    for (file in compiled) {
        files++
        if (!(file in waits) && file !~ /\.whole$/) {
            print file ": found no prerequisite that waits for setup, expected not-there/obj/flags or what needs it"
            early++
        }
    }
    if (files < 300) { print "check_setup.sh: found commands that compile " files + 0 " files, expected 300 or more" }
    exit early || files < 300
}' "$rules" >&2
