-- Steps that one function of the runtime does together, mul_sigmoid and odd_cubic; not where another
-- value reads what lies between, or where what has to be a tile or a number is none.
local function x(i)
    return input("x" .. i, {5, 40}) -- each kernel has its own, so none joins another
end
local a, x1, x2, x3, x4, x5, x6 = input("a", {5, 1}), x(1), x(2), x(3), x(4), x(5), x(6)
local function shared(y, s)
    return (y + 1) * s + s
end
return {
    silu = x1 * sigmoid(x1),
    gelu = x2 * sigmoid(x2 * (x2 * x2 * 0.0713548 + 1.5957691)),
    cubic = x3 * (x3 * x3 * 0.5 + 3),
    shared = shared(x4, sigmoid(x4)),
    shared_cubic = shared(x5, x5 * x5 * 0.5 + 3),
    by_row = x1 * sigmoid(a),
    no_number = x6 * (x6 * x6 * a + 3),
    result = sigmoid(a * x4),
}
