#!/bin/sh
# experiments.sh - runs the scripts of graphs/experiments, and prints or draws their results.
#
# experiments.sh NAME       prints the tables of an experiment, for docs/experiments*.md
# experiments.sh --draw [FOLDER]
#                           writes the pictures, docs/experiments/NAME.svg, by gnuplot
# experiments.sh --check    compares the experiments with PyTorch (tests/experiments, written
#                           by make_experiments.py), the numbers of parameters with those of PyTorch,
#                           and the pictures with those that gnuplot draws of the same numbers
#
# $CRESCENT is the program.  Run from the top folder.
set -u
LC_ALL=C
export LC_ALL

crescent="${CRESCENT:-build/crescent}"
scripts=graphs/experiments
pictures=docs/experiments
. "$(dirname "$0")/report.sh"

fail() {
    echo "experiments.sh: $1" >&2
    exit 1
}

# ---- From scripts to columns of numbers -------------------------------------------------

# Prints the elements of a file of floats, one a line.
elements() {
    header=$(od -An -tu2 -j8 -N2 "$1")
    od -An -v -tf4 -w4 -j$((header + 10)) "$1" | tr -d ' '
}

# compute FOLDER SCRIPT 'OUTPUT...' [OPTION...]: runs a script, and writes the elements of each output to
# $T/FOLDER/OUTPUT.
compute() {
    folder="$T/$1" script="$scripts/$2.lua" outputs=$3
    shift 3
    mkdir -p "$folder"
    for output in $outputs; do
        set -- "$@" --output "$output=$folder/$output.npy"
    done
    "$crescent" run "$script" "$@" >/dev/null || fail "$script failed"
    for output in $outputs; do
        elements "$folder/$output.npy" >"$folder/$output"
    done
}

# table 'HEAD | HEAD' 'FORMAT FORMAT' COLUMN...: prints files of one number a line as columns of a table.
table() {
    echo "| $1 |"
    echo "$1" | sed 's/[^|][^|]*/--:/g; s/.*/|&|/'
    formats=$2
    shift 2
    paste -d' ' "$@" | awk -v formats="$formats" '{
        split(formats, format, " ")
        printf "|"
        for (i = 1; i <= NF; i++) printf " " format[i] " |", $i
        print ""
    }'
}

# Prints a mean without a sign if it is 0 up to rounding.
unsigned_zero() {
    sed 's/-0\.000000/0.000000/g'
}

# spread FORMAT: prints the least, the median and the largest of numbers, which are one a line.
spread() {
    sort -g | awk -v format="$1 | $1 | $1" '{ v[NR] = $1 }
        END { printf format, v[1], v[int((NR + 1) / 2)], v[NR] }'
}

# ---- The experiments: their numbers, and the tables made of them ------------------------

experiments='residuals layer_norm gelu blocks sight'

residuals_numbers() {
    compute depth residuals 'residual plain linear'
    seq 0 10 >"$T/depth/layer"
}

residuals_tables() {
    (cd "$T/depth" && table 'layer | h + tanh(f(h)) | tanh(f(h)) | f(h)' '%d %.6f %.6f %.6f' \
        layer residual plain linear)
    echo
    echo '| at the input, 20 seeds | least | median | largest |'
    echo '|---|--:|--:|--:|'
    for seed in $(seq 0 19); do
        compute "seed$seed" residuals 'residual plain linear' --seed "$seed"
        for net in residual plain linear; do
            head -n 1 "$T/seed$seed/$net" >>"$T/$net"
        done
    done
    echo "| h + tanh(f(h)) | $(spread %.6f <"$T/residual") |"
    echo "| tanh(f(h)) | $(spread %.6f <"$T/plain") |"
    echo "| f(h) | $(spread %.6f <"$T/linear") |"
    paste -d' ' "$T/residual" "$T/linear" | awk '{ print $1 / $2 }' >"$T/ratio"
    echo "| the first divided by the last | $(spread %.1f <"$T/ratio") |"
}

