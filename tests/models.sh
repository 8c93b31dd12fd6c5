#!/bin/sh
# models.sh - tests the whole models of graphs/: the numbers of parameters of published models, which config.json
# files are refused, and a trained model on the tokens of a story.
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

# The config.json of a published model makes the graph of its file in graphs/configs: tests/configs/SCRIPT.json.
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

# ---- config.json of published models, unchanged: tests/configs/published/NAME.json ----
# Encoders are counted with their pooler, if they have one, and without a head; of models with two towers, the text
# tower is counted.
found() {
    cat <<'TABLE'
gpt2                                      124,439,808
gpt2-medium                               354,823,168
gpt2-large                                774,030,080
gpt2-xl                                 1,557,611,200
distilgpt2                                 81,912,576
DialoGPT-small                            124,439,808
Cerebras-GPT-111M                         111,050,496
gpt2-chinese-cluecorpussmall              102,068,736
llama-7b                                6,738,415,616
Llama-2-7b-hf                           6,738,415,616
Llama-2-13b-chat-hf                    13,015,864,320
Llama-2-70b-hf                         68,976,648,192
CodeLlama-7b-hf                         6,738,546,688
Meta-Llama-3-8B                         8,030,261,248
Meta-Llama-3-70B-Instruct              70,553,706,496
Llama-3.1-8B-Instruct                   8,030,261,248
Llama-3.2-1B                            1,235,814,400
unsloth-Llama-3.2-3B                    3,212,749,824
TinyLlama-1.1B-Chat-v1.0                1,100,048,384
SmolLM-135M                               134,515,008
SmolLM-360M-Instruct                      361,821,120
SmolLM-1.7B                             1,711,376,384
SmolLM2-135M                              134,515,008
SmolLM2-360M-Instruct                     361,821,120
SmolLM2-1.7B-Instruct                   1,711,376,384
open_llama_3b                           3,426,473,600
Yi-6B                                   6,061,035,520
deepseek-llm-7b-base                    6,910,365,696
deepseek-coder-1.3b-base                1,346,471,936
Yarn-Llama-2-7b-64k                     6,738,415,616
llama2.c-stories15M                        15,191,712
Llama-3.2-1B-Instruct                   1,235,814,400
Mistral-7B-v0.1                         7,241,732,096
Mistral-7B-Instruct-v0.2                7,241,732,096
Mistral-7B-v0.3                         7,248,023,552
zephyr-7b-beta                          7,241,732,096
Mistral-Nemo-Base-2407                 12,247,782,400
Qwen2-0.5B                                494,032,768
Qwen2-1.5B-Instruct                     1,543,714,304
Qwen2-7B                                7,615,616,512
Qwen2.5-3B                              3,085,938,688
Qwen2.5-14B-Instruct                   14,770,033,664
Qwen2.5-7B-Instruct-1M                  7,615,616,512
DeepSeek-R1-Distill-Qwen-1.5B           1,777,088,000
Qwen2.5-Coder-32B-Instruct             32,763,876,352
Qwen3-0.6B                                596,049,920
Qwen3-1.7B                              1,720,574,976
Qwen3-4B-Instruct-2507                  4,022,468,096
Qwen3-14B                              14,768,307,200
Qwen3-Embedding-0.6B                      595,776,512
gemma-2-2b-it                           2,614,341,888
gemma-2-9b                              9,241,705,984
gemma-2-27b                            27,227,128,320
pythia-70m-deduped                         70,426,624
pythia-160m                               162,322,944
pythia-1.4b                             1,414,647,808
pythia-6.9b                             6,857,302,016
pythia-12b                             11,846,072,320
gpt-neox-20b                           20,554,567,680
dolly-v2-3b                             2,775,086,080
RedPajama-INCITE-Base-3B-v1             2,775,864,320
phi-1                                   1,418,270,720
phi-1_5                                 1,418,270,720
phi-2                                   2,779,683,840
bert-base-uncased                         109,482,240
bert-base-cased                           108,310,272
bert-large-uncased                        335,141,888
bert-base-multilingual-cased              177,853,440
bert-base-chinese                         102,267,648
all-MiniLM-L6-v2                           22,713,216
bge-small-en-v1.5                          33,360,000
bge-large-en-v1.5                         335,141,888
paraphrase-multilingual-MiniLM-L12-v2     117,653,760
LaBSE                                     470,926,848
ms-marco-MiniLM-L6-v2                      22,713,216
rubert-tiny2                               29,193,768
albert-base-v2                             11,683,584
albert-xxlarge-v2                         222,595,584
all-distilroberta-v1                       82,118,400
all-mpnet-base-v2                         109,486,464
bge-reranker-v2-m3                        567,754,752
camembert-base                            110,621,952
jina-embeddings-v2-base-en                137,368,320
distilbert-base-uncased-finetuned-sst-2-english      66,362,880
distilbert-base-uncased                    66,362,880
electra-small-discriminator                13,483,008
ms-marco-electra-base                     108,891,648
multilingual-e5-large                     559,890,432
roberta-base                              124,645,632
xlm-roberta-base                          278,043,648
clip-vit-base-patch32                      63,428,096
siglip-base-patch16-224                   110,271,744
siglip-so400m-patch14-384                 449,734,896
vit-base-patch16-224-in21k                 86,389,248
vit-base-patch16-384                       86,681,088
vit-large-patch16-224-in21k               304,351,232
vit-huge-patch14-224-in21k                632,404,480
dino-vits8                                 21,818,112
ModernBERT-base                           149,014,272
nomic-embed-text-v1.5                     136,731,648
EuroBERT-210m                             211,766,016
gte-base-en-v1.5                          136,776,192
t5-small                                   35,330,816
deberta-v3-base                           183,831,552
deberta-v2-xlarge                         884,593,152
TABLE
}

