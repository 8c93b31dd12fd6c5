-- Rows of parameters one after another, or stacked, lie so in the weights: no kernel copies them.
local ids = input("ids", {4}, "i32")
local parts = {}
for e = 1, 3 do parts[e] = param("expert." .. e, {5, 8}, {normal = 1}):reshape{1, 5, 8} end
local a, b = param("a", {5, 8}, {normal = 1}), param("b", {6, 8}, {normal = 1})
local rows = gather(concat({a, b}, 1), remainder(ids, 11))
return {y = rows + sum(gather(concat(parts, 1), remainder(ids, 3)), 2, false) * a:slice({0, 0}, {4, 8})}
