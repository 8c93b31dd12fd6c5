-- Searches sentences by what they mean to a model:   lua docs/search.lua [QUERY [FOLDER]]
-- A sentence's vector is the mean of what the last layer makes of its tokens; the nearest by cosine come first.
local crescent = require "crescent"
local query, folder = arg[1] or "it was cold and snow fell", arg[2] or "graphs/fables"
local sentences = {
    "Once upon a time, there was a shy duck.", "There was a proud lion.", "She lived by the river.",
    "He lived behind the mill.", "The bear was hungry and wanted some cake.", "The moon heard the wish.",
    "Then winter came, and snow fell.", "\"Thank you,\" said the snail.", "From that day on, they were friends.",
}
local T, mean = 32, nil -- tokens of a sentence, at most
local tokenizer = crescent.tokenizer(folder)
local model = crescent.open(folder, {set = {T = T}, taps = "model.norm"})

-- Those behind the sentence change nothing, as a token looks at earlier ones only.
local function vector(text)
    local ids = tokenizer:encode(text)
    local n, padded = math.min(#ids, T), {}
    for i = 1, T do padded[i] = ids[i] or 0 end
    local hidden, sum = model:run{ids = padded}["model.norm"][1], {}
    for i = 1, n do
        for j, value in hidden[i]:each() do sum[j] = (sum[j] or 0) + value end
    end
    return sum
end

local function dot(a, b)
    local sum = 0
    for i = 1, #a do sum = sum + a[i] * b[i] end
    return sum
end

-- What all sentences have in common says nothing, and is taken away.
local found = {}
for i, text in ipairs(sentences) do
    found[i] = {text = text, vector = vector(text)}
    local length = dot(found[i].vector, found[i].vector) ^ 0.5
    mean = mean or {}
    for j, value in ipairs(found[i].vector) do mean[j] = (mean[j] or 0) + value / length / #sentences end
end
local function centred(v)
    local length, result = dot(v, v) ^ 0.5, {}
    for j, value in ipairs(v) do result[j] = value / length - mean[j] end
    return result
end
local wanted = centred(vector(query))
for _, item in ipairs(found) do
    local v = centred(item.vector)
    item.cosine = dot(v, wanted) / (dot(v, v) * dot(wanted, wanted)) ^ 0.5
end
table.sort(found, function(a, b) return a.cosine > b.cosine end)
for i = 1, 5 do print(("%5.2f  %s"):format(found[i].cosine, found[i].text)) end
