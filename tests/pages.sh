#!/bin/sh
# pages.sh - checks README.md, CONTRIBUTING.md and docs/:
#
# size     no page has more than 2,500 words, and README.md fewer than 250 lines; tables that `make bench-peers`
#          writes are of any size
# index    docs/README.md lists every page once
# links    each relative link leads to a file, and to a heading of it if it names one
# sources  the files and the functions that the tour names exist: NAME.c, and in backquotes `name()`, of C or of
#          Lua, or `rt->name`; its numbers of lines are about right, and docs/models.md has every family
# modules  docs/language-*.md list the functions of every module of graphs/lib
# The last line is "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"
LC_ALL=C
export LC_ALL

pages="README.md CONTRIBUTING.md $(echo docs/*.md docs/tour/*.md docs/bench/*.md)"
tour="docs/tour.md $(echo docs/tour/*.md)"

# quiet WHAT COMMAND...: passes if the command prints nothing.
quiet() {
    what=$1
    shift
    "$@" >"$log" 2>&1
    [ ! -s "$log" ]
    report $? "$what"
}

long_pages() {
    for page in $pages; do
        case $page in
        docs/bench/*) continue ;;
        esac
        words=$(sed '/^<!-- \$ /,/^<!-- end -->/d' "$page" | wc -w)
        [ "$words" -le 2500 ] || echo "$page: found $words words, expected 2500 at most without what commands print"
    done
    lines=$(wc -l <README.md)
    [ "$lines" -lt 250 ] || echo "README.md: found $lines lines, expected fewer than 250"
}

# Prints pages that docs/README.md does not list exactly once.
unlisted_pages() {
    for page in $pages; do
        case $page in docs/README.md | docs/bench/*) continue ;; docs/*) ;; *) continue ;; esac
        times=$(grep -cF "| [${page#docs/}](${page#docs/}) |" docs/README.md)
        [ "$times" -eq 1 ] || echo "docs/README.md: found $page $times times, expected once"
    done
}

# Prints the headings of pages as PAGE#ANCHOR, as GitHub names them: lower case, hyphens for spaces, no punctuation.
anchors() {
    awk '
        FNR == 1 { fenced = 0 }
        /^```/ { fenced = !fenced }
        !fenced && /^#+ / {
            sub(/^#+ /, "")
            gsub(/\]\([^)]*\)/, "")
            $0 = tolower($0)
            gsub(/[^a-z0-9_ -]/, "")
            gsub(/ /, "-")
            print FILENAME "#" $0
        }' $pages
}

# Prints relative links as PAGE, TARGET and ANCHOR, separated by tabs; TARGET is relative to the top folder.
links() {
    awk '
        FNR == 1 { folder = FILENAME; if (!sub(/\/[^\/]*$/, "/", folder)) folder = ""; fenced = 0 }
        /^```/ { fenced = !fenced }
        fenced { next }
        {
            line = $0
            while (match(line, /\]\([^)]*\)/)) {
                link = substr(line, RSTART + 2, RLENGTH - 3)
                line = substr(line, RSTART + RLENGTH)
                if (link ~ /^[a-z]+:/) continue
                anchor = link
                if (!sub(/^[^#]*#/, "", anchor)) anchor = ""
                sub(/#.*/, "", link)
                target = link == "" ? FILENAME : folder link
                while (sub(/[^\/]+\/\.\.\//, "", target));
                print FILENAME "\t" target "\t" anchor
            }
        }' $pages
}

broken_links() {
    anchors >"$T/anchors"
    links | while IFS='	' read -r page target anchor; do
        [ -e "$target" ] || echo "$page: $target: found no such file"
        [ -z "$anchor" ] || grep -qxF "$target#$anchor" "$T/anchors" ||
            echo "$page: $target#$anchor: found no such heading"
    done
}

# Prints the text of the tour without the passages that commands print.
own_words() {
    sed '/^<!-- \$ /,/^<!-- end -->$/d' "$1"
}

