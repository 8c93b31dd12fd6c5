-- Attention of ONNX and of com.microsoft, and rotary positions; see onnx.lua.
--
-- Queries, keys and values are [B, T, heads d] or [B, heads, T, d].

local nn, attention, tools = require "nn", require "attention", require "onnx_tools"
local number, along, pad = tools.number, tools.along, tools.pad

local onnx_attention = {}

-- ---- heads ----

-- Reshapes [B, T, H d] to [B, H, T, d].
local function split_heads(x, heads)
    assert(x and x.rank == 3 and heads >= 1 and x:size(3) % heads == 0,
        "found " .. heads .. " heads of a tensor of " .. (x and x.rank or 0) ..
            " axes, expected 3 axes and heads that divide the last")
    return attention.split_heads(x, heads)
end

-- Repeats the heads of keys or values, so that each head of queries has one.
local function repeat_heads(x, heads)
    local B, G, S, d = unpack(x.shape)
    if G == heads then return x end
    assert(heads % G == 0, "found " .. heads .. " heads of queries and " .. G ..
        " of keys, expected a multiple")
    return reshape(expand(reshape(x, {B, G, 1, S, d}), {B, G, heads / G, S, d}), {B, heads, S, d})
end

-- Appends new keys or values to past ones.
local function with_past(past, x)
    if not past then return x end
    assert(past.rank == 4, "found past keys of " .. past.rank .. " axes, expected 4")
    return concat({past, x}, 3)
end

-- Splits packed columns [B, T, n] into queries, keys and values, which have the widths `sizes`.
local function unpack_heads(x, sizes, heads)
    local start, parts = 0, {}
    for i, size in ipairs(sizes) do
        parts[i] = split_heads(narrow(x, 3, start, size), heads[i])
        start = start + size
    end
    return parts[1], parts[2], parts[3]
end

-- ---- scores ----

local function both(a, b)
    return a and logical_and(a, b) or b
end

-- Returns positions of T queries and S keys; queries begin at `first`, one number or one for each batch.
local function positions(T, S, first)
    local query = iota({T, S}, 1)
    if type(first) ~= "number" then
        query = query + along(first, 4, 1)
    elseif first ~= 0 then
        query = query + first
    end
    return query, iota({T, S}, 2)
end

-- Returns softmax(q k^T scale + masks) v, and the scores at four stages.  m.allowed is true for visible keys,
-- m.bias is added to scores; either may be nil.
local function attend(q, k, v, m, scale, cap)
    local H, stages = q:size(2), {}
    k, v = repeat_heads(k, H), repeat_heads(v, H)
    if not scale or scale == 0 then scale = 1 / math.sqrt(q:size(4)) end
    local scores = matmul(q, transpose(k, 3, 4)) * scale
    if cap and cap > 0 then scores = attention.soft_cap(scores, cap) end
    stages[0], stages[1] = scores, scores
    if m.bias then scores = scores + m.bias end
    if m.allowed then scores = where(m.allowed, scores, -math.huge) end
    stages[2] = scores
    stages[3] = (m.bias or m.allowed) and nn.safe_softmax(scores) or nn.softmax(scores)
    return matmul(stages[3], v), stages
end

-- ---- Attention ----

local attention_options = {
    is_causal = {"whole", 0}, kv_num_heads = "whole?", left_window_size = {"whole", -1},
    q_num_heads = {"whole", 0}, qk_matmul_output_mode = {"whole", 0},
    right_window_size = {"whole", -1}, scale = "number?", softcap = "number?"}

-- Extends a mask that is shorter than the keys; it hides the other keys.
local function pad_mask(mask, S)
    local size = mask.rank > 0 and mask:size(-1) or 1
    if size == 1 or type(S) ~= "number" or type(size) ~= "number" or size >= S then return mask end
    if mask.dtype == "bool" then return ne(pad(int(mask), mask.rank, 0, S - size, 0), 0) end
    return pad(mask, mask.rank, 0, S - size, -math.huge)
