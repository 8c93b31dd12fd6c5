-- The tower of CLIP for texts alone, see clip.lua (CLIPTextModel, or CLIPTextModelWithProjection with the features
-- of texts).

local nn, clip = require "nn", require "clip"

local o = options(clip.options({text = ""}, {
    model_type = {"clip_text_model"}, architectures = "", projection_dim = 512,
}))
local x, pooled = clip.clip_text(clip.tower(o, "text"))
if o.architectures ~= "CLIPTextModelWithProjection" then
    return clip.outputs(o, pooled, {last_hidden_state = x, pooler_output = pooled})
end
local features = scope("text_projection", nn.linear, pooled, o.projection_dim, false)
return clip.outputs(o, features, {last_hidden_state = x, pooler_output = pooled, text_features = features})
