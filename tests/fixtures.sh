#!/bin/sh
# fixtures.sh [CASE...] - compares every backend with PyTorch's outputs and gradients in tests/fixtures/.
#
# make_fixtures.py describes the files of a case.  $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# compare outputs|gradients CASE [OPTION...]: compares a case on all backends; the options given override those of the
# case.
compare() {
    what=$1 folder="tests/fixtures/$2"
    shift 2
    arguments= inputs= expected= cotangent=y
    while read -r key value; do
        case "$key" in
        script) arguments="$value $arguments" ;;
        config) arguments="$arguments --config $folder/$value" ;;
        set) arguments="$arguments --set $value" ;;
        atol) [ $what = gradients ] || arguments="$arguments --atol $value" ;;
        input) inputs="$inputs --input $value=$folder/$value.npy" ;;
        expect) expected="$expected --expect $value=$folder/$value.npy" ;;
        cotangent) cotangent=$value ;;
        grad_atol) [ $what = outputs ] || arguments="$arguments --atol $value" ;;
        *) echo "$folder/case.txt: found '$key', which has no meaning here" >&2
           return 99 ;;
        esac
    done <"$folder/case.txt"
    [ -n "$expected" ] || expected="--expect y=$folder/y.npy"
    [ $what = outputs ] ||
        expected="--expect-grads $folder/grads.safetensors --cotangent $cotangent=$folder/c.npy"
    "$crescent" compare $arguments --backends "$backends" --weights "$folder/model.safetensors" \
        ${inputs:---input x=$folder/x.npy} $expected "$@"
}

# expect STATUS outputs|gradients CASE [OPTION...]: passes if the comparison ends with this status.
expect() {
    status=$1
    shift
    compare "$@" >"$log" 2>&1 </dev/null
    found=$?
    [ "$found" -eq "$status" ]
    report $? "$*: exit status $found, expected $status"
}

if [ $# -eq 0 ]; then
    set -- $(cd tests/fixtures && ls)
fi
for case in "$@"; do
    backends=ref,tcc,cc
    if [ -e "tests/fixtures/$case/grads.safetensors" ]; then
        expect 0 gradients "$case"
        backends=ref,tcc # programs with gradients have the kernels of the outputs, and take long to compile
    fi
    expect 0 outputs "$case"
done
backends=ref,tcc,cc
# A tolerance that no float32 result meets: a comparison that cannot fail would pass.
expect 1 outputs "$1" --atol 1e-12
[ ! -e "tests/fixtures/$1/grads.safetensors" ] || expect 1 gradients "$1" --atol 1e-12

conclude
