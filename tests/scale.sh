#!/bin/sh
# scale.sh - what comes after the script is near linear in nodes, kernels, parameters and outputs.
#
# Each case takes a second or less of processor time, and would take minutes if its work grew with
# the square of its size; so the limit, of processor time, does not depend on other load.
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

# limited COMMAND...: with at most 12 seconds of processor time.
limited() {
    (ulimit -t 12 && "$@" >"$T/out" 2>"$log")
}

# takes_little WHAT VERB OPTION...: of the script that stands in $T/m.lua.
takes_little() {
    what=$1
    verb=$2
    shift 2
    limited "$crescent" "$verb" "$T/m.lua" "$@"
    report $? "$what: $verb $*"
}

cat >"$T/m.lua" <<'EOF'
local x, r = input("x", {4}), {}
for i = 1, 50000 do r["y" .. i] = x + i end
return r
EOF
takes_little '50,000 outputs, each of a function of its own' run

cat >"$T/m.lua" <<'EOF'
local x, r = input("x", {4}), {}
for i = 1, 60000 do r["y" .. i] = x + param("p" .. i, {4}) end
return r
EOF
takes_little '60,000 parameters and outputs' run
takes_little '60,000 parameters and outputs' run --backend ref
takes_little '60,000 parameters and outputs' params --json

cat >"$T/m.lua" <<'EOF'
local x, r = {}, {}
for i = 1, 8000 do x[i] = input("x" .. i, {4}) end
for i = 1, 8000 do r["y" .. i] = tanh(x[i * 7919 % 8000 + 1]) end
return r
EOF
takes_little '8,000 kernels alike, but in no loop' dump --after emit

cat >"$T/m.lua" <<'EOF'
local r = {}
for i = 1, 8000 do r[string.format("y%05d", i)] = input("x" .. i, {math.floor(i / 3) + 1}) * math.floor(i / 3) end
return r
EOF
takes_little '4,000 short loops' dump --after emit

cat >"$T/m.lua" <<'EOF'
local x, s, t = input("x", {4}), 0, {}
for i = 1, 50000 do t[i] = x * i end
for i = 1, 50000 do s = s + t[i] end
for i = 1, 50000 do s = s * t[50001 - i] end
return {y = s}
EOF
takes_little '50,000 values read twice, far apart' dump --after fuse

cat >"$T/m.lua" <<'EOF'
local x, s, t = input("x", {8, 8}), 0, {}
for i = 1, 8000 do t[i] = matmul(x * i, x) end
for i = 1, 8000 do s = tanh(s + t[i * 7919 % 8000 + 1]) end
return {y = s}
EOF
takes_little '8,000 values alive at once' dump --after plan
takes_little '8,000 values alive at once, read back' dump --after plan --grads none

cat >"$T/m.lua" <<'EOF'
local t = {}
for i = 1, 50000 do t[i] = const(i, {1}) end
return {y = concat(t, 1) + input("x", {50000})}
EOF
takes_little 'a concat of 50,000 constants' dump --after emit

cat >"$T/m.lua" <<'EOF'
local nn = require "nn"
local x = input("x", {4, 8})
for i = 1, 1500 do
    local n = scope("l" .. i, nn.layer_norm, x, {eps = 1e-5})
    local function w(name) return param(name .. i, {8, 8}) end
    local p = nn.softmax(matmul(matmul(n, w "q"), permute(matmul(tanh(n), w "k"), {2, 1})))
    x = x + matmul(p, matmul(n * n, w "v"))
end
return {y = x}
EOF
takes_little 'gradients of 1,500 attentions' dump --after emit --grads none

# Schedules that make values again are not near linear.
"$crescent" run "$T/m.lua" --grads none --max-arena 1K >"$T/out" 2>"$log"
[ $? -eq 2 ] && grep -q -- '--max-arena orders at most' "$log" && [ "$(wc -l <"$log")" -eq 1 ]
report $? '--max-arena of too many values is refused with a line'

conclude
