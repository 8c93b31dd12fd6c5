-- States that are a factor of their next value, or parts of it: that is made apart, and copied at the end.
local s, t, x = state("s", {40, 40}), state("t", {3, 5}), input("x", {40, 40})
replace(s, matmul(x, s))
replace(t, concat({slice(t, {0, 1}, {3, 4}), reshape(sum(x:slice({0, 0}, {3, 8}), 2), {3, 1})}, 2))
return {y = s * 2, z = t + 1}
