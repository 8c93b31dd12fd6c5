-- plan: middle layers' values are outputs, the others are kept for the gradients
local x, out, ws = input("x", {8, 4}), {}, {}
for i = 0, 3 do
  local h = tanh(x) * 1.5
  if i == 1 or i == 2 then out["h" .. i] = h end
  ws[i + 1] = param("w" .. i, {4, 4}, {normal = 1})
  x = sigmoid(matmul(h, ws[i + 1]))
end
out.y = x
local total = sum(x:reshape{32}, 1):reshape{}
for _, i in ipairs{1, 2} do total = total + sum(out["h" .. i]:reshape{32}, 1):reshape{} end
for i, g in ipairs(grad(total, ws)) do out["g" .. i] = g end
return out
