-- X' dY as large as the gradient of a matrix of GPT-2: it is stored past the caches.
local x = input("x", {2, 1024})
local dy = input("dy", {2, 512})
return {dw = matmul(x:transpose(1, 2), dy)}
