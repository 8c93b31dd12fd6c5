-- Searches a folder of Markdown for the sections that mean most nearly what is asked:
--     lua docs/search_folder.lua MODEL FOLDER QUERY
-- MODEL is the folder of an encoder (docs/embed.md).  As a module: require("search_folder").open(MODEL, FOLDER).
local crescent = require "crescent"
local search = {}
search.__index = search

-- An iterator of the paths of all Markdown below a folder.
local function files(folder)
    return assert(io.popen("find '" .. folder:gsub("'", "'\\''") .. "' -name '*.md' | LC_ALL=C sort")):lines()
end

-- Calls take with each section of a file: a heading, and the text up to the next one.
local function each_section(path, take)
    local section, number, code = {path = path, line = 1, heading = path, text = ""}, 0, false
    for line in io.lines(path) do
        number = number + 1
        if line:sub(1, 3) == "```" then code = not code end
        local heading = not code and line:match("^#+ +(.*)")
        if heading then
            if section.text:find("%S") then take(section) end
            section = {path = path, line = number, heading = heading, text = ""}
        else
            section.text = section.text .. line .. "\n"
        end
    end
    if section.text:find("%S") then take(section) end
end

-- Makes the vectors of all sections, by the model's prompt for documents, and opens it with that for queries.
function search.open(model, folder)
    local s, documents = setmetatable({}, search), crescent.embedder(model, {normalize = true, role = "document"})
    for path in files(folder) do
        each_section(path, function(section)
            section.vector = documents:embed(section.heading .. "\n" .. section.text):totable()
            s[#s + 1] = section
        end)
    end
    documents:close()
    s.query = crescent.embedder(model, {normalize = true, role = "query"})
    return s
end

-- The n best sections for a query, each with its cosine.
function search:find(query, n)
    local wanted, found = self.query:embed(query):totable(), {}
    for i, section in ipairs(self) do
        local cosine = 0
        for j = 1, #wanted do cosine = cosine + wanted[j] * section.vector[j] end
        found[i] = {cosine = cosine, number = i, section = section}
    end
    table.sort(found, function(a, b) return a.cosine > b.cosine or a.cosine == b.cosine and a.number < b.number end)
    for i = n + 1, #found do found[i] = nil end
    return found
end

if not (arg and arg[0] and arg[0]:find("search_folder.lua$")) then return search end
for _, f in ipairs(search.open(arg[1], arg[2]):find(arg[3], 5)) do
    print(("%.3f  %s:%d  %s"):format(f.cosine, f.section.path, f.section.line, f.section.heading))
end
