-- SigLIP (Zhai et al., 2023): the features of texts, or with --set tower=vision of images.  Names are Hugging
-- Face's (SiglipModel), whose tokenizer fills a text up to 64 tokens; with an option `pooling` the script does.

local clip = require "clip"

local o = options(clip.options({text = "text_config", vision = "vision_config"}, clip.siglip {
    model_type = {"siglip"},
    tower = {"text", "vision"},
}))

local tower = o.tower == "text" and clip.siglip_text or clip.siglip_vision
local x, pooled = tower(clip.tower(o, o.tower), o.pooling ~= "none" and o.text_pad or nil)
local outputs = {last_hidden_state = x, pooler_output = pooled}
return o.tower == "text" and clip.outputs(o, pooled, outputs) or outputs