found >"$T/found"
while read -r name total; do
    mkdir "$T/folder" && cp "tests/configs/published/$name.json" "$T/folder/config.json"
    "$crescent" params "$T/folder" >"$log" 2>&1 &&
        [ "$(awk '$1 == "total" { print $2 }' "$log")" = "$total" ]
    report $? "tests/configs/published/$name.json: expected $total parameters"
    rm -r "$T/folder"
done <"$T/found"

ls tests/configs/published | sed 's/\.json$//' | LC_ALL=C sort >"$T/files"
awk '{ print $1 }' "$T/found" | LC_ALL=C sort | diff - "$T/files" >"$log" 2>&1
report $? 'every file of tests/configs/published is in the table'

# ---- what is refused ---------------------------------------------------------------------------

# refuses SCRIPT JSON LINE: passes if a config.json is refused with this line after the name of the file.
refuses() {
    printf '%s' "$2" >"$T/config.json"
    "$crescent" params "graphs/$1.lua" --config "$T/config.json" >"$log" 2>&1
    [ $? -eq 2 ] && [ "$(cat "$log")" = "crescent: $T/config.json: $3" ]
    report $? "$1: $2: expected $3"
}

# complains SCRIPT LINE OPTION...: passes if options that contradict each other are refused with this line.
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
complains llama 'found rotary positions for 7 numbers of each head, expected an even number' --set head_dim=7
complains llama 'found rotary positions for 15 numbers of each head, expected an even number' \
    --set hidden_size=60 --set num_attention_heads=4
complains llama 'rope_type longrope: a frequency is not finite' --set rope_type=longrope \
    --set rope_factor=2 --set rope_long_factor=0,1,1,1 --set rope_short_factor=0,1,1,1 \
    --set rope_original_max_position_embeddings=8
complains llama "found rope_type linear without rope_factor, expected a value for rope_factor" --set rope_type=linear
complains llama "found rope_type yarn without max_position_embeddings, expected a value for max_position_embeddings" --set rope_type=yarn
complains llama "rope_long_factor has 2 items, expected one for each of 4 frequencies" \
    --set rope_type=longrope --set rope_factor=2 --set rope_long_factor=1,2 \
    --set rope_original_max_position_embeddings=8
