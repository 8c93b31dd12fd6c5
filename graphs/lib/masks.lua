-- Who sees whom.  A mask is true where the query (row) may see the key (column); a bias is
-- added to the scores.

local masks = {}

-- [T, T]: itself and the past.
function masks.causal(T)
    return le(iota({T, T}, 2), iota({T, T}, 1))
end

-- [T, T]: itself and the past, `window` tokens in all
-- (Beltagy, Peters, Cohan: Longformer, 2020).
function masks.sliding_window(T, window)
    local query, key = iota({T, T}, 1), iota({T, T}, 2)
    return logical_and(le(key, query), lt(query - key, window))
end

-- [T, T]: the tokens that are at most `reach` away, before or behind (Beltagy, Peters, Cohan, as above).
function masks.local_window(T, reach)
    return le(abs(iota({T, T}, 1) - iota({T, T}, 2)), reach)
end

-- [B, 1, 1, T]: the tokens that are there.  present: i32 [B, T], 0 for padding.
function masks.padding(present)
    local B, T = unpack(present.shape)
    return ne(present, 0):reshape{B, 1, 1, T}
end

-- The slopes of ALiBi: 2^(-8 h / n) for head h of n, from 1 on.  Where n is no power of two,
-- those of the power below, and then every other one of the power above.
local function slopes(n)
    local power = 1
    while power * 2 <= n do power = power * 2 end
    local list = {}
    for h = 1, power do list[h] = 2 ^ (-8 * h / power) end
    for h = 1, n - power do list[power + h] = 2 ^ (-4 * (2 * h - 1) / power) end
    return list
end

-- [n_head, T, T]: attention with linear biases, -slope (query - key), in place of positions
-- (Press, Smith, Lewis: Train Short, Test Long, 2022).
function masks.alibi(n_head, T)
    local distance = float(iota({T, T}, 1) - iota({T, T}, 2))
    return const(slopes(n_head), {n_head, 1, 1}) * -distance
end

return masks
