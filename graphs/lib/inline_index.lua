-- Operators of ONNX that look elements up by indices; see inline_tools.lua.

local tools = require "inline_tools"
local axis_of = tools.axis_of

local inline_index = {}

-- Makes negative indices, which count from the end, non-negative.
local function from_start(index, size)
    return where(lt(index, 0), index + size, index)
end

-- True if ids are an input and index rows of a weight: then they are kept, so that a run rejects negative ids.
local function is_embedding(x, index)
    return x.is_weight and index.is_input
end

function inline_index.gather(x, index, o)
    assert(x.rank > 0, "found a scalar, expected a table of at least one axis")
    local axis = axis_of(x, o.axis or 0)
    if not is_embedding(x, index) then index = from_start(index, x:size(axis)) end
    return tools.gather(x, index, axis)
end

-- Cuts x to the sizes of the index along the other axes, which may be shorter.
function inline_index.gather_elements(x, index, o)
    local axis = axis_of(x, o.axis or 0)
    index = from_start(index, x:size(axis))
    for i = 1, math.min(index.rank, x.rank) do
        local size = index:size(i)
        if i ~= axis and bound(size) <= bound(x:size(i)) then x = narrow(x, i, 0, size) end
    end
    if x.dtype == "bool" then return ne(gather_along(int(x), index, axis), 0) end
    return gather_along(x, index, axis)
end

-- Turns lists of indices into row-major indices over `depth` axes of x, which follow `batch` batch axes.
local function flat_index(x, indices, batch, depth)
    local shape, flat = indices.shape, nil
    shape[#shape] = nil
    for i = 1, depth do
        local part = reshape(narrow(indices, -1, i - 1, 1), shape)
        part = from_start(part, x:size(batch + i))
        flat = flat and flat * x:size(batch + i) + part or part
    end
    return flat
end

-- Merges the batch axes and the indexed axes of x into one, in which a single index selects a row.
function inline_index.gather_nd(x, indices, o)
    local batch = o.batch_dims or 0
    if not (indices.rank >= 1 and batch >= 0 and batch < indices.rank) then
        error("found " .. batch .. " axes of batches, expected fewer than the indices have")
    end
    local depth = plain(indices:size(-1))
    if not (depth >= 1 and batch + depth <= x.rank) then
        error("found " .. depth .. " indices for a tensor of " .. x.rank .. " axes, expected no more")
    end
    local index, shape, batches, rows = flat_index(x, indices, batch, depth), {}, 1, 1
    for i = 1, batch do batches = tools.times(batches, x:size(i)) end
    for i = batch + 1, batch + depth do rows = tools.times(rows, x:size(i)) end
    if batch > 0 then -- the rows of batch b begin at b times their number
        for i = 1, index.rank do shape[i] = i <= batch and x:size(i) or 1 end
        index = index + reshape(iota({batches}, 1), shape) * rows
    end
    local merged = {tools.times(batches, rows)}
    for i = batch + depth + 1, x.rank do merged[#merged + 1] = x:size(i) end
    return tools.gather(reshape(x, merged), index, 1)
end

return inline_index
