-- Masks that move with positions of the run: bounds on the keys, if all that move are of one position.
local nn = require "nn"
local T, S, d = 3, 16, 4
local at, from = input("at", {}, "i32"), input("from", {}, "i32")
local query, key = iota({T, S}, 1), iota({T, S}, 2)
local keys = write(input("keys", {S, d}), input("key", {T, d}), at)
local values = write(input("values", {S, d}), input("value", {T, d}), from)
local function attend(name, seen)
    local logits = matmul(input(name, {T, d}), keys:transpose(1, 2))
    local y = matmul(nn.softmax(where(seen, logits, -math.huge)), values)
    return y -- no tail call, which LuaJIT knows no line of
end
local causal = le(key, query + at)
return {
    window = attend("q1", logical_and(causal, gt(key, query + at - 5))),
    others = attend("q2", logical_and(causal, gt(key, query + from - 5))),
    stays = attend("q3", logical_and(causal, gt(key, query - 5))),
    minus = attend("q4", le(key, query - at)),
    key = attend("q5", le(key + at, query)),
    more = attend("q6", logical_and(causal, gt(key, query + at + from - 5))),
    fixed = attend("q8", le(key, at)),
    both = attend("q9", logical_and(lt(key, 12), causal)),
    orders = attend("q7", logical_and(le(key, query + at + from), gt(key, query + from + at - 9))),
}
