-- page_spec.lua - the session of docs/lua.md: each line behind "> " prints what stands below it.
local check = dofile "tests/lua/check.lua"
local load_text = loadstring or load
local seen = 0

-- What an interpreter prints of a line: its values, or its error.
local function evaluate(line)
    local chunk = load_text("return " .. line, "=stdin") or assert(load_text(line, "=stdin"))
    local values = {pcall(chunk)}
    for i = 1, #values do values[i] = tostring(values[i]) end
    return table.concat(values, "\t", 2)
end

local line, expected, within
local function look()
    if not line then return end
    local input, output = line, table.concat(expected, "\n")
    it("docs/lua.md: " .. input, function() check.equal(evaluate(input), output) end)
    seen = seen + 1
end

for text in io.lines("docs/lua.md") do
    if text:match("^```") then
        look()
        within, line = text == "```lua", nil
    elseif within and text:match("^> ") then
        look()
        line, expected = text:sub(3), {}
    elseif within then
        expected[#expected + 1] = text
    end
end
it("there is a session", function() check.equal(seen, 15) end)
