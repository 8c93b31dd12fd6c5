-- Two states that take each other's value: one of them is made apart, and copied at the end.
local a, b = state("a", {20}), state("b", {20})
replace(a, b + 1)
replace(b, a * 2)
return {y = a - b}
