#!/bin/sh
# encoders.sh - tests bad input of embed, rank and classify: each text has the same result alone as among others, and
# a folder, a file or a question that cannot be used is refused in one line.
set -u
CRESCENT=${CRESCENT:-build/crescent}
. "$(dirname "$0")/report.sh"

fixtures=tests/fixtures
embedder=$fixtures/embed_qwen3 ranker=$fixtures/embed_llama_rank
classifier=$fixtures/embed_qwen3_classes judge=$fixtures/embed_qwen3_score

# refuses TEXT ARGUMENT...: passes if the command ends with status 2, prints nothing on standard output, and one line
# with the text on stderr.
refuses() {
    text=$1
    shift
    "$CRESCENT" "$@" >"$T/out" 2>"$log" </dev/null
    [ $? -eq 2 ] && [ ! -s "$T/out" ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -qF -- "$text" "$log"
    report $? "$*: expected the exit status 2 and one line with '$text'"
}

# ---- texts ----

# A megabyte in one word and in many words, an empty line, bytes that are not UTF-8, the character 0, and a last line
# without an end.
{
    echo 'What is fused?'
    head -c 1000000 /dev/zero | tr '\0' a
    printf '\n\n%s\n' "$(yes 'a graph' | head -n 130000 | tr '\n' ' ')"
    printf 'a\377\303 b\300\200\nzero\0zero\n\r\n\nend'
} >"$T/texts"
lines=9
for i in $(seq $lines); do
    sed -n "${i}p" "$T/texts" >"$T/text$i"
done
: >"$T/nothing"

# streams KIND ARGUMENT...: checks that a verb gives each of the texts the result that it gives the text alone.
streams() {
    kind=$1
    shift
    "$CRESCENT" "$@" "$T/texts" >"$T/all" 2>"$T/notes"
    status=$?
    : >"$T/alone"
    for i in $(seq $lines); do
        "$CRESCENT" "$@" "$T/text$i" 2>"$log" | sed "s/ 1\$/ $i/" >>"$T/alone"
    done
    [ "$kind" != ranked ] || sort -k 2 -n "$T/all" -o "$T/all"
    cmp "$T/all" "$T/alone" >"$log" 2>&1 && [ $status -eq 0 ] && [ "$(wc -l <"$T/all")" -eq $lines ]
    report $? "$*: exit status $status, expected $lines results, each that of its text alone"
    cp "$T/notes" "$log"
    grep -q "note: cut 2 of $lines texts to [0-9]* tokens" "$log" && [ "$(wc -l <"$log")" -eq 2 ] &&
        grep -q "note: replaced bytes that are no UTF-8 by U+FFFD in [19] of $lines texts" "$log"
    report $? "$*: expected two notes"
    "$CRESCENT" "$@" "$T/nothing" >"$log" 2>&1 && [ ! -s "$log" ]
    report $? "$*: an empty file, expected nothing"
}
streams listed embed "$embedder"
streams listed embed "$embedder" --format q8 --arithmetic int8
streams listed classify "$classifier"
streams listed classify "$classifier" --json
streams ranked rank "$ranker" --query 'What is fused?'
streams ranked rank "$ranker" --query ''
streams ranked rank "$ranker" --query "$(printf '\141\377')" --batch 1
streams ranked rank "$judge" --query 'What is fused?'

for verb in "embed $embedder" "classify $classifier" "rank $ranker --query a" "rank $judge --query a"; do
    refuses "$T/none: cannot be opened: No such file or directory" $verb "$T/none"
    refuses "$T: cannot be read: Is a directory" $verb "$T"
done
for verb in embed classify; do
    refuses "$T/texts: found a file beside --text, expected one of them" $verb "$embedder" --text a "$T/texts"
done

# ---- words without a token ----

words='{"model":{"type":"WordLevel","unk_token":"?","vocab":{"a":0,"b":1}},"pre_tokenizer":{"type":"Whitespace"}}'
cp -r "$ranker" "$T/words"
echo "$words" >"$T/words/tokenizer.json"
printf 'a b\nzebra\nb\n' >"$T/some"
"$CRESCENT" rank "$T/words" --query a "$T/some" --json >"$T/out" 2>"$log"
[ $? -eq 0 ] && [ "$(wc -l <"$log")" -eq 1 ] && [ "$(sed -n 3p "$T/out")" = '{"score": null, "number": 2}' ] &&
    grep -qF "note: text 2: the text has 'zebra', which is no token" "$log"
report $? "rank: a document that cannot be encoded, expected null and a note"
refuses "--query: the text has 'zebra', which is no token" rank "$T/words" --query zebra "$T/some"
refuses "--text: the text has 'zebra', which is no token" classify "$T/words" --text zebra

# ---- folders ----

refuses "--query: found no question, expected one" rank "$ranker" "$T/texts"
refuses "$classifier: found a classifier with 3 labels, expected 1 label, as a reranker has" \
    rank "$classifier" --query a "$T/texts"
refuses "$embedder: no tensor 'score.weight', expected one of shape [2, 24]" rank "$embedder" --query a "$T/texts"
refuses "$embedder: no tensor 'score.weight', expected one of shape [2, 24]" classify "$embedder" --text a
refuses "$judge: found a reranking decoder, expected a classifier (crescent rank takes it)" classify "$judge" --text a
refuses "$judge: found a reranking decoder (LogitScore), expected a model of vectors" embed "$judge" --text a
for head in "words --set masked_lm=true for the head of BertForMaskedLM" \
    "tokens --set token_classes=N for the head of BertForTokenClassification"; do
    refuses "no tensor 'pooler.dense.weight', expected one of shape [12, 12], or ${head#* }" \
        run "tests/fixtures/model_bert_${head%% *}" --set T=3
done
for verb in "embed" "classify" "rank --query a"; do
    refuses "nowhere: cannot be read: No such file or directory" $verb nowhere "$T/texts"
    refuses "$embedder/tokenizer.json: a tokenizer, expected the folder of the model: $embedder" \
        $verb "$embedder/tokenizer.json" "$T/texts"
    refuses "graphs/bert.lua: found a file, expected the folder of a model with its tokenizer" \
        $verb graphs/bert.lua "$T/texts"
done
refuses "graphs/bert.lua: found a file, expected the folder of a model with its tokenizer" \
    emit graphs/bert.lua --embed-text -o "$T/x.c"

# damaged FILE TEXT MESSAGE FOLDER VERB...: checks the message for the folder with TEXT as its file FILE.
damaged() {
    file=$1 text=$2 message=$3 folder=$4
    shift 4
    rm -rf "$T/folder"
    cp -r "$folder" "$T/folder"
    printf '%s' "$text" >"$T/folder/$file"
    refuses "$T/folder/$file$message" "$@" "$T/folder" "$T/texts"
}
for verb in "embed" "classify" "rank --query a"; do
    damaged config.json '{"model_type": "llama",' ':1: found the end of the file' "$ranker" $verb
    damaged config.json '' ':1: found the end of the file, expected JSON to go on' "$ranker" $verb
    damaged config.json '[]' ':1: found an array, expected an object' "$ranker" $verb
    damaged config.json '{}' ': no model_type and no architectures' "$ranker" $verb
    damaged config_sentence_transformers.json '[]' ':1: found an array, expected an object' "$ranker" $verb
    damaged config_sentence_transformers.json '{
"prompts": 3}' ':2: config: found an integer for "prompts", expected an object' "$ranker" $verb
    damaged sentence_bert_config.json '{"max_seq_length": "x"}' \
        ':1: limit: found a string for "max_seq_length", expected an integer' "$ranker" $verb
    damaged tokenizer_config.json '3' ':1: found an integer, expected an object' "$ranker" $verb
    damaged tokenizer_config.json '{"model_max_length": "x"}' \
        ':1: tokenizer: found a string for "model_max_length", expected a number' "$ranker" $verb
    damaged tokenizer.json '{"model":' ':1: found the end of the file' "$ranker" $verb
    damaged model.safetensors '' ': 0 bytes, expected at least the 8' "$ranker" $verb
    damaged modules.json 'null' ':1: found null, expected an array of modules' "$embedder" $verb
    damaged modules.json '[{"type": 3}]' ':1: module: found an integer for "type", expected a string' "$embedder" $verb
