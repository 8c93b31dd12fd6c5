-- check.lua - what the tests of the Lua module have in common: `test` counts, `equal` and `fails`
-- raise; `conclude` prints "N passed, M failed" and ends with the status of it.
local check = {}
local passed, failed = 0, 0

-- Runs a test; an error in it is a failure.
function check.test(name, body)
    local good, message = xpcall(body, debug.traceback)
    passed, failed = passed + (good and 1 or 0), failed + (good and 0 or 1)
    if not good then print("FAILED: " .. name .. "\n    " .. tostring(message)) end
end

-- Two values, or two lists of them, are the same.
function check.equal(found, expected)
    if type(found) == "table" and type(expected) == "table" then
        found, expected = table.concat(found, " "), table.concat(expected, " ")
    end
    if found ~= expected then
        error("found " .. tostring(found) .. ", expected " .. tostring(expected), 2)
    end
end

-- A call raises an error of one line with the text in it; returns the line.
function check.fails(text, f, ...)
    local good, message = pcall(f, ...)
    if good then error("no error, expected one with '" .. text .. "'", 2) end
    if type(message) ~= "string" or message:find("\n") or not message:find(text, 1, true) then
        error("the error '" .. tostring(message) .. "', expected one with '" .. text .. "'", 2)
    end
    return message
end

function check.conclude()
    print(passed .. " passed, " .. failed .. " failed")
    os.exit(failed == 0 and passed > 0, true) -- the state is closed
end

return check
