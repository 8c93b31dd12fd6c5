#!/bin/sh
# cc_cache.sh OPTION... - the C compiler of the backends while suites run: what it made once it keeps.
#
# The suites of one Lua compile the same texts as those of the other.  Of a text on stdin, as a backend
# gives it, the object is kept in $KEPT under a hash of options and text, and the next time copied.  Of texts with the
# runtime in them, standalone files, each eighth, by its checksum, is compiled without optimisation and without vectors,
# which takes a twentieth of the time, and the rest by TinyCC, where it is, in a tenth of that: what they compute at each
# level, with each set, is the matter of standalone.sh.  Of other texts each eighth is compiled as the backend asks for,
# with -O2, and the rest without optimisation, a third of the time; standalone.sh has each level.  Any other call goes to
# the compiler, $KEPT_CC, as it is.
set -u

case " $* " in
*' -x c - '*) ;;
*) exec $KEPT_CC "$@" ;;
esac

text=$(mktemp "$KEPT/XXXXXX") || exit 1
trap 'rm -f "$text" "$text.c" "$text.o"' EXIT
trap 'exit 130' INT TERM HUP
cat >"$text"
sum=$(cksum <"$text")
eighth=$((${sum%% *} % 8 == 0)) compiler=$KEPT_CC
if grep -q 'cr_has_plain' "$text" && [ $eighth -eq 0 ] && command -v tcc >/dev/null 2>&1; then
    compiler='tcc -w'
elif grep -q 'cr_has_plain' "$text"; then
    set -- "$@" -O0
    . "$(dirname "$0")/plain_c.sh"
    one_set plain "$text" >"$text.c" && mv "$text.c" "$text" &&
        [ "$(grep -c '{&cr_runtime_' "$text")" -eq 1 ] || exit 1 # a text of four sets takes minutes
else
    [ $eighth -eq 1 ] || set -- "$@" -O0
fi

# Without -o OBJECT, which differs from call to call.
object= options= before=
for word; do
    case $before in
    -o) object=$word ;;
    *) [ "$word" = -o ] || options="$options $word" ;;
    esac
    before=$word
done

key=$(echo "$compiler$options" | cat - "$text" | sha256sum) && key=$KEPT/${key%% *}
if [ ! -f "$key" ]; then
    $compiler $options -o "$text.o" <"$text" || exit
    mv "$text.o" "$key"
fi
cat "$key" >"$object"
