#!/bin/sh
# check_comments.sh - checks that each function of more than 12 lines, from the first line of its definition to the
# last, has a comment: before the definition, or in a header before its declaration.  A comment before several
# declarations without a blank line between them counts for all of them.
#
# Run from the top folder.  First tests itself on planted functions.  The last line is "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"

# Folders that may still have such functions without a comment; their number is printed.
later=""

# bare FOLDER: prints "FILE:LINE: NAME, N lines" for each long function of a folder without a comment.
bare() {
    find "$1" -name '*.h' >"$T/headers"
    find "$1" -name '*.c' -o -name '*.inc' | sort | cat "$T/headers" - | xargs awk '
        # Returns the text before the first parenthesis; for CR_NAME(name)(...), the inner name.
        function name_of(line) {
            sub(/CR_NAME\(/, "", line)
            sub(/[()].*/, "", line)
            sub(/.*[ *]/, "", line)
            return line
        }
        FNR == 1 { said = inside = body = first = 0; header = FILENAME ~ /\.h$/ }
        inside || /^\/\*/ { inside = !/\*\//; said = !body; next }
        /^(#|$)/ && !first { said = 0 }
        /^[A-Za-z_][A-Za-z_0-9 *]*\(/ && !/^CR_[A-Z_0-9]+\(/ && !body {
            first = FNR
            name = name_of($0)
        }
        /^\{/ { body = first }
        /;$/ && first && !body { # a declaration
            if (header && said) contract[name] = 1
            first = 0
        }
        /^\}/ {
            n = FNR - first + 1
            if (body && n > 12 && !said && !(name in contract))
                printf "%s:%d: %s, %d lines\n", FILENAME, first, name, n
            said = body = first = 0
        }'
}

# planted NAME COMMENT: writes a function of 13 lines to $T/planted, with COMMENT before it if that is not empty.
planted() {
    {
        printf '%s' "$2"
        printf 'static int %s(int a,\n    int b)\n{\n' "$1"
        for i in 1 2 3 4 5 6 7 8 9; do echo "    a += b;"; done
        printf '}\n\n'
    } >>"$T/planted/$1.c"
}

mkdir "$T/planted"
planted with_comment '/* It adds. */
'
planted without_comment ''
planted after_another '/* It is short. */
static int short_one(void)
{
    return 1;
}

'
printf '/* It adds. */\nint first(void);\nint in_header(int a);\n' >"$T/planted/a.h"
planted in_header ''
found=$(bare "$T/planted" | sed 's/.*: //' | sort | tr '\n' ' ')
[ "$found" = 'after_another, 13 lines without_comment, 13 lines ' ]
report $? "after_another and without_comment should be caught; found: ${found:-nothing}"

for folder in compiler/*/ runtime; do
    folder=${folder%/}
    bare "$folder" >"$log"
    case " $later " in
    *" $folder "*) echo "$folder: $(wc -l <"$log") long functions without a comment" ;;
    *)
        [ ! -s "$log" ]
        report $? "$folder: functions of more than 12 lines, expected a comment before each"
        ;;
    esac
done

conclude
