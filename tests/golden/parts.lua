-- A loop takes in all parts of a concat or none; here the first part repeats only by halves.
local x = maximum(input("x", {4}), 0)
local first = x:slice({1}, {3})
for i = 0, 4 do
    x = concat({tanh(x:slice({1}, {3})), x:slice({0}, {1})}, 1)
end
return {y = x:expand{4, 4}, x = x, first = first}
