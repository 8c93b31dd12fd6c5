#!/bin/sh
# ranks.sh TEST_RANKS - tests several processes, under each installed MPI (make test, make MPI=1).
#
# exchange   every function of ranks.h; if a rank fails, all ranks end
# run        the outputs of a block and a stack on 1 to 8 ranks have the bytes of a single process
# generate   the same for a text and its logits
# embed      the same for vectors and scores of texts
# measure    the same for perplexities and the differences of backends; a bench ends on all ranks
# errors     one line, and all ranks end
# differ     the same if a rank has another file: of a model's folder, its tokenizer, weights, inputs, expected values,
#            checkpoints, data of a validation, packed weights
# emitted    the same bytes for programs of `emit --ranks N`
# memory     a rank reads and keeps its share: four ranks run a model under a limit (ulimit -v) that is too
#            small for one process
# The functions of an MPI are called in runtime/ranks_mpi.c and in emitted C, alike for all models.  So the first MPI
# has all models; another one has all exchanges on up to 3 ranks, standard input, errors, memory and two models.
# TEST_RANKS is the program of tests/test_ranks.c, $CRESCENT the program.  $BUILD has the shared objects.  The
# last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
BUILD=$(realpath "${BUILD:-build}")
. "$(dirname "$0")/report.sh"
. "$(dirname "$0")/plain_c.sh"
. "$(dirname "$0")/mpi.sh"
mkdir "$T/apart"

# fails RANK WORDS: passes if one of three ranks, or each of them if RANK is -1, fails with these words, and all end.
fails() {
    ranks 3 "$test_ranks" fail "$1" >"$T/out" 2>"$log"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "$2" "$log"
    report $? "$family: $2"
}

# runs MODEL OPTIONS...: checks that its output `y` on several ranks is that of one process.
runs() {
    "$crescent" run "$@" --threads 1 --output y="$T/one.npy" >"$log" 2>&1
    report $? "$*"
    for n in $counts; do
        rm -f "$T/all.npy"
        ranks $n "$crescent" run "$@" --threads 1 --output y="$T/all.npy" >"$T/out" 2>"$log"
        same "$family: $* on $n ranks" "$T/one.npy" "$T/all.npy"
    done
}

# generates MODEL OPTIONS...: checks the same for a text and its logits.
generates() {
    "$crescent" generate "$@" --threads 1 --tokens 12 --logits "$T/one.npy" >"$T/one" 2>"$log"
    report $? "generate $*"
    for n in $counts; do
        rm -f "$T/all.npy"
        ranks $n "$crescent" generate "$@" --threads 1 --tokens 12 --logits "$T/all.npy" \
            >"$T/all" 2>"$log"
        same "$family: generate $* on $n ranks" "$T/one" "$T/all"
        same "$family: logits on $n ranks" "$T/one.npy" "$T/all.npy"
    done
}

# encodes VERB OPTIONS...: checks the same for what it prints for each line of $T/lines, which rank 0 reads.
encodes() {
    "$crescent" "$@" "$T/lines" --threads 2 >"$T/one" 2>"$log"
    report $? "$*"
    for n in $counts; do
        ranks $n "$crescent" "$@" - --threads 1 <"$T/lines" >"$T/all" 2>"$log"
        same "$family: $* on $n ranks" "$T/one" "$T/all"
    done
}

# refuses WORDS COMMAND...: passes if the command prints one line with these words on three ranks, and ends.
refuses() {
    words=$1
    shift
    ranks 3 "$crescent" "$@" >"$T/out" 2>"$log"
    status=$?
    # if several ranks fail alike, a second one may print the same line on a slow machine
    [ $status -eq 2 ] && [ "$(grep '^crescent: ' "$log" | sort -u | wc -l)" = 1 ] &&
        grep -q "^crescent: .*$words" "$log"
    report $? "$family: $words (status $status)"
}

