#!/bin/sh
# models.sh - the whole models of graphs/: how many parameters the published ones have, what of a
# config.json is refused, and a trained one on the tokens of its story.
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
data="${CRESCENT_DATA:-../shared/data}"
. "$(dirname "$0")/report.sh"

# ---- published sizes: FILE of graphs/configs, script, parameters -----------------------------------
published() {
    cat <<'TABLE'
gpt2             gpt2        124,439,808
gpt2-medium      gpt2        354,823,168
gpt2-large       gpt2        774,030,080
gpt2-xl          gpt2      1,557,611,200
llama-2-7b       llama     6,738,415,616
llama-2-13b      llama    13,015,864,320
llama-3-8b       llama     8,030,261,248
llama-3.1-8b     llama     8,030,261,248
llama-3.2-1b     llama     1,235,814,400
llama-3.2-3b     llama     3,212,749,824
tinyllama-1.1b   llama     1,100,048,384
mistral-7b       mistral   7,241,732,096
mistral-7b-v0.3  mistral   7,248,023,552
qwen2-0.5b       qwen2       494,032,768
qwen2-1.5b       qwen2     1,543,714,304
qwen2-7b         qwen2     7,615,616,512
qwen2.5-0.5b     qwen2       494,032,768
qwen2.5-1.5b     qwen2     1,543,714,304
qwen2.5-3b       qwen2     3,085,938,688
qwen2.5-7b       qwen2     7,615,616,512
qwen3-0.6b       qwen3       596,049,920
qwen3-1.7b       qwen3     1,720,574,976
qwen3-4b         qwen3     4,022,468,096
qwen3-8b         qwen3     8,190,735,360
gemma2-2b        gemma2    2,614,341,888
gemma2-9b        gemma2    9,241,705,984
gemma2-27b       gemma2   27,227,128,320
pythia-70m       gpt_neox     70,426,624
pythia-160m      gpt_neox    162,322,944
pythia-410m      gpt_neox    405,334,016
pythia-1b        gpt_neox  1,011,781,632
pythia-1.4b      gpt_neox  1,414,647,808
pythia-2.8b      gpt_neox  2,775,208,960
pythia-6.9b      gpt_neox  6,857,302,016
pythia-12b       gpt_neox 11,846,072,320
gpt-neox-20b     gpt_neox 20,554,567,680
phi-1_5          phi       1,418,270,720
phi-2            phi       2,779,683,840
bert-base        bert        109,482,240
bert-large       bert        335,141,888
vit-base-16      vit          86,389,248
vit-large-16     vit         304,351,232
TABLE
}

published >"$T/published"
while read -r config script total; do
    "$crescent" params "graphs/$script.lua" --config "graphs/configs/$config.lua" >"$log" 2>&1 &&
        [ "$(tail -1 "$log" | awk '{ print $2 }')" = "$total" ]
    report $? "$config: expected $total parameters"
done <"$T/published"

ls graphs/configs | sed 's/\.lua$//' | sort >"$T/files"
awk '{ print $1 }' "$T/published" | sort | diff - "$T/files" >"$log" 2>&1
report $? 'every file of graphs/configs is in the table'

# The config.json of a published model builds the graph of its file: tests/configs/SCRIPT.json.
while read -r script config; do
    "$crescent" dump "graphs/$script.lua" --config "tests/configs/$script.json" --after script \
        >"$T/json" 2>"$log" &&
        "$crescent" dump "graphs/$script.lua" --config "graphs/configs/$config.lua" --after script \
            >"$T/lua" 2>"$log" &&
        grep -q 'param(' "$T/json" && cmp "$T/json" "$T/lua" >"$log" 2>&1
    report $? "tests/configs/$script.json: the graph of graphs/configs/$config.lua"
done <<'TABLE'
gpt2 gpt2
llama llama-3.2-1b
mistral mistral-7b
qwen2 qwen2.5-0.5b
qwen3 qwen3-0.6b
gemma2 gemma2-2b
gpt_neox pythia-70m
phi phi-2
bert bert-base
vit vit-base-16
TABLE

# ---- what is refused ---------------------------------------------------------------------------

# refuses SCRIPT JSON LINE: as a config.json, behind the file's name.
refuses() {
    printf '%s' "$2" >"$T/config.json"
    "$crescent" params "graphs/$1.lua" --config "$T/config.json" >"$log" 2>&1
    [ $? -eq 2 ] && [ "$(cat "$log")" = "crescent: $T/config.json: $3" ]
    report $? "$1: $2: expected $3"
}

