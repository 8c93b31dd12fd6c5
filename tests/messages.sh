#!/bin/sh
# messages.sh - checks that tests/golden/messages.txt lists every message that a user can see, so that a person can
# read them all.  BLESS=1 rewrites the list.
#
# A message is the text of a call of an error function, as `tells` below names them, or a text with ", expected"
# elsewhere.  Reports of bugs of the compiler are not listed.  A line of the list is FILE: TEXT. " | " separates
# several texts of one call, such as the two of a condition; "..." stands for a value that Lua concatenates.  A text
# that a function inserts into a message of its own is listed inside of that message (frame_of). The last line of
# output is "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"

expected=tests/golden/messages.txt
# Tokens: the characters at which texts, comments and calls begin and end.
quoted='"([^"\\]|\\.)*"'"|'([^'\\\\]|\\\\.)*'"
words='[A-Za-z_][A-Za-z_0-9]*|[();]'

# list FILE...: prints "FILE: TEXT" for each message, once for each file.
list() {
    C="$quoted|/\*|\*/|//.*|$words" LUA="$quoted|--.*|$words" awk '
        # Returns 1 if the texts among the arguments of a function are messages.
        function tells(name) {
            return name ~ /(^|_)(fail|refuse|misfit|complain|raise|raise_in)(_|$)/ ||
                name ~ /^(cr_note|cr_keep_note|cr_report_text|luaL_error|luaL_argerror)$/ ||
                lua && name ~ /^(error|assert)$/
        }
        # Returns the message that a function makes of the texts passed to it: %1 and %2 stand for them.
        function frame_of(name) {
            if (name == "cr_refuse_shape")
                return "found %1, which emitted C does not have, expected %2"
            if (name == "fail_escape")
                return "%s: found \\\\%c in a pattern, expected %1"
            if (name == "misfit")
                return "option %s: found another value, expected %1"
            if (name == "fail_kind")
                return "%s: found another type, expected %1"
            if (FILENAME ~ /pattern_program[.]c$/ && name == "refuse")
                return "found Split by a pattern with %1, which emitted C does not have, expected a pattern without it"
            if (name == "refuse_number")
                return "found %1 %g with %s = %d, %g with %d, expected one number or the length itself"
            if (FILENAME ~ /ir.lengths[.]c$/)
                return name == "fail_at" ? "%1 length %s (axis %d), expected it to stay an axis of its own and whole" : \
                    name == "fail_ragged" ? "length %s has a size for each row of %s: %1" : ""
            if (name ~ /^(fail|fail_at|fail_found)$/)
                return "found %1, expected %2"
            return ""
        }
        # Returns `frame` with a text in place of a mark.
        function put(frame, mark, words,    at) {
            at = index(frame, mark)
            return at ? substr(frame, 1, at - 1) words substr(frame, at + length(mark)) : frame
        }
        # Inserts the texts of a call into the message of the function.
        function put_in_frame(frame,    texts, n) {
            n = split(message, texts, / [|] /)
            if (FILENAME !~ /ir.lengths[.]c$/ && message ~ /(^|, )(expected|found) / || n > 2 || n == 2 && frame !~ /%2/)
                return
            if (n == 1 && frame ~ /%2/) {
                texts[2] = texts[1]
                texts[1] = "%s"
            }
            frame = put(frame, "%1", texts[1])
            frame = put(frame, "%2", texts[2])
            message = frame
        }
        # Ends a text; a text without a letter is not a message.
        function end_text() {
            if (text ~ /[a-z][a-z]/)
                message = message (message == "" ? "" : lua ? "..." : " | ") text
            text = ""
        }
        # Prints the texts of a call, or of a statement if it has an "expected".
        function end_message(call) {
            end_text()
            if (call && message != "" && frame_of(callee) != "")
                put_in_frame(frame_of(callee))
            if (message != "" && (call || message ~ /(^|, )expected /) && !seen[FILENAME, message]++)
                print FILENAME ": " message
            message = ""
        }
        BEGIN {
            # Macros of compiler/ir/incremental.h that stand for texts.
            macro["CR_IDS"] = "ids"
            macro["CR_LOGITS"] = "logits"
            macro["CR_TOKENS"] = "n"
            macro["CR_AT"] = "at"
        }
        FNR == 1 {
            comment = depth = 0
            text = message = ""
            lua = FILENAME ~ /\.lua$/
            token = ENVIRON[lua ? "LUA" : "C"]
        }
        {
            rest = $0
            while (match(rest, token)) {
                between = substr(rest, 1, RSTART - 1)
                t = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                if (comment) {
                    comment = t != "*/"
                    continue
                }
                if (t == "/*") {
                    comment = 1
                    continue
                }
                if (t ~ /^(\/\/|--)/)
                    break
                if (depth && t in macro)
                    t = "\"" macro[t] "\""
                if (t ~ /^PRI/)
                    t = "\"%" (t ~ /64/ ? "lld" : "d") "\""
                if (t !~ /^"/ || between ~ /[^ ]/)
                    end_text()
                if (t ~ /^"/ && between !~ /[=~!]= *$/)
                    text = text substr(t, 2, length(t) - 2)
                else if (depth && t == "(")
                    depth++
                else if (depth && t == ")" && --depth == 0)
                    end_message(1)
                else if (!depth && rest ~ /^\(/ &&
                         (tells(t) || t == "fprintf" && rest ~ /^\(stderr/)) {
                    end_message(0)
                    depth = 1
                    callee = t
                    rest = substr(rest, 2)
                } else if (!depth && t == ";")
                    end_message(0)
            }
            if (rest ~ /[^ \\]/)
                end_text()
            if (lua && !depth)
                end_message(0)
        }' "$@" | sed 's/%%lld/%lld/g; s/%%d/%d/g'
}

find compiler runtime graphs/lib -name '*.[ch]' -o -name '*.inc' -o -name '*.lua' |
    grep -v -e '/verify' -e '/verifier/' | LC_ALL=C sort >"$T/files"
list $(cat "$T/files") >"$T/found"

# Tests itself: a planted message is found as a whole; a comment, and a text that is only compared, are not listed.
cat >"$T/planted.c" <<'END'
/* cr_fail(error, "a comment"); */
return cr_fail(error, "%s: found %" PRId64
               " rows, "
               "expected %d", strcmp(a, "b") ? "no" : "one or more", n); // "one"
const char *why = x == "no message" ? ": a table, expected a number" : NULL;
END
cat >"$T/planted.lua" <<'END'
error("n_embd " .. n .. ", expected a multiple of " .. heads) -- error("a comment")
END
list "$T/planted.c" "$T/planted.lua" | sed 's,.*/,,' >"$T/planted"
cat >"$T/wanted" <<'END'
planted.c: %s: found %lld rows, expected %d | no | one or more
planted.c: : a table, expected a number
planted.lua: n_embd ..., expected a multiple of 
END
same "planted messages" "$T/wanted" "$T/planted"

[ -z "${BLESS:-}" ] || cmp -s "$T/found" "$expected" ||
    { cp "$T/found" "$expected" && echo "blessed $expected"; }
diff -u "$expected" "$T/found" >"$log"
report $? "$expected lists every message (make bless writes it)"
conclude
