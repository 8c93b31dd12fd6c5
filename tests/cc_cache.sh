#!/bin/sh
# cc_cache.sh OPTION... - stands in for the C compiler of the backends while suites run, and keeps its objects.
#
# The suites of one Lua compile the same texts as those of another.  For a text on standard input, as a backend gives
# it, the object is kept in $KEPT under a hash of options and text, and copied the next time.  To save time, most
# texts are compiled otherwise than asked for; standalone.sh tests each level of optimisation and each instruction
# set.  Of standalone files, which contain the runtime, one eighth (by checksum) is compiled by $KEPT_CC without
# optimisation and without vectors, in a twentieth of the time, and the others by TinyCC if it is installed.  Of other
# texts one eighth is compiled with -O2, as asked for, and the others without optimisation, in a third of the time.
# All other calls go to $KEPT_CC unchanged.
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

# The options of the key leave out -o OBJECT, which differs from call to call.
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