# differs WORDS FILE COMMAND...: passes if a command fails on two ranks that run it in folders of their own, where FILE
# of rank 1 is $T/other (if there is none, rank 1 has no FILE), and prints one line with these words.
differs() {
    words=$1 file=$2
    shift 2
    for rank in 0 1; do
        rm -rf "$T/own$rank" && cp -r "$T/own" "$T/own$rank"
    done
    rm -f "$T/own1/$file" && { [ ! -e "$T/other" ] || mv "$T/other" "$T/own1/$file"; }
    ranks 2 "$T/in_own" "$@" >"$T/out" 2>"$log"
    status=$?
    [ $status -eq 2 ] && [ "$(grep -c '^[^ ]*: .*\(expected\|cannot\)' "$log")" = 1 ] && grep -q "$words" "$log"
    report $? "$family: $file differs: $words (status $status)"
}

# other_end FILE: makes $T/other, which differs from a file in its last number.
other_end() {
    head -c -4 "$T/own/$1" >"$T/other" && printf '\1\0\0\0' >>"$T/other"
}

# Files that one rank has otherwise, although the text, the vector or the number may not show it.
different_files() {
    own="$T/own" generate='generate fables --prompt Once --tokens 2'
    rm -rf "$own" && mkdir "$own" && cp -r graphs/fables tests/fixtures/embed_llama_score tests/fixtures/embed_gemma3 \
        tests/fixtures/train_micro_batches tests/scripts/micro_batches.lua "$T/m.lua" "$own" && cp "$T/w0" "$own/w" &&
        cp "$T/x0" "$own/x" && echo 'What is it?' >"$own/lines"
    report $? "$family: files of a rank"
    sed 's/"eos_token_id": 1/"eos_token_id": 7/' graphs/fables/config.json >"$T/other"
    differs 'fables/config.json: settings of rank 1 differ' fables/config.json $generate
    echo '{"eos_token_id": 9}' >"$T/other"
    differs 'fables: settings .* of rank 1 differ' fables/generation_config.json $generate
    echo ' ' | cat graphs/fables/tokenizer.json - >"$T/other"
    differs 'fables: files of the tokenizer of rank 1 differ' fables/tokenizer.json $generate
    echo ' ' | cat graphs/fables/tokenizer.json - >"$T/other"
    differs 'fables: files of the tokenizer of rank 1 differ' fables/tokenizer.json evaluate fables lines
    differs 'fables: found no tokenizer' fables/tokenizer.json evaluate fables lines
    cp graphs/fables/tokenizer.json "$own/tokens.json" && echo ' ' | cat "$own/tokens.json" - >"$T/other"
    differs 'tokens.json: contents of rank 1 differ' tokens.json $generate --tokenizer tokens.json
    echo What is this >"$T/other"
    differs 'rank 1 does not run with the inputs' lines generate fables --prompt-file lines --tokens 2
    other_end fables/model.safetensors
    differs 'weights of rank 1 differ' fables/model.safetensors $generate
    sed 's/Query/Question/' "$own/embed_llama_score/chat_template.jinja" >"$T/other"
    differs 'score: settings .* of rank 1 differ' embed_llama_score/chat_template.jinja rank embed_llama_score \
        --query 'What is it?' lines
    sed 's/"prompts"/"none"/' "$own/embed_gemma3/config_sentence_transformers.json" >"$T/other"
    differs 'gemma3: settings .* of rank 1 differ' embed_gemma3/config_sentence_transformers.json embed embed_gemma3 lines
    sed 's/{/{ /' "$own/embed_gemma3/1_Pooling/config.json" >"$T/other"
    differs 'gemma3: settings .* of rank 1 differ' embed_gemma3/1_Pooling/config.json embed embed_gemma3 lines
    other_end w
    differs 'weights of rank 1 differ' w run m.lua --weights w
    other_end x
    differs 'x: contents of rank 1 differ' x run m.lua --weights w --input x=x
    differs 'x: cannot be opened' x run m.lua --weights w --input x=x
    other_end x
    differs 'x: contents of rank 1 differ' x compare m.lua --weights w --expect y=x
    data='--input ids=train_micro_batches/ids.npy --input target=train_micro_batches/target.npy'
    train="train micro_batches.lua --set micro_batches=6 --steps 2 --checkpoint kept"
    other_end train_micro_batches/ids.npy
    differs 'ids.npy: contents of rank 1 differ' train_micro_batches/ids.npy $train $data
    cp -r tests/fixtures/train_micro_batches "$own/held" && other_end held/ids.npy
    differs 'ids.npy: contents of rank 1 differ' held/ids.npy $train $data --validate-every 1 \
        $(echo "$data" | sed 's/--input/--validation-input/g; s/=train_micro_batches/=held/g')
    (cd "$own" && "$crescent_here" $train $data) >"$log" 2>&1
    report $? "$family: a checkpoint of one process"
    sed 's/"crescent.seed":"0"/"crescent.seed":"1"/' "$own/kept" >"$T/other"
    differs 'kept: contents of rank 1 differ' kept $train $data --resume kept
}

