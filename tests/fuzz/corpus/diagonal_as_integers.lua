-- run: whole numbers made of floats and of comparisons that depend on column - row only
local far = float(iota({2, 4, 5}, 3) - iota({2, 4, 5}, 2))
return {a = int(gt(far, 0.25)), b = int(far * 1.5), c = where(gt(far, 1), int(far * far), 7)}
