#!/bin/sh
# taps.sh - tests that crescent compare --taps names the node that goes wrong.
set -u
CRESCENT=${CRESCENT:-build/crescent}
. "$(dirname "$0")/report.sh"

# expect STATUS TEXT ARGUMENT...: runs compare --taps; passes if its last two lines, joined, have TEXT.
expect() {
    status=$1 text=$2
    shift 2
    $CRESCENT compare "$@" --taps --threads 2 >"$T/out" 2>&1 </dev/null
    found=$?
    tail -n 2 "$T/out" | tr '\n' ' ' >"$log"
    [ $found = "$status" ] && grep -qF -- "$text" "$log"
    report $? "$*: exit status $found, expected $status and '$text'"
}

# NaN and infinities in layer 3 of 4, of several origins.
cat >"$T/m.lua" <<'LUA'
local nn = require "nn"
local o = options {T = 4, how = "none"}
local x = input("x", {o.T, 8})
local inf = const(math.huge, {o.T, 8})
local ways = {
    none = function(x) return x end,
    divide = function(x) local z = x - x return z / z end,
    log = function(x) return log(x - 1) end,
    mask = function(x) local m = where(gt(x, 0), inf, x) return m - m end,
    overflow = function(x) return exp(x * 100) end,
    hidden = function(x) return where(gt(x, 2), log(-1 - x * x), x) end,
    mean = function(x) return x * 3e38 * 3 end,
}
for i = 1, 4 do
    local function layer(x)
        local y = scope("fc", nn.linear, x, 8)
        if i == 3 then
            y = scope("odd", ways[o.how], y)
        end
        return x + y * 0.5
    end
    x = scope("layer." .. i, layer, x)
end
return {y = x}
LUA
expect 0 'no culprit: ' "$T/m.lua"
expect 0 'no culprit: ' "$T/m.lua" --grads none
expect 1 'm.lua:7: layer.3.odd is the first to go wrong (div, inside of a kernel)' "$T/m.lua" --set how=divide
expect 1 'div(0, 0) is nan; in double precision nan' "$T/m.lua" --set how=divide
expect 1 'm.lua:8: layer.3.odd is the first to go wrong (log' "$T/m.lua" --set how=log
expect 1 'm.lua:9: layer.3.odd is the first to go wrong (sub' "$T/m.lua" --set how=mask
expect 1 'sub(inf, inf) is nan' "$T/m.lua" --set how=mask
expect 1 'm.lua:10: layer.3.odd is the first to go wrong (exp' "$T/m.lua" --set how=overflow
expect 1 'is inf; in double precision ' "$T/m.lua" --set how=overflow
expect 0 'no culprit: ' "$T/m.lua" --set how=hidden
grep -q ' log .* noted$' "$T/out"
report $? "what no output shows is noted"
expect 1 'm.lua:8: layer.3.odd is the first to go wrong (log' "$T/m.lua" --set how=log --grads none

# A square root of 0 is right; its gradient is not.
cat >"$T/root.lua" <<'LUA'
local x = input("x", {4, 8})
local w = param("w", {8}, {fill = 0})
return {y = sqrt(w * w) + x}
LUA
expect 0 'no culprit: ' "$T/root.lua"
expect 1 'root.lua:3: ' "$T/root.lua" --grads none
expect 1 '(backward pass, ' "$T/root.lua" --grads none

# For weights with NaN, the weights are named.
cat >"$T/w.lua" <<'LUA'
local x = input("x", {4, 2})
return {y = tanh(matmul(x, param("w", {2, 2})))}
LUA
{
    printf '\073\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}  '
    printf '\0\0\0\0\0\0\300\177\0\0\0\0\0\0\0\0'
} >"$T/w.safetensors"
expect 1 'w is the first to go wrong (param)   at [0, 1] it comes in as nan' "$T/w.lua" --weights "$T/w.safetensors"

# A compiler that changes one function: a `cc` that edits the C on its standard input.
cat >"$T/cc" <<'SH'
#!/bin/sh
sed "$FAULT" | cc "$@"
SH
chmod +x "$T/cc"
small='--set T=8 --set n_embd=64 --set n_head=4'
stack="graphs/gpt2_stack.lua $small --set n_layer=3 --backend cc"
export CC="$T/cc"
FAULT='' expect 0 'no culprit: 15 values' $stack
FAULT='s/rt->mul_sigmoid/rt->mul_vv/' expect 1 'h.0.mlp.act is the first to go wrong (mul)' $stack
FAULT='s/rt->mul_sigmoid/rt->mul_vv/' expect 1 'elements are further off; stored by k4_h_mlp_act' $stack
FAULT='/attn_c_proj_bias = /s/layer_weights/(layer == 2) * 64 + &/' \
    expect 1 'h.2.attn_residual is the first to go wrong (add)' $stack

