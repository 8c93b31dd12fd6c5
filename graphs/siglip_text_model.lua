-- The tower of SigLIP for texts alone, see siglip.lua (SiglipTextModel).

local clip = require "clip"

local o = options(clip.options({text = ""}, clip.siglip {model_type = {"siglip_text_model"}}))
local x, pooled = clip.siglip_text(clip.tower(o, "text"), o.pooling ~= "none" and o.text_pad or nil)
return clip.outputs(o, pooled, {last_hidden_state = x, pooler_output = pooled})