refuses llama '{"hidden_act": "xielu"}' \
    "option hidden_act: found 'xielu', expected silu or gelu or gelu_accurate or gelu_fast or gelu_new or \
gelu_python or gelu_python_tanh or gelu_pytorch_tanh or leaky_relu or mish or quick_gelu or relu or relu2 or \
relu6 or sigmoid or swish or tanh"

# unknown SCRIPT JSON KEY VALUE: passes if a key that may change the numbers is refused.
unknown() {
    refuses "$1" "$2" "$3 $4: graphs/$1.lua has no such option, expected --ignore-config ${3%%.*} if \
it may be ignored"
}

unknown llama '{"quantization_config": {"bits": 4}}' quantization_config.bits 4
unknown llama '{"quantization_config": {"load_in_4bit": false}}' quantization_config.load_in_4bit false
unknown llama '{"num_experts": 8}' num_experts 8
unknown llama '{"rope_interleaved": true}' rope_interleaved true
unknown llama '{"layer_types": ["full_attention", "sliding_attention"]}' layer_types \
    full_attention,sliding_attention
unknown llama '{"rope_scaling": {"mrope_section": [16, 24, 24]}}' rope_scaling.mrope_section 16,24,24
unknown llama '{"sliding_window": 4096}' sliding_window 4096
unknown llama '{"logits_scaling": 8.0}' logits_scaling 8
unknown llama '{"use_rope": false}' use_rope false
unknown gpt2 '{"use_bias": false}' use_bias false
unknown phi '{"num_attention_heads": 4, "hidden_size": 64, "head_dim": 32}' head_dim 32
unknown mistral '{"attention_bias": true}' attention_bias true
refuses llama '{"hiden_size": 64}' \
    'hiden_size 64: graphs/llama.lua has no such option, did you mean hidden_size?'
refuses gpt2 '{"add_cross_attention": true}' \
    "option add_cross_attention: found 'true', expected false"
refuses bert '{"position_embedding_type": "relative_key"}' \
    "option position_embedding_type: found 'relative_key', expected absolute or alibi"
unknown bert '{"pruned_heads": {"0": [1, 2]}}' pruned_heads.0 1,2
refuses bert '{"is_decoder": true}' "option is_decoder: found 'true', expected false"
refuses llama '{"rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000.0}}' \
    'rope_parameters.rope_theta 500000: expected 10000, as rope_theta says'
refuses modernbert '{"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}}' \
    "option rope_type: found 'yarn', expected default"
refuses nomic_bert '{"prenorm": true}' "option prenorm: found 'true', expected false"
refuses nomic_bert '{"activation_function": "gelu"}' \
    "option activation_function: found 'gelu', expected swiglu or geglu"
unknown nomic_bert '{"num_experts": 8, "moe_top_k": 2}' moe_top_k 2
complains nomic_bert 'rotary_scaling_factor and texts of 2049 tokens, expected at most max_trained_positions, 2048' \
    --set rotary_scaling_factor=2 --set T=2049
refuses deberta_v2 '{"pos_att_type": ["p2p"]}' "option pos_att_type: found 'p2p', expected  or c2p or p2c \
or c2p|p2c or p2c|c2p or c2p,p2c or p2c,c2p"
complains deberta_v2 'padding with conv_kernel_size, expected one or the other' --set padding=true \
    --set conv_kernel_size=3
refuses t5 '{"feed_forward_proj": "gated-relu"}' \
    "option feed_forward_proj: found 'gated-relu', expected relu or gated-gelu or gated-silu or gelu or silu"
complains t5 'found masked_lm = true for a model without a head for words, expected false' --set masked_lm=true
refuses gte '{"logn_attention_scale": true}' "option logn_attention_scale: found 'true', expected false"
refuses llama '{"rope_theta": null}' 'option rope_theta: found null, expected at least 1'
refuses bert '{"hidden_size": 768, "embedding_dim": 384}' \
    'embedding_dim 384: graphs/bert.lua has no such option, expected --ignore-config embedding_dim if it may be ignored'
