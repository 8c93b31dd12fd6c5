-- ldoc_spec.lua - docs/api/crescent.lua, the comments for LDoc, and docs/api/luals/crescent.lua, the annotations for
-- LuaLS: every function of the module has one, and each is of one.
local crescent = require "crescent"
local check = dofile "tests/lua/check.lua"

-- "tensor", "Tensor:get", ... of the module as it is.
local function functions()
    local names = {}
    for name, value in pairs(crescent) do
        if type(value) == "function" then names[name] = true end
    end
    for class, meta in pairs(debug.getregistry()) do
        local name = type(class) == "string" and class:match("^crescent%.(%a+)$")
        for method in pairs(name and type(meta) == "table" and meta.methods or {}) do
            names[name:sub(1, 1):upper() .. name:sub(2) .. ":" .. method] = true
        end
    end
    return names
end

it("every function has its comment, and every comment its function", function()
    local there, seen, lines = functions(), {}, {}
    local summary
    for line in io.lines("docs/api/crescent.lua") do
        summary = line:match("^%-%-%- (.+)") or summary
        local name = line:match("^%-%- @function (.+)$")
        if name then
            check.equal(seen[name], nil)
            check.equal(summary ~= nil and summary:match("%.$") ~= nil, true)
            seen[name], summary = true, nil
        end
    end
    for name in pairs(there) do if not seen[name] then lines[#lines + 1] = "no comment of " .. name end end
    for name in pairs(seen) do if not there[name] then lines[#lines + 1] = "no function " .. name end end
    table.sort(lines)
    check.equal(table.concat(lines, "; "), "")
end)

local annotations = "docs/api/luals/crescent.lua"

it("every function has its annotation, with the arguments that it names, and every annotation its function", function()
    local there, seen, lines, named = functions(), {}, {}, {}
    for line in io.lines(annotations) do
        local argument = line:match("^%-%-%-@param ([%w_.]+)")
        named[#named + 1] = argument
        local class, method, arguments = line:match("^function (%a+)[.:]([%w_]+)%((.-)%) end$")
        if class then
            local name = class == "crescent" and method or class .. ":" .. method
            check.equal(seen[name], nil)
            check.equal(table.concat(named, ", "), arguments)
            seen[name], named = true, {}
        end
    end
    for name in pairs(there) do if not seen[name] then lines[#lines + 1] = "no annotation of " .. name end end
    for name in pairs(seen) do if not there[name] then lines[#lines + 1] = "no function " .. name end end
    table.sort(lines)
    check.equal(table.concat(lines, "; "), "")
    check.equal(type(dofile(annotations).open), "function") -- it is Lua
end)

-- The fields of a class of the annotations, and of the one that it extends, sorted.
local function fields(class)
    local list, within, parent = {}, false, nil
    for line in io.lines(annotations) do
        local name, base = line:match("^%-%-%-@class crescent%.(%a+):? ?c?r?e?s?c?e?n?t?%.?(%a*)$")
        if name then
            within = name == class
            parent = within and base ~= "" and base or parent
        end
        list[#list + 1] = within and line:match("^%-%-%-@field ([%w_]+)%?") or nil
    end
    for _, field in ipairs(parent and fields(parent) or {}) do list[#list + 1] = field end
    table.sort(list)
    return list
end

-- The options that a function knows, as it says of one that it does not.
local function options_of(f, ...)
    local list = {}
    local good, err = pcall(f, ...)
    for name in err.message:match("expected one of (.*)$"):gmatch("[%w_]+") do list[#list + 1] = name end
    table.sort(list)
    return list
end

it("the annotations have the options that functions take", function()
    local wrong = {none = 1}
    local script = "return {loss = sum(param('w', {2}), 1):reshape{}, w = param('w', {2}) * 2}"
    local generator, tokenizer = crescent.generator("graphs/fables"), crescent.tokenizer("graphs/fables")
    local model = crescent.model(script)
    check.equal(options_of(crescent.open, "graphs/tiny_block.lua", wrong), fields("Options"))
    check.equal(options_of(crescent.model, script, wrong), fields("ModelOptions"))
    check.equal(options_of(crescent.trainer, "x.lua", wrong), fields("TrainerOptions"))
    check.equal(options_of(crescent.generator, "graphs/fables", wrong), fields("GeneratorOptions"))
    check.equal(options_of(crescent.emit_generator, "graphs/fables", wrong), fields("GeneratorSourceOptions"))
    check.equal(options_of(generator.generate, generator, "", wrong), fields("GenerateOptions"))
    check.equal(options_of(crescent.embedder, "graphs/fables", wrong), fields("EmbedderOptions"))
    check.equal(options_of(tokenizer.encode, tokenizer, "", wrong), fields("EncodeOptions"))
    check.equal(options_of(tokenizer.decode, tokenizer, {1}, wrong), fields("DecodeOptions"))
    check.equal(options_of(model.load, model, "x", wrong), fields("LoadOptions"))
    check.equal(options_of(model.load_bytes, model, "x", wrong), fields("LoadBytesOptions"))
end)
