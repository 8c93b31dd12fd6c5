-- encoder_old.onnx, by pytorch, opset 14
local nn = require "nn"
local attention = require "attention"

local x = input("x", {2, 6, 16})

local function layer(x)
    local norm1 = scope("norm1", nn.layer_norm, x, {eps = 1e-5})
    local in_proj = scope("self_attn.in_proj", nn.linear, norm1, 48)
    local q = attention.split_heads(narrow(in_proj, 3, 0, 16), 2)
    local k = attention.split_heads(narrow(in_proj, 3, 16, 16), 2)
    local v = attention.split_heads(narrow(in_proj, 3, 32, 16), 2)
    local merged = attention.merge_heads(attention.attend(q, k, v))
    local add = x + scope("self_attn.out_proj", nn.linear, merged, 16)
    local norm2 = scope("norm2", nn.layer_norm, add, {eps = 1e-5})
    local relu = nn.relu(scope("linear1", nn.linear, norm2, 32))
    return add + scope("linear2", nn.linear, relu, 16)
end

local hidden = x
for i = 0, 1 do
    hidden = scope("layers." .. i, layer, hidden)
end

return {
    y = hidden,
}
