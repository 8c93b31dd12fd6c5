-- The tower of CLIP for texts alone, see clip.lua (CLIPTextModel).

local clip = require "clip"

local o = options(clip.options({text = ""}, {model_type = {"clip_text_model"}}))
local x, pooled = clip.clip_text(clip.tower(o, "text"))
return clip.outputs(o, pooled, {last_hidden_state = x, pooler_output = pooled})
