-- What division leaves of multiples, and the larger and smaller of two zeros, in the interpreter as well.
local n, x = iota({9}, 1) - 4, input("x", {9})
local f, zero = float(n), x * 0
return {
    a = f % -3, b = f % 3, c = float(floor_divide(n, -3)), d = float(n % -3),
    most = 1 / maximum(-zero, zero), least = 1 / minimum(-zero, zero),
}
