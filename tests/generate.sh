#!/bin/sh
# generate.sh --write|--check - writes or checks the standalone C in generated/.
#
# --write   writes generated/SCRIPT.c and .h
# --check   checks that the compiler writes the same bytes
# $CRESCENT is the program.  $GENERATED lists the files in words like SCRIPT:KEY=VALUE,KEY=VALUE; a KEY without a
# value is an option of `crescent emit`, such as train.
set -u

crescent="${CRESCENT:-build/crescent}"
mode="${1-}"
case "$mode" in
--write | --check) ;;
*) echo "generate.sh: found '$mode', expected --write or --check" >&2; exit 2 ;;
esac
: "${GENERATED:?the table is missing: call 'make generated' or 'make check-generated'}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# emit ROW FOLDER: emits the C of a word of the list.
emit() {
    script="${1%%:*}"
    "$crescent" emit "graphs/$script.lua" -o "$2/$script.c" \
        $(echo "${1#*:}" | tr , '\n' | sed 's/.*=/--set &/; t; s/^/--/')
}

if [ "$mode" = --write ]; then
    mkdir -p generated || exit 1
    for row in $GENERATED; do
        emit "$row" generated || exit 1
    done
    exit 0
fi

passed=0 failed=0
for row in $GENERATED; do
    emit "$row" "$scratch"
    for file in "${row%%:*}.c" "${row%%:*}.h"; do
        if cmp "generated/$file" "$scratch/$file"; then
            passed=$((passed + 1))
        else
            echo "generated/$file is not what $crescent emits: see 'make generated'"
            failed=$((failed + 1))
        fi
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