end

-- Combines all masks: the mask input, causality, windows, and the lengths of keys.
local function masking(T, S, mask, past, lengths, o)
    local m, left, right = {}, o.left_window_size, o.right_window_size
    mask = mask and pad_mask(mask, S)
    if mask then m[mask.dtype == "bool" and "allowed" or "bias"] = mask end
    local query, key = positions(T, S, lengths and lengths - T or past)
    if o.is_causal ~= 0 then m.allowed = both(m.allowed, le(key, query)) end
    if left >= 0 then m.allowed = both(m.allowed, ge(key, query - left)) end
    if right >= 0 then m.allowed = both(m.allowed, le(key, query + right)) end
    if lengths then m.allowed = both(m.allowed, lt(iota({1, 1, 1, S}, 4), along(lengths, 4, 1))) end
    return m
end

-- Splits queries, keys and values into heads, and appends keys and values to past ones.
local function heads_of(q, k, v, past_keys, past_values, o)
    if q.rank == 3 then
        local groups = o.kv_num_heads or o.q_num_heads
        q, k, v = split_heads(q, o.q_num_heads), split_heads(k, groups), split_heads(v, groups)
    end
    assert(q.rank == 4 and k.rank == 4 and v.rank == 4,
        "found queries, keys and values of " .. q.rank .. ", " .. k.rank .. " and " .. v.rank ..
        " axes, expected 3 or 4")
    return q, with_past(past_keys, k), with_past(past_values, v)
end

local function attention_of(q, k, v, mask, past_keys, past_values, lengths, o)
    local past, flat = past_keys and past_keys:size(3) or 0, q.rank == 3
    q, k, v = heads_of(q, k, v, past_keys, past_values, o)
    local m = masking(q:size(3), k:size(3), mask, past, lengths, o)
    local y, stages = attend(q, k, v, m, o.scale, o.softcap)
    return flat and attention.merge_heads(y) or y, stages
end

function onnx_attention.attention(q, k, v, mask, past_keys, past_values, lengths, config)
    local o = layer_options("onnx_attention.attention", config or {}, attention_options)
    return (attention_of(q, k, v, mask, past_keys, past_values, lengths, o))
end

-- The other outputs of Attention: past and new keys and values, and scores.
function onnx_attention.attention_keys(q, k, v, mask, past_keys, past_values, lengths, config)
    local o = layer_options("onnx_attention.attention_keys", config or {}, attention_options)
    local _, keys = heads_of(q, k, v, past_keys, past_values, o)
    return keys
end

function onnx_attention.attention_values(q, k, v, mask, past_keys, past_values, lengths, config)
    local o = layer_options("onnx_attention.attention_values", config or {}, attention_options)
    local _, _, values = heads_of(q, k, v, past_keys, past_values, o)
    return values
end

function onnx_attention.attention_scores(q, k, v, mask, past_keys, past_values, lengths, config)
    local o = layer_options("onnx_attention.attention_scores", config or {}, attention_options)
    local _, stages = attention_of(q, k, v, mask, past_keys, past_values, lengths, o)
    return tools.choose("qk_matmul_output_mode", stages, o.qk_matmul_output_mode)
end

-- ---- rotary positions ----

-- Rotates x [B, H, T, d] by angles whose cosines and sines are [B or 1, T, n].
local function rotate(x, cosines, sines, interleaved)
    local rotary = require "rotary"
    assert(x.rank == 4 and cosines.rank == 3 and sines.rank == 3,
        "found cosines of " .. cosines.rank .. " axes for a tensor of " .. x.rank ..
            " axes, expected 3 axes for a tensor of 4")
    local B, T, n = unpack(cosines.shape)
    assert(2 * n <= x:size(4), "found " .. n .. " angles for heads of " .. x:size(4) ..
        ", expected at most half as many")
    local angles = {cos = reshape(cosines, {B, 1, T, n}), sin = reshape(sines, {B, 1, T, n})}
    return (interleaved and rotary.interleaved or rotary.halves)(x, angles)
