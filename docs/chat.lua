-- A chat with a folder in Hugging Face's layout, or a GGUF file:   lua docs/chat.lua FOLDER [TOKENS]
-- Each line that is read is gone on with; what the model says appears as it is made.
local crescent = require "crescent"
local generator = crescent.generator(arg[1] or "graphs/fables")
local sampling = {
    tokens = tonumber(arg[2]) or 60, temperature = 0.7, top_p = 0.9, seed = 0,
    on_token = function(text)
        io.write(text)
        io.flush()
    end,
}
for line in io.lines() do
    io.write(line)
    generator:generate(line, sampling)
    io.write("\n")
    sampling.seed = sampling.seed + 1
end