layer_norm_numbers() {
    compute layer_norm layer_norm 'before after means stds layer_norm_off batch_norm_off
        influence inside outside none'
    compute layer_norm_small layer_norm 'token_std' --set B=2 --set T=3 --set C=4
    seq -8 9 >"$T/layer_norm/from"
}

# row NAME FORMAT FILE...: prints the elements of files as one row of a table.
row() {
    name=$1 format=$2
    shift 2
    printf '| %s |' "$name"
    cat "$@" | awk -v format="$format" '{ printf " " format " |", $1 } END { print "" }'
}

layer_norm_tables() {
    cd "$T/layer_norm" || exit 1
    echo '| of 192 values | before | after |'
    echo '|---|--:|--:|'
    row mean %.6f means | unsigned_zero
    row 'standard deviation' %.6f stds
    echo
    table 'from | before | after' '%d %d %d' from before after
    echo
    echo '| at most, in size | mean of a token | std of a token - 1 | mean of a feature |' \
        'std of a feature - 1 |'
    echo '|---|--:|--:|--:|--:|'
    row 'layer norm' %.2g layer_norm_off
    row 'batch norm' %.2g batch_norm_off
    echo
    echo '| the other sequences made ten times as large | layer norm | batch norm |'
    echo '|---|--:|--:|'
    row 'changes the first one by at most' %.4g influence
    echo
    echo '| sigma before | 1 | 0.1 | 0.01 | 0.001 |'
    echo '|---|--:|--:|--:|--:|'
    row '(x - mu) / sqrt(sigma^2 + eps)' %.6f inside
    row '(x - mu) / (sigma + eps)' %.6f outside
    row '(x - mu) / sigma' %.6f none
    echo
    echo '| token | 0 | 1 | 2 | 3 | 4 | 5 |'
    echo '|---|--:|--:|--:|--:|--:|--:|'
    row 'std with n - 1, n_embd 4' %.4f ../layer_norm_small/token_std
}

gelu_outputs='x gelu gelu_slope gelu_tanh gelu_tanh_slope relu relu_slope'

gelu_numbers() {
    compute gelu gelu "$gelu_outputs"
    compute gelu_coarse gelu "$gelu_outputs" --set n=13
    compute gelu_fine gelu "$gelu_outputs" --set n=601
}

# extreme WHAT FORMAT EXPRESSION: prints the first column and the value where an expression of the other columns is
# largest.
extreme() {
    awk -v what="$1" -v format="$2" '{
        value = '"$3"'
        size = value < 0 && what ~ /^far/ ? -value : value
        if (NR == 1 || size > best) { best = size; at = $1; shown = value }
    }
    END {
        if (what ~ /^least/) shown = -shown
        printf "| %s | " format " | %.2f |\n", what, shown, at
    }'
}

gelu_tables() {
    (cd "$T/gelu_coarse" && table "x | GELU | GELU by tanh | ReLU | GELU' | GELU' by tanh | ReLU'" \
        '%.1f %.6f %.6f %.6f %.6f %.6f %.1f' x gelu gelu_tanh relu \
        gelu_slope gelu_tanh_slope relu_slope)
    echo
    echo '| of 601 points from -3 to 3 | | at x |'
    echo '|---|--:|--:|'
    cd "$T/gelu_fine" || exit 1
    paste -d' ' x gelu | extreme 'least GELU' %.6f '-$2'
    paste -d' ' x gelu_slope | extreme "largest GELU'" %.6f '$2'
    paste -d' ' x gelu_tanh gelu | extreme 'farthest of GELU by tanh from GELU' %.6f '$2 - $3'
    paste -d' ' x gelu_tanh_slope gelu_slope |
        extreme "farthest of GELU' by tanh from GELU'" %.6f '$2 - $3'
    paste -d' ' x relu gelu | extreme 'farthest of ReLU from GELU' %.6f '$2 - $3'
}

blocks_numbers() {
    for arrangement in pre post none bare; do
        compute "$arrangement" blocks 'mean std' --set arrangement=$arrangement
        compute "deep_$arrangement" blocks 'mean std gradient' \
            --set arrangement=$arrangement --set n_layer=12
    done
    seq 0 4 >"$T/block"
    seq 0 12 >"$T/deep_block"
}