# computes: models of each kind, and each verb.
computes() {
    counts='1 2 3 8'
    runs graphs/gpt2_stack.lua --set n_layer=2 --set n_embd=96 --set n_head=3 --set T=21 --set B=2
    counts=4
    runs graphs/decoder_block.lua --set n_embd=160 --set n_head=5 --set T=9
    runs graphs/gpt2_block.lua --set n_embd=128 --set n_head=4 --set T=6 --format q8 --arithmetic int8
    counts='2 3'
    generates graphs/fables --prompt 'Once upon a time'
    generates graphs/fables --prompt 'Once upon a time' --format q8
    generates graphs/llama.lua --prompt-ids 1,5,9 --ids --ignore-eos --format q4 --set hidden_size=64 \
        --set vocab_size=301 --set num_hidden_layers=1 --set num_attention_heads=4 --set num_key_value_heads=2 \
        --set intermediate_size=96 # in q4, a table takes most of the weights
    # 5 heads on 2 ranks, with one head of keys and values, which both ranks compute
    generates graphs/llama.lua --prompt-ids 1,5,9 --ids --ignore-eos --context 64 --set hidden_size=80 \
        --set vocab_size=131 --set num_hidden_layers=2 --set num_attention_heads=5 --set num_key_value_heads=1 \
        --set intermediate_size=100
    runs "$T/keys.lua" --format q8
    generates tests/fixtures/model_gpt2 --prompt-ids 3,1,4,1,5 --ids --ignore-eos
    encodes embed graphs/fables --normalize
    encodes rank tests/fixtures/embed_qwen3_score --query 'What is it?'
    encodes evaluate graphs/fables --format q8
    "$crescent" compare $block --grads "$T/grads" >"$T/one" 2>"$log" && mv "$T/grads" "$T/grads1"
    ranks 3 "$crescent" compare $block --grads "$T/grads" >"$T/all" 2>"$log"
    same "$family: compare on 3 ranks" "$T/one" "$T/all"
    same "$family: gradients of compare on 3 ranks" "$T/grads1" "$T/grads"
    rm -f "$T/all.npy"
    "$crescent" embed graphs/fables "$T/lines" -o "$T/one.npy" >"$T/out" 2>"$log"
    ranks 3 "$crescent" embed graphs/fables "$T/lines" -o "$T/all.npy" >"$T/out" 2>"$log"
    same "$family: a file of vectors" "$T/one.npy" "$T/all.npy"
    # Numbers that are sent, in floats: 64 of the embedding by both ranks, and 32 + 32 + 40 + 32 of each layer, for
    # each of 7 tokens, 5 tokens in the last of the 4 layers; and 5 x 256 logits.
    ranks 2 "$crescent" generate graphs/fables --prompt-ids 1,5,9 --tokens 5 --ids --stats >"$T/out" 2>"$log"
    grep -q "has sent 21,056 bytes" "$log"
    report $? "$family: bytes that are sent"
    # Numbers that are sent, in floats: for 7 tokens, 40 of the embedding; for the 5 of them with logits, 3 of 5 heads
    # of 16 each, 40 + 50 + 40, and 66 of 131 logits.  Keys and values of the only head are not sent.
    ranks 2 "$crescent" generate graphs/llama.lua --prompt-ids 1,5,9 --tokens 5 --ids --ignore-eos --stats --context 64 \
        --set hidden_size=80 --set vocab_size=131 --set num_hidden_layers=1 --set num_attention_heads=5 \
        --set num_key_value_heads=1 --set intermediate_size=100 >"$T/out" 2>"$log"
    grep -q "has sent 6,000 bytes" "$log"
    report $? "$family: bytes that are sent with keys of one head"
    # Ranks that wait take all of a processor, so a bench has two.
    ranks 2 "$crescent" bench $block --seconds 0.1 --per-kernel >"$T/out" 2>"$log" &&
        [ "$(grep -c '^Run: ' "$T/out")" = 1 ] &&
        [ "$(grep -c 'all_gather  *[1-9].* [mu]s' "$T/out")" -ge 2 ] && ! grep -q 'nan' "$T/out"
    report $? "$family: a bench of exchanges"
    echo | ranks 2 "$crescent" bench $block --seconds 0.1 --turns >"$T/out" 2>"$log" && grep -q '^{"runs"' "$T/out"
    report $? "$family: bench in turns on 2 ranks"
}

