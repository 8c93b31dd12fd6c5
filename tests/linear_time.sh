#!/bin/sh
# linear_time.sh - tests that the work after running the script is nearly linear in nodes, kernels, parameters and
# outputs.
#
# A case is a script with @N@ in place of a number.  $CRESCENT is a program that counts its own work
# (tests/work/count.c): the work for 2 N must be at most 2.3 times the work for N. Linear work doubles, sorting needs
# a little more, and quadratic work exceeds the limit as soon as it is a sixth of the work for N. Counts do not depend
# on the machine and its load.
#
# SHOW=1 prints both counts and their ratio.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/lua5.4/crescent-work}"
. "$(dirname "$0")/report.sh"

# Writes the model for N to $model.
make_model() { sed "s/@N@/$1/g" "$T/m.lua.in" >"$T/m.lua"; }
model=$T/m.lua

# work N VERB OPTION...: prints the work for the model with N.
work() {
    make_model "$1" || return
    verb=$2
    shift 2
    WORK=$T/work "$crescent" "$verb" "$model" "$@" >"$T/out" 2>"$log" && cat "$T/work"
}

# is_linear WHAT N VERB OPTION...: passes if the work for 2 N is at most 2.3 times the work for N.
is_linear() {
    what=$1 n=$2
    shift 2
    once=$(work "$n" "$@") && twice=$(work $((2 * n)) "$@") &&
        [ "$once" -gt $((100 * n)) ] && [ $((10 * twice)) -le $((23 * once)) ]
    status=$?
    [ -z "${SHOW-}" ] || echo "$once $twice $(awk "BEGIN {print $twice / $once}")"
    [ $status -eq 0 ] || echo "work for $n: ${once:-none}, for $((2 * n)): ${twice:-none}" >>"$log"
    report $status "$what: $*"
}

cat >"$T/m.lua.in" <<'EOF'
local x, r = input("x", {4}), {}
for i = 1, @N@ do r["y" .. i] = x + i end
return r
EOF
is_linear 'outputs, each of a function of its own' 4000 run

cat >"$T/m.lua.in" <<'EOF'
local x, r = input("x", {4}), {}
for i = 1, @N@ do r["y" .. i] = x + param("p" .. i, {4}) end
return r
EOF
is_linear 'parameters and outputs' 4000 run
is_linear 'parameters and outputs' 4000 run --backend ref
is_linear 'parameters and outputs' 4000 params --json

cat >"$T/m.lua.in" <<'EOF'
local x, r = {}, {}
for i = 1, @N@ do x[i] = input("x" .. i, {4}) end
for i = 1, @N@ do r["y" .. i] = tanh(x[i * 7919 % @N@ + 1]) end
return r
EOF
is_linear 'kernels alike, but in no loop' 4000 dump --after emit

cat >"$T/m.lua.in" <<'EOF'
local r = {}
for i = 1, @N@ do r[string.format("y%05d", i)] = input("x" .. i, {math.floor(i / 3) + 1}) * math.floor(i / 3) end
return r
EOF
is_linear 'short loops' 4000 dump --after emit

cat >"$T/m.lua.in" <<'EOF'
local x, s, t = input("x", {4}), 0, {}
for i = 1, @N@ do t[i] = x * i end
for i = 1, @N@ do s = s + t[i] end
for i = 1, @N@ do s = s * t[@N@ + 1 - i] end
return {y = s}
EOF
is_linear 'values read twice, far apart' 5000 dump --after fuse

cat >"$T/m.lua.in" <<'EOF'
local x, s, t = input("x", {8, 8}), 0, {}
for i = 1, @N@ do t[i] = matmul(x * i, x) end
for i = 1, @N@ do s = tanh(s + t[i * 7919 % @N@ + 1]) end
return {y = s}
EOF
is_linear 'values alive at once' 5000 dump --after plan
is_linear 'values alive at once, read back' 2500 dump --after plan --grads none

cat >"$T/m.lua.in" <<'EOF'
local t = {}
for i = 1, @N@ do t[i] = const(i, {1}) end
return {y = concat(t, 1) + input("x", {@N@})}
EOF
is_linear 'a concat of constants' 5000 dump --after emit

cat >"$T/m.lua.in" <<'EOF'
local nn = require "nn"
local x = input("x", {4, 8})
for i = 1, @N@ do
    local n = scope("l" .. i, nn.layer_norm, x, {eps = 1e-5})
    local function w(name) return param(name .. i, {8, 8}) end
    local p = nn.softmax(matmul(matmul(n, w "q"), permute(matmul(tanh(n), w "k"), {2, 1})))
    x = x + matmul(p, matmul(n * n, w "v"))
end
return {y = x}
EOF
is_linear 'gradients of attentions' 200 dump --after emit --grads none

# Two nodes of ONNX for each of N: a product with a different number each, and a sum.
cat >"$T/onnx.lua" <<'EOF'
local function varint(n)
    local bytes = ""
    while n > 127 do
        bytes, n = bytes .. string.char(n % 128 + 128), math.floor(n / 128)
    end
    return bytes .. string.char(n)
end
local function text(field, bytes) return varint(8 * field + 2) .. varint(#bytes) .. bytes end
local function number(field, n) return varint(8 * field) .. varint(n) end
local function value(name)
    local shape = text(1, number(1, 4))
    return text(1, name) .. text(2, text(1, number(1, 1) .. text(2, shape)))
end
local function node(op, a, b, y) return text(1, text(1, a) .. text(1, b) .. text(2, y) .. text(4, op)) end
local N, graph = tonumber(arg[1]), {text(2, "chain"), text(11, value "x"), text(12, value("y" .. arg[1]))}
for i = 1, N do
    local float = string.char(0, math.floor(i / 128) % 128, i % 128, 63)
    graph[#graph + 1] = text(5, number(2, 1) .. text(8, "c" .. i) .. text(9, float))
    graph[#graph + 1] = node("Mul", "x", "c" .. i, "m" .. i)
    graph[#graph + 1] = node("Add", i > 1 and "y" .. i - 1 or "x", "m" .. i, "y" .. i)
end
local file = io.open(arg[2], "wb")
file:write(number(1, 8), text(8, number(2, 17)), text(7, table.concat(graph)))
file:close()
EOF
make_model() { lua5.4 "$T/onnx.lua" "$1" "$T/m.onnx"; }
model=$T/m.onnx
is_linear 'nodes of ONNX' 2500 dump --after emit
make_model() { sed "s/@N@/$1/g" "$T/m.lua.in" >"$T/m.lua"; }
model=$T/m.lua

# Schedules with recomputed values are not nearly linear.
make_model 1500
"$crescent" run "$T/m.lua" --grads none --max-arena 1K >"$T/out" 2>"$log"
[ $? -eq 2 ] && grep -q -- '--max-arena is for at most' "$log" && [ "$(wc -l <"$log")" -eq 1 ]
report $? '--max-arena of too many values is refused with a line'

conclude
