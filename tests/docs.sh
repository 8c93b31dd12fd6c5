#!/bin/sh
# docs.sh --write|--check [PAGE...] - keeps the output of the program that README.md and docs/ show up to date.
#
# A passage between a line `<!-- $ COMMAND -->` and `<!-- end -->` is what COMMAND prints when it runs from the top
# folder.  If the passage begins with a fence (such as ```lua), the fences are kept around it.
#
# --write   runs the commands and rewrites the passages
# --check   checks that the passages are what the commands print, and that README.md has measured figures only in
#           passages, which make them from docs/bench/*.tsv; tests/pages.sh checks links and sizes of pages
# $CRESCENT is the program.
set -u

program="${CRESCENT:-build/crescent}"
mode="${1-}"
case "$mode" in
--write | --check) ;;
*) echo "docs.sh: found '$mode', expected --write or --check" >&2; exit 2 ;;
esac
shift
[ $# -gt 0 ] || set -- README.md docs/*.md docs/tour/*.md docs/bench/*.md
. "$(dirname "$0")/report.sh"
scratch=$T

# The commands call the program by its name, and the compiler `cc`; they may write to $T. The output of emitted C does
# not depend on its level of optimisation (standalone.sh tests that), so --check compiles without optimisation, which
# takes most of the time.
mkdir "$scratch/bin" "$scratch/files"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(cd "$(dirname "$program")" && pwd)/$(basename "$program")" \
    >"$scratch/bin/crescent"
[ "$mode" = --check ] && level=-O0 || level=
printf '#!/bin/sh\nPATH="%s" exec %s "$@" %s\n' "$PATH" "${CC:-cc}" "$level" >"$scratch/bin/cc"
chmod +x "$scratch/bin/crescent" "$scratch/bin/cc"
PATH="$scratch/bin:$PATH"
T="$scratch/files"
export PATH T

# Prints a page with new passages; fails if a command fails, or if a passage has no end.
renew() {
    awk '
    function stop(why) {
        printf "%s:%d: %s\n", FILENAME, start, why >"/dev/stderr"
        broken = 1
        exit 1
    }
    /^<!-- \$ .* -->$/ {
        start = FNR
        print
        command = substr($0, 8, length($0) - 11)
        if ((getline line) <= 0) stop("found the end of the file, expected a passage")
        fenced = line ~ /^```/
        if (fenced) print line
        fflush()
        if (system(command) != 0) stop("the command failed: " command)
        if (fenced) print "```"
        while (line != "<!-- end -->")
            if ((getline line) <= 0) stop("found no <!-- end -->")
        print line
        next
    }
    { print }
    END { exit broken }' "$1"
}

# Prints times, rates and shares that a page has outside of its passages.
typed_figures() {
    sed '/^<!-- \$ /,/^<!-- end -->$/d' "$1" |
        grep -nE '(^|[^A-Za-z0-9_.=])[0-9][0-9.,]* ?(ns|us|ms|s|seconds|%|G?[BF]/s|GFLOP/?s?|times|a second|tokens a second)([^A-Za-z0-9_]|$)' |
        sed "s|^|$1: outside of passages, line |"
}

for page in "$@"; do
    renew "$page" >"$scratch/page"
    status=$?
    if [ "$mode" = --write ]; then
        [ "$status" -eq 0 ] || exit 1
        cmp -s "$page" "$scratch/page" || cat "$scratch/page" >"$page"
        continue
    fi
    if [ "$status" -eq 0 ]; then
        diff -u "$page" "$scratch/page"
        status=$?
        [ "$status" -eq 0 ] || echo "$page is not what the program prints: see 'make docs'"
    fi
    report "$status" "$page: its passages"
    if [ "$page" = README.md ]; then
        typed=$(typed_figures "$page")
        [ -z "$typed" ] || echo "$typed"
        [ -z "$typed" ]
        report $? "$page: figures are made of docs/bench/*.tsv"
        for kept in docs/bench/*.tsv; do
            head -n 1 "${kept%.tsv}.md" 2>"$log" | grep -qxF "<!-- \$ sh tests/bench_tables.sh page $kept -->"
            report $? "$kept: its page"
        done
        sh tests/bench_tables.sh --test >"$log" 2>&1
        report $? "the tables of docs/bench/*.tsv"
        : >"$log"
    fi
done
[ "$mode" = --write ] && exit 0
conclude
