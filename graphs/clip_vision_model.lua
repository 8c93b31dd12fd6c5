-- The tower of CLIP for images alone, see clip.lua (CLIPVisionModel, or CLIPVisionModelWithProjection with the
-- features of images).

local nn, clip = require "nn", require "clip"

local o = options(clip.options({vision = ""}, {
    model_type = {"clip_vision_model"}, architectures = "", projection_dim = 512,
}))
local x, pooled = clip.clip_vision(clip.tower(o, "vision"))
if o.architectures ~= "CLIPVisionModelWithProjection" then
    return {last_hidden_state = x, pooler_output = pooled}
end
local features = scope("visual_projection", nn.linear, pooled, o.projection_dim, false)
return {last_hidden_state = x, pooler_output = pooled, image_features = features}
