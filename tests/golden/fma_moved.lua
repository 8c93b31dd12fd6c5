-- A product that is moved before it is added: the same bits with a batch of 1, where the move is none.
local a, c = input("a", {2, 1, 2}), input("c", {1, 2, 2})
local w = param("w", {2}, {normal = 1})
return {moved = c + (a * 0.75):reshape{1, 2, 2}, repeated = a:reshape{2, 2} + expand(w * w, {2, 2})}
