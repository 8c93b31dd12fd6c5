-- A cache: only the rows of this run are stored, in place, and the position is counted on.
local o = options {T = 2, rows = 16, width = 8}
local x, at = input("x", {o.T, o.width}), state("at", {}, "i32")
local keys = state("keys", {o.rows, o.width})
local cache = write(keys, x:matmul(param("wk", {o.width, o.width})), at)
replace(keys, cache)
replace(at, at + o.T)
return {scores = x:matmul(cache:transpose(1, 2))}
