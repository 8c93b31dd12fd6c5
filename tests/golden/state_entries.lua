-- Two entries that share a cache: each has its own kernels, which work in place.
local at, cache = state("at", {}, "i32"), state("cache", {8, 4})
local function step(name, n, entry)
    local now = write(cache, input(name, {n, 4}) * 2, at)
    replace(cache, now, entry)
    replace(at, at + n, entry)
    return {y = sum(now, 1)}
end
return {prefill = step("prompt", 3, "prefill"), decode = step("token", 1, "decode")}