blocks_tables() {
    cd "$T" || exit 1
    table 'block | pre: std | mean | post: std | mean | none: std | mean | bare: std | mean' \
        '%d %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f' block pre/std pre/mean post/std post/mean \
        none/std none/mean bare/std bare/mean | unsigned_zero
    echo
    table 'block | pre: std | dL/dh | post: std | dL/dh | none: std | dL/dh | bare: std | dL/dh' \
        '%d %.4f %.4f %.4f %.4f %.4f %.4f %.4f %.4g' deep_block deep_pre/std deep_pre/gradient \
        deep_post/std deep_post/gradient deep_none/std deep_none/gradient \
        deep_bare/std deep_bare/gradient
}

sight_numbers() {
    compute causal sight 'block feed_forward highway'
    compute all sight 'block' --set mask=none
}

# matrix HEAD FILE: prints a [6, 6] as a table; a number that is exactly 0 is printed as 0.
matrix() {
    echo "| $1 | x_0 | x_1 | x_2 | x_3 | x_4 | x_5 |"
    echo '|---|--:|--:|--:|--:|--:|--:|'
    awk '{ if (NR % 6 == 1) printf "| y_%d |", (NR - 1) / 6
        printf($1 == 0 ? " 0 |" : " %.4f |", $1)
        if (NR % 6 == 0) print "" }' "$2"
}

sight_tables() {
    matrix 'causal mask' "$T/causal/block"
    echo
    matrix 'no mask' "$T/all/block"
    echo
    matrix 'feed-forward' "$T/causal/feed_forward"
    echo
    matrix 'residual connections alone' "$T/causal/highway"
}

# ---- Parameter counts -------------------------------------------------------------------

# The models: n_layer, n_embd, n_head, vocab_size, PyTorch's count, name.
models() {
    cat <<MODELS
2 64 4 65 107904 Baby GPT
12 768 12 50257 162221568 GPT-2 small
24 1024 16 50257 405161984 GPT-2 medium
36 1280 20 50257 836907520 GPT-2 large
48 1600 25 50257 1636150400 GPT-2 XL
MODELS
}

# Prints the parameters of a model: attention, feed-forward, norms, embedding, head, total.
count() {
    "$crescent" params "$scripts/gpt.lua" --set n_layer="$1" --set n_embd="$2" --set n_head="$3" \
        --set vocab_size="$4" | awk '
        { n = $NF; gsub(",", "", n) }
        /\.attn\./ { attn += n }
        /\.ff\./ { ff += n }
        /\.ln[12]\./ { norm += n }
        /^emb/ { emb += n }
        /^head/ { head += n }
        $1 == "total" { total = n }
        END { print attn, ff, norm, emb, head, total }' | grep -v '^ ' ||
        fail "$scripts/gpt.lua: no count"
}

# Prints 1234567 as 1,234,567.
thousands() {
    sed ':again; s/\([0-9]\)\([0-9]\{3\}\)\($\|[^0-9]\)/\1,\2\3/; t again'
}

parameters_tables() {
    echo '| | layers | dim | heads | attention | feed-forward | layer norms | embedding | head |' \
        'total |'
    echo '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|'
    models | while read -r n_layer n_embd n_head vocab_size _ name; do
        set -- $(count "$n_layer" "$n_embd" "$n_head" "$vocab_size" | thousands)
        echo "| $name | $n_layer | $n_embd | $n_head | $1 | $2 | $3 | $4 | $5 | $6 |"
    done
}

# Prints tables as a passage of a page, with empty lines around them.
page() {
    echo
    "$1" || exit 1
    echo
}

# ---- Pictures ---------------------------------------------------------------------------

