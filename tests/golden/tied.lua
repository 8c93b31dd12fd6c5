-- A table that the head shares is kept once, in the panels of the product; one that a sum reads, too,
-- is kept as rows beside them.
local ids = input("ids", {2, 5}, "i32")
local wte = param("wte", {70, 6}, {normal = 0.02})
local wpe = param("wpe", {6, 5}, {normal = 0.02})
local x, at = gather(wte, ids), gather(wpe, iota({5}, 1))
return {x = x, at = at, logits = matmul(x, wte:permute({2, 1})),
        places = matmul(at, wpe:permute({2, 1})) + sum(wpe, 2):reshape({1, 6})}
