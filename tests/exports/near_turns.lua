-- near_turns.onnx, by fixtures, opset 18
local rotary = require "rotary"

local x = input("x", {1, 2, 3, 4})
local w0 = sum(x, 2)
local w1 = narrow(w0, 4, 0, 2)
local w2 = narrow(w0, 4, 2, 2)
local ww = concat({w1, w1}, 4)
local wv = concat({w1, w2}, 4)
local a1 = narrow(x, 4, 0, 2)
local b1 = narrow(x, 4, 2, 2)
local n1 = -b1
local y1 = x * cos(wv) + concat({n1, a1}, 4) * sin(wv)
local c2 = cos(ww)
local m2 = x * c2
local s2 = concat({n1, a1}, 4) * sin(concat({w2, w2}, 4))
local y2 = m2 + s2
local c3 = sin(ww)
local y3 = x * c3 + concat({n1, a1}, 4) * c2
local y4 = m2 + concat({b1, -a1}, 4) * c3
local m5 = x * transpose(reshape(c2, {1, 1, 4, 3}), 3, 4)
local s5 = concat({n1, a1}, 4) * transpose(reshape(c3, {1, 1, 4, 3}), 3, 4)
local y5 = m5 + s5
local y6 = x * (c2 * 0.5) + concat({n1, a1}, 4) * c3
local back = permute(gather(permute(x, {4, 1, 2, 3}), iota({4}, 1) * -1 + 3), {2, 3, 4, 1})
local y7 = x * back
local g2 = transpose(gather(transpose(x, 1, 2), const({1, 0}, {2}, "i32")), 1, 2)
local y8 = x - g2
local turned = rotary.halves(x, {cos = cos(w1), sin = sin(w1)})
local y = concat({turned, y1, y2, y3, y4, y5, y6, y7, y8}, 4)
return {
    y = y,
}
