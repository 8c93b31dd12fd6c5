-- ldoc_spec.lua - docs/api/crescent.lua, the comments for LDoc: every function of the module has one, and
-- every comment is of one.
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
