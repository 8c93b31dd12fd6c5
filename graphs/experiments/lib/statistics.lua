-- Numbers that sum up a tensor, computed in the graph like everything else.

local statistics = {}

-- All elements in one axis.
local function flat(x)
    return x:reshape{-1}
end

-- The sum of all elements, a scalar.
function statistics.total(x)
    return sum(flat(x), 1, false)
end

-- The number of elements.
local function count(x)
    return flat(x):size(1)
end

-- The Euclidean norm of all elements, a scalar: torch.Tensor.norm.
function statistics.norm(x)
    return sqrt(statistics.total(x ^ 2))
end

-- The mean of all elements, a scalar.
function statistics.mean(x)
    return statistics.total(x) / count(x)
end

-- The standard deviation of all elements, a scalar, with n - 1 in the denominator: what
-- torch.Tensor.std gives when it is not told otherwise.
function statistics.std(x)
    local n = count(x)
    local centred = flat(x) - sum(flat(x), 1) / n
    return sqrt(statistics.total(centred ^ 2) / (n - 1))
end

-- The same over one axis, which stays with size 1.
function statistics.std_over(x, axis)
    local n = x:size(axis)
    local centred = x - sum(x, axis) / n
    return sqrt(sum(centred ^ 2, axis) / (n - 1))
end

-- The largest absolute value, a scalar.
function statistics.peak(x)
    return max(flat(abs(x)), 1, false)
end

-- Scalars one after another, [n].
function statistics.list(scalars)
    local rows = {}
    for i, s in ipairs(scalars) do rows[i] = s:reshape{1} end
    return concat(rows, 1)
end

-- How many elements lie in each of n bins of equal width: at least low + i width, less than
-- low + (i + 1) width.  What lies outside is not counted.
function statistics.histogram(x, low, width, n)
    local values = flat(x):reshape{-1, 1}
    local edge = low + width * float(iota({1, n}, 2))
    return sum(float(logical_and(ge(values, edge), lt(values, edge + width))), 1, false)
end

return statistics
