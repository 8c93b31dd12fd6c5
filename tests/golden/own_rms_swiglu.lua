-- RMS norm and SwiGLU spelled out: norm and both projections, then product and residual.
local x = input("x", {1, 12, 32})
local function project(x, name, n) return (matmul(x, param(name, {x:size(-1), n}))) end -- no tail call: its line is known
local n = x / sqrt(sum(x * x, -1) * (1 / 32) + 1e-6) * param("gain", {32})
local gate, up = project(n, "gate", 48), project(n, "up", 48)
return {y = x + project(gate / (1 + exp(-gate)) * up, "down", 32)}
