-- run: a write whose rows are known to lie outside leaves a state as it was
local s = state("s", {4, 3})
replace(s, write(s, input("x", {2, 3}), 9, 1))
return {y = s + 1}