end

-- Rotates x [B, H, T, d] or [B, T, H d] by rows `at` of tables [positions, n], or by tables [B, T, n].
function onnx_attention.rotary(x, cosines, sines, at, config)
    local o = layer_options("onnx_attention.rotary", config or {}, {
        interleaved = {"whole", 0}, num_heads = {"whole", 0}, rotary_embedding_dim = {"whole", 0}})
    assert((x.rank == 3 or x.rank == 4) and cosines.rank >= 2 and sines.rank >= 2,
        "found cosines of " .. cosines.rank .. " axes for a tensor of " .. x.rank ..
            " axes, expected 2 or 3 axes for a tensor of 3 or 4")
    local flat, heads, width = x.rank == 3, o.num_heads, o.rotary_embedding_dim
    if width == 0 then width = 2 * cosines:size(-1) end
    if flat and heads == 0 then heads = math.floor(x:size(3) / width) end
    if at and cosines.rank == 2 then cosines, sines = gather(cosines, at), gather(sines, at) end
    local y = rotate(flat and split_heads(x, heads) or x, cosines, sines, o.interleaved ~= 0)
    return flat and attention.merge_heads(y) or y
end

-- RotaryEmbedding of com.microsoft; `at` has all positions, or only the first one.
function onnx_attention.rotary_at(x, at, cosines, sines, config)
    if at and at.rank == 1 and at:size(1) == 1 then
        at = iota({1, x:size(x.rank == 3 and 2 or 3)}, 2) + reshape(at, {1, 1})
    end
    return onnx_attention.rotary(x, cosines, sines, at, config)
end

-- ---- linear attention ----

-- Splits [B, T, n] into heads; n is 1, or a multiple of heads.
local function by_heads(x, heads)
    if x:size(3) == 1 and heads > 1 then
        return transpose(reshape(x, {x:size(1), x:size(2), 1, 1}), 2, 3)
    end
    return split_heads(x, heads)
end

local update_rules = {
    linear = {}, gated = {gated = true}, delta = {delta = true}, gated_delta = {gated = true, delta = true}}

-- Each step updates the state S [B, H, dk, dv]: S = S exp(decay) + k^T (v, or beta (v - k S)).
local function linear(name, q, k, v, state, decay, beta, config)
    local o = layer_options(name, config or {}, {
        kv_num_heads = {"whole", 0}, q_num_heads = {"whole", 0}, scale = "number?",
        update_rule = {"string", "gated_delta"}})
    local heads, groups, parts = o.q_num_heads, o.kv_num_heads, {}
    local rule = tools.choose("update_rule", update_rules, o.update_rule)
    q, k, v = split_heads(q, heads), split_heads(k, groups), split_heads(v, groups)
    assert((beta or not rule.delta) and (not decay) == (not rule.gated),
        "found inputs that do not fit update_rule " .. o.update_rule ..
            ", expected decay if it is gated, and beta if it has a delta")
    assert(q:size(3) <= 256, "found " .. q:size(3) .. " steps, expected at most 256")
    decay, beta = decay and by_heads(decay, groups), beta and by_heads(beta, groups)
    state = state or const(0, {q:size(1), groups, k:size(4), v:size(4)})
    local scale = o.scale and o.scale ~= 0 and o.scale or 1 / math.sqrt(q:size(4))
    for i = 0, q:size(3) - 1 do
        local function step(x) return narrow(x, 3, i, 1) end
        local key, value = step(k), step(v)
        if decay then state = state * transpose(exp(step(decay)), 3, 4) end
        if rule.delta then value = step(beta) * (value - matmul(key, state)) end
        state = state + matmul(transpose(key, 3, 4), value)
        parts[i + 1] = matmul(step(q), repeat_heads(state, heads)) * scale
    end
    return attention.merge_heads(concat(parts, 3)), state
