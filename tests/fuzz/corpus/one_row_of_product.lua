-- part: a product's row and what is added to it have the same bits alone as among other rows
local a, b, c = input("a", {2, 2}), input("b", {2, 2}), input("c", {2, 2})
return {y = c + matmul(a, b)}
