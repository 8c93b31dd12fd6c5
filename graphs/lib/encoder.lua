-- What text encoders share: options, inputs, and what becomes of the vectors of the tokens.

local nn = require "nn"
local embedding, huggingface, masks = require "embedding", require "huggingface", require "masks"

local encoder = {}

-- The options of a text encoder; `own` are those of the script, with the names of config.json.
function encoder.options(own)
    return huggingface.merge({
        B = 1, T = 16, -- texts, tokens
        vocab_size = 30522,
        padding = false, -- whether there is an input attention_mask [B, T], 0 for padding
        pooling = embedding.poolings, -- not "none": one vector for a text of up to T tokens is all that is returned
        modules = "", normalize = false, -- as embedding.vector takes them
        classes = 0, -- of a head for classification, whose logits are all that is returned then
        head = {"none", "tokens", "masked_lm"}, -- logits of each token: its class, or which word it is
        name_prefix = "", -- before every parameter's name
    }, own)
end

-- Texts of any length up to o.T where there is one vector or one row of logits for a text; else o.T.
local function tokens(o)
    if o.head ~= "none" or o.pooling == "none" and o.classes == 0 then return o.T end
    if o.padding then error("padding with one vector for a text, expected one or the other") end
    return (length("T", o.T))
end

-- The number of tokens, the input `ids` [B, T], and a mask for attention, or nil.
function encoder.inputs(o)
    local T, mask = tokens(o), nil
    local ids = input("ids", {o.B, T}, "i32")
    if o.padding then mask = masks.padding(input("attention_mask", {o.B, T}, "i32", {fill = 1})) end
    return T, ids, mask
end

-- The input `token_type_ids` [B, T]: which of two texts a token belongs to.
function encoder.types(o, T)
    return input("token_type_ids", {o.B, T}, "i32", {fill = 0})
end

-- Two masks as one; each may be nil.
function encoder.both(mask, other)
    if mask and other then return logical_and(mask, other) end
    return mask or other
end

-- How attention goes by a mask in which a row may be empty, as that of padding.
function encoder.softmax(mask)
    return mask and nn.safe_softmax
end

-- What a script returns of the tokens' vectors x [B, T, C].  heads, functions of x by the name of what
-- they make: classes, logits [1, classes]; tokens, [B, T, classes]; masked_lm, [B, T, vocab_size].
-- An option that asks for a head that is not there is refused.
function encoder.outputs(o, x, T, heads)
    local head = o.head ~= "none" and o.head or o.classes > 0 and "classes"
    if head and not heads[head] then error("head " .. head .. ": this model has none, expected another") end
    if head == "tokens" and o.classes == 0 then error("head tokens with 0 classes, expected some") end
    if head == "classes" then return {logits = heads.classes(x):reshape{o.classes}} end
    if head then return {logits = heads[head](x)} end
    if o.pooling == "none" then return {last_hidden_state = x} end
    return {embedding = embedding.vector(x, T, o)}
end

-- A row [1, C] of x [1, T, C]: one of embedding.poolings.
function encoder.pooled(x, T, how)
    return embedding.pool(x, T, how):reshape{1, x:size(-1)}
end

return encoder
