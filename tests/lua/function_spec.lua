-- function_spec.lua - graphs that functions of the running Lua build: crescent.model(function() ... end).
local crescent = require "crescent"
local check = dofile "tests/lua/check.lua"
local equal, fails = check.equal, check.fails
local load_text = loadstring or load
local folder = os.getenv "FOLDER"

-- The graph of a script, and of the same text as a function.
local function both(text, options)
    local script = crescent.model(text, options)
    local made = crescent.model(assert(load_text("return function() " .. text .. " end"))(), options)
    local function plain(m) return (m:dump("script"):gsub('at%("[^\n]*\n', "")) end
    return plain(script), plain(made)
end

-- ---- the language ----

it("a function builds the graph that a script builds", function()
    local text = [[
        local nn = require "nn"
        local o = options{T = 4, n_embd = 12}
        local x = input("x", {o.T, o.n_embd})
        local h = x + scope("mlp", function(v) return nn.gelu(nn.linear(v, o.n_embd)) end, x)
        return {y = tap("out", (h * 2 - 1):max(-1))}]]
    local script, made = both(text, {set = {T = 2}})
    equal(made, script)
    equal(made:find('param("mlp.weight"', 1, true) ~= nil, true)
    script, made = both([[
        for name, size in pairs{b = 1, a = 2, d = 3, c = 4} do param(name, {size}) end
        return {y = param("a", {2}) * 2, z = #parameters() .. "" == "4" and input("z", {1}) + 1 or nil}]])
    equal(made, script)
end)

it("of globals or of its argument", function()
    local x = {1, 2}
    local a = crescent.model(function() return {y = input("x", {2}) * 2} end)
    local b = crescent.model(function(c) return {y = c.input("x", {2}) * 2} end)
    local nothing_global = crescent.model(function(c) return {y = c.mul(c.input("x", {2}), 2)} end)
    for _, m in ipairs{a, b, nothing_global} do equal(m:run{x = x}.y:totable(), crescent.tensor({2}, {2, 4}):totable()) end
    fails("'linear' is not defined, did you mean nn.linear", crescent.model, function(c) c.linear() end)
    fails("cannot be set", crescent.model, function(c) c.linear = 1 end)
    local helper = function(c, v) return c.exp(v) end
    equal(crescent.model(function(c) return {y = helper(c, input("x", {1}))} end):run{x = 0}.y[1], 1)
end)

it("options, gradients, taps, parameters, a seed", function()
    local m = crescent.model(function()
        local o = options{n = 1, seed = 0}
        local x = input("x", {o.n})
        return {y = tap("square", x * x) * param("w", {o.n}, {fill = o.seed})}
    end, {set = {n = 2}, seed = 3, grads = true, taps = "square", name = "square"})
    equal(m:options().n, "2")
    equal(tostring(m), "crescent.model (square)")
    local out, grads = m:run{x = {3, 4}}
    equal(out.square:totable(), crescent.tensor({2}, {9, 16}):totable())
    equal(grads.x:totable(), crescent.tensor({2}, {18, 24}):totable())
    fails("unknown option 'm', expected one of n", crescent.model, function() options{n = 1} return {y = input("x", {1}) + 1} end,
        {set = {m = 1}})
end)

it("entries and states", function()
    local m = crescent.model(function()
        local total = state("total", {2})
        local sum = total + input("x", {2})
        replace(total, sum)
        return {y = sum * 1}
    end)
    m:run{x = {1, 2}}
    equal(m:run{x = {10, 20}}.y:totable(), crescent.tensor({2}, {11, 22}):totable())
    fails("is never replaced", crescent.model, function() return {y = state("s", {1}) + 1} end)
end)

it("modules of the language beside the file, and those of the host", function()
    local function write(path, text)
        local file = assert(io.open(path, "w"))
        file:write(text)
        file:close()
    end
    os.execute("mkdir -p '" .. folder .. "/lib'")
    write(folder .. "/lib/twice.lua", "return {twice = function(v) return add(v, v) end}")
    write(folder .. "/host_module.lua", "return {n = 5, sees = rawget(_G, 'input') ~= nil}")
    write(folder .. "/build.lua", [[return function()
        local twice, host = require "twice", require "host_module"
        return {y = twice.twice(input("x", {host.n}))}
    end]])
    local path = package.path
    package.path = folder .. "/?.lua;" .. path
    local m = crescent.model(dofile(folder .. "/build.lua"))
    package.path = path
    equal(m:run{x = {1, 2, 3, 4, 5}}.y[5], 10)
    equal(package.loaded.host_module.sees, false)
    equal(package.loaded.twice, nil)
    fails("none_such", crescent.model, function() require "none_such" end)
end)

it("a training step", function()
    local t = crescent.trainer(function()
        local x, w = input("x", {2}), param("w", {2}, {fill = 1})
        return {w = w - x, loss = sum(x, 1):reshape{}}
    end)
    equal(t:feed{x = {1, 2}}:step(), 3)
    equal(t:weight("w"):totable(), crescent.tensor({2}, {0, -1}):totable())
end)

-- ---- the host ----

it("the globals of the host stay its own", function()
    local before = {}
    for name, value in pairs(_G) do before[name] = value end
    local format, meta = string.format, getmetatable("")
    local function build()
        made_inside = type(input) == "function" and string.format == format and print == before.print
        return {y = input("x", {1}) + 1}
    end
    local function neighbour() return input, made_inside end
    crescent.model(build)
    local seen, inside = neighbour()
    equal(seen, nil)
    equal(inside, true)
    made_inside = nil
    for name in pairs(_G) do equal(before[name] ~= nil, true) end
    for name, value in pairs(before) do equal(rawequal(_G[name], value), true) end
    equal(getmetatable("") == meta, true)
    fails("'matmul' is a function of the language", crescent.model, function() matmul = 1 end)
    equal(rawget(_G, "matmul"), nil)
    equal(pcall(build), false) -- its globals are what they were
    equal(debug.gethook(), nil)
end)

it("a hook of the host's stays, and a function of C will do", function()
    local count = 0
    debug.sethook(function() count = count + 1 end, "", 1000000)
    local hook = debug.gethook()
    local build = coroutine.wrap(function(c)
        while true do c = coroutine.yield({y = c.input("x", {1}) + 1}) end
    end)
    equal(crescent.model(build):run{x = 1}.y[1], 2)
    equal(crescent.model(build):run{x = 2}.y[1], 3)
    equal(debug.gethook() == hook, true)
    debug.sethook()
end)

it("tensors of a graph are of no use outside", function()
    local kept, language, mul
    crescent.model(function(c)
        kept, language, mul = input("x", {2}), c, matmul
        return {y = kept * 2}
    end)
    fails("another graph", function() return kept + 1 end)
    fails("another graph", mul, kept, kept)
    fails("finished", language.input, "x", {2})
    fails("tensor of another graph", crescent.model, function() return {y = kept + input("z", {2})} end)
    fails("tensor of another graph", crescent.model, function() return {y = kept} end)
end)

-- The traces that LuaJIT keeps of `build` are memory too, and none of ours: it compiles nothing here.
it("what is left of a graph is collected", function()
    if jit then jit.off() jit.flush() end
    local function build(c)
        local x = input("x", {8})
        for i = 1, 200 do x = x + i end
        return {y = x}
    end
    for i = 1, 20 do crescent.model(build):close() end
    collectgarbage() collectgarbage()
    local before = collectgarbage("count")
    for i = 1, 100 do pcall(crescent.model, i % 2 == 0 and build or function() build() error("x") end) end
    collectgarbage() collectgarbage()
    if jit then jit.on() end
    equal(collectgarbage("count") < before + 100, true)
end)

-- ---- mistakes ----

-- The error of a function, without what stands before its line.
local function line_of(f, options)
    return (fails("crescent: tests/lua/function_spec.lua:", crescent.model, f, options)
        :gsub("^.-function_spec.lua:%d+: ", ""))
end

it("mistakes are the script's, at the line of the function", function()
    local line = debug.getinfo(1, "l").currentline
    fails("crescent: tests/lua/function_spec.lua:" .. line + 3 .. ": matmul: shapes [2, 3] and [2, 3]: inner",
        crescent.model, function()
            return {y = matmul(input("a", {2, 3}), input("b", {2, 3})) + 1}
        end)
    equal(line_of(function() local y = param("a", {0.5}) end),
        "param: shape: item 1: found 0.5, expected a whole number")
    equal(line_of(function() local y = require("rotary").angles() end)
        :match("%(in graphs/lib/rotary%.lua:%d+%)$") ~= nil, true)
    line = debug.getinfo(1, "l").currentline
    fails("crescent: tests/lua/function_spec.lua:" .. line + 3 .. ": nn.layer_norm: unknown option 'epsilon', did",
        crescent.model, function()
            local y = require("nn").layer_norm(input("x", {2}), {epsilon = 1e-5})
            return {y = y}
        end)
    equal(line_of(function() error("mine") end), "mine")
    equal(line_of(function() error("mine", 0) end), "mine")
    equal(line_of(function() return 5 end),
        "the script returned number, expected a table of outputs such as {y = y}")
    equal(line_of(function() return {} end),
        "the script returned no outputs, expected a table such as {y = y}")
    equal(line_of(function() local x = linear(1) end):find("did you mean nn.linear", 1, true) ~= nil, true)
    equal(line_of(function() local x = nothing.x end):find("attempt to index", 1, true), 1)
    -- an error of the module is an object, and goes through
    equal(fails("none.lua", crescent.model, function() crescent.open("none.lua") end),
        "crescent: none.lua: cannot be read: No such file or directory")
    fails("one after the other", crescent.model, function() crescent.model(function() end) end)
    fails("model: found no value, expected a function", crescent.model)
end)

it("a helper outside is told of the argument", function()
    local function helper(x) return exp(x) end
    equal(line_of(function() local y = helper(input("x", {1})) end)
        :find("expected it as a field of the argument", 1, true) ~= nil, true)
end)

it("an error that is no text goes through", function()
    local mine = setmetatable({}, {__tostring = function() return "mine" end})
    local good, found = pcall(crescent.model, function() error(mine) end)
    equal(good, false)
    equal(found == mine, true)
end)

it("a mistake that the function catches leaves the graph good", function()
    local caught = {}
    local m = crescent.model(function()
        for i = 1, 300 do
            local good, message = pcall(scope, "s" .. i, function(a, b) return matmul(a, b) end,
                input("a", {2, 3}), input("a", {2, 3}))
            caught[#caught + 1] = message
        end
        return {y = scope("t", function() return param("w", {1}, {fill = 2}) * 3 end)}
    end)
    equal(#caught, 300)
    equal(caught[1]:find("^[^\n]*function_spec.lua:%d+: matmul: ") ~= nil, true)
    equal(m:params()[1].name, "t.w")
    equal(m:run{a = 0}.y[1], 6)
    equal(line_of(function() pcall(matmul, 1) error("the second") end), "the second")
end)

it("what needs the script again says so", function()
    local t = crescent.trainer(function()
        return {loss = sum(param("w", {2}), 1):reshape{}, w = param("w", {2}) * 2}
    end)
    equal(type(t:step()), "number")
    fails("the graph is made by a function, which is called once", t.validation, t, {})
end)