models() {
    printf 'A fox\n\nOnce upon a time there was a frog.\r\nThe end' >"$T/lines"
    block='graphs/gpt2_block.lua --set n_embd=96 --set n_head=3 --set T=9 --threads 1'
    if [ $first = 1 ]; then
        computes
    else
        counts='2 3'
        generates graphs/fables --prompt 'Once upon a time'
    fi
    refuses 'backend standalone on 3 ranks' compare $block --backends tcc,standalone
    echo 'A fox' >"$T/prompt"
    "$crescent" generate graphs/fables --tokens 9 --prompt-file - <"$T/prompt" >"$T/one" 2>"$log"
    ranks 2 "$crescent" generate graphs/fables --tokens 9 --prompt-file - <"$T/prompt" >"$T/all" 2>"$log"
    same "$family: a prompt from standard input" "$T/one" "$T/all"
    refuses 'nowhere.lua' run "$T/nowhere.lua"
    refuses 'nowhere: cannot be opened' embed graphs/fables "$T/nowhere"
    refuses 'cannot be opened' generate graphs/fables --weights "$T/nowhere.safetensors"
    crescent_of="$crescent" crescent="$T/by_rank"
    refuses 'rank 1 does not have the options of rank 0' run "$T/m.lua" --set N=
    refuses 'rank 1 does not have the options of rank 0' generate graphs/fables --prompt Once --tokens 1
    refuses 'weights of rank 2 differ from those of rank 0' run "$T/m.lua" --set N=3 --weights "$T/w"
    refuses 'weights of rank 1 differ from those of rank 0' run "$T/m.lua" --weights "$T/near"
    refuses 'x[012]: contents of rank 2 differ from those of rank 0' run "$T/m.lua" --weights "$T/w0" --input x="$T/x"
    crescent="$T/in_folder"
    refuses 'the model of rank 1 differs from that of rank 0' run m.lua
    crescent="$T/rank_1_alone"
    refuses 'found no crescent_.*.so' run "$T/m.lua"
    crescent="$T/to_full"
    [ ! -e /dev/full ] || refuses 'standard output: cannot be written' run "$T/m.lua"
    crescent=$crescent_of
    refuses 'unknown option --wrong' run "$T/m.lua" --wrong
    crescent="$T/small_files"
    [ $family != mpich ] || refuses 'found a limit of 2048000 bytes for files' run "$T/m.lua"
    crescent=$crescent_of
    different_files
}