unknown bert '{"projection_dim": 768, "auto_map": {"AutoModel": "code.Model"}}' projection_dim 768
unknown bert '{"hidden_size": 768, "num_attention_heads": 12, "kv_channels": 32}' kv_channels 32
unknown bert '{"mlp_bias": false}' mlp_bias false
unknown bert '{"use_relative_bias": true}' use_relative_bias true
refuses qwen2 '{"use_bias": true}' 'use_bias true: graphs/qwen2.lua has no such option, did you mean mlp_bias?'
unknown bert '{"dim": 512, "hidden_size": 768}' dim 512
unknown llama '{"norm_eps": 1e-6, "rms_norm_eps": 1e-5}' norm_eps 1e-06
refuses bert '{"task_type_vocab_size": 3, "use_task_id": true}' \
    'task_type_vocab_size 3: graphs/bert.lua has no such option, did you mean type_vocab_size?'
refuses bert '{"num_hidden_groups": 2}' \
    'num_hidden_groups 2: graphs/bert.lua has no such option, did you mean num_hidden_layers?'
refuses llama '{"hidden_size": []}' 'option hidden_size: found an empty table, expected one value'
refuses llama '{"hidden_size": [64, 64]}' "option hidden_size: found '64,64', expected a whole number"
refuses llama '{"intermediate_size": 2147483647}' \
    "option intermediate_size: found '2147483647', expected at most 1048576"
refuses llama '{"vocab_size": "many"}' "option vocab_size: found 'many', expected a whole number"

complains gpt2 'found 1025 tokens, expected at most 1024, the number of positions' --set T=1025
complains llama 'n_embd 64 is not divisible by n_head 7' --set num_attention_heads=7
complains llama 'found 8 heads of queries, expected a multiple of the 3 of keys' --set num_key_value_heads=3
complains qwen2 'layer_types has 1 items, expected one for each of 2 layers' \
    --set layer_types=full_attention
complains qwen2 "layer_types: found 'linear_attention', expected" \
    --set layer_types=full_attention,linear_attention
complains roberta 'found 513 tokens, expected at most 512, the number of positions' --set T=513
complains bert 'pooling mean of 2 texts, expected one without padding' --set pooling=mean --set B=2
complains bert 'pooling cls of 1 texts with padding, expected one without padding' --set pooling=cls \
    --set padding=true
complains vit 'found an image of 8 x 8, expected at least one patch of 16 x 16' --set image_size=8

# Keys of training, and unknown keys with words such as `size`: a note names them.
echo '{"train_batch_size": 32, "teacher_hidden_size": 768, "matryoshka_dims": [64, 32], "vocab_file": "v.txt"}' \
    >"$T/config.json"
"$crescent" params graphs/bert.lua --config "$T/config.json" >/dev/null 2>"$log" &&
    grep -qF 'does not know: matryoshka_dims, teacher_hidden_size, train_batch_size, vocab_file' "$log"
report $? "keys of training are passed over"

# Keys of heads, poolers and projections that the script does not have: a note names them.
echo '{"projection_dim": 768, "head_type": "mlp", "pooler_hidden_size": 64, "decoder_bias": true}' >"$T/config.json"
"$crescent" params graphs/bert.lua --config "$T/config.json" >/dev/null 2>"$log" &&
    grep -qF 'does not know: decoder_bias, head_type, pooler_hidden_size, projection_dim' "$log"
report $? "keys of other heads are passed over"

# harmless SCRIPT JSON: passes if keys that change nothing are accepted without a note.
harmless() {
    printf '%s' "$2" >"$T/config.json"
    "$crescent" params "graphs/$1.lua" --config "$T/config.json" >"$T/one" 2>"$log" &&
        "$crescent" params "graphs/$1.lua" >"$T/other" 2>>"$log" &&
        cmp "$T/one" "$T/other" >>"$log" 2>&1 && [ ! -s "$log" ]
    report $? "$1: $2: changes nothing"
}

