#!/bin/sh
# explain.sh - the page of crescent explain: its size, its files, what is refused; and, where Chromium
# is installed, that it works: opened from a file, clicked through by tests/page/clicks.js, and looked at.
#
# The pictures are PNG files, whose pixels are compressed: one that is empty, or of one colour, is a
# few hundred bytes per hundred thousand pixels.
# $CRESCENT is the program, $CHROMIUM a browser.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"
stack="graphs/gpt2_stack.lua --set n_layer=48 --set n_embd=48 --set n_head=3 --set T=8"

# ---- files ----

# page NAME ARGUMENTS: a report of less than 3 MB, in $T/NAME.html.
page() {
    name=$1
    shift
    "$crescent" explain "$@" -o "$T/$name.html" >"$log" 2>&1 &&
        [ "$(wc -c <"$T/$name.html")" -lt 3145728 ]
    report $? "explain $*"
}

page stack $stack --check
page train graphs/train_sort.lua --bench --seconds 0 --trace "$T/trace.json"
page grads graphs/gpt2_block.lua --set n_embd=48 --set n_head=3 --set T=8 --grads none
page two graphs/gpt2_block.lua --set n_embd=48 --set n_head=3 --set T=8 --against set=T=16

grep -q '^{"traceEvents":\[{\|"traceEvents":\[{' "$T/trace.json"
report $? 'a trace has events'

"$crescent" explain $stack --json >"$T/stack.json" 2>"$log"
report $? 'explain --json'
tr -d '\n' <"$T/stack.json" | grep -q '"loops":\[{"first":0,"period":5,"count":48,"start":0,"direction":1}\]'
report $? 'the stack is one loop of 48 layers'

# refused WORDS ARGUMENTS: one line with these words, status 2, no file.
refused() {
    words=$1
    shift
    rm -f "$T/none.html"
    "$crescent" explain "$@" >"$T/out" 2>"$log"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q -- "$words" "$log" && [ ! -e "$T/none.html" ]
    report $? "explain $*: expected '$words'"
}

refused 'no -o, expected -o REPORT.html' docs/tour.lua
refused 'backend ref shows no kernels' docs/tour.lua -o "$T/none.html" --backend ref
refused 'unknown option' docs/tour.lua -o "$T/none.html" --set X=1
refused '--against foo: expected standalone, FILE.lua, or NAME=VALUE' docs/tour.lua -o "$T/none.html" --against foo
refused 'cannot be written' docs/tour.lua -o "$T/no/folder.html"
refused 'expected --grads none' docs/tour.lua -o "$T/none.html" --grads "$T/g.safetensors"

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

# open NAME SIZE HASH OPTIONS: a page from the disk, with no network.
open() {
    timeout 1200 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$T/profile" --window-size="$2" $4 "file://$T/$1.html$3" 2>"$log"
}

# clicked NAME SIZE: the page with clicks.js behind its script says that all went well.
clicked() {
    awk 'FNR == NR { script = script $0 "\n"; next }
        /^<\/body>$/ { printf "<script>\n%s</script>\n", script }
        { print }' tests/page/clicks.js "$T/$1.html" >"$T/clicked.html"
    open clicked "$2" '' --dump-dom |
        sed -n 's/.*<script type="application\/json" id="clicked">\({.*}\)<\/script>.*/\1/p' >"$T/clicks"
    grep -q '"ok":true' "$T/clicks"
    status=$?
    cp "$T/clicks" "$log"
    report $status "$1 at $2, clicked through"
}

clicked stack 1600,1000
clicked train 1366,768
clicked grads 1100,900
clicked two 1600,1000
clicked stack 420,900

# seen NAME SIZE HASH LEAST: a picture of at least so many bytes.
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
