-- little_memory.lua - graphs of functions where memory ends: errors, after which the state is good.
local crescent = require "crescent"
local function build(c)
    local x = input("x", {8})
    for i = 1, 20000 do x = x + i end
    return {y = x}
end
local good, message = pcall(crescent.model, build)
if not good then print(message) end
good, message = pcall(crescent.model, function() return {y = input("x", {1}) + 1} end)
if not good then print(message) end
print(#tostring(print) > 0 and input == nil and "still good")