harmless llama '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
 "id2label": {"0": "LABEL_0"}, "eos_token_id": [1, 2], "head_dim": null, "rope_scaling": null,
 "quantization_config": null, "use_cache": true, "pretraining_tp": 1, "num_hidden_layers": 2.0,
 "max_position_embeddings": 2048.0, "initializer_range": 0.02, "transformers_version": "4.41.0"}'
# Keys that repeat the meaning of other keys, or state a default.
harmless bert '{"dim": 768, "hidden_size": 768, "embed_dim": 768, "hidden_dim": 3072, "intermediate_size": 3072,
 "kv_channels": 64, "num_attention_heads": 12, "encoder_layers": 12, "num_hidden_layers": 12,
 "token_type_vocab_size": 2, "type_vocab_size": 2, "hidden_act": "gelu", "act": "gelu",
 "layer_norm_eps": 1e-12, "norm_eps": 1e-12, "use_bias": true, "mlp_bias": true, "num_hidden_groups": 1,
 "attention_type": "original_full"}'
harmless llama '{"is_decoder": false, "add_cross_attention": false, "is_encoder_decoder": false,
 "layer_types": ["full_attention", "full_attention"], "pruned_heads": {}, "rope_interleaved": false,
 "use_sliding_window": false, "sliding_window": 4096, "max_window_layers": 28, "num_experts": 0,
 "embedding_multiplier": 1.0, "qk_norm": false, "n_embd": 64, "position_embedding_type": "rope",
 "tie_word_embeddings": null, "vocab_size": "512", "is_causal": true, "window_size": -1}'
harmless llama '{"return_dict": true, "output_hidden_states": false, "torchscript": false,
 "use_bfloat16": false, "tf_legacy_loss": false, "tie_encoder_decoder": false, "chunk_size_feed_forward": 0,
 "cross_attention_hidden_size": null, "max_length": 20, "min_length": 0, "do_sample": false, "num_beams": 1,
 "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0, "repetition_penalty": 1.0,
 "bad_words_ids": null, "forced_eos_token_id": null, "suppress_tokens": null, "prefix": null,
 "sep_token_id": null, "decoder_start_token_id": null, "task_specific_params": null, "problem_type": null,
 "_name_or_path": "", "_attn_implementation_autoset": true, "activation": "swiglu", "hidden_act": "silu",
 "layer_norm_eps": 1e-06, "rms_norm_eps": 1e-06, "neftune_noise_alpha": null, "auto_map": {"AutoConfig": "x"},
 "custom_pipelines": {"text-generation": {"impl": "p.P", "pt": ["AutoModelForCausalLM"]}},
 "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}'
harmless bert '{"emb_size": 768, "embedding_size": 768, "sentence_transformers": {"activation_fn": "Identity"},
 "pooler_fc_size": 768, "directionality": "bidi", "gradient_checkpointing": false, "num_labels": 3}'
harmless distilbert '{"dim": 768, "n_heads": 12, "dropout": 0.1, "qa_dropout": 0.1, "sinusoidal_pos_embds": true,
 "tie_weights_": true}'
harmless distilbert '{"position_embedding_type": "absolute"}'
harmless mpnet '{"position_embedding_type": "absolute"}'
harmless nomic_bert '{"position_embedding_type": "absolute"}'
harmless gte '{"model_type": "gte", "position_embedding_type": "absolute"}'
complains gte 'found position_embedding_type absolute, expected rope' --set position_embedding_type=absolute
unknown nomic_bert '{"position_embedding_type": "absolute", "auto_map": {"AutoModel": "m.M"}}' \
    position_embedding_type absolute
