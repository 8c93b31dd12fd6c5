-- A state that a product is added to is written over in place, as each element is read where it goes.
local w, x, y = state("w", {20, 40}), input("x", {20, 30}), input("y", {30, 40})
replace(w, w - 0.1 * matmul(x, y))
return {old = sum(w, 2)}