end

function onnx_attention.linear(q, k, v, state, decay, beta, config)
    return (linear("onnx_attention.linear", q, k, v, state, decay, beta, config))
end

-- Returns the state of linear attention after the last step.
function onnx_attention.linear_state(q, k, v, state, decay, beta, config)
    local _, last = linear("onnx_attention.linear_state", q, k, v, state, decay, beta, config)
    return last
end

-- ---- com.microsoft ----

-- A mask of keys as numbers to add to scores: 0 for a visible key, else mask_filter_value.  It is
-- [B, S], [B, T, S], or the number of keys of each batch, [B]; in [2 B], the index of each batch's first
-- visible key follows.
local function padding_bias(mask, B, S, hidden)
    local seen, n = nil, mask:size(1)
    if mask.rank == 1 and (n == B or n == 2 * B) then
        local key = iota({1, 1, 1, S}, 4)
        seen = lt(key, along(narrow(mask, 1, 0, B), 4, 1))
        if n == 2 * B then seen = both(seen, ge(key, along(narrow(mask, 1, B, B), 4, 1))) end
    else
        assert((mask.rank == 2 or mask.rank == 3) and n == B and mask:size(-1) == S,
            "found a mask of " .. mask.rank .. " axes, expected [batch, keys] or lengths")
        seen = gt(reshape(mask, {B, 1, mask.rank == 3 and mask:size(2) or 1, S}), 0)
    end
    return where(seen, const(0, {}), hidden or -10000)
end

-- Attention with these masks; merges heads.  The first `past` keys are past ones.
local function padded(q, k, v, mask, bias, past, o)
    local m = {bias = mask and padding_bias(mask, q:size(1), k:size(3), o.mask_filter_value)}
    if bias then m.bias = m.bias and m.bias + bias or bias end
    if o.unidirectional ~= 0 then
        local query, key = positions(q:size(3), k:size(3), past)
        m.allowed = le(key, query)
    end
    return attention.merge_heads((attend(q, k, v, m, o.scale, o.softcap)))
end

-- Computes queries, keys and values by one product; returns them, and the number of past keys.
local function fused(name, x, weights, bias, past, config)
    local o = layer_options(name, config or {}, {
        do_rotary = {"whole", 0}, mask_filter_value = "number?", num_heads = {"whole", 0},
        past_present_share_buffer = {"whole", 0}, qkv_hidden_sizes = "table?", scale = "number?",
        unidirectional = {"whole", 0}})
    assert(x.rank == 3 and weights.rank == 2 and o.do_rotary == 0 and o.past_present_share_buffer == 0 and
        (not past or past.rank == 5), "found rotary positions or a shared buffer of keys, expected neither")
    local third = weights:size(2) / 3
    local sizes, H, qkv = o.qkv_hidden_sizes or {third, third, third}, o.num_heads, matmul(x, weights)
    assert(sizes[1] >= 1 and sizes[2] >= 1 and sizes[3] >= 1 and sizes[1] + sizes[2] + sizes[3] == 3 * third,
        "found weights of " .. 3 * third .. " columns, expected those of queries, keys and values")
    local q, k, v = unpack_heads(bias and qkv + bias or qkv, sizes, {H, H, H})
    if not past then return o, q, k, v, 0 end
    local shape = past.shape
    table.remove(shape, 1)
    local function before(i) return reshape(narrow(past, 1, i, 1), shape) end
    return o, q, with_past(before(0), k), with_past(before(1), v), past:size(4)
end

-- Attention of com.microsoft, which computes queries, keys and values by one product.
function onnx_attention.fused(x, weights, bias, mask, past, scores_bias, config)
    local o, q, k, v, n = fused("onnx_attention.fused", x, weights, bias, past, config)
    return padded(q, k, v, mask, scores_bias, n, o)
end