# build NAME N MODEL OPTIONS...: emits a model for N ranks and builds $T/emitted.  The runtime, whose text is the same
# for all N and MPIs, is compiled once; see plain_c.sh.
build() {
    name=$1 n=$2
    shift 2
    "$crescent" emit "$@" --ranks "$n" --isa plain -o "$T/emitted.c" >"$T/out" 2>"$log" &&
        apart plain "$T/emitted.c" "$T/apart" &&
        runtime_object "$T/apart/emitted_runtime.c" "$T/apart/runtime.o" >"$log" 2>&1 &&
        $mpicc -O0 -Wall -Wextra -Werror "-D${name}_MPI" "-D${name}_MAIN" -I"$T" "$T/apart/emitted.c" \
            "$T/apart/runtime.o" -lm -o "$T/emitted" >"$log" 2>&1
}

# emits NAME OUTPUT MODEL OPTIONS...: checks that its output has the bytes of one process; $files are the other
# arguments.
emits() {
    name=$1 output=$2
    shift 2
    "$crescent" run "$@" $files --threads 1 --output "$output=$T/one.npy" >"$log" 2>&1
    report $? "$*"
    for n in $counts; do
        rm -f "$T/all.npy"
        build "$name" "$n" "$@" &&
            ranks "$n" "$T/emitted" $files --output "$output=$T/all.npy" >"$T/out" 2>"$log" &&
            cmp "$T/one.npy" "$T/all.npy" >"$log" 2>&1
        report $? "$family: C of $* for $n ranks"
    done
}

# emits_text N: the same for a program that generates text, with weights of the folder's file and with packed ones.
emits_text() {
    build LLAMA "$1" graphs/fables --generate --pack "$T/packed"
    report $? "$family: C that generates for $1 ranks"
    "$crescent" generate graphs/fables --prompt 'A fox' --tokens 12 >"$T/one" 2>"$log"
    for weights in graphs/fables/model.safetensors "$T/packed"; do
        ranks "$1" "$T/emitted" "$weights" --prompt 'A fox' --tokens 12 >"$T/all" 2>"$log"
        same "$family: C that generates with $weights on $1 ranks" "$T/one" "$T/all"
    done
}

# emits_array N: the same for a program that contains the weights of all ranks as an array.
emits_array() {
    build LLAMA "$1" graphs/fables --generate --embed-array
    report $? "$family: C with an array of the weights of $1 ranks"
    "$crescent" generate graphs/fables --prompt 'A fox' --tokens 12 >"$T/one" 2>"$log"
    ranks "$1" "$T/emitted" --prompt 'A fox' --tokens 12 >"$T/all" 2>"$log"
    same "$family: C that generates with an array on $1 ranks" "$T/one" "$T/all"
}

# emits_encoder N: the same for a program that prints vectors or scores of texts, which rank 0 reads.
emits_encoder() {
    build LLAMA "$1" graphs/fables --embed-text --normalize --pack "$T/packed"
    report $? "$family: C that embeds for $1 ranks"
    "$crescent" embed graphs/fables "$T/lines" --normalize >"$T/one" 2>"$log"
    for weights in graphs/fables/model.safetensors "$T/packed"; do
        ranks "$1" "$T/emitted" "$weights" <"$T/lines" >"$T/all" 2>"$log"
        same "$family: C that embeds with $weights on $1 ranks" "$T/one" "$T/all"
    done
    ends "$1" 'nowhere: cannot be opened' "$T/packed" --file "$T/nowhere"
    program="$T/emitted_by_rank"
    ends "$1" 'text or query of rank 1 differ from those of rank 0' "$T/packed" --text fox
    program="$T/emitted"
    model=tests/fixtures/embed_qwen3_score
    build QWEN3 "$1" $model --embed-text
    report $? "$family: C that ranks for $1 ranks"
    "$crescent" rank $model --query 'What is it?' "$T/lines" >"$T/one" 2>"$log"
    ranks "$1" "$T/emitted" $model/model.safetensors --query 'What is it?' --file "$T/lines" >"$T/all" 2>"$log"
    same "$family: C that ranks on $1 ranks" "$T/one" "$T/all"
}

