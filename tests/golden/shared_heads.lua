-- Attention of the next n tokens, whose keys and values are in caches.  Three heads share those of a group, and
-- the first of them packs the values.
local nn = require "nn"
local groups, heads, width, most, positions = 4, 3, 16, 40, 96
local n, at = length("n", most), state("at", {}, "i32")
replace(at, at + n)

local function cached(name)
    local cache = state(name, {groups, 1, positions, width})
    local all = write(cache, input("new_" .. name, {groups, 1, n, width}), at, 3)
    replace(cache, all)
    return all
end

local seen = le(iota({most, positions}, 2), iota({most, positions}, 1) + at)
local scores = matmul(input("queries", {groups, heads, n, width}), transpose(cached "keys", 3, 4)) / 4
return {values = matmul(nn.softmax(where(seen, scores, -math.huge)), cached "values")}
