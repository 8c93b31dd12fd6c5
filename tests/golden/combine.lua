-- Steps that one function of the runtime does together, mul_sigmoid and odd_cubic; not where another
-- value reads what lies between, or where what has to be a tile or a number is none.
local x, a = input("x", {5, 40}), input("a", {5, 1})
local function shared(s)
    return (x + 1) * s + s
end
return {
    silu = x * sigmoid(x),
    gelu = x * sigmoid(x * (x * x * 0.0713548 + 1.5957691)),
    cubic = x * (x * x * 0.5 + 3),
    shared = shared(sigmoid(x)),
    shared_cubic = shared(x * x * 0.5 + 3),
    by_row = x * sigmoid(a),
    no_number = x * (x * x * a + 3),
    result = sigmoid(a * x),
}