# draw FOLDER: draws all pictures.  A gnuplot script reads the numbers of its experiment in $T.
draw() {
    mkdir -p "$1" || exit 1
    for name in $experiments; do
        ${name}_numbers
        gnuplot -e "T = '$T'; name = '$T/$name.svg'" "$scripts/style.gp" "$scripts/$name.gp" ||
            fail "gnuplot failed at $scripts/$name.gp"
    done
    for name in $experiments; do
        cmp -s "$T/$name.svg" "$1/$name.svg" || cp "$T/$name.svg" "$1/$name.svg" || exit 1
    done
}

# ---- Checking ---------------------------------------------------------------------------


# compare CASE [OPTION...]: compares the outputs of an experiment with those of PyTorch.
compare() {
    folder="tests/experiments/$1"
    shift
    set -- $(sed -n 's/^script //p' "$folder/case.txt") \
        $(sed -n 's/^set /--set /p; s/^atol /--atol /p; s/^rtol /--rtol /p' "$folder/case.txt") "$@"
    inputs=$("$crescent" dump "$1" --after script | grep -c '= input("x"')
    [ ! -e "$folder/model.safetensors" ] || set -- "$@" --weights "$folder/model.safetensors"
    for file in "$folder"/*.npy; do
        name=$(basename "$file" .npy)
        case "$name $inputs" in
        'x 1') set -- "$@" --input "x=$file" ;;
        *) set -- "$@" --expect "$name=$file" ;;
        esac
    done
    "$crescent" compare "$@" --backends ref,tcc,cc >"$log" 2>&1 || { cat "$log"; return 1; }
}

check_values() {
    for case in $(ls tests/experiments); do
        compare "$case"
        report $? "tests/experiments/$case: not what PyTorch computes"
    done
    # A tolerance that no float32 result meets: a comparison that cannot fail would pass.
    ! compare residuals --atol 1e-12 --rtol 0 >/dev/null
    report $? 'a comparison that should fail'
}

# Counting reads names and shapes only: 200 MB of address space are enough for the largest model, which has 6 GB of
# weights.  (AddressSanitizer needs terabytes.)
check_counts() {
    [ -n "${ASAN_OPTIONS-}" ] || ulimit -v 200000
    models | while read -r n_layer n_embd n_head vocab_size expected name; do
        set -- $(count "$n_layer" "$n_embd" "$n_head" "$vocab_size")
        [ "${6-}" = "$expected" ] && echo good ||
            echo "$name: found ${6-nothing} parameters, expected $expected" >&2
    done
}

# The first line of a picture, which names the version of gnuplot.
drawn_by() {
    grep -o -m1 'GNUPLOT [0-9.]* patchlevel [^ ]*' "$1"
}

# The same gnuplot draws the same bytes; for another version, the test only checks that the pictures can be drawn.
check_pictures() {
    if ! command -v gnuplot >/dev/null 2>&1; then
        echo 'skipped: the pictures, as gnuplot is not here'
        return
    fi
    (draw "$T/drawn")
    for name in $experiments; do
        if [ "$(drawn_by "$T/drawn/$name.svg")" = "$(drawn_by "$pictures/$name.svg")" ]; then
            cmp "$T/drawn/$name.svg" "$pictures/$name.svg"
        else
            echo "skipped: the bytes of $name.svg, which another gnuplot has drawn"
            grep -q '</svg>' "$T/drawn/$name.svg"
        fi
        report $? "$pictures/$name.svg is not what gnuplot draws: see 'make experiments'"
    done
}

check() {
    check_values
    [ -z "${ASAN_OPTIONS-}" ] ||
        echo 'skipped: counting in little memory, which AddressSanitizer does not do'
    [ "$( (check_counts) 2>"$log" | grep -c good)" -eq "$(models | wc -l)" ]
    report $? "parameter counts: $(cat "$log")"
    check_pictures
    conclude
}

case "${1-}" in
--draw) draw "${2:-$pictures}" ;;
--check) check ;;
parameters) page parameters_tables ;;
residuals | layer_norm | gelu | blocks | sight) "${1}_numbers" && page "${1}_tables" ;;
*) fail "found '${1-}', expected --draw, --check, parameters or one of: $experiments" ;;
esac
