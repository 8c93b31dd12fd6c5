-- Products of the same rows with different weights become one; z, of other rows, does not.
local x, z = input("x", {5, 8}), input("z", {5, 8})
local q = matmul(x, param("q", {8, 8}))
local k = matmul(x, param("k", {6, 8}):transpose(1, 2))
local v = matmul(x, param("v", {8, 4}))
local other = matmul(z, param("o", {8, 4}))
return {q = q, k = k, y = v + other}
