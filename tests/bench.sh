#!/bin/sh
# bench.sh - the table of `make bench`: Markdown on standard output, progress on stderr.
#
# $CRESCENT is the program.  $ROWS lists the rows in words like SCRIPT:KEY=VALUE,KEY=VALUE; SCRIPT:KEY=VALUE,grads
# measures forward and backward.  $THREADS lists numbers of threads, $BENCH_SECONDS is how long each row is measured,
# $BENCH_ROUNDS how often text is generated, and $BENCH_FORMATS lists the formats of weights for generating, in words
# like q8 or q8:int8 (if it is empty, that table is left out).
set -u

crescent="${CRESCENT:-build/crescent}"
threads="${THREADS:-1 2}"
seconds="${BENCH_SECONDS:-1}"
rounds="${BENCH_ROUNDS:-3}"
formats="${BENCH_FORMATS-bf16 f16 q8 q4 q8:int8 q4:int8}"
: "${ROWS:?the table is missing: call 'make bench'}"

# settings KEY=VALUE,KEY=VALUE: prints the options --set of a row.
settings() {
    echo "$1" | sed 's/^/--set /; s/,/ --set /g'
}

# row LINES COMMAND...: runs a command that prints a table; prints the whole table if LINES is 3, only its last line
# if it is 1.
row() {
    lines=$1
    shift
    echo "bench: $*" >&2
    table=$("$crescent" bench "$@" --markdown) || exit 1
    echo "$table" | tail -n "$lines"
}

machine() {
    sed -n 's/^model name[^:]*: /- processor: /p' /proc/cpuinfo | sort | uniq
    echo "- cores: $(getconf _NPROCESSORS_ONLN)"
    echo "- compiler: $(${CC:-cc} --version | head -n 1)"
    for n in $threads; do
        for size in T=128 B=2,T=16,n_embd=64,n_head=4; do
            "$crescent" bench graphs/gpt2_block.lua $(settings $size) --threads "$n" |
                sed -n "s/^Machine: /- threads: $n; /p" || exit 1
        done
    done
}

# shapes OPTION...: reads rows from standard input and measures each with each number of threads.
shapes() {
    lines=3
    while read -r item; do
        for n in $threads; do
            row $lines "graphs/${item%%:*}.lua" $(settings "${item#*:}") --threads "$n" \
                --seconds "$seconds" --vs backend=cc "$@" || exit 1
            lines=1
        done
    done
}

# Split the rows: those without gradients, and the others without the word `grads`.
forward_rows() {
    printf '%s\n' $ROWS | sed '/,grads$/d'
}
backward_rows() {
    printf '%s\n' $ROWS | sed -n 's/,grads$//p'
}

# Compares TinyCC with the standalone file that cc -O2 compiles, and a model with one head at a time with another
# model of the same size that is easier to compile.
others() {
    lines=3
    for n in $threads; do
        row $lines graphs/gpt2_block.lua --set T=128 --threads "$n" --seconds "$seconds" \
            --vs standalone --vs isa=avx2 || exit 1
        lines=1
    done
    echo
    row 3 graphs/heads_block.lua $(settings B=2,T=32,n_embd=768,n_head=12) --threads 1 \
        --seconds "$seconds" --vs graphs/decoder_block.lua || exit 1
}

compilation() {
    lines=3
    for item in gpt2_block:T=64 gpt2_stack:T=64,n_layer=12 gpt2_stack:T=64,n_layer=48 \
        gpt2_block:T=1024 gpt2_block:T=4096; do
        row $lines "graphs/${item%%:*}.lua" $(settings "${item#*:}") --compile-only || exit 1
        lines=1
    done
}

# peak THREADS ARITHMETIC: prints the best of three measurements of the peak rate, in operations a nanosecond, of
# products in an arithmetic: fused multiply-adds of f32, or what this machine's instruction set has for int8 and bf16.
peak() {
    options= line='s/^Machine: \([0-9.]*\) GFLOP.*/\1/p'
    [ "$2" = f32 ] || line="s/^Machine: \([0-9.]*\) GOP.*/\1/p"
    [ "$2" = int8 ] && options='--format q8 --arithmetic int8'
    [ "$2" = bf16 ] && options='--format bf16 --arithmetic bf16'
    for i in 1 2 3; do
        "$crescent" bench graphs/gpt2_block.lua --set T=128 --seconds 0.1 --threads "$1" $options |
            sed -n "$line"
    done | sort -n | tail -n 1
}