-- The second output of com.microsoft's Attention: past and new keys and values, [2, B, H, S, d].
function onnx_attention.fused_past(x, weights, bias, mask, past, scores_bias, config)
    local _, _, k, v = fused("onnx_attention.fused_past", x, weights, bias, past, config)
    local shape = k.shape
    table.insert(shape, 1, 1)
    return concat({reshape(k, shape), reshape(v, shape)}, 1)
end

-- The floats that quantised numbers stand for.
local function floats_of(x, scale, zero)
    return (zero and float(x) - float(zero) or float(x)) * scale
end

-- The same of a quantised tensor and quantised weights; the attention itself is of floats.
function onnx_attention.quantised(x, weights, bias, scale_x, scale_w, mask, zero_x, zero_w, past, config)
    return onnx_attention.fused(floats_of(x, scale_x, zero_x), floats_of(weights, scale_w, zero_w), bias, mask, past,
        nil, config)
end

function onnx_attention.quantised_past(x, weights, bias, scale_x, scale_w, mask, zero_x, zero_w, past, config)
    return onnx_attention.fused_past(floats_of(x, scale_x, zero_x), floats_of(weights, scale_w, zero_w), bias, mask,
        past, nil, config)
end

local multi_head_options = {
    mask_filter_value = "number?", num_heads = {"whole", 0}, scale = "number?",
    unidirectional = {"whole", 0}}

-- Queries, keys or values (1 to 3) with heads, after their part of the bias is added; keys and values
-- may have heads already.
local function part_with_heads(x, which, bias, start, past, heads)
    if not (x.rank == 4 and which > 1 and not bias) then
        assert(x.rank == 3, "found queries, keys or values of " .. x.rank .. " axes, expected 3")
        if bias then x = x + narrow(bias, 1, start, x:size(3)) end
        x = split_heads(x, heads)
    end
    return with_past(past, x)
end

-- MultiHeadAttention of com.microsoft.
function onnx_attention.multi_head(q, k, v, bias, mask, scores_bias, past_keys, past_values, config)
    local o = layer_options("onnx_attention.multi_head", config or {}, multi_head_options)
    local at_keys, past = q:size(-1), past_keys and past_keys:size(3) or 0
    local keys = part_with_heads(k, 2, bias, at_keys, past_keys, o.num_heads)
    local values = part_with_heads(v, 3, bias, at_keys + k:size(-1), past_values, o.num_heads)
    q = part_with_heads(q, 1, bias, 0, nil, o.num_heads)
    return padded(q, keys, values, mask, scores_bias, past, o)
end

-- The other outputs of MultiHeadAttention: past and new keys and values.
function onnx_attention.multi_head_keys(q, k, v, bias, mask, scores_bias, past_keys, past_values, config)
    local o = layer_options("onnx_attention.multi_head_keys", config or {}, multi_head_options)
    return part_with_heads(k, 2, bias, q:size(-1), past_keys, o.num_heads)
end

function onnx_attention.multi_head_values(q, k, v, bias, mask, scores_bias, past_keys, past_values, config)
    local o = layer_options("onnx_attention.multi_head_values", config or {}, multi_head_options)
    return part_with_heads(v, 3, bias, q:size(-1) + k:size(-1), past_values, o.num_heads)
end

-- New keys or values x [B, G, T, d] behind past ones, of which each batch has `first`; S in all.
local function behind(past, x, first, S)
    if not past then return x end
    local P, T, s = past:size(3), x:size(3), iota({1, 1, S, 1}, 3)
    local own = first and s - first or s
    local index = where(both(ge(own, 0), lt(own, T)), own + P, minimum(s, P + T - 1))
    return gather(concat({past, x}, 3), expand(index, {x:size(1), x:size(2), S, x:size(4)}), 3)
end

