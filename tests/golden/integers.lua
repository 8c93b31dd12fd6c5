-- i32 from inputs to outputs: indices are computed, and integers gathered, reduced along rows and
-- down columns, compared, and turned into floats, all as ints.
local ids, table = input("ids", {6}, "i32"), input("table", {9, 5}, "i32")
local x = input("x", {9, 5})
local rows = gather(table, abs(ids * 7 - 3))
local largest = eq(x, max(x, 2))
local first = -max(where(largest, -iota({9, 5}, 2), const(-2 ^ 31, {9, 5}, "i32")), 2)
return {rows = rows, along = sum(rows * rows, 2), down = max(table, 1), first = first,
    scaled = x * float(table)}
