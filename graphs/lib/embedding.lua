-- One vector for a text, made of the vectors of its tokens (Reimers, Gurevych: Sentence-BERT, 2019).

local embedding = {}

-- Kinds of pooling, by the values of an option `pooling`; the names are those of sentence-transformers.
embedding.poolings = {"none", "cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}

-- By kind: a vector [1, C] of the rows [T, C] of n tokens, an i32 tensor.
local pools = {
    cls = function(rows) return gather(rows, iota({1}, 1)) end,
    lasttoken = function(rows, n) return gather(rows, reshape(n - 1, {1})) end,
    mean = function(rows, n) return sum(rows, 1) / float(n) end,
    mean_sqrt_len_tokens = function(rows, n) return sum(rows, 1) / sqrt(float(n)) end,
    max = function(rows) return max(rows, 1) end,
    weightedmean = function(rows, n)
        local weights = float(iota({n}, 1)) + 1
        return sum(rows * weights:reshape{n, 1}, 1) / sum(weights, 1)
    end,
}

-- The vector [C] of x [1, n, C], n being a length.
function embedding.pool(x, n, how)
    local C = x:size(-1)
    return pools[how](x:reshape{n, C}, n):reshape{C}
end

-- A vector of length 1; zeros stay zeros.
function embedding.normalize(v)
    return v / maximum(sqrt(sum(v * v, 1)), 1e-12)
end

return embedding
