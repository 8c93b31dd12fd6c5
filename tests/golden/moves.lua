-- Movement ops of one kind merge, those that move nothing vanish.
local x = input("x", {2, 3, 4})
local back = x:permute{3, 1, 2}:permute{2, 3, 1}
local flat = x:reshape{6, 4}:reshape{24}
local part = x:slice({0, 1, 0}, {2, 2, 4}):slice({1, 0, 2}, {1, 2, 2})
local wide = x:slice({0, 0, 0}, {1, 3, 4}):expand{2, 3, 4}:expand{5, 2, 3, 4}
return {a = tanh(back), b = tanh(flat), c = tanh(part), d = tanh(wide)}
