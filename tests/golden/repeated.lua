-- What is repeated is transposed before: of both spellings one is left.
local a, b = input("a", {3, 4, 6}), input("b", {1, 4, 5})
local wide = expand(b, {3, 4, 5})
local c = matmul(a:transpose(2, 3), wide)
return {y = c:transpose(2, 3), z = matmul(expand(b:transpose(2, 3), {3, 5, 4}), a)}
