-- module_spec.lua - the Lua module, against what the program prints and writes.  $FOLDER is for files,
-- $CRESCENT is the program, built with the same Lua.
local crescent = require "crescent"
local check = dofile "tests/lua/check.lua"
local equal, fails = check.equal, check.fails
local folder, program = os.getenv "FOLDER", os.getenv "CRESCENT"
local floor = math.floor

-- What a command prints, standard error too, without the last end of line.
local function output(command)
    local pipe = assert(io.popen(program .. " " .. command .. " 2>&1"))
    local text = pipe:read("*a")
    pipe:close()
    return (text:gsub("\n$", ""))
end

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

-- A .npy file, of which only the numbers are looked at.
local function numbers_of(path, count) return read(path):sub(-4 * count) end

-- Of the globals there were, none was changed, and none is new.
local globals = {}
for name, value in pairs(_G) do globals[name] = value end

-- ---- tensors ----

it("a tensor from a nested table", function()
    local t = crescent.tensor({2, 3}, {{1, 2, 3}, {4, 5, 6}})
    equal(t.shape, {2, 3})
    equal(t.dtype, "f32")
    equal(#t, 2)
    equal(t:count(), 6)
    equal(t:get(2, 1), 4)
    equal(tostring(t), "tensor f32 [2, 3]: 1 2 3 4 5 6")
    equal(#t:totable(), 6)
    equal(t:totable("nested")[2][3], 6)
end)

it("a tensor from a flat table, a number, bytes, another tensor", function()
    local t = crescent.tensor({2, 2}, {1, 2, 3, 4})
    equal(t:get(2, 1), 3)
    equal(tostring(crescent.tensor({2}, 7, "i32")), "tensor i32 [2]: 7 7")
    equal(tostring(crescent.tensor(3)), "tensor f32 [3]: 0 0 0")
    equal(crescent.tensor({4}, t:bytes()):get(4), 4)
    equal(crescent.tensor({2, 2}, "\1\0\0\0\2\0\0\0\3\0\0\0\255\255\255\255", "i32"):get(2, 2), -1)
    local copy = crescent.tensor({4}, t, "i32")
    copy:set(1, 9)
    equal(t:get(1, 1), 1)
    equal(crescent.tensor({}, 5):get(), 5)
    equal(crescent.tensor({0, 3}):count(), 0)
end)

it("rows share memory with their tensor", function()
    local t = crescent.tensor({2, 2}, {1, 2, 3, 4})
    t[2][1] = 30
    equal(t:get(2, 1), 30)
    t[1] = {10, 20}
    equal(t:totable(), crescent.tensor({4}, {10, 20, 30, 4}):totable())
    local sum, rows = 0, 0
    for i, row in t:each() do
        rows = i
        for _, value in row:each() do sum = sum + value end
    end
    equal(rows, 2)
    equal(sum, 64)
    equal(t[3], nil)
    local row = t[2]
    t = nil
    collectgarbage()
    collectgarbage()
    equal(row[1], 30)
    equal(tostring(row:reshape{2, 1}), "tensor f32 [2, 1]: 30 4")
end)

-- ---- lengths ----

local lengths = [[
local T, S = length("T", 12), length("S", 5)
local x, y = input("x", {2, T}), input("y", {S, T})
return {a = x * 2, b = matmul(x, y:transpose(1, 2)), n = float(T) + 0}
]]

it("lengths are those of the tensors", function()
    local m = crescent.model(lengths)
    local x = crescent.tensor({2, 3}, {1, 2, 3, 4, 5, 6})
    local out = m:run{x = x, y = {{1, 0, 1}}}
    equal(tostring(out.a), "tensor f32 [2, 3]: 2 4 6 8 10 12")
    equal(tostring(out.b), "tensor f32 [2, 1]: 4 10")
    equal(tostring(out.n), "tensor f32 []: 3")
    out = m:run{x = {{1}, {2}}, y = {{1}, {2}, {3}}}
    equal(tostring(out.b), "tensor f32 [2, 3]: 1 2 3 2 4 6")
    out = m:run{x = x, y = {1, 0, 1, 0, 1, 0}, S = 2}
    equal(tostring(out.b), "tensor f32 [2, 2]: 4 2 10 5")
    out = m:run{x = crescent.tensor({2, 12}, 1), y = crescent.tensor({5, 12}, 1), T = 4, S = 3}
    equal(tostring(out.b), "tensor f32 [2, 3]: 4 4 4 4 4 4")
    equal(out.a.shape, {2, 4})
end)

it("lengths that do not agree are refused", function()
    local m = crescent.model(lengths)
    local x = crescent.tensor({2, 3}, 1)
    fails("input y: found 2 elements along axis 2, expected 3, the length T", m.run, m, {x = x, y = {{1, 2}}})
    fails("input x: found 3 elements along axis 2, expected 4, the length T", m.run, m,
        {x = x, y = {{1, 2, 3}}, T = 4})
    fails("input x: found 13 elements along axis 2, expected 12, the length T", m.run, m,
        {x = crescent.tensor({2, 13}, 1), y = {{1}}})
    fails("input S: found nothing that gives the length", m.run, m, {x = x, y = {1, 2, 3}})
    fails("length T is 13, expected 1 to 12", m.run, m,
        {x = crescent.tensor({2, 12}, 1), y = crescent.tensor({5, 12}, 1), T = 13, S = 1})
    fails("expected [2, 3]", m.run, m, {x = crescent.tensor({3, 3}, 1), y = {{1, 2, 3}}})
end)

it("rows of a batch have lengths of their own", function()
    local m = crescent.model [[
        local B = length("B", 3)
        local T = length("T", 4, B)
        return {y = input("x", {B, T}) * 2, s = sum(input("x", {B, T}), 2)}
    ]]
    local x = {{1, 2, 9}, {3, 4, 5}}
    local out = m:run{x = x, T = {2, 3}}
    equal(tostring(out.y), "tensor f32 [2, 3]: 2 4 0 6 8 10")
    equal(tostring(out.s), "tensor f32 [2, 1]: 3 12")
    equal(tostring(m:run{x = x}.s), "tensor f32 [2, 1]: 12 12")
    equal(tostring(m:run{x = crescent.tensor({3, 4}, 1), T = {2, 3}}.s), "tensor f32 [2, 1]: 2 3")
    fails("input x: found 3 elements along axis 2, expected 2, the length T", m.run, m, {x = x, T = {1, 2}})
    fails("input x: found 2 elements along axis 1, expected 1, the length B", m.run, m, {x = x, T = {3}})
    fails("length T of row 2 is 5, expected 1 to 4", m.run, m, {x = crescent.tensor({3, 4}, 1), T = {1, 5}})
end)

it("what is no tensor is refused", function()
    fails("axis 2", crescent.tensor, {2, 2}, {{1, 2}, {3}})
    fails("found 3 elements, expected 4", crescent.tensor, {2, 2}, {1, 2, 3})
    fails("string of 3 bytes, expected 4", crescent.tensor, {1}, "abc")
    fails("found table, expected a number", crescent.tensor, {1}, {{1}})
    fails("found string, expected a number", crescent.tensor, {1}, {"x"})
    fails("found a table in the shape, expected tensor(shape, data)", crescent.tensor, {{1, 2}, {3}})
    fails("no type f64", crescent.tensor, {1}, 1, "f64")
    fails("whole number", crescent.tensor, {1}, 1.5, "i32")
    fails("memory", crescent.tensor, {-1})
    fails("memory", crescent.tensor, {2 ^ 30, 2 ^ 30})
    fails("9 axes", crescent.tensor, {1, 1, 1, 1, 1, 1, 1, 1, 1})
    local t = crescent.tensor({2}, 0)
    fails("crescent: found index 3 of axis 1, expected a whole number from 1 to 2", t.get, t, 3)
    fails("crescent: found index 0 of axis 1", t.get, t, 0)
    fails("crescent: found 2 indices, expected", t.get, t, 1, 1)
    fails("expected", t.get, {}, 1)
    fails("[2], expected [3]", t.reshape, t, {3})
end)

it("a pointer of the FFI is used without a copy", function()
    local there, ffi = pcall(require, "ffi")
    if not there then return end
    local memory = ffi.new("float[4]", {1, 2, 3, 4})
    local t = crescent.tensor({2, 2}, memory)
    equal(t:get(2, 2), 4)
    memory[3] = 40
    equal(t:get(2, 2), 40)
    t:set(1, 1, 10)
    equal(memory[0], 10)
    equal(ffi.cast("float *", t:pointer())[3], 40)
    local pointer = crescent.tensor({2}, ffi.cast("float *", memory) + 2)
    equal(pointer[2], 40)
    memory = nil
    collectgarbage()
    equal(t:get(1, 2), 2)
end)

-- ---- models ----

local block = {set = {B = 2, T = 4, n_embd = 12, n_head = 3}, threads = 2}
local flags = " --set B=2 --set T=4 --set n_embd=12 --set n_head=3"

it("a run has the bits of the program's", function()
    local m = crescent.open("graphs/gpt2_block.lua", block)
    local y = m:run{x = m:input("x")}.y
    equal(y.shape, {2, 4, 12})
    output("run graphs/gpt2_block.lua" .. flags .. " --output y=" .. folder .. "/y.npy")
    equal(y:bytes() == numbers_of(folder .. "/y.npy", y:count()), true)
    local again = m:run{x = m:input("x"):totable("nested")}.y
    equal(again:bytes() == y:bytes(), true)
    local one = crescent.open("graphs/gpt2_block.lua", {set = block.set, threads = 1, backend = "tcc"})
    equal(one:run{x = m:input("x")}.y:bytes() == y:bytes(), true)
end)

it("a symbol of an ONNX file stays a length", function()
    local m = crescent.open("tests/onnx/mlp.onnx", {length = {n = 8}})
    for rows = 1, 8, 3 do
        local one = crescent.open("tests/onnx/mlp.onnx", {set = {n = rows}})
        local x = one:input("x", 7)
        local y = m:run{x = x}.y
        equal(y.shape, {rows, 8})
        equal(y:bytes() == one:run{x = x}.y:bytes(), true)
    end
    fails("option length: found", crescent.open, "tests/onnx/mlp.onnx", {length = 8})
    fails("expected a bound from 4 on", crescent.open, "tests/onnx/mlp.onnx", {length = {n = 3}})
end)

it("weights are saved, loaded and changed", function()
    local m, path = crescent.open("graphs/gpt2_block.lua", block), folder .. "/w.safetensors"
    local x = m:input("x", 7)
    m:draw(5):save(path)
    local y = m:run{x = x}.y:bytes()
    local n = crescent.open("graphs/gpt2_block.lua", block)
    local same, ignored = n:load(path, {strict = true})
    equal(same == n and ignored, 0)
    equal(n:run{x = x}.y:bytes() == y, true)
    equal(crescent.open("graphs/gpt2_block.lua", {set = block.set, weights = {path}})
        :run{x = x}.y:bytes() == y, true)
    local bias = n:weight("ln_1.bias")
    n:weight("ln_1.bias", bias:fill(3))
    equal(n:weight("ln_1.bias"):get(12), 3)
    equal(n:run{x = x}.y:bytes() == y, false)
    local small = crescent.model('return {y = param("a", {2}) * 1}', {})
    fails("no tensor", small.load, small, path)
end)

it("what a model says of itself", function()
    local m = crescent.open("graphs/gpt2_block.lua", block)
    equal(#m:params(), 12)
    equal(m:params()[1].name, "ln_1.weight")
    equal(m:params()[3].shape, {12, 36})
    equal(m:inputs()[1].name .. m:outputs()[1].name, "xy")
    equal(m:options().n_head, "3")
    equal(m:report().threads, 2)
    equal(m:report().kernels > 0, true)
    equal(tostring(m), "crescent.model (gpt2_block)")
end)

it("the C that is emitted is the program's", function()
    local m = crescent.open("graphs/gpt2_block.lua", block)
    m:emit(folder .. "/gpt2_block.c")
    local c, h = m:emit()
    output("emit graphs/gpt2_block.lua" .. flags .. " -o " .. folder .. "/theirs.c")
    equal(read(folder .. "/gpt2_block.c"):gsub("gpt2_block%.([ch])", "theirs.%1"),
        (read(folder .. "/theirs.c")))
    equal(c == read(folder .. "/gpt2_block.c"), true)
    equal(h == read(folder .. "/gpt2_block.h"), true)
    equal(m:dump("script"), output("dump graphs/gpt2_block.lua --after script" .. flags) .. "\n")
end)

it("a page explains a model", function()
    local m = crescent.model(function() return {y = exp(input("x", {64})) * param("w", {64})} end)
    m:explain(folder .. "/page.html", {bench = 0.02, check = true, inputs = {x = 0.5}})
    equal(read(folder .. "/page.html"):find("<html", 1, true) ~= nil, true)
    equal(m:explain(nil, {as = "json"}):sub(1, 1), "{")
    m:explain(folder .. "/page.json")
    equal(read(folder .. "/page.json"):sub(1, 1), "{")
    fails("option as: found x", m.explain, m, nil, {as = "x"})
    fails("option chek: not known", m.explain, m, nil, {chek = true})
end)

it("gradients", function()
    local square = 'local x = input("x", {2}); return {y = x * x * param("w", {2})}'
    local m = crescent.model(square, {grads = true})
    m:weight("w", crescent.tensor({2}, {1, 10}))
    local out, grads = m:run{x = {3, 4}}
    equal(out.y:totable(), crescent.tensor({2}, {9, 160}):totable())
    equal(grads.x:totable(), crescent.tensor({2}, {6, 80}):totable())
    equal(grads.w:totable(), crescent.tensor({2}, {9, 16}):totable())
    m = crescent.model(square, {cotangents = {"y"}, name = "square"})
    m:weight("w", {1, 1})
    out, grads = m:run({x = {3, 4}}, {y = {0, 2}})
    equal(grads.x:totable(), crescent.tensor({2}, {0, 16}):totable())
    equal(select(2, m:run{x = {3, 4}}).x:get(1), 6)
    fails("cotangent of z", m.run, m, {x = {3, 4}}, {z = {1, 1}})
end)

it("states are kept from run to run", function()
    local m = crescent.open("docs/session.lua", {entry = "decode"})
    equal(#m:states() > 0, true)
    local name = m:states()[1].name
    local state = m:state(name):fill(1)
    m:state(name, state)
    equal(m:state(name):bytes() == state:bytes(), true)
    m:reset()
    equal(m:state(name):bytes() == state:bytes(), false)
end)

it("weights from a string", function()
    local m, path = crescent.open("graphs/gpt2_block.lua", block), folder .. "/bytes.safetensors"
    local x = m:input("x", 7)
    m:draw(5):save(path)
    local n = crescent.open("graphs/gpt2_block.lua", block)
    equal(select(2, n:load_bytes(read(path), {strict = true})), 0)
    equal(n:run{x = x}.y:bytes() == m:run{x = x}.y:bytes(), true)
    fails("mine: 3 bytes", n.load_bytes, n, "abc", {name = "mine"})
end)

-- ---- mistakes ----

it("a mistake is the line that the program prints", function()
    local function same(command, ...) equal(fails("", ...), output(command)) end
    same("run graphs/gpt2_blok.lua", crescent.open, "graphs/gpt2_blok.lua")
    same("run graphs/gpt2_block.lua --set U=1", crescent.open, "graphs/gpt2_block.lua",
        {set = {U = 1}})
    same("run graphs/gpt2_block.lua --set n_head=7", crescent.open, "graphs/gpt2_block.lua",
        {set = {n_head = 7}})
    same("run graphs/gpt2_block.lua --isa none", crescent.open, "graphs/gpt2_block.lua",
        {isa = "none"})
    same("run graphs/gpt2_block.lua --weights none", crescent.open, "graphs/gpt2_block.lua",
        {weights = "none"})
    same("generate none", crescent.generator, "none")
end)

it("what a run is given must fit", function()
    local m = crescent.open("graphs/gpt2_block.lua", block)
    fails("z: no input of that name", m.run, m, {z = 1})
    fails("input x: found no tensor, expected one of f32 [2, 4, 12]", m.run, m, {})
    fails("input x: found shape [2], expected [2, 4, 12]", m.run, m, {x = crescent.tensor({2})})
    fails("input x: found 1 elements, expected 96", m.run, m, {x = {1}})
    fails("input x: found function", m.run, m, {x = print})
    local ids = crescent.model('return {y = input("i", {2}, "i32") + 1}')
    equal(ids:run{i = crescent.tensor({2}, {4, 5})}.y:get(2), 6)
    fails("1.5", ids.run, ids, {i = crescent.tensor({2}, 1.5)})
end)

it("options must be known", function()
    fails("option theads: not known", crescent.open, "graphs/gpt2_block.lua", {theads = 1})
    fails("backend x", crescent.open, "graphs/gpt2_block.lua", {backend = "x"})
    fails("threads 0", crescent.open, "graphs/gpt2_block.lua", {threads = 0})
    fails("option threads: found string", crescent.open, "graphs/gpt2_block.lua", {threads = "x"})
    fails("option set: found table", crescent.open, "graphs/gpt2_block.lua", {set = {T = {}}})
end)

it("a script has no way out", function()
    fails("model:1: 'os' is not defined", crescent.model, "os.exit(1)")
    fails("model: the script returned nothing", crescent.model, "return")
    fails("mine.lua:2:", crescent.model, "\nreturn nothing.x", {name = "mine.lua"})
    fails("model:1: the script takes more than", crescent.model, "while true do end")
end)

it("what is closed is not used", function()
    local m = crescent.model('return {y = input("x", {1}) + 1}')
    m:close()
    m:close()
    fails("closed", m.run, m, {})
    fails("expected", m.run, crescent.tensor({1}), {})
end)

it("the end of a scope closes", function()
    if _VERSION < "Lua 5.4" then return end
    local scope = assert(load [[
        local m = ...
        local model <close> = m
        return model:report().kernels]])
    local m = crescent.model('return {y = input("x", {1}) + 1}')
    equal(scope(m) > 0, true)
    fails("closed", m.run, m, {x = 1})
end)

it("the collector closes what nobody holds", function()
    for i = 1, 20 do
        local m = crescent.open("graphs/gpt2_block.lua", block)
        m:run{x = 0}
        m = nil
        collectgarbage()
    end
    collectgarbage("collect")
    local before = collectgarbage("count")
    for i = 1, 200 do crescent.tensor({1000, 1000}, 0) end
    collectgarbage("collect")
    equal(collectgarbage("count") < before + 100, true)
end)

-- ---- training ----

it("a training goes on from its checkpoint with the same bits", function()
    local path = folder .. "/state.safetensors"
    local t = crescent.trainer("graphs/train_add.lua", {threads = 1, set = {steps = 50}})
    local first = t:step()
    local last = t:step(20)
    equal(last < first, true)
    equal(t:status().step, 21)
    t:save(path)
    local there = t:step(5)
    local u = crescent.trainer("graphs/train_add.lua", {threads = 1, resume = path})
    equal(u:status().step, 21)
    equal(u:step(5), there)
    equal(crescent.trainer("graphs/train_add.lua"):resume(path):step(5), there)
    t:save_weights(folder .. "/trained.safetensors")
    equal(u:weight("output.bias"):bytes() == t:weight("output.bias"):bytes(), true)
    output("train graphs/train_add.lua --steps 21 --save " .. folder .. "/theirs.safetensors")
    local v = crescent.trainer("graphs/train_add.lua")
    v:step(21)
    v:save_weights(folder .. "/ours.safetensors")
    equal(read(folder .. "/ours.safetensors") == read(folder .. "/theirs.safetensors"), true)
end)

it("a training is fed from memory", function()
    local text = 'local x, w = input("x", {2}), param("w", {2})\n' ..
        'return {w = w - x, loss = sum(x, 1):reshape{}}'
    local t = crescent.trainer("steps", {text = text})
    fails("x", t.step, t)
    local w = crescent.trainer("steps", {text = text}):feed{x = {1, 2}}
    local before = w:weight("w"):totable()
    equal(w:step(), 3)
    equal(floor((before[2] - w:weight("w"):get(2)) * 1000 + 0.5), 2000)
    fails("no input of that name", w.feed, w, {z = {1, 2}})
    fails("found 3 elements", w.feed, w, {x = {1, 2, 3}})
end)

it("a training is validated", function()
    local script, x = folder .. "/steps.lua", folder .. "/x.npy"
    local file = assert(io.open(script, "w"))
    file:write('local x, w = input("x", {2}), param("w", {2}, {fill = 1})\n',
        'return {w = w - x, loss = sum(w * x, 1):reshape{}, batches = param("b", {3, 2}, {fill = 2}) * 1}\n')
    file:close()
    output("run " .. script .. " --output batches=" .. x)
    local t = crescent.trainer(script):feed{x = {1, 2}}
    fails("validat", t.validate, t)
    t:validation{x = x}
    equal(t:validate(), 4)
    equal(t:status().validation, 4)
    equal(t:step(), 3)
end)

-- ---- text ----

it("a generator says what the program says", function()
    local g = crescent.generator("graphs/fables", {threads = 1})
    local pieces, ids = {}, {}
    local text, all = g:generate("The fox", {
        tokens = 12, temperature = 0.7, top_k = 20, top_p = 0.9, seed = 3,
        on_token = function(piece, id) pieces[#pieces + 1], ids[#ids + 1] = piece, id end,
    })
    local sampling = " --tokens 12 --temperature 0.7 --top-k 20 --top-p 0.9 --seed 3"
    equal(text, output("generate graphs/fables --prompt 'The fox'" .. sampling))
    equal(table.concat(pieces), text)
    equal(all, ids)
    equal(table.concat(all, " "), output("generate graphs/fables --ids --prompt 'The fox'" .. sampling))
    equal(g:generate(nil, {tokens = 5}), output("generate graphs/fables --tokens 5"))
    local tokenizer = crescent.tokenizer("graphs/fables")
    local prompt = tokenizer:encode("The fox")
    equal(select(2, g:generate(prompt, {tokens = 3})), select(2, g:generate("The fox", {tokens = 3})))
    equal(#g:logits(), g:report().vocabulary)
end)

it("a generator maps weights that are kept", function()
    local pattern = os.getenv "XDG_CACHE_HOME" .. "/crescent/*.weights"
    local function count()
        local files = io.popen("ls " .. pattern .. " 2>/dev/null | wc -l")
        return tonumber(files:read("*a")), files:close()
    end
    local read = crescent.generator("graphs/fables", {format = "q8"}):generate("The fox", {tokens = 9})
    equal((count()), 0)
    for _ = 1, 2 do
        local g = crescent.generator("graphs/fables", {format = "q8", cache_weights = 1e9})
        equal((g:generate("The fox", {tokens = 9})), read)
        equal((count()), 1)
    end
    equal(os.execute("rm " .. pattern) ~= nil, true)
    crescent.generator("graphs/fables", {format = "q8"}):close()
    equal((count()), 0)
    fails("option cache_weights: found -1, expected a number of bytes", crescent.generator, "graphs/fables",
        {cache_weights = -1})
end)

-- What the loop makes, and its ids.
local function loop(g, prompt, options)
    local pieces, ids = {}, {}
    for piece, id in g:each(prompt, options) do
        pieces[#pieces + 1], ids[#ids + 1] = piece, id
    end
    return table.concat(pieces), ids, #pieces
end

it("a loop over pieces makes the text of a call", function()
    local g = crescent.generator("graphs/fables", {threads = 1})
    for _, options in ipairs{{tokens = 30}, {tokens = 30, temperature = 0.9, seed = 3}, {tokens = 0}, {}} do
        local text, ids = g:generate("Once upon a time", options)
        local found, found_ids, n = loop(g, "Once upon a time", options)
        equal(found, text)
        equal(found_ids, ids)
        equal(n >= #ids, true)
    end
    for _ in g:each("", {tokens = 9}) do break end
    equal(g:report().used, 1) -- a token goes through the model when the next one is asked for
    equal(loop(g, "", {tokens = 5}), "Once upon a time,")
    equal(loop(g, {1, 2}, {tokens = 4}), (g:generate({1, 2}, {tokens = 4})))
end)

it("the body of a loop yields", function()
    local g = crescent.generator("graphs/fables", {threads = 1})
    local text = g:generate("The", {tokens = 12})
    local next_piece = coroutine.wrap(function()
        for piece in g:each("The", {tokens = 12}) do coroutine.yield(piece) end
        return nil
    end)
    local pieces = {}
    for piece in next_piece do pieces[#pieces + 1] = piece end
    equal(table.concat(pieces), text)
    local other = crescent.generator("graphs/fables", {threads = 1})
    local a, b = g:each("The", {tokens = 12}), other:each("The", {tokens = 12})
    for i = 1, 12 do equal(a(), (b())) end -- in turns
    collectgarbage()
    equal((a()), nil)
    equal((a()), nil)
end)

it("a loop whose generator went on without it says so", function()
    local g = crescent.generator("graphs/fables", {threads = 1})
    local first = g:each("The")
    first()
    local second = g:each("A")
    fails("has begun another text", first)
    second()
    g:generate("A", {tokens = 1})
    fails("has begun another text", second)
    fails("found the option on_token of generate", g.each, g, "A", {on_token = print})
    fails("option token: not known", g.each, g, "A", {token = 1})
    local third = g:each("A")
    g:close()
    fails("the generator is closed, expected an open one", third)
end)

it("an error has fields, and is its line as a string", function()
    local line
    local good, err = pcall(function()
        line = debug.getinfo(1, "l").currentline + 1
        crescent.open("none.lua")
    end)
    equal(good, false)
    equal(type(err), "table")
    equal(err.message, "none.lua: cannot be read: No such file or directory")
    equal(err.file, "tests/lua/module_spec.lua")
    equal(err.line, line)
    equal(err.script, nil)
    equal(tostring(err), "crescent: " .. err.message .. " (called at " .. err.file .. ":" .. line .. ")")
    equal(err:find("cannot be read", 1, true), 21)
    equal(#err:upper(), #tostring(err))
    equal("! " .. err .. " !", "! " .. tostring(err) .. " !")
    equal(err.nothing, nil)
    equal(select(2, pcall(error, err)) == err, true)

    good, err = pcall(crescent.model, "local x = input('x', {2})\nreturn {y = x + y}", {name = "mine.lua"})
    equal({err.script, err.script_line}, {"mine.lua", 2})
    equal(err.message:find("mine.lua:2: ", 1, true), 1)

    good, err = pcall(crescent.generator("graphs/fables").generate, crescent.generator("graphs/fables"), 5)
    equal(err.message, "generate: found number, expected a text, or a table of ids")
    good, err = pcall(coroutine.wrap(function() crescent.open("none.lua") end))
    equal(tostring(err):find("module_spec.lua:", 1, true) ~= nil, true)
    equal(type(select(2, pcall(crescent.open))), "string")
end)

it("a generator as C is the program's", function()
    local options = {set = {}, context = 40}
    local command = "emit graphs/fables --generate --context 40 -o " .. folder .. "/generator.c"
    output(command)
    local c, h = crescent.emit_generator("graphs/fables", options)
    equal(c == read(folder .. "/generator.c"), true)
    equal(h == read(folder .. "/generator.h"), true)
    crescent.emit_generator("graphs/fables", {context = 40, embed = true, out = folder .. "/ours.c"})
    output(command:gsub("generator%.c", "packed.c") .. " --embed")
    equal(read(folder .. "/ours.weights") == read(folder .. "/packed.weights"), true)
    fails("found string", crescent.emit_generator, "graphs/fables", {embed = "x"})
    fails("ends in .c", crescent.emit_generator, "graphs/fables", {out = "x"})
end)

it("a generator of a text", function()
    local text = read("graphs/gpt2.lua")
    local options = {set = {n_layer = 1, n_embd = 16, n_head = 2, vocab_size = 50, n_positions = 20}}
    local first = select(2, crescent.generator("graphs/gpt2.lua", options):generate({1, 2}, {tokens = 4}))
    options.text = text
    local same = select(2, crescent.generator("graphs/gpt2.lua", options):generate({1, 2}, {tokens = 4}))
    equal(#same, 4)
    equal(same, first)
end)

it("a callback ends a text, by false or by an error", function()
    local g = crescent.generator("graphs/fables")
    local n = 0
    local _, ids = g:generate("", {on_token = function() n = n + 1; return n < 3 end})
    equal(#ids, 3)
    fails("enough", g.generate, g, "", {on_token = function() error("enough", 0) end})
    fails("in use", g.generate, g, "", {on_token = function() g:close() end})
    fails("in use", g.generate, g, "", {on_token = function() g:generate("") end})
    equal(#select(2, g:generate("", {tokens = 4})), 4)
    fails("option top", g.generate, g, "", {top = 1})
    fails("expected a text", g.generate, g, print)
    fails("ids: found 1.5", g.generate, g, {1.5})
    fails("top_p", g.generate, g, "", {top_p = 2})
end)

it("a tokenizer", function()
    local t = crescent.tokenizer("graphs/fables")
    local ids = t:encode("The fox and the crow")
    equal(table.concat(ids, " "), output("tokenize graphs/fables --text 'The fox and the crow'"))
    equal(t:decode(ids), "The fox and the crow")
    equal(t:token(ids[2]) ~= nil, true)
    equal(t:id(t:token(ids[2])), ids[2])
    equal(t:id("no such token"), nil)
    equal(#t:encode("x", {framed = false}) <= #t:encode("x"), true)
    fails("UTF-8", t.encode, t, "\255")
end)

it("an embedder", function()
    local bert = folder .. "/bert"
    os.execute("mkdir " .. bert .. " && cp tests/tokenizers/bert_uncased.json " .. bert .. "/tokenizer.json")
    local config = assert(io.open(bert .. "/config.json", "w"))
    config:write('{"model_type": "bert", "vocab_size": 420, "hidden_size": 16, "num_attention_heads": 2, ' ..
        '"intermediate_size": 32, "num_hidden_layers": 1, "max_position_embeddings": 40}')
    config:close()
    local m = crescent.open("graphs/bert.lua", {config = bert .. "/config.json", keep = true, seed = 3})
    m:save(bert .. "/model.safetensors")
    local e = crescent.embedder(bert, {pooling = "cls", normalize = true, max_length = 8})
    local facts = e:facts()
    equal({facts.dimensions, facts.max_length, facts.pooling, tostring(facts.normalized)}, {16, 8, "cls", "true"})
    local v, n = e:embed("the graph")
    local numbers = {}
    for i = 1, #v do numbers[i] = ("%.9g"):format(v[i]) end
    equal("[" .. table.concat(numbers, ", ") .. "]",
        output("embed " .. bert .. " --text 'the graph' --pooling cls --normalize --max-length 8"))
    equal(n, #crescent.tokenizer(bert):encode("the graph"))
    equal(select(2, e:embed(("word "):rep(100))), 8)
    fails("option cache_weights: found -1, expected a number of bytes", crescent.embedder, bert,
        {cache_weights = -1})
    fails("option pooling: found 'sum'", crescent.embedder, bert, {pooling = "sum"})
    fails("expected none", crescent.embedder, bert, {grads = true})
    e:close()
    fails("closed", e.embed, e, "x")
end)

it("an embedder takes any text", function()
    local model = "tests/fixtures/embed_qwen3"
    local e = crescent.embedder(model)
    for _, text in ipairs {"", ("a"):rep(1000000), ("the graph "):rep(100000), "\255\254", "a\0b"} do
        local file = assert(io.open(folder .. "/text.txt", "w"))
        file:write(text, "\n")
        file:close()
        local v = e:embed(text)
        local numbers = {}
        for i = 1, #v do numbers[i] = ("%.9g"):format(v[i]) end
        equal("[" .. table.concat(numbers, ", ") .. "]",
            output("embed " .. model .. " " .. folder .. "/text.txt"):match("%[[^\n]*%]"))
    end
    fails("bad argument", e.embed, e)
    fails("bad argument", e.embed, e, {})
end)

it("rows of a file are vectors of lines", function()
    local model, rows, said = "tests/fixtures/embed_qwen3", {}, nil
    local e = crescent.embedder(model)
    for line in io.lines(model .. "/texts.txt") do rows[#rows + 1] = e:embed(line):bytes() end
    said = output(("embed %s %s/texts.txt -o %s/v.npy --stats"):format(model, model, folder))
    equal(said:match("^(.-), "), "5 texts")
    local file = read(folder .. "/v.npy")
    equal(file:sub(-5 * 24 * 4), table.concat(rows))
    equal(file:match("'shape': (%b())"), "(5, 24)")
    equal(output(("embed %s /dev/null -o %s/none.npy --stats"):format(model, folder)), "")
    equal(read(folder .. "/none.npy"):match("'shape': (%b())"), "(0, 24)")
end)

it("a reranker and a classifier", function()
    local texts = {"What is fused?", "A kernel is a fused kernel"}
    local e = crescent.embedder("tests/fixtures/embed_llama_rank", {classify = true})
    equal(e:labels(), {"LABEL_0"})
    local document = assert(io.open(folder .. "/document.txt", "w"))
    document:write(texts[2] .. "\n")
    document:close()
    local listing = output("rank tests/fixtures/embed_llama_rank " .. folder .. "/document.txt --query '" ..
        texts[1] .. "'")
    equal(("%.9g 1"):format(e:embed(texts[1], texts[2])[1]), listing)
    e = crescent.embedder("tests/fixtures/embed_qwen3_classes", {classify = true})
    equal(#e:labels(), 3)
    local p, logits = e:embed(texts[2]), nil
    e = crescent.embedder("tests/fixtures/embed_qwen3_classes", {classify = "logits"})
    logits = e:embed(texts[2])
    equal(("%.5f"):format(p[1] / p[2]), ("%.5f"):format(math.exp(logits[1] - logits[2])))
    equal(#crescent.embedder("tests/fixtures/embed_qwen3"):labels(), 0)
    fails("found a single text, expected a question and a document", function()
        local judge = crescent.embedder("tests/fixtures/embed_qwen3_score", {classify = true})
        equal(judge:facts().pairs, true)
        judge:embed("a")
    end)
    fails("found a reranking decoder (LogitScore), expected a model of vectors", crescent.embedder,
        "tests/fixtures/embed_qwen3_score")
    fails("no tensor 'score.weight'", crescent.embedder, "tests/fixtures/embed_qwen3", {classify = true})
    fails("graphs/bert.lua: found a file, expected the folder of a model", crescent.embedder, "graphs/bert.lua")
    fails("nowhere: cannot be read: No such file or directory", crescent.embedder, "nowhere")
    fails("option classify: found scores, expected true, false or \"logits\"", crescent.embedder,
        "tests/fixtures/embed_qwen3_classes", {classify = "scores"})
    fails("bad argument", e.embed, e, "a", {})
end)

it("a tokenizer lays pairs of texts", function()
    local t = crescent.tokenizer("tests/tokenizers/bert_uncased.json")
    local ids, segments = t:encode("The graph", {pair = "A compiler"})
    equal(table.concat(ids, " ") .. "\n" .. table.concat(segments, " "),
        output("tokenize tests/tokenizers/bert_uncased.json --text 'The graph' --pair 'A compiler' --segments"))
    equal(#t:encode("The graph", {pair = "A compiler", max_length = 6}), 6)
    fails("found a limit of 2 tokens, expected at least the 3", t.encode, t, "a", {pair = "b", max_length = 2})
    fails("option pair: found table, expected a string", t.encode, t, "a", {pair = {}})
end)

it("keys of a config.json are passed over", function()
    local path = folder .. "/config.json"
    local file = assert(io.open(path, "w"))
    file:write '{"num_experts": 8, "hidden_size": 32, "zebra": 1}'
    file:close()
    fails("num_experts 8", crescent.open, "graphs/llama.lua", {config = path})
    fails("no such key", crescent.open, "graphs/llama.lua", {config = path, ignore_config = "experts"})
    for _, keys in ipairs {"num_experts", {"num_experts", "zebra"}} do
        local m = crescent.open("graphs/llama.lua", {config = path, ignore_config = keys})
        equal(m:weight("model.norm.weight").shape, {32})
    end
end)

-- ---- the host ----

it("the host's globals and hooks are as they were", function()
    for name, value in pairs(_G) do equal(globals[name], value) end
    for name, value in pairs(globals) do equal(_G[name], value) end
    equal(debug.gethook(), nil)
end)

it("a module that is loaded again, and a coroutine", function()
    local before = crescent.tensor({1}, 2)
    package.loaded.crescent = nil
    local again = require "crescent"
    local m = again.model('return {y = input("x", {1}) * 3}')
    local run = coroutine.wrap(function() coroutine.yield(m:run{x = before}.y[1]) end)
    equal(run(), 6)
end)
