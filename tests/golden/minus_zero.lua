-- -0 stays what it is: what is divided by it has the other sign than what is divided by 0.  Sums begin with 0.
local x = input("x", {4})
return {y = x / -0.0, z = x / 0, sum = x / sum(const(-0.0, {4, 3}), 2)}
