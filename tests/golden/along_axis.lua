-- Elements along an axis, read and set, and the first of the largest: made of ops there are.
local x = input("x", {4, 6})
local at = argmax(x, 2)
local marked = scatter(x, const(0, {4, 1}), at, 2)
return {at = at, largest = gather(x, at, 2), second = gather(x, argmax(marked, 2), 2), marked = marked}