# generate PROMPT THREADS FORMAT ARITHMETIC: prints the best of $BENCH_ROUNDS runs of GPT-2 with 124 million random
# parameters: the time of a prompt of PROMPT tokens, its share of the peak of its arithmetic (causal masking halves
# the operations of attention), the time of each of 32 tokens after it, and its share of the bandwidth at which the
# weights can be read.
generate() {
    prompt=$1 n=$2
    ids=$(awk -v n="$prompt" 'BEGIN { for (i = 0; i < n; i++) printf i ? ",%d" : "%d", i * 7919 % 30000 }')
    for i in $(seq "$rounds"); do
        "$crescent" generate graphs/gpt2.lua --context 1024 --prompt-ids "$ids" --tokens 33 --ids \
            --ignore-eos --stats --threads "$n" --format "$3" --arithmetic "$4" 2>&1 >/dev/null ||
            exit 1
    done | awk -v prompt="$prompt" -v threads="$n" -v peak="$(peak "$n" "$4")" '
        function ms(value, unit) { return value * (unit == "s" ? 1000 : unit == "us" ? 0.001 : 1) }
        /of the prompt/ {
            for (i = 1; i < NF && $i != "which"; i++) { }
            time = ms($(i + 1), $(i + 2))
            if (!fed || time < fed) fed = time
        }
        /a second/ {
            match($0, /: [0-9.,]+ a second/)
            each = substr($0, RSTART + 2)
            gsub(/,/, "", each)
            each = 1000 / each
            match($0, /[0-9]+% of what/)
            if (!token || each < token) { token = each; share = substr($0, RSTART) + 0 }
        }
        END {
            flops = 2 * 84934656 * prompt + 2 * 38597376 + 12 * 4 * 768 * prompt * (prompt + 1) / 2
            printf "| %d | %d | %.4g | %.1f%% | %.4g | %d%% |\n", prompt, threads, fed,
                100 * flops / (fed * 1e6) / peak, token, share
        }'
}

generation() {
    echo '| prompt, tokens | threads | the prompt, ms | of the FMA peak | a token behind it, ms | of the read bandwidth |'
    echo '|--:|--:|--:|--:|--:|--:|'
    for prompt in 1 128 512; do
        for n in $threads; do
            echo "bench: a prompt of $prompt tokens, $n threads" >&2
            generate "$prompt" "$n" f32 f32 || exit 1
        done
    done
}

# Measures the same for weights in $BENCH_FORMATS, words like FORMAT or FORMAT:ARITHMETIC.
narrow() {
    echo '| weights, products | prompt, tokens | threads | the prompt, ms | of the peak of its products | a token behind it, ms | of the read bandwidth |'
    echo '|---|--:|--:|--:|--:|--:|--:|'
    for word in $formats; do
        arithmetic=${word#*:}
        [ "$arithmetic" = "$word" ] && arithmetic=f32
        for prompt in 2 512; do
            for n in $threads; do
                echo "bench: ${word%%:*}, $arithmetic, a prompt of $prompt tokens, $n threads" >&2
                printf '| %s, %s ' "${word%%:*}" "$arithmetic"
                generate "$prompt" "$n" "${word%%:*}" "$arithmetic" || exit 1
            done
        done
    done
}

# Prints the median time of eleven runs of the program, from its start to its end, in milliseconds, and the part of it
# that drew parameters.
start() {
    for i in 1 2 3 4 5 6 7 8 9 10 11; do
        before=$(date +%s%N)
        drawn=$("$crescent" run graphs/gpt2_block.lua --set T=64 |
            sed -n 's/.*draw weights \([0-9.]* [a-z]*\),.*/\1/p')
        echo "$(($(date +%s%N) - before)) $drawn"
    done | sort -n | sed -n 6p |
        awk '{ printf "%.1f ms, of which drawing the parameters took %s %s\n", $1 / 1e6, $2, $3 }'
}

echo '# Bench'
echo
machine || exit 1
echo
echo '## Shapes'
echo
echo 'Times are medians, `fastest of peak` is the fastest run over the highest peak that was seen;'
echo 'the last column is the time over that of the same C by cc -O2.'
echo
forward_rows | shapes || exit 1
echo
echo '## Against other settings'
echo
others || exit 1
echo
echo '## Forward and backward: the gradients of all parameters and of the input'
echo
backward_rows | shapes --grads none || exit 1
echo
echo '## Compiling, and the arena'
echo
compilation || exit 1
echo
echo '## Going on with a text: GPT-2 with 124 million parameters'
echo
generation || exit 1
echo
if [ -n "$formats" ]; then
    echo '### With narrow weights'
    echo
    narrow || exit 1
    echo
fi
echo '## From the start of the program to the first output, gpt2_block at T=64'
echo
start
