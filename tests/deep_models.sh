#!/bin/sh
# deep_models.sh - tests that the C of a deep model is as long as that of a shallow one, and that loops over layers
# change no bit.
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"


# The names of options for the number of layers.
n_layer=n_layer

# text LAYERS SCRIPT OPTION...: prints the C, with N in place of each number, of each hash at the end of a long name,
# and of all numbers of a table by layer.
text() {
    layers=$1
    shift
    "$crescent" dump "$@" --set $n_layer="$layers" --after emit |
        sed 's/_[0-9a-f]\{8\}\([^0-9A-Za-z_]\)/_N\1/g; s/[0-9][0-9]*/N/g; s/{N\(, N\)*}/{N}/g'
}

# same_text LOOPS SCRIPT OPTION...: checks that the C for 24 and for 48 layers differs in numbers alone, and has at
# least LOOPS loops over layers.  A model of few layers may keep values of its last layers elsewhere, where memory of
# other values is free.
same_text() {
    loops=$1
    shift
    text 24 "$@" >"$T/24.c" && text 48 "$@" >"$T/48.c" &&
        [ "$(grep -c 'for (long layer' "$T/24.c")" -ge "$loops" ] &&
        diff "$T/24.c" "$T/48.c" >"$log" 2>&1
    report $? "$*: the C of 24 and of 48 layers"
}

small='--set B=1 --set T=8 --set n_embd=24 --set n_head=3'
training=tests/scripts/stack_training.lua

same_text 1 graphs/gpt2_stack.lua $small
same_text 2 "$training" $small --set grads=true
same_text 4 "$training" $small
same_text 1 tests/scripts/stack_cache.lua

# Whole models, forward and backward.  Every other layer of gemma2 has a window, which here also is shorter than the
# text.
same_text 1 graphs/gpt2.lua $small
same_text 2 graphs/gpt2.lua $small --grads none
n_layer=num_hidden_layers
tiny='--set hidden_size=24 --set num_attention_heads=3 --set intermediate_size=40 --set T=8'
for model in llama mistral qwen2 qwen3 gemma2 gpt_neox phi bert distilbert roberta electra albert; do
    same_text 1 graphs/$model.lua $tiny
    same_text 2 graphs/$model.lua $tiny --grads none
done
same_text 1 graphs/gemma2.lua $tiny --set sliding_window=4
same_text 2 graphs/gemma2.lua $tiny --set sliding_window=4 --grads none
same_text 1 graphs/mpnet.lua $tiny
same_text 1 graphs/vit.lua ${tiny% --set*} --set image_size=32
same_text 2 graphs/vit.lua ${tiny% --set*} --set image_size=32 --grads none

# Steps of a recurrence that the script unrolls: each reads and writes rows of the same tensors.
n_layer=T
for cell in lstm gru rnn; do
    same_text 2 tests/scripts/recurrence.lua --set cell=$cell --set H=8
    same_text 3 tests/scripts/recurrence.lua --set cell=$cell --set H=8 --grads none
    "$crescent" compare tests/scripts/recurrence.lua --set cell=$cell --set T=13 >"$log" 2>&1
    report $? "a recurrence of 13 steps: $cell, against the interpreter"
    "$crescent" compare tests/scripts/recurrence.lua --set cell=$cell --set T=13 --grads none \
        >"$log" 2>&1
    report $? "a recurrence of 13 steps: gradients of $cell, against the interpreter"
done
n_layer=n_layer

# outputs NAME OPTION...: writes the loss after a step, and the next weights of the first and the last layer; the
# options say how it is computed.
outputs() {
    name=$1
    shift
    set -- "$@" --output "loss=$T/$name.loss.npy"
    for layer in 0 4; do
        parameter=h.$layer.mlp.c_fc.weight
        set -- "$@" --output "$parameter=$T/$name.$layer.npy" \
            --output "adam.v.$parameter=$T/$name.v.$layer.npy"
    done
    "$crescent" run "$training" $small --set n_layer=5 --seed 3 "$@" >"$log" 2>&1
}

# same_bits: compares the files that `outputs` wrote as "one" and as "other".
same_bits() {
    for part in loss 0 4 v.0 v.4; do
        cmp "$T/one.$part.npy" "$T/other.$part.npy" >>"$log" 2>&1 || return 1
    done
}

# same_outputs WHAT OPTION...: checks that the outputs have the bits that TinyCC and one thread give.
same_outputs() {
    what=$1
    shift
    outputs other "$@" && same_bits
    report $? "a training step of 5 layers: $what"
}

outputs one --threads 1
report $? 'a training step of 5 layers'
same_outputs 'without loops' --threads 1 --skip outline
same_outputs 'with three threads' --threads 3
same_outputs 'through cc' --backend cc

conclude