# complains SCRIPT LINE OPTION...: about what the options say together.
complains() {
    script=$1 line=$2
    shift 2
    "$crescent" params "graphs/$script.lua" "$@" >"$log" 2>&1
    [ $? -eq 2 ] && case "$(cat "$log")" in
    "crescent: graphs/$script.lua:"*": $line"*) true ;;
    *) false ;;
    esac
    report $? "$script: $*: expected $line"
}

refuses llama '{"model_type": "qwen2"}' "option model_type: found 'qwen2', expected llama"
refuses llama '{"rope_scaling": {"type": "mrope", "factor": 4.0}}' \
    "option rope_type: found 'mrope', expected default or linear or llama3 or yarn or longrope or dynamic"
complains llama "rope_type linear needs rope_factor" --set rope_type=linear
complains llama "rope_type yarn needs max_position_embeddings" --set rope_type=yarn
complains llama "rope_long_factor has 2 items, expected one for each of 4 frequencies" \
    --set rope_type=longrope --set rope_factor=2 --set rope_long_factor=1,2 \
    --set rope_original_max_position_embeddings=8
refuses llama '{"hidden_act": "relu2"}' \
    "option hidden_act: found 'relu2', expected silu or gelu or gelu_new or gelu_pytorch_tanh or relu or swish"
refuses llama '{"quantization_config": {"bits": 4}}' \
    'quantization_config.bits 4: graphs/llama.lua has no such option'
refuses llama '{"num_experts": 8}' 'num_experts 8: graphs/llama.lua has no such option'
refuses llama '{"hiden_size": 64}' \
    'hiden_size 64: graphs/llama.lua has no such option, did you mean hidden_size?'
refuses gpt2 '{"add_cross_attention": true}' \
    "option add_cross_attention: found 'true', expected false"
refuses bert '{"position_embedding_type": "relative_key"}' \
    "option position_embedding_type: found 'relative_key', expected absolute"
refuses bert '{"pruned_heads": {"0": [1, 2]}}' 'pruned_heads.0 1,2: graphs/bert.lua has no such option'

complains gpt2 '1025 tokens, expected at most 1024, as there are positions' --set T=1025
complains llama 'n_embd 64 is not divisible by n_head 7' --set num_attention_heads=7
complains llama '8 heads of queries do not share 3 of keys alike' --set num_key_value_heads=3
complains qwen2 'layer_types has 1 items, expected one for each of 2 layers' \
    --set layer_types=full_attention
complains qwen2 "layer_types: found 'linear_attention', expected" \
    --set layer_types=full_attention,linear_attention
complains vit 'image_size 20 is not divisible by patch_size 16' --set image_size=20

# What a config.json has besides changes nothing.
cat >"$T/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
 "id2label": {"0": "LABEL_0"}, "eos_token_id": [1, 2], "head_dim": null, "rope_scaling": null,
 "quantization_config": null, "use_cache": true, "pretraining_tp": 1, "num_hidden_layers": 3,
 "max_position_embeddings": 2048, "initializer_range": 0.02, "transformers_version": "4.41.0"}
JSON
"$crescent" params graphs/llama.lua --config "$T/config.json" >"$T/one" 2>"$log" &&
    "$crescent" params graphs/llama.lua --set num_hidden_layers=3 >"$T/other" 2>"$log" &&
    cmp "$T/one" "$T/other" >"$log" 2>&1
report $? 'keys without meaning for the graph'

# ---- a trained model, where it is here ---------------------------------------------------------

if [ -d "$data/stories260K-hf" ]; then
    hf=$data/stories260K-hf golden=$data/stories260K/golden
    story() {
        "$crescent" "$1" tests/scripts/stories.lua --config "$hf/config.json" --strict \
            --weights "$hf/model.safetensors" --input "tokens=$golden/greedy_tokens.npy" \
            "$2" "$3" "$4" "$5" "$6" "$7" >"$log" 2>&1
    }
    story compare --expect "logits=$golden/greedy_logits.npy" --backends ref,tcc,cc --atol 4e-5 --rtol 0
    report $? 'stories260K: the published logits of 255 tokens'
    story run --output "likeliest=$T/likeliest.npy" --threads 2 --seed 0 &&
        [ "$(tail -c 4 "$T/likeliest.npy" | od -An -tf4 | tr -d ' ')" = 1 ]
    report $? 'stories260K: each token of the story is the likeliest'
else
    echo "skipped: $data/stories260K-hf is not here"
fi

conclude
