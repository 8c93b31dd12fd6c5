-- lengths: a sign that moves above an expand with lengths leaves these with it, so that a sum becomes a difference, as without lengths
local x, y = input("x", {2, 1, 1}), input("y", {2, 2, 1, 1})
return {sum = y * 5 + expand(neg(x), {2, 2, 1, 1})}
