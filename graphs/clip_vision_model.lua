-- The tower of CLIP for images alone, see clip.lua (CLIPVisionModel).

local clip = require "clip"

local o = options(clip.options({vision = ""}, {model_type = {"clip_vision_model"}}))
local x, pooled = clip.clip_vision(clip.tower(o, "vision"))
return {last_hidden_state = x, pooler_output = pooled}
