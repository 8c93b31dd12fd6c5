-- part: a gather of all rows in their order is no movement, one of some rows is a slice, behind which a sum reads a rounded product
local shape = {3, 3, 1}
local x = input("x", shape)
local rows = gather(x / (exp(-x) + 1), iota({3}, 1))
return {sum = rows + input("y", shape)}
