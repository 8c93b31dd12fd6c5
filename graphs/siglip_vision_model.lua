-- The tower of SigLIP for images alone, see siglip.lua (SiglipVisionModel).

local clip = require "clip"

local o = options(clip.options({vision = ""}, clip.siglip {model_type = {"siglip_vision_model"}}))
local x, pooled = clip.siglip_vision(clip.tower(o, "vision"))
return {last_hidden_state = x, pooler_output = pooled}
