-- Rows that are written, in an order that no index says: they are stored first, as the loops run over the rows.
local s, x = state("s", {4, 6}), input("x", {4, 3})
replace(s, write(s, reshape(transpose(x, 1, 2), {2, 6}), input("at", {}, "i32"), 1))
return {y = s * 2}
