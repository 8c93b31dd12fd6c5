-- The transpose of a' b is the product b' a, in whatever order the other axes stand.
local a, b = input("a", {2, 3, 7, 4}), input("b", {2, 3, 7, 5})
local c = matmul(a:transpose(-2, -1), b)
return {swapped = c:transpose(-2, -1), moved = c:permute{4, 1, 3, 2}, kept = c:permute{2, 3, 1, 4}}
