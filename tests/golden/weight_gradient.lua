-- X' dY: both operands are packed as the kernel runs, and a long k is done in parts.
local x = param("x", {1100, 70}, {normal = 0.1})
local dy = input("dy", {1100, 100})
return {dw = matmul(x:transpose(1, 2), dy), short = matmul(x:slice({0, 0}, {40, 70}):transpose(1, 2),
    dy:slice({0, 0}, {40, 100})) * 0.5}