# ends N WORDS OPTIONS...: passes if the emitted $program on N ranks prints one line with these words, and all ranks
# end.
ends() {
    n=$1 words=$2
    shift 2
    ranks "$n" "$program" "$@" >"$T/out" 2>"$log"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c ', expected\|cannot' "$log")" = 1 ] && grep -q "$words" "$log"
    report $? "$family: the C says: $words"
}

# Emitted C for ranks compares weights and inputs of the ranks: one rank reads weights that differ, in one case in one
# element only, or inputs that differ.
compared() {
    program="$T/emitted_by_rank"
    build M 3 "$T/m.lua"
    report $? "$family: C of a small model for 3 ranks"
    ends 3 'inputs of rank 2 differ from those of rank 0' --weights "$T/w0" --output y="$T/all.npy" --input x="$T/x"
    for files in w:2 near:1; do
        ends 3 "weights of rank ${files#*:} differ from those of rank 0" --input x="$T/x0" --output y="$T/all.npy" \
            --weights "$T/${files%:*}"
    done
    build LLAMA 2 graphs/fables --generate
    report $? "$family: C that generates for 2 ranks"
    ends 2 'weights of rank 1 differ from those of rank 0' --prompt 'A fox' --tokens 2 "$T/fables"
    for option in prompt temperature seed tokens; do
        ends 2 'prompt or options of rank 1 differ from those of rank 0' "$T/fables0" --$option 1
    done
    build LLAMA 2 graphs/fables --generate --pack "$T/pack0"
    report $? "$family: C that generates from packed weights for 2 ranks"
    { head -c -4 "$T/pack0" && printf '\0\0\0\100'; } >"$T/pack1"
    ends 2 'packed weights of rank 1 differ from those of rank 0' --prompt 'A fox' --tokens 2 "$T/pack"
    cp "$T/fables0" "$T/pack1" # rank 1 has no packed weights
    ends 2 'weights of rank 1 differ from those of rank 0' --prompt 'A fox' --tokens 2 "$T/pack"
    program="$T/emitted"
}

# emitted_kinds: other models, and programs that read or write text.
emitted_kinds() {
    fixture=tests/fixtures/model_llama counts=2
    files="--weights $fixture/model.safetensors --input ids=$fixture/ids.npy"
    emits LLAMA logits "$fixture" --set "B=$(sed -n 's/^set B=//p' "$fixture/case.txt")" \
        --set "T=$(sed -n 's/^set T=//p' "$fixture/case.txt")"
    fixture=tests/fixtures/model_deberta_v2
    files="--weights $fixture/model.safetensors --input ids=$fixture/ids.npy"
    emits DEBERTA_V2 last_hidden_state "$fixture" --set B=2 --set T=13 # operands in tables of ranks, too
    emits_encoder 2
    emits_text 2
    emits_array 3
}

emitted() {
    fixture=tests/fixtures/demo counts=4
    [ $first = 0 ] || counts='2 3 4'
    program="$T/emitted"
    files="--weights $fixture/model.safetensors --input x=$fixture/x.npy"
    emits GPT2_BLOCK y graphs/gpt2_block.lua --set B=1 --set T=64 --set n_embd=192 --set n_head=6
    ends 3 'found 3 processes, expected the 4' $files --output y="$T/all.npy"
    ends 4 'nowhere: cannot be opened' --weights "$T/nowhere" --input "x=$fixture/x.npy" --output y="$T/all.npy"
    [ $first = 0 ] || emitted_kinds
    emits_text 3
    ends 2 'found 2 processes, expected the 3' "$T/packed"
    compared
}

# limited COMMAND...: runs the command with 250 MiB of address space.
limited() {
    (ulimit -v 256000 && "$@")
}

