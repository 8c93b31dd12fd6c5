-- bounds: a weight matrix whose rows or columns are repeated
local w, u = param("w", {1, 1}, {normal = 1}), param("u", {1, 3}, {normal = 1})
local x, b = input("x", {5, 2}), input("b", {4, 5, 2})
return {y = matmul(x, expand(w, {2, 1})), z = matmul(x, expand(u, {2, 3})),
        batch = matmul(b, expand(w, {4, 2, 3})), t = matmul(x, expand(u:transpose(1, 2), {4, 3, 2})
          :slice({0, 0, 0}, {1, 2, 2}):reshape{2, 2})}
