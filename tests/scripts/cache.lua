-- A cache of keys: each run writes one more row to it, and sees all of them.
local D, rows = 8, 16
local x, at = input("x", {1, D}), input("at", {}, "i32")
local keys = state("keys", {rows, D})
local cache = write(keys, x:matmul(param("wk", {D, D})), at)
replace(keys, cache)
-- what is written over is no state here
return {scores = x:matmul(cache:transpose(1, 2)), first = write(cache, x, 0)}
