-- check.lua - what the specs of the Lua module have in common: `equal` and `fails`, which raise.
local check = {}

-- Two values, or two lists of them, are the same.
function check.equal(found, expected)
    if type(found) == "table" and type(expected) == "table" then
        found, expected = table.concat(found, " "), table.concat(expected, " ")
    end
    if found ~= expected then
        error("found " .. tostring(found) .. ", expected " .. tostring(expected), 2)
    end
end

-- A call raises an error of one line with the text in it; returns the line, without where the call is.
function check.fails(text, f, ...)
    local good, message = pcall(f, ...)
    if good then error("no error, expected one with '" .. text .. "'", 2) end
    local line = type(message) == "table" and "crescent: " .. message.message
    message = tostring(message)
    if message:find("\n") or not message:find(text, 1, true) then
        error("the error '" .. tostring(message) .. "', expected one with '" .. text .. "'", 2)
    end
    return line or message
end

return check
