#!/bin/sh
# cc_cache.sh OPTION... - the C compiler of the backends while suites run: what it made once it keeps.
#
# The suites of one Lua compile the same texts as those of the other.  Of a text on stdin, as a backend
# gives it, the object is kept in $KEPT under a hash of options and text, and the next time copied.  A
# text with the runtime in it, a standalone file, is compiled without optimisation and without vectors,
# which takes a twentieth of the time: what it computes at each level, with each set, is the matter of
# standalone.sh.  Of other texts each eighth, by its checksum, is compiled as the backend asks for, with -O2, and the
# rest without optimisation, a third of the time; standalone.sh has each level.  Any other call goes to the compiler,
# $KEPT_CC, as it is.
set -u

case " $* " in
*' -x c - '*) ;;
*) exec $KEPT_CC "$@" ;;
esac

text=$(mktemp "$KEPT/XXXXXX") || exit 1
trap 'rm -f "$text" "$text.c" "$text.o"' EXIT
trap 'exit 130' INT TERM HUP
cat >"$text"
if grep -q 'cr_has_plain' "$text"; then
    set -- "$@" -O0
    . "$(dirname "$0")/plain_c.sh"
    one_set plain "$text" >"$text.c" && mv "$text.c" "$text" &&
        [ "$(grep -c '{&cr_runtime_' "$text")" -eq 1 ] || exit 1 # a text of four sets takes minutes
else
    sum=$(cksum <"$text")
    [ $((${sum%% *} % 8)) -eq 0 ] || set -- "$@" -O0
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

key=$(echo "$KEPT_CC$options" | cat - "$text" | sha256sum) && key=$KEPT/${key%% *}
if [ ! -f "$key" ]; then
    $KEPT_CC $options -o "$text.o" <"$text" || exit
    mv "$text.o" "$key"
fi
cat "$key" >"$object"