harmless roberta '{"model_type": "data2vec-text"}'
harmless electra '{"summary_last_dropout": 0.1, "summary_type": "first", "embedding_size": 128}'
harmless electra '{"generator_size": "0.25"}'
harmless bert '{"hidden_size": 768, "embedding_dim": 768, "embedding_dimension": 768, "model_dim": 768}'
harmless albert '{"classifier_dropout_prob": 0.1, "gap_size": 0, "down_scale_factor": 1}'
harmless mistral '{"attention_bias": false, "mlp_bias": false, "use_sliding_window": false}'
harmless qwen2 '{"attention_bias": false, "mlp_bias": false, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}'
harmless gpt2 '{"hidden_size": 768, "n_special": 0, "predict_special_tokens": true, "_num_labels": 1,
 "vocab_size_or_config_json_file": 50257, "hidden_act": "gelu_new", "scale_attn_weights": true}'
harmless phi '{"hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "is_decoder": false}'
harmless modernbert '{"local_attention": 128, "sliding_window": 64}'
harmless modernbert '{"layer_norm_eps": 1e-05, "position_embedding_type": "absolute", "decoder_bias": true,
 "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 160000},
 "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}, "repad_logits_with_grad": false}'
harmless deberta_v2 '{"pos_att_type": []}'
harmless vit '{"image_size": [224, 224], "patch_size": [16, 16]}'

# Keys that state what the family of an encoder or a decoder always does, and a flag of models with both parts.
for script in bert roberta t5 modernbert llama vit; do
    harmless $script '{"is_encoder_decoder": true}'
done
for script in llama mistral qwen2 qwen3 gemma2 gemma3_text gpt2 gpt_neox phi; do
    harmless $script '{"is_decoder": true}'
done
harmless gemma2 '{"use_bidirectional_attention": null}'
harmless rembert '{"tie_word_embeddings": true}'

# The head of a Phi has a bias, even if it is tied to the embedding and has no table of its own.
untied=$("$crescent" params graphs/phi.lua | awk 'END { gsub(",", "", $2); print $2 }')
tied=$("$crescent" params graphs/phi.lua --set tie_word_embeddings=true | awk 'END { gsub(",", "", $2); print $2 }')
[ $((untied - tied)) -eq $((512 * 64)) ]
report $? "phi: found $untied parameters, and $tied with a tied head, expected 32768 less"

# same_model SCRIPT JSON OTHER [OUTPUT]: passes if two config.json files make the same graph.
same_model() {
    for json in "$2" "$3"; do
        printf '%s' "$json" >"$T/config.json"
        mv "$T/other.npy" "$T/one.npy" 2>/dev/null
        "$crescent" run "graphs/$1.lua" --config "$T/config.json" --backend ref \
            --output "${4:-logits}=$T/other.npy" >"$log" 2>&1 || break
    done
    cmp "$T/one.npy" "$T/other.npy" >>"$log" 2>&1
    report $? "$1: $2: the model of $3"
    rm -f "$T/one.npy" "$T/other.npy"
}

# T5's activation, by itself or as a part of the name of its feed-forward.
small='"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 40'
same_model t5 "{$small, \"feed_forward_proj\": \"relu\", \"dense_act_fn\": \"silu\"}" \
    "{$small, \"feed_forward_proj\": \"silu\", \"dense_act_fn\": null}" last_hidden_state
same_model t5 "{$small, \"feed_forward_proj\": \"gated-gelu\", \"dense_act_fn\": \"gelu_new\"}" \
    "{$small, \"feed_forward_proj\": \"gated-gelu\", \"is_gated_act\": true}" last_hidden_state

# ModernBERT's window, given by its width or by its reach to each side.
for window in '{"sliding_window": 3, "local_attention": 128' '{"local_attention": 6'; do
    echo "$window, \"name_prefix\": \"\", \"num_hidden_layers\": 2, \"vocab_size\": 64}" >"$T/config.json"
    mv "$T/other.npy" "$T/one.npy" 2>/dev/null
    "$crescent" run graphs/modernbert.lua --config "$T/config.json" --backend ref \
        --output "last_hidden_state=$T/other.npy" >"$log" 2>&1 || break
done
cmp "$T/one.npy" "$T/other.npy" >>"$log" 2>&1
report $? "modernbert: sliding_window 3 is local_attention 6"
rm -f "$T/one.npy" "$T/other.npy"

