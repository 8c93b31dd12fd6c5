#!/bin/sh
# explain.sh - tests the page of crescent explain: its size, its files, and what is refused.  If Chromium is
# installed, opens the page from a file, clicks through it by tests/page/clicks.js, and takes pictures of it.
#
# The pictures are PNG files, whose pixels are compressed: an empty picture, or one of a single colour, has a few
# hundred bytes per hundred thousand pixels.  $CRESCENT is the program, $CHROMIUM a browser.  The last line is "N
# passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
stack="graphs/gpt2_stack.lua --set n_layer=48 --set n_embd=48 --set n_head=3 --set T=8"

# ---- files ----

# page NAME ARGUMENTS: writes a report to $T/NAME.html; passes if it is smaller than 3 MB.
page() {
    name=$1
    shift
    "$crescent" explain "$@" -o "$T/$name.html" >"$log" 2>&1 &&
        [ "$(wc -c <"$T/$name.html")" -lt 3145728 ]
    report $? "explain $*"
}

page stack $stack --check
page train graphs/train_sort.lua --bench --seconds 0 --trace "$T/trace.json"
# A script whose path has no place where a line could be broken.
long="$T/a_folder_with_a_name_that_is_much_longer_than_any_pane_of_the_page_is_wide_at_all_that_people_use"
mkdir "$long"
cp graphs/gpt2_block.lua "$long/a_script_whose_name_is_long_as_well_so_that_no_pane_has_room_for_it.lua"
page grads "$long"/*.lua --set n_embd=48 --set n_head=3 --set T=8 --grads none --check
page two graphs/gpt2_block.lua --set n_embd=48 --set n_head=3 --set T=8 --against set=T=16

grep -q '^{"traceEvents":\[{\|"traceEvents":\[{' "$T/trace.json"
report $? 'a trace has events'

"$crescent" explain $stack --json >"$T/stack.json" 2>"$log"
report $? 'explain --json'
tr -d '\n' <"$T/stack.json" | grep -q '"loops":\[{"first":0,"period":5,"count":48,"start":0,"direction":1}\]'
report $? 'the stack is one loop of 48 layers'

# refused WORDS ARGUMENTS: passes if the command ends with status 2 and one line with these words, and writes no file.
refused() {
    words=$1
    shift
    rm -f "$T/none.html"
    "$crescent" explain "$@" >"$T/out" 2>"$log"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q -- "$words" "$log" && [ ! -e "$T/none.html" ]
    report $? "explain $*: expected '$words'"
}

refused 'no -o, expected -o REPORT.html' docs/tour.lua
refused 'backend ref has no kernels' docs/tour.lua -o "$T/none.html" --backend ref
refused 'unknown option' docs/tour.lua -o "$T/none.html" --set X=1
refused '--against foo: expected standalone, FILE.lua, or NAME=VALUE' docs/tour.lua -o "$T/none.html" --against foo
refused 'cannot be written' docs/tour.lua -o "$T/no/folder.html"
refused 'expected --grads none' docs/tour.lua -o "$T/none.html" --grads "$T/g.safetensors"

# ---- colours ----

# The contrast of every colour of text on every background, in both themes and in print, by the formula of WCAG: at
# least 4.5; for the colours of kernels, which are areas, at least 3.
awk '
    function channel(hex) {
        hex = (index("0123456789abcdef", substr(hex, 1, 1)) - 1) * 16 + index("0123456789abcdef", substr(hex, 2)) - 1
        hex /= 255
        return hex <= .04045 ? hex / 12.92 : exp(2.4 * log((hex + .055) / 1.055))
    }
    function light(colour) {
        colour = substr(colour, 2)
        if (length(colour) == 3)
            colour = substr(colour, 1, 1) substr(colour, 1, 1) substr(colour, 2, 1) substr(colour, 2, 1) \
                substr(colour, 3, 1) substr(colour, 3, 1)
        return .2126 * channel(substr(colour, 1, 2)) + .7152 * channel(substr(colour, 3, 2)) + \
            .0722 * channel(substr(colour, 5, 2))
    }
    function hold(theme, text, ground, least,    a, b, c) {
        a = light(value[theme, text]); b = light(value[theme, ground])
        c = a > b ? (a + .05) / (b + .05) : (b + .05) / (a + .05)
        pairs++
        if (c < least) printf "%s: %s on %s is %.2f, expected %.1f\n", theme, text, ground, c, least
    }
    /^@media print/ { theme = "paper" }
    /^:root \{/ { theme = "light" }
    /^:root\[data-theme="dark"\]/ { theme = "dark" }
    theme && /--[a-z_-]+: #/ {
        rest = $0
        while (match(rest, /--[a-z_-]+: #[0-9a-f]+/)) {
            split(substr(rest, RSTART + 2, RLENGTH - 2), w, ": ")
            value[theme, w[1]] = w[2]
            if (theme == "light") value["dark", w[1]] = value["paper", w[1]] = w[2]
            if (w[1] ~ /^k-/) kinds[w[1]] = 1
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    /^}/ { theme = "" }
    {
        rest = $0
        while (match(rest, /[ {;]color: var\(--[a-z-]+\)/)) {
            word = substr(rest, RSTART, RLENGTH)
            gsub(/.*--|\)/, "", word)
            if (word != "panel") texts[word] = 1
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    END {
        n = split("bg panel raised select hover accent-soft added-soft removed-soft rewired-soft", grounds, " ")
        for (t = split("light dark paper", themes, " "); t > 0; t--) {
            for (text in texts)
                for (i = 1; i <= n; i++)
                    if (themes[t] != "paper" || i <= 3) hold(themes[t], text, grounds[i], 4.5)
            hold(themes[t], "panel", "accent", 4.5)
            hold(themes[t], "panel", "text", 4.5)
            for (kind in kinds)
                for (i = 1; i <= 4; i++)
                    if (themes[t] != "paper" || i <= 3) hold(themes[t], kind, grounds[i], 3)
        }
        if (pairs < 300) print pairs " pairs of colours were found in page.css"
    }' compiler/explain/page/page.css >"$log"
[ ! -s "$log" ]
report $? 'contrast of colours in page.css'

# ---- the page in a browser ----

browser="${CHROMIUM:-}"
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name)
done
if [ -z "$browser" ]; then
    echo 'skipped: chromium is not installed, no page is opened'
    conclude
    exit
fi

# open NAME SIZE HASH OPTIONS: opens a page from the disk, without a network.
open() {
    timeout 1200 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$T/profile" --window-size="$2" $4 "file://$T/$1.html$3" 2>"$log"
}

# clicked NAME SIZE: passes if the page, with clicks.js after its script, reports success.  The page is in a frame, as
# windows cannot be as narrow as telephones.
clicked() {
    awk 'FNR == NR { script = script $0 "\n"; next }
        /^<\/body>$/ { printf "<script>\n%s</script>\n", script }
        { print }' tests/page/clicks.js "$T/$1.html" >"$T/clicked.html"
    printf '<!doctype html><body style="margin:0"><iframe src="clicked.html" style="border:0;width:%spx;height:%spx">' \
        "${2%,*}" "${2#*,}" >"$T/frame.html"
    open frame 1700,1200 '' '--allow-file-access-from-files --dump-dom' |
        sed -n 's/.*<script type="application\/json" id="clicked">\({.*}\)<\/script>.*/\1/p' >"$T/clicks"
    grep -q '"ok":true' "$T/clicks"
    status=$?
    grep -o '"\([^"\\]\|\\.\)*":false\|"error":.*' "$T/clicks" >"$log"
    report $status "$1 at $2, clicked through"
}

clicked stack 1600,1000
clicked stack 1400,900
clicked train 1366,768
clicked grads 1100,900
clicked two 1600,1000
clicked grads 400,860

# seen NAME SIZE HASH LEAST: passes if the picture of the page has at least LEAST bytes.
seen() {
    open "$1" "$2" "$3" "--virtual-time-budget=3000 --screenshot=$T/$1.png" >/dev/null
    [ -s "$T/$1.png" ] && [ "$(wc -c <"$T/$1.png")" -gt "$4" ]
    report $? "$1 at $2 $3: a picture of more than $4 bytes"
    rm -f "$T/$1.png"
}

seen stack 1600,2000 '#light' 200000
seen train 1600,2000 '#dark' 200000
seen two 420,1600 '#light' 40000

conclude
