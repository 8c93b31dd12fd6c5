-- ViT (Dosovitskiy et al.: An Image is Worth 16x16 Words, 2021), a pre-norm encoder of images: pixels to a
-- vector for each patch, and one for the image.  Names are Hugging Face's (ViTModel; of models with a
-- head, --set name_prefix=vit.).

local nn = require "nn"
local attention, huggingface = require "attention", require "huggingface"
local transformer = require "transformer"

local o = options({
    B = 1, -- images
    model_type = {"vit"},
    image_size = "224", patch_size = "16", -- or "height,width"
    num_channels = 3,
    hidden_size = 768, intermediate_size = 3072, num_hidden_layers = 12, num_attention_heads = 12,
    hidden_act = huggingface.activations("gelu"), layer_norm_eps = 1e-12, qkv_bias = true,
    position_embedding_type = {"absolute"},
    pooler = true, -- whether there is the vector for the image, behind a layer of its own
    pooler_output_size = 0, -- 0: hidden_size
    pooler_act = huggingface.activations("tanh"),
    name_prefix = "", -- before every parameter's name
}, huggingface.keys({}, true), huggingface.sizes)

local norm = {eps = o.layer_norm_eps}
local B, C = o.B, o.hidden_size
local height, width = huggingface.pair(o, "image_size")
local size = {huggingface.pair(o, "patch_size")}

local layer = {
    n_head = o.num_attention_heads, bias = o.qkv_bias,
    names = {q = "attention.query", k = "attention.key", v = "attention.value",
        out = "output.dense"},
}

local function block(x)
    return transformer.block(x,
        function(x)
            local n = scope("layernorm_before", nn.layer_norm, x, norm)
            return (scope("attention", attention.separate, n, layer))
        end,
        function(x)
            local n = scope("layernorm_after", nn.layer_norm, x, norm)
            return (transformer.feed_forward(n, {
                d_ff = o.intermediate_size, act = huggingface.activation(o.hidden_act),
                project = nn.linear, in_name = "intermediate.dense", out_name = "output.dense"}))
        end)
end

prefix(o.name_prefix)
local pixels = input("pixel_values", {B, o.num_channels, height, width})
local x = scope("embeddings.patch_embeddings.projection", nn.patches, pixels, C, size)
local class = param("embeddings.cls_token", {1, 1, C}, {normal = 0.02}):expand{B, 1, C}
x = concat({class, x}, 2)
x = x + param("embeddings.position_embeddings", {1, x:size(2), C}, {normal = 0.02})
x = transformer.stack(x, "encoder.layer", o.num_hidden_layers, block)
x = scope("layernorm", nn.layer_norm, x, norm)
if not o.pooler then return {last_hidden_state = x} end

local first = x:slice({0, 0, 0}, {B, 1, C}):reshape{B, C}
local width_out = o.pooler_output_size > 0 and o.pooler_output_size or C
local pooled = huggingface.activation(o.pooler_act)(scope("pooler.dense", nn.linear, first, width_out))
return {last_hidden_state = x, pooler_output = pooled}