# Half of EmbeddingGemma's window lies to each side: with a width of 0, as with one of 1, tokens see themselves.
same_model gemma3_text '{"sliding_window": 0, "use_bidirectional_attention": true}' \
    '{"sliding_window": 1, "use_bidirectional_attention": true}'

# The layers with a window: given by a number, as in files before transformers 4.53, or by a list.
same_model gemma3_text '{"sliding_window": 4, "sliding_window_pattern": 2}' \
    '{"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}'
same_model gemma3_text '{"sliding_window": 4, "sliding_window_pattern": 2, "layer_types": ["full_attention",
    "sliding_attention"]}' '{"sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]}'

# YaRN for a model whose file does not give the context length of its training.
same_model llama '{"max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 4.0}}' \
    '{"max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 64}}'

# Layers with a window that have no rotary base of their own have that of the others.
small='"T": 8, "masked_lm": true, "vocab_size": 40, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16,
    "num_hidden_layers": 2, "global_rope_theta": 300, "local_rope_theta":'
same_model modernbert "{$small null}" "{$small 300}"

# Unknown keys are ignored with one note.
printf '{"zebra": {"a": [{}, {"b": 1}], "c": 2}, "lion_dropout": 0.1, "max_tiger": 3, "image_token_id": 9}' \
    >"$T/config.json"
"$crescent" params graphs/llama.lua --config "$T/config.json" >/dev/null 2>"$log" &&
    [ "$(cat "$log")" = "crescent: note: $T/config.json: passed over keys that graphs/llama.lua does not \
know: image_token_id, lion_dropout, max_tiger, zebra" ]
report $? 'one note names all unknown keys'

# --ignore-config ignores the keys that it names.
printf '{"num_experts": 8, "rope_scaling": {"type": "mrope"}, "vocab_size": 7}' >"$T/config.json"
"$crescent" params graphs/llama.lua --config "$T/config.json" --ignore-config num_experts \
    --ignore-config rope_scaling --ignore-config vocab_size >"$T/one" 2>"$log" &&
    "$crescent" params graphs/llama.lua >"$T/other" 2>>"$log" && cmp "$T/one" "$T/other" >>"$log" 2>&1 &&
    [ ! -s "$log" ]
report $? '--ignore-config passes over known and unknown keys'
"$crescent" params graphs/llama.lua --config "$T/config.json" --ignore-config experts >"$log" 2>&1
[ $? -eq 2 ] &&
    [ "$(cat "$log")" = "crescent: $T/config.json: --ignore-config experts: the file has no such key, expected one of its keys" ]
report $? '--ignore-config of a key that is not there'

# x sigmoid(1.702 x), and the same with a gate: 1.935661 and 3.871322 for x = 2.
cat >"$T/quick_gelu.lua" <<'LUA'
local huggingface = require "huggingface"
local x = const(2, {1})
return {y = huggingface.activation("quick_gelu")(x) + huggingface.gated("quick_gelu")(x, x)}
LUA
"$crescent" run "$T/quick_gelu.lua" --output "y=$T/y.npy" >"$log" 2>&1 &&
    tail -c 4 "$T/y.npy" | od -An -tf4 | awk '{ exit !($1 > 5.80697 && $1 < 5.80699) }'
report $? 'quick_gelu as an activation and as a gate'

# The patches of a rectangular image are numbered by rows.
"$crescent" params graphs/vit.lua --set image_size=32,48 --set patch_size=16,8 --set num_hidden_layers=1 \
    >"$log" 2>&1 && grep -q 'embeddings.position_embeddings *\[1, 13, 768\]' "$log" &&
    grep -q 'projection.weight *\[768, 3, 16, 8\]' "$log"
report $? 'vit: images and patches that are no squares'
complains vit "image_size: found '32,48,3', expected a whole number" --set image_size=32,48,3

# ---- a trained model, if it is on this machine --------------------------------------------------

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
