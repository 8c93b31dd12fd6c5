-- Token and position embeddings: rows of tables, added where they are read.
local tokens = input("tokens", {2, 5}, "i32")
local wte, wpe = param("wte", {11, 6}), param("wpe", {8, 6})
return {y = gather(wte, tokens) + gather(wpe, iota({5}, 1))}
