-- Masks and biases of attention.  A mask is true where the query (row) may see the key (column); a bias is added
-- to the scores.

local masks = {}

-- [T, T]: a token sees itself and all earlier ones.
function masks.causal(T)
    return le(iota({T, T}, 2), iota({T, T}, 1))
end

-- [T, T]: a token sees itself and earlier ones, `window` tokens in total (Beltagy, Peters, Cohan: Longformer,
-- 2020).
function masks.sliding_window(T, window)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    return logical_and(le(key, query), lt(query - key, window))
end

-- [T, T]: a token sees tokens at most `reach` away, earlier or later (Beltagy, Peters, Cohan, as above).
function masks.local_window(T, reach)
    if reach < 0 then error("found a window that reaches " .. reach .. " tokens, expected 0 or more") end
    return le(abs(iota({T, T}, 1) - iota({T, T}, 2)), reach)
end

-- [B, 1, 1, T]: true for tokens that are not padding.  present: i32 [B, T], 0 for padding.
function masks.padding(present)
    local B, T = unpack(present.shape)
    return ne(present, 0):reshape{B, 1, 1, T}
end

-- The bucket of each distance from -most to most, from query to key: half of the buckets are for keys behind the
-- query.  Of a half, half are for one distance each, and the others grow up to `reach`, in logarithms.
local function buckets_of(most, buckets, reach)
    local half, list = math.floor(buckets / 2), {}
    local exact = math.floor(half / 2)
    for distance = -most, most do
        local far = math.abs(distance)
        local bucket = far
        if far >= exact then
            local grown = math.log(far / exact) / math.log(reach / exact) * (half - exact)
            bucket = math.min(exact + math.floor(grown + 1e-6), half - 1)
        end
        table.insert(list, bucket + (distance > 0 and half or 0))
    end
    return list
end

-- [H, T, T]: a learned bias for each head by the distance of query and key, of a table [n, H] whose first rows
-- are the buckets of distances (Raffel et al.: Exploring the Limits of Transfer Learning, 2020).
function masks.relative(rows, T, buckets, reach)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    local most = query:size(1) - 1
    local biases = gather(rows, const(buckets_of(most, buckets, reach), {2 * most + 1}, "i32"))
    return gather(biases, key - query + most):permute{3, 1, 2}
end

-- A list of the buckets of the distances 0, 1, ..., n - 1: themselves up to half of `span` and, with `reach`, beyond
-- it in logarithms, so that reach - 1 has the bucket span - 1 (He et al.: DeBERTaV3, 2023).
function masks.log_buckets(n, span, reach)
    local list, middle = {}, math.floor(span / 2)
    for distance = 0, n - 1 do
        local bucket = distance
        if reach and distance > middle then
            local grown = math.log(distance / middle) / math.log((reach - 1) / middle) * (middle - 1)
            bucket = math.ceil(grown - 1e-6) + middle
        end
        list[distance + 1] = bucket
    end
    return list
end

-- Returns the slopes of ALiBi: 2^(-8 h / n) for head h, counted from 1, of n heads.  If n is not a power of two:
-- the slopes of the next lower power, then every other slope of the next higher one.
local function slopes(n)
    local power = 1
    while power * 2 <= n do power = power * 2 end
    local list = {}
    for h = 1, power do list[h] = 2 ^ (-8 * h / power) end
    for h = 1, n - power do list[power + h] = 2 ^ (-4 * (2 * h - 1) / power) end
    return list
end

-- [n_head, T, T]: attention with linear biases, -slope (query - key), which replaces positions (Press, Smith,
-- Lewis: Train Short, Test Long, 2022).
function masks.alibi(n_head, T)
    local distance = float(iota({T, T}, 1) - iota({T, T}, 2))
    return const(slopes(n_head), {n_head, 1, 1}) * -distance
end

-- [n_head, T, T]: the same for encoders, -slope |query - key|.
function masks.symmetric_alibi(n_head, T)
    local distance = float(abs(iota({T, T}, 1) - iota({T, T}, 2)))
    return const(slopes(n_head), {n_head, 1, 1}) * -distance
end

return masks