-- The parts of GroupQueryAttention that its outputs share: the options; queries, keys and values with
-- heads; the position of each batch's first query, nil for 0; and the keys in all.
local function grouped(name, q, k, v, past_keys, past_values, lengths, config)
    local o = layer_options(name, config or {}, {
        do_rotary = {"whole", 0}, kv_num_heads = {"whole", 0}, local_window_size = {"whole", -1},
        num_heads = {"whole", 0}, rotary_interleaved = {"whole", 0}, scale = "number?",
        smooth_softmax = {"whole", 0}, softcap = "number?", total_sequence_length = "number|table?"})
    local H, G, first = o.num_heads, o.kv_num_heads, nil
    local fits = q.rank == 3 and H >= 1 and G >= 1 and (k and v or q:size(3) % (H + 2 * G) == 0)
    assert(fits, "found queries " .. tostring(q) .. " for " .. H .. " heads and " .. G ..
        " of keys, expected [batch, tokens, heads * size]")
    assert(o.smooth_softmax <= 0 and (not past_keys) == (not past_values), "found a smooth softmax or keys without values, expected neither")
    if k and v then
        q, k, v = split_heads(q, H), split_heads(k, G), split_heads(v, G)
    else
        local d = q:size(3) / (H + 2 * G)
        q, k, v = unpack_heads(q, {H * d, G * d, G * d}, {H, G, G})
    end
    local T, S = q:size(3), k:size(3)
    if past_keys then
        local total, P = o.total_sequence_length and number(o.total_sequence_length), past_keys:size(3)
        assert(total, "found a total_sequence_length that is known only when the model runs, expected a constant")
        assert(past_keys.rank == 4 and past_values.rank == 4 and S == T and total >= T and total <= P + T,
            "found total_sequence_length " .. total .. ", expected the number of past and new keys")
        if lengths and total ~= T then first = along(lengths, 4, 1) + (1 - T) end -- T: a prompt
        S = math.max(P, total) -- the buffer has room for the new keys, or grows
    end
    return o, q, k, v, first, S
end

-- Rotates queries or keys by rows of the tables.
local function turned(x, cosines, sines, at, first, o)
    if o.do_rotary == 0 then return x end
    assert(cosines and sines and cosines.rank == 2 and sines.rank == 2,
        "found rotary positions without tables, expected tables [positions, angles]")
    local B, T = x:size(1), x:size(3)
    at = at or first and iota({B, T}, 2) + reshape(first, {B, 1}) or iota({B, T}, 2)
    return rotate(x, gather(cosines, at), gather(sines, at), o.rotary_interleaved ~= 0)
end

-- GroupQueryAttention of com.microsoft: causal; several heads of queries share one head of keys.
function onnx_attention.grouped(q, k, v, past_keys, past_values, lengths, cosines, sines, at, bias, config)
    local o, first, S
    o, q, k, v, first, S = grouped("onnx_attention.grouped", q, k, v, past_keys, past_values, lengths, config)
    q, k = turned(q, cosines, sines, at, first, o), turned(k, cosines, sines, at, first, o)
    local query, key = positions(q:size(3), S, first or 0)
    local m, window = {allowed = le(key, query), bias = bias}, o.local_window_size
    if window > 0 then m.allowed = both(m.allowed, gt(key, query - window)) end
    k, v = behind(past_keys, k, first, S), behind(past_values, v, first, S)
    return attention.merge_heads((attend(q, k, v, m, o.scale, o.softcap)))
end

-- The other outputs of GroupQueryAttention: past and new keys and values.
function onnx_attention.grouped_keys(q, k, v, past_keys, past_values, lengths, cosines, sines, at, bias, config)
    local o, _, keys, _, first, S = grouped("onnx_attention.grouped_keys", q, k, v, past_keys,
        past_values, lengths, config)
    return behind(past_keys, turned(keys, cosines, sines, at, first, o), first, S)
end

function onnx_attention.grouped_values(q, k, v, past_keys, past_values, lengths, cosines, sines, at, bias, config)
    local _, _, _, values, first, S = grouped("onnx_attention.grouped_values", q, k, v, past_keys,
        past_values, lengths, config)
    return behind(past_values, values, first, S)
end

return onnx_attention