# A length: values after its end are not compared, values before it are.
{
    printf '\223NUMPY\001\000\066\000'
    printf "%-54s" "{'descr': '<i4', 'fortran_order': False, 'shape': ()}"
    printf '\005\000\000\000'
} >"$T/n.npy"
session="tests/scripts/gpt2_session.lua --input n=$T/n.npy --backend cc"
FAULT='' expect 0 'no culprit: 17 values' $session
grep -q ' \[1, 5, 128\] ' "$T/out"
report $? "the length has a value"
FAULT='s/rt->mul_sigmoid/rt->mul_vv/' expect 1 'h.0.mlp.act is the first to go wrong (mul)' $session
unset CC

# Models without errors, forward and backward, and with rounded weights.
for block in decoder_block heads_block tiny_block gpt2_block stream_block; do
    expect 0 'no culprit: ' graphs/$block.lua $small --grads none
done
for model in llama gemma2 gpt_neox qwen3; do
    expect 0 'no culprit: ' graphs/$model.lua --set T=8 --format q8
done
expect 0 'no culprit: ' graphs/llama.lua --set T=8 --grads none
expect 0 'no culprit: ' graphs/llama.lua --set T=8 --format q8 --arithmetic int8
expect 0 'no culprit: ' graphs/llama.lua --set T=8 --format bf16 --arithmetic bf16
expect 0 'no culprit: ' graphs/llama.lua --set T=8 --format q4 --max-arena 20K
expect 0 'no culprit: ' graphs/train_sort.lua

# Options that are refused.
expect 2 'expected tcc or cc' graphs/gpt2_block.lua $small --backend ref
expect 2 '--atol: found --taps, too' graphs/gpt2_block.lua $small --atol 1

# Values that other programs computed: --expect-taps.
cat >"$T/taps.lua" <<'LUA'
local nn = require "nn"
local o = options {scale = 0.5}
local x = input("x", {4, 8})
for i = 1, 3 do
    x = scope("h." .. i, function(x)
        local y = scope("fc", nn.linear, x, 8)
        return x + scope("act", tanh, i == 2 and y * o.scale or y)
    end, x)
end
return {y = x}
LUA
# tensor NAME: adds NAME.npy, 128 bytes of elements, to a safetensors file.
tensor() {
    [ -z "$header" ] || header="$header,"
    header="$header\"model.$1\":{\"dtype\":\"F32\",\"shape\":[1,4,8],\"data_offsets\":[$at,$((at + 128))]}"
    at=$((at + 128))
    tail -c 128 "$T/$1.npy" >>"$T/data"
}
names='h.1.fc h.1.act h.2.fc h.2.act h.3.fc h.3'
$CRESCENT run "$T/taps.lua" $(for n in $names; do echo "--output $n=$T/$n.npy"; done) >"$log" 2>&1
report $? "tapped values are written"
header= at=0
for n in $names; do tensor "$n"; done
header="{$header}"
printf "\\$(printf %o $((${#header} % 256)))\\$(printf %o $((${#header} / 256)))\\0\\0\\0\\0\\0\\0%s" "$header" |
    cat - "$T/data" >"$T/taps.safetensors"

# taps STATUS TEXT ARGUMENT...: like expect, without --taps.
taps() {
    status=$1 text=$2
    shift 2
    $CRESCENT compare "$@" >"$log" 2>&1 </dev/null
    found=$?
    [ $found = "$status" ] && grep -qF -- "$text" "$log"
    report $? "$*: exit status $found, expected $status and '$text'"
}
taps 0 'agreement' "$T/taps.lua" --expect-taps "$T/taps.safetensors"
[ "$(grep -c taps.safetensors "$log")" = 6 ]
report $? "a row for each of six tensors"
taps 1 'h.2.act is the first that differs' "$T/taps.lua" --expect-taps "$T/taps.safetensors" --set scale=0.51
taps 1 '"first": "h.2.act"' "$T/taps.lua" --expect-taps "$T/taps.safetensors" --set scale=0.51 --json
# A tensor of another shape is an error, and the other tensors are compared nevertheless.
sed 's/\(model.h.1.act[^[]*\)\[1,4,8\]/\1[1,8,4]/' "$T/taps.safetensors" >"$T/other.safetensors"
taps 1 'h.1.act is the first that differs' "$T/taps.lua" --expect-taps "$T/other.safetensors" --set scale=0.51
grep -q '^h.1.act  *other.safetensors  *FAIL  *shape \[1, 8, 4\], expected \[4, 8\]$' "$log" &&
    [ "$(grep -c 'other.safetensors .* ok ' "$log")" = 2 ] && grep -q '^h.2.act .* FAIL ' "$log"
report $? "a row for the tensor of another shape, and for each of the others"
taps 1 '"shape": "[1, 8, 4]"' "$T/taps.lua" --expect-taps "$T/other.safetensors" --json
taps 2 'no tensor in it has the name of an output or a tapped value' graphs/gpt2_block.lua \
    --expect-taps "$T/taps.safetensors"

conclude
