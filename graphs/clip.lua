-- CLIP (Radford et al., 2021): the features of texts, or with --set tower=vision of images, whose products tell
-- how well they fit.  Names are Hugging Face's (CLIPModel).

local nn, clip = require "nn", require "clip"

local o = options(clip.options({text = "text_config", vision = "vision_config"}, {
    model_type = {"clip"},
    tower = {"text", "vision"},
    projection_dim = 512,
}))

if o.tower == "text" then
    local x, pooled = clip.clip_text(clip.tower(o, "text"))
    local features = scope("text_projection", nn.linear, pooled, o.projection_dim, false)
    return clip.outputs(o, features, {last_hidden_state = x, pooler_output = pooled, text_features = features})
end
local x, pooled = clip.clip_vision(clip.tower(o, "vision"))
local features = scope("visual_projection", nn.linear, pooled, o.projection_dim, false)
return {last_hidden_state = x, pooler_output = pooled, image_features = features}