done

# labels JSON MESSAGE: checks the message for a config.json with these members.
labels() {
    damaged config.json "$(sed '/"id2label": {/,/}/d; s/^{/{'"$1"',/' "$classifier/config.json")" "$2" "$classifier" classify
}
labels '"id2label": [1, 2]' ':1: config: found an array for "id2label", expected an object'
labels '"id2label": {}' ': found 0 labels, expected a number from 1 to 100000'
labels '"id2label": {"00": "a"}' ':1: id2label: found 00, expected the numbers from 0 to 0, each with a name'
labels '"num_labels": "x"' ':1: config: found a string for "num_labels", expected an integer'
labels '"num_labels": 3, "sentence_transformers": 3' ':1: config: found an integer for "sentence_transformers", expected'

for file in config.json tokenizer.json model.safetensors; do
    rm -rf "$T/folder"
    cp -r "$ranker" "$T/folder"
    rm "$T/folder/$file"
    for verb in "embed" "classify" "rank --query a"; do
        refuses "$T/folder" $verb "$T/folder" "$T/texts"
    done
done

# Without modules.json the pooling is the mean.
rm -rf "$T/folder"
cp -r "$embedder" "$T/folder"
rm -f "$T/folder/modules.json"
"$CRESCENT" embed "$T/folder" "$T/text1" >"$T/found" 2>"$log" &&
    "$CRESCENT" embed "$T/folder" "$T/text1" --pooling mean >"$T/expected" 2>"$log" && cmp "$T/found" "$T/expected" >"$log"
report $? "embed: a folder without modules.json, expected the mean"

conclude
