-- bounds: a value that two kernels need has one set of bits, so that its largest element is found
local x, w, b = input("x", {64, 32}), param("w", {32}, {normal = 1}), param("b", {32}, {normal = 1})
local h = x * w
local z = h + b
local top = where(eq(z, max(z, 1)), 1, 0)
return {most = max(top, 1), t = h + top, h = h + 0}
