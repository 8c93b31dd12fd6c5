-- Reductions down columns: over the first axis, in the middle, of something computed, a maximum.
local x = input("x", {3, 50, 40})
local b = input("b", {40})
return {
    middle = sum(x * x + b, 2),
    first = sum(x, 1),
    largest = max(x - b, 2),
    row = sum(float(iota({50, 40}, 1)), 1),
}