memory() {
    for model in wide:x rows:ids; do
        input=${model#*:} model=${model%:*}
        rm -f "$T/all.npy"
        ranks 4 sh -c 'ulimit -v 256000 && exec "$@"' sh "$crescent" run "$T/$model.lua" --threads 1 \
            --weights "$T/wide.safetensors" --input "$input=$T/$input.npy" --output y="$T/all.npy" >"$T/out" 2>"$log"
        same "$family: a share of the memory ($model.lua)" "$T/$model.npy" "$T/all.npy"
    done
}

# If MPI starts threads, the C library reserves address space for each of them.  So the limit for emitted C is 312
# MiB, less than a whole parameter and a share of it.
emitted_memory() {
    for model in wide:x rows:ids; do
        input=${model#*:} model=${model%:*}
        name=$(echo "$model" | tr a-z A-Z)
        rm -f "$T/all.npy"
        build "$name" 4 "$T/$model.lua" && ranks 4 sh -c 'ulimit -v 320000 && exec "$@"' sh "$T/emitted" \
            --weights "$T/wide.safetensors" --input "$input=$T/$input.npy" --output y="$T/all.npy" >"$T/out" 2>"$log"
        same "$family: C that reads a share of each parameter ($model.lua)" "$T/$model.npy" "$T/all.npy"
    done
}

echo 'return {y = matmul(input("x", {1, 8192}), param("w", {8192, 8192}, {normal = 1}))}' >"$T/wide.lua"
echo 'return {y = gather(param("w", {8192, 8192}), input("ids", {5}, "i32"))}' >"$T/rows.lua"
cat >"$T/draw.lua" <<'END'
local w = param("w", {8192, 8192}, {normal = 1})
return {loss = sum(sum(w:slice({0, 0}, {1, 1}), 1), 2):reshape{}, w = w}
END
"$crescent" train "$T/draw.lua" --steps 0 --save "$T/wide.safetensors" >"$log" 2>&1
report $? "256 MiB of weights"
echo 'return {x = input("x", {1, 8192}), ids = iota({5}, 1) * 1777}' >"$T/inputs.lua"
"$crescent" run "$T/inputs.lua" --output x="$T/x.npy" --output ids="$T/ids.npy" >"$log" 2>&1
report $? 'inputs of both models'
for model in wide:x rows:ids; do
    input=${model#*:} model=${model%:*}
    "$crescent" run "$T/$model.lua" --weights "$T/wide.safetensors" --input "$input=$T/$input.npy" \
        --output y="$T/$model.npy" >"$log" 2>&1
    report $? "$model.lua in one process"
    limited "$crescent" run "$T/$model.lua" --weights "$T/wide.safetensors" >"$T/out" 2>"$log"
    [ $? -eq 2 ] && grep -q 'the weights would take 256.0 MiB' "$log"
    report $? "256 MiB of weights exceed the limit ($model.lua)"
done

# Keys of 3 heads by a batch of 3 matrices, which is kept in f32, where a rank of 3 has a single matrix.
cat >"$T/keys.lua" <<'END'
local x = input("x", {1, 6, 64})
local function heads(y) return y:reshape{1, 6, 3, 32}:permute{1, 3, 2, 4} end
local q, v = param("q", {64, 96}, {normal = 0.3}), param("v", {64, 96}, {normal = 0.3})
local k = param("k", {3, 64, 32}, {normal = 0.3}):reshape{1, 3, 64, 32}
k = x:reshape{1, 1, 6, 64}:expand{1, 3, 6, 64}:matmul(k)
local probs = require "nn".softmax(heads(x:matmul(q)):matmul(k:transpose(3, 4)) * 0.1)
return {y = probs:matmul(heads(x:matmul(v))):permute{1, 3, 2, 4}:reshape{1, 6, 96}}
END

# A model with a file of weights and an input for each rank; programs that append their rank to their last argument, that
# run in a folder of their rank, and that write to a full device; and a program that cannot load MPI on rank 1.
cat >"$T/step.lua" <<'END'
local w = param("w", {64, 64}, {normal = 1})
return {loss = sum(sum(w * w, 1), 2):reshape{}, w = w * 0.5}
END
echo 'local o = options {N = 2} return {y = matmul(input("x", {o.N + 1, 64}), param("w", {64, 64}))}' >"$T/m.lua"
for rank in 0 1 2; do
    "$crescent" train "$T/step.lua" --steps 0 --seed $((rank / 2)) --save "$T/w$rank" >"$log" 2>&1
    report $? "weights of rank $rank"
    "$crescent" run "$T/m.lua" --weights "$T/w$rank" --output y="$T/x$rank" >"$log" 2>&1
    report $? "input of rank $rank"
done
# Weights whose last element differs on rank 1.
cp "$T/w0" "$T/near0" && cp "$T/w0" "$T/near2" &&
    { head -c -4 "$T/w0" && printf '\0\0\0\100'; } >"$T/near1"
report $? 'weights of which one differs'
rank='${OMPI_COMM_WORLD_RANK:-$PMI_RANK}'
printf '#!/bin/sh\nexec "%s" "$@"%s\n' "$crescent" "$rank" >"$T/by_rank"
printf '#!/bin/sh\n[ %s != 1 ] || CRESCENT_MPI=/nowhere\nexec "%s" "$@"\n' "$rank" "$crescent" >"$T/rank_1_alone"
printf '#!/bin/sh\nexec "%s" "$@"%s\n' "$T/emitted" "$rank" >"$T/emitted_by_rank"
printf '#!/bin/sh\ncd "%s%s" && exec "%s" "$@"\n' "$T/folder" "$rank" "$(realpath "$crescent")" >"$T/in_folder"
printf '#!/bin/sh\nexec "%s" "$@" >/dev/full\n' "$crescent" >"$T/to_full"
printf '#!/bin/sh\nulimit -f 4000 && exec "%s" "$@"\n' "$crescent" >"$T/small_files"
crescent_here=$(realpath "$crescent")
printf '#!/bin/sh\ncd "%s%s" && exec "%s" "$@"\n' "$T/own" "$rank" "$crescent_here" >"$T/in_own"
chmod +x "$T/in_own" "$T/small_files" "$T/by_rank" "$T/rank_1_alone" "$T/in_folder" "$T/to_full" "$T/emitted_by_rank"
for rank in 0 1 2; do
    mkdir "$T/folder$rank" && sed "s/N = 2/N = $((2 + (rank == 1)))/" "$T/m.lua" >"$T/folder$rank/m.lua"
    report $? "a script of rank $rank"
done
# A file of weights for each of two ranks; the last element of the second file differs.
cp graphs/fables/model.safetensors "$T/fables0" &&
    { head -c -4 "$T/fables0" && printf '\0\0\0\100'; } >"$T/fables1"
report $? 'weights of a text model of which one differs'

test_ranks=$1
tried=0
for family in openmpi mpich; do
    [ -f "$BUILD/crescent_$family.so" ] || continue
    mpirun=$(command -v mpirun.$family || command -v mpirun) || continue
    first=$((!tried)) tried=1
    export CRESCENT_MPI="$BUILD/crescent_$family.so"
    counts='1 2 3'
    [ $first = 0 ] || counts='1 2 3 8'
    for n in $counts; do
        ranks $n "$test_ranks" exchange >"$T/out" 2>"$log" && [ "$(cat "$T/out")" = "$n ranks" ]
        status=$?
        echo "status $ranks_status, output: $(cat "$T/out")" >>"$log"
        report $status "$family: exchanges of $n ranks"
    done
    fails 2 'rank 2 fails'
    fails -1 'rank 0 fails'
    models
    mpicc=$(command -v mpicc.$family || command -v mpicc) && emitted && emitted_memory
    memory
done
[ $tried = 1 ] || echo 'skipped: found no MPI (make MPI=1 installs Open MPI)'

conclude