missing_sources() {
    find compiler runtime graphs tests docs -type f | sed 's|^|/|' >"$T/files"
    for page in $tour; do
        own_words "$page" | sed 's/-o [^ `]*//g' | grep -o '[A-Za-z0-9_][A-Za-z0-9_/-]*\.\(c\|h\|inc\|def\|lua\|sh\|js\)\>' | grep -v '[A-Z]' | sort -u |
            while read -r name; do
                grep -q "/$name\$" "$T/files" || echo "$page: $name: found no such file"
            done
    done
}

# Prints the names of all functions of C and of Lua, one a line.
functions() {
    grep -rhE '^[A-Za-z].*\(' compiler runtime --include=*.c --include=*.h --include=*.inc | grep -oE '[A-Za-z0-9_]+\('
    grep -rhoE '^(local )?function [A-Za-z0-9_.]+\(' graphs/lib | sed 's/.* //'
}

missing_functions() {
    functions | sort -u >"$T/functions"
    for page in $tour; do
        own_words "$page" | grep -o '`[A-Za-z0-9_.]*()`' | tr -d '`)' | sort -u | while read -r name; do
            grep -qxF "$name" "$T/functions" || echo "$page: $name): found no such function"
        done
        own_words "$page" | grep -oE '`rt->[a-z_0-9]+`' | sed 's/`rt->//; s/`//; s/_[vs]*$//' | sort -u | while read -r name; do
            grep -qE "\b$name," runtime/runtime.h runtime/elementwise.h runtime/reductions.h || [ "$name" = parallel ] ||
                echo "$page: rt->$name: found no such function of the runtime"
        done
    done
}

# Prints rows of the tour whose number of lines differs from that of the folder by more than a tenth and 200 lines.
wrong_lines() {
    sed -n 's/^| \[*`\([a-z/]*\)\/`[^|]*| \([0-9,]*\) |.*/\1 \2/p' docs/tour.md | tr -d , >"$T/rooms"
    [ -s "$T/rooms" ] || echo 'docs/tour.md: found no rooms, expected a table'
    while read -r folder said; do
        lines=$(find "$folder" -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -path 'graphs/*.lua' |
            xargs cat | wc -l)
        apart=$((said > lines ? said - lines : lines - said))
        [ "$apart" -le $((lines / 10 + 200)) ] ||
            echo "docs/tour.md: found $said lines for $folder, expected about $lines"
    done <"$T/rooms"
    for folder in compiler/*/; do
        grep -q "^${folder%/} " "$T/rooms" || echo "docs/tour.md: found no row for $folder"
    done
}

# Prints families of graphs/configs that have no row in docs/models.md.
missing_families() {
    sed -n 's/.*model_type = "\([a-z0-9_]*\)".*/\1/p' graphs/configs/*.lua | sort -u | while read -r family; do
        grep -q "^| \[$family.lua\](../graphs/$family.lua) |" docs/models.md ||
            echo "docs/models.md: found no row for $family"
    done
}

# Prints modules of graphs/lib with a function that no page lists, except for modules that the importer inlines.
missing_modules() {
    for module in graphs/lib/*.lua; do
        module=$(basename "$module" .lua)
        case $module in inline_*) continue ;; esac
        grep -q "^require \"$module\"$" docs/language-*.md ||
            echo "docs/language-*.md: found no list of the module $module"
    done
}

quiet 'pages have at most 2,500 words, README.md fewer than 250 lines' long_pages
quiet 'docs/README.md lists every page once' unlisted_pages
quiet 'links lead to files and headings' broken_links
quiet 'the tour names files that exist' missing_sources
quiet 'the tour names functions that exist' missing_functions
quiet 'the tour counts the lines of each room' wrong_lines
quiet 'docs/models.md has a row for each family' missing_families
quiet 'pages list the functions of each module of graphs/lib' missing_modules
conclude
