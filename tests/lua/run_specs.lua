-- run_specs.lua SPEC... - runs specs where there is no busted, as it does: `it` of each name, in their
-- order.  Prints "ok" or "not ok" for each.
local failed = 0

function describe(_, body) body() end

function it(name, body)
    local good, message = xpcall(body, debug.traceback)
    if not good then failed = failed + 1 end
    print((good and "ok" or "not ok") .. " - " .. name .. (good and "" or "\n    " .. tostring(message)))
end

for i = 1, #arg do dofile(arg[i]) end
os.exit(failed == 0 and 0 or 1)
