-- ESM-1b and ESM-2 (Rives et al., 2021; Lin et al., 2023), of proteins, whose letters are the tokens: norms before
-- attention and feed-forward, learned positions or rotary ones.  Names are Hugging Face's (EsmModel; of models with a
-- head, --set name_prefix=esm.).

local nn, attention = require "nn", require "attention"
local encoder, huggingface = require "encoder", require "huggingface"
local rotary, transformer = require "rotary", require "transformer"

local o = options(encoder.options {
    model_type = {"esm"},
    vocab_size = 33, max_position_embeddings = 1026, pad_token_id = 1, mask_token_id = 32,
    hidden_act = {"gelu"}, position_embedding_type = {"absolute", "rotary"}, rope_theta = {number = 10000},
    token_dropout = false,         -- vectors of masked letters are 0, and others larger in return
    emb_layer_norm_before = false, -- whether there is a norm behind the embeddings
    is_folding_model = {"false"},
}, huggingface.keys({"vocab_list", "type_vocab_size"}, true), huggingface.sizes)

local rotates = o.position_embedding_type == "rotary"
local texts = encoder.texts(o, rotates and math.huge or o.max_position_embeddings - o.pad_token_id - 1)
local norm = {eps = o.layer_norm_eps}
local there = texts.mask and float(texts.mask):reshape{o.B, texts.T, 1}

-- While ESM was trained, 0.15 * 0.8 of the letters were masked.
local function without_masked(x)
    local masked = float(eq(texts.ids, o.mask_token_id)):reshape{o.B, texts.T, 1}
    local n = there and sum(there, 2) or texts.n
    return x * (1 - masked) * ((1 - 0.15 * 0.8) / (1 - sum(masked, 2) / n))
end

local function embed()
    local x = scope("word_embeddings", nn.embedding, texts.ids, o.vocab_size, o.hidden_size, 0.02)
    if o.token_dropout then x = without_masked(x) end
    if not rotates then
        local at = encoder.positions_past(o.pad_token_id, texts.ids)
        x = x + scope("position_embeddings", nn.embedding, at, o.max_position_embeddings, o.hidden_size, 0.02)
    end
    if o.emb_layer_norm_before then x = scope("layer_norm", nn.layer_norm, x, norm) end
    return there and x * there or x
end

local turn
if rotates then
    local d = attention.head_size(o.hidden_size, o.num_attention_heads)
    local angles = rotary.angles(texts.T, rotary.frequencies(d, o.rope_theta))
    turn = function(x) return (rotary.halves(x, angles)) end
end
local names = huggingface.merge(encoder.bert_names, {
    attention_norm = "attention.LayerNorm", inner_norm = "LayerNorm"})

prefix(o.name_prefix)
local x = scope("embeddings", embed)
local block = encoder.pre_norm_block(o, texts, names, nil, turn)
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
x = scope("encoder.emb_layer_norm_after", nn.layer_norm, x, norm)
return encoder.outputs(x, o, texts, {
    pooler = encoder.pooler("pooler.dense"),
    classifier = encoder.two_layers(tanh),
    words = encoder.word_head(o, o.hidden_size, nn.gelu, {
        dense = "lm_head.dense", norm = "lm_head.layer_norm", decoder = "lm_head.decoder",
        bias = "lm_head.bias"}),
})
