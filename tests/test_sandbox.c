/* test_sandbox.c - the limits of scripts: resources, what they can change and read, and what they
 * print. */
#include <check.h>
#include <fcntl.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compiler/frontend/script.h"
#include "compiler/ir/escape.h"

enum { MAX_TEXT = 1 << 16, MAX_OVER = 3 /* seconds beyond the limit */ };

static char folder[] = "/tmp/crescent_sandbox_XXXXXX";

/* Limits that are small, so that the tests are fast. */
static const struct cr_limits small = {
    .memory = 16 << 20, .seconds = 0.1, .instructions = 200000000};

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Runs t.lua with its output in the file "printed".  Returns the status. */
static int run(const struct cr_limits *limits, struct cr_error *error)
{
    struct cr_script script;
    int old = dup(STDERR_FILENO);
    fflush(stderr);
    ck_assert_ptr_nonnull(freopen(path_of("printed"), "wb", stderr));
    int status = cr_script_run(&(struct cr_script_source){.path = path_of("t.lua"), .limits = limits},
                               NULL, 0, &script, error);
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
    if (status == 0)
        cr_script_free(&script);
    return status;
}

/* Runs a script that must stay within the limits.  It may take a minute of elapsed time, as the
 * machine may be busy, but only the limit of processor time. */
static void must_run(const char *text)
{
    struct cr_limits limits = cr_default_limits;
    struct cr_error error = {""};
    double before = processor_time();
    limits.seconds = 60;
    write_text("t.lua", text);
    ck_assert_msg(run(&limits, &error) == 0, "%s\n  %s", text, error.text);
    ck_assert_double_lt(processor_time() - before, cr_default_limits.seconds);
}

/* Runs a script that must fail with an error that, after the folder's name, begins as expected. */
static void must_fail(const struct cr_limits *limits, const char *text, const char *expected)
{
    struct cr_error error = {""};
    size_t length = strlen(folder) + 1;
    write_text("t.lua", text);
    ck_assert_msg(run(limits, &error) != 0, "ran: %.200s", text);
    ck_assert_msg(strncmp(error.text + length, expected, strlen(expected)) == 0,
                  "%.200s\n  found:    %s\n  expected: %s", text, error.text + length, expected);
}

/* Runs a script that must stop soon after the limit of time, unless the expected error is about
 * another limit. */
static void must_stop(const char *text, const char *expected)
{
    struct cr_limits limits = small;
    if (strstr(expected, "MB"))
        limits.seconds = cr_default_limits.seconds;
    double start = processor_time();
    must_fail(&limits, text, expected);
    double time = processor_time() - start;
    ck_assert_msg(time < limits.seconds + MAX_OVER, "%.200s\n  took %g seconds", text, time);
}

static const char *printed(void)
{
    static char text[MAX_TEXT];
    FILE *file = fopen(path_of("printed"), "rb");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* ---- Limits ------------------------------------------------------------------------- */

#define PASSED "t.lua:1: the script takes more than "
#define LONG "local s, n = ('x'):rep(2^20 - 64) "
#define FULL "local t = {} for i = 1, 4000 do t[i] = i end "

/* Scripts that exceed a limit, and the beginning of the error. */
static const struct limit_case {
    const char *text, *error;
} limit_cases[] = {
    /* instructions of Lua alone */
    {"while true do end", PASSED},
#if LUA_VERSION_NUM > 501 || __has_include(<luajit.h>)
    {"::a:: goto a", PASSED},
#endif
    {"repeat local f = function() end until false", PASSED},
    {"local function f() return f() end f()", "t.lua:1: "},
    {"local m = {__index = function(t, k) return k end} local t = setmetatable({}, m) "
     "while true do local x = t.a end",
     PASSED},
    /* long strings: comparison, concatenation, conversion */
    {LONG "local a, b = s .. 'a', s .. 'b' while true do n = a == b n = a < b end", PASSED},
    {"local s = ('\\0'):rep(2^20 - 64) local a, b, n = s .. 'a', s .. 'b' "
     "while true do n = a < b n = a < b n = a < b n = a < b n = a < b n = a < b end",
     PASSED},
    {LONG "while true do n = s .. 'a' n = s .. 'b' n = s .. 'c' end", PASSED},
    {LONG "while true do s:lower() s:upper() s:reverse() s:sub(2) end", PASSED},
    {LONG "while true do s:rep(1) end", PASSED},
    {"while true do (''):rep(2^20, '') end", PASSED},
    {LONG "while true do string.format('%s', s) end", PASSED},
    {LONG "while true do string.format('%-99s', s) end", PASSED},
    {LONG "while true do tostring(s) print(s) end", "t.lua:1: "},
    {"local s = ('1'):rep(2^20 - 64) while true do tonumber(s) end", PASSED},
    {"local s = '0.' .. ('0'):rep(2^20 - 64) .. '1' while true do tonumber(s) end", PASSED},
    {"local s = ('x'):rep(2^17) while true do s:byte(1, -1) end", "t.lua:1: "},
    {"local k, q = ('x'):rep(2^20 - 64) .. 'a', ('x'):rep(2^20 - 64) .. 'a' local t = {} "
     "for i = 1, 1900 do local u = {} u[q] = 1 u[q] = nil t = setmetatable(u, {__index = t}) end "
     "while true do local x = t[k] x = t[k] x = t[k] x = t[k] x = t[k] x = t[k] end",
     "t.lua:1: "},
    /* long lists */
    {"local b = ('x'):rep(2^18) local s, t = {}, {} for i = 1, 20 do s[i] = b .. i end "
     "for i = 1, 1e5 do t[i] = s[i % 20 + 1] end while true do table.sort(t) end",
     PASSED},
    {FULL "while true do table.sort(t, function(a, b) return a > b end) end", PASSED},
    {FULL "table.sort(t, function(a, b) while true do end end)", PASSED},
    {"local t = {} for i = 1, 2e5 do t[i] = -i end while true do table.sort(t) end", PASSED},
    {"local t = {} for i = 1, 1e9 do table.insert(t, 1, i) end", PASSED},
    {"local t = {} for i = 1, 5e5 do t[i] = i end while true do table.remove(t, 1) t[#t + 1] = 1 "
     "end",
     PASSED},
    {"local t = {} for i = 1, 5e5 do t[i] = '' end while true do table.concat(t) end", PASSED},
    {FULL "while true do table.concat(t, ',') end", PASSED},
    {FULL "while true do select('#', unpack(t)) end", PASSED},
    {FULL "local function f(...) while true do local x = {...} end end f(unpack(t))", PASSED},
    {FULL "local f = ('%.99f'):rep(4000) while true do string.format(f, unpack(t)) end", PASSED},
    {FULL "for i = 1, 4000 do t[i] = 65 end while true do string.char(unpack(t)) end", PASSED},
    {FULL "while true do math.max(unpack(t)) end", PASSED},
    {"local function f(n, ...) return f(n + 1, n, ...) end f(1)", "t.lua:1: "},
    /* tables */
    {"local b = ('1'):rep(2^14) local t = {} for i = 1, 100 do t[b .. i] = 1 end "
     "while true do pairs(t) end",
     PASSED},
    {"local t = {} for i = 1, 5e5 do t[i] = 1 end for i = 1, 5e5 do t[i] = nil end "
     "while true do pairs(t) end",
     PASSED},
    {"local t = {} for i = 1, 5e5 do t[i] = 1 end for i = 1, 5e5 do t[i] = nil end "
     "while true do input('x', t) end",
     PASSED},
    {"local t = {} for i = 1, 3e4 do t['k' .. i] = i end "
     "while true do for k, v in pairs(t) do end end",
     PASSED},
    /* a table that grows; a table whose keys all have the same hash */
    {"local m, t = 2^18 - 1, {} if #tostring(2^53) > 16 then m = 262143 end "
     "for i = 1, 2^17 + 1 do t[i * m] = 1 end",
     PASSED},
    {"local m, t = 262143, {} for i = 1, 131073 do t[i * m] = 1 end", PASSED},
    {"local t = {} for i = 1, 1e6 do t['k' .. i] = i end", PASSED},
    /* memory */
    {"local t = {} for i = 1, 1e9 do t[i] = {i} end", PASSED},
    {"local s = 'x' while true do s = s .. s end", PASSED},
    {"local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1e5) .. i end", PASSED "16 MB"},
    {"local t = {} for i = 1, 1e9 do t = {t} end", PASSED},
    {"while true do local t = {{}, {}, {}} end", PASSED},
    {"local t = {} for i = 1, 255 do t['o' .. i] = ('x'):rep(2^20 - i) end options(t)", PASSED},
    /* the graph's memory counts, and so does the work of making it */
    {"local s = ('x'):rep(4000) for i = 1, 1e9 do at(s .. i, 1, '') end", PASSED "16 MB"},
    {"while true do at(('x'):rep(4000), 1, '') end", PASSED},
    {"at(('x'):rep(2^20 - 64), 1, '')",
     "t.lua:1: at: found a file name of 1048512 bytes, expected at most 4096"},
    {"local x = input('x', {1}) while true do x = x + x end", PASSED "16 MB"},
    {"local n = ('n'):rep(240) for i = 1, 1e9 do param(n .. i, {1}) end", PASSED "16 MB"},
    {"local x = input('x', {1}) while true do tap(('t'):rep(200), x) end", PASSED},
    {"local x, t = input('x', {1}), {} for i = 1, 1e5 do t[i] = x end "
     "while true do concat(t, 1) end",
     PASSED},
    {"for i = 1, 1e4 do param('p' .. i, {1}) end while true do parameters() end", PASSED},
    {"local x = input('x', {}) local y = x for i = 1, 1e4 do y = erf(y) end "
     "while true do grad(y, {x}) end",
     PASSED},
    {"while true do random(1, {1}) end", PASSED "16 MB"},
    {"while true do input(('n.'):rep(127) .. 'a', {1}) end", PASSED},
    {"while true do require 'nn' end", PASSED},
    {"local x, o = input('x', {1}), {} for i = 1, 1e6 do o['y' .. i] = x end return o", PASSED},
    {"options {a = ('x'):rep(2^20)}",
     "t.lua:1: options: a: found a default of 1048576 bytes, expected a shorter one"},
    {"local t = {} for i = 1, 65535 do t[i] = 'x' end options {a = t}",
     "t.lua:1: options: a: found 65535 choices, expected at most 256"},
    {"local s = ('x'):rep(2^20 - 64) for i = 1, 100 do print(s) end", "t.lua:1: "},
    /* calls within calls */
    {"local function f() return 1 + f() end f()", "t.lua:1: "},
    {"local function f() table.sort({1, 2}, function(a, b) f() return a < b end) end f()",
     "t.lua:1: stack overflow"},
    {"local m = {} m.__tostring = function(t) return string.format('%s', t) end "
     "print(setmetatable({}, m))",
     "t.lua:1: stack overflow"},
    {"local m = {} m.__concat = function(a, b) return a .. b end "
     "local a = setmetatable({}, m) local x = a .. a",
     "t.lua:1: "},
    {"local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t setmetatable(t, m) t()",
     "t.lua:1: setmetatable: __call is table, expected a function"},
    /* finalizers that would run when the state is closed */
    {"setmetatable({}, {__gc = function() while true do end end})",
     "t.lua:1: setmetatable: found the field __gc, expected a metatable without it"},
    {"setmetatable({}, {__close = function() while true do end end})",
     "t.lua:1: setmetatable: found the field __close, expected a metatable without it"},
    {"local m = {} local o = setmetatable({}, m) m.__close = function() while true do end end "
     "local x <close> = o",
     "t.lua:1: "},
    {"pcall(function() while true do end end)", "t.lua:1: 'pcall' is not defined"},
    {"error(setmetatable({}, {__tostring = function() while true do end end}))",
     "t.lua:1: error was called with something that is not a string"},
    /* weak tables on which the garbage collector would work without end */
    {"local m, keep, last = {}, {}, {} for i = 1, 2e4 do local k, u = {}, setmetatable({}, m) "
     "u[last] = k keep[i] = u last = k end m.__mode = 'k' while true do local x = {} end",
     PASSED},
};

START_TEST(holds_limits)
{
    must_stop(limit_cases[_i].text, limit_cases[_i].error);
}
END_TEST

/* Texts that take Lua's parser long: a head, a repeated part, a tail. */
static const struct parser_case {
    const char *head, *part, *tail;
} parser_cases[] = {
    {"local a local b = ", "a or ", "a"},
    {"local a local b = ", "a and ", "a"},
    {"local a if a then ", "elseif a then ", "end"},
    {"local x = ", "-", "1"},
    {"local x = ", "not ", "1"},
    {"local x = ", "'a' .. ", "'a'"},
    {"local x = ", "2^", "1"},
    {"local x = ", "(", "1"},
    {"local x = ", "{", "1"},
    {"local x = a", ".b", ""},
    {"while true do ", "if a then break end ", "end"},
    {"local x = ", "function() return ", "1"},
    {"local x = 0.", "1", ""},
    {"local x = {", "1,", "}"},
    {"error(", "1,", "1)"},
    {"--[==[", "x", ""},
    {"local x = 'a", "\\z\n", ""},
};

START_TEST(holds_limits_while_parsing)
{
    enum { SIZE = 1 << 20 };
    const struct parser_case *c = &parser_cases[_i];
    char *text = calloc(SIZE, 1);
    size_t part = strlen(c->part), at = strlen(c->head);
    ck_assert_ptr_nonnull(text);
    memcpy(text, c->head, at);
    for (; at + part + strlen(c->tail) + 1 < SIZE; at += part)
        memcpy(text + at, c->part, part);
    memcpy(text + at, c->tail, strlen(c->tail));
    must_stop(text, "t.lua");
    free(text);
}
END_TEST

/* A script just within a limit runs. */
START_TEST(allows_what_is_within_limits)
{
    must_run("local x, o = input('x', {1}), {} for i = 1, 60000 do o['y' .. i] = x end return o");
    must_run("for i = 1, 70000 do param('p' .. i, {1}) end local n = 0\n"
             "for k in pairs(parameters()) do n = n + 1 end assert(n == 70000)\n"
             "return {y = input('x', {1})}");
    must_run("local t = {} for i = 1, 2e5 do t[i] = (i * 7919) % 200003 end table.sort(t)\n"
             "for i = 2, #t do assert(t[i - 1] <= t[i]) end return {y = input('x', {1})}");
    must_run("local s = ('x'):rep(2^20) assert(#s == 2^20 and #s:upper() == 2^20)\n"
             "return {y = input('x', {1})}");
}
END_TEST

/* ---- What scripts cannot change ----------------------------------------------------- */

#define END " return {y = input('x', {1})}"

static const struct limit_case change_cases[] = {
    {"math.sqrt = nil",
     "t.lua:1: 'sqrt' cannot be set in a table of a library, expected a table of the script"},
    {"string.format = 1", "t.lua:1: 'format' cannot be set"},
    {"table.mine = 1", "t.lua:1: 'mine' cannot be set"},
    {"(require 'nn').softmax = 1", "t.lua:1: 'softmax' cannot be set"},
    {"rawset(math, 'sqrt', 1)",
     "t.lua:1: rawset: found a table of the language or of a library, expected a table of the "
     "script"},
    {"rawset(require 'nn', 'softmax', 1)",
     "t.lua:1: rawset: found a table of the language or of a library, expected a table of the "
     "script"},
    {"setmetatable(math, nil)",
     "t.lua:1: setmetatable: found a table with a protected metatable, expected another table"},
    {"setmetatable(require 'nn', {})",
     "t.lua:1: setmetatable: found a table with a protected metatable, expected another table"},
    {"getmetatable(math).__index = 1", "t.lua:1: attempt to index"},
    {"getmetatable('').__index = 1", "t.lua:1: attempt to index"},
    {"getmetatable(input('x', {1})).__add = 1", "t.lua:1: attempt to"},
    {"setmetatable(options {a = 1}, {})",
     "t.lua:1: setmetatable: found a table with a protected metatable, expected another table"},
    {"table.insert(math, 1)", "t.lua:1: table.insert: found a table with a metatable"},
    {"local _, raw = pairs(math) raw.sqrt = 1", "t.lua:1: 'sqrt' cannot be set"},
    {"local _, raw = ipairs(require 'nn') raw.relu = 1", "t.lua:1: 'relu' cannot be set"},
    {"sum = 1",
     "t.lua:1: 'sum' is a function of the language, expected another name, or a local variable"},
    {"error = nil",
     "t.lua:1: 'error' is a function of the language, expected another name, or a local variable"},
    {"options = 1",
     "t.lua:1: 'options' is a function of the language, expected another name, or a local "
     "variable"},
    {"rawset(_ENV, 'sum', 1)", "t.lua:1: "},
    {"setmetatable(_ENV, nil)", "t.lua:1: "},
    {"local t = setmetatable({}, {__metatable = 1}) setmetatable(t, nil)",
     "t.lua:1: setmetatable: found a table with a protected metatable, expected another table"},
};

START_TEST(keeps_libraries_as_they_are)
{
    must_fail(&cr_default_limits, change_cases[_i].text, change_cases[_i].error);
}
END_TEST

/* A library module sees neither a script's new globals, nor its replacements of the language's globals. */
START_TEST(shows_libraries_a_clean_world)
{
    mkdir(path_of("lib"), 0700);
    write_text("lib/seen.lua", "return {global = function() return mine end,\n"
                               "  set = function() other = 1 end, list = {1}}");
    must_fail(&cr_default_limits, "mine = 1 local m = require 'seen' m.global()",
              "t.lua:1: 'mine' is not defined");
    must_fail(&cr_default_limits, "local m = require 'seen' m.set()",
              "t.lua:1: found the global 'other' in a library's module, expected a local variable");
    must_run("local _ENV = {require = require, input = input, setmetatable = setmetatable}\n"
             "local nn = require 'nn'\nreturn {y = nn.softmax(input('x', {2, 3}))}");
    must_run("local nn, names = require 'nn', 0 for k, v in pairs(nn) do names = names + 1 end\n"
             "assert(names > 5 and rawget(nn, 'softmax') == nn.softmax and nn == require 'nn')\n"
             "assert(rawget(math, 'pi') == math.pi)" END);
    write_text("lib/list.lua", "return {5, 6, name = 7}");
    must_run("local list, s = require 'list', '' for i, v in ipairs(list) do s = s .. i .. v end\n"
             "for k, v in pairs(list) do s = s .. k .. v end\n"
             "assert(s == '15261526name7' and rawlen(list) == 2 and list[2] == 6)" END);
}
END_TEST

/* Metatables support the events that the language allows; a method that is added after setmetatable
 * has no effect until the metatable is set again. */
START_TEST(keeps_metatables)
{
    must_run("local m = {__add = function() return 5 end, __tostring = function() return 'T' end}\n"
             "m.__index = m function m.f() return 7 end\n"
             "local t = setmetatable({}, m)\n"
             "assert(t + t == 5 and tostring(t) == 'T' and t.f() == 7 and getmetatable(t) == m)\n"
             "function m.g() return 8 end assert(t.g() == 8)\n"
             "m.__mul = function() return 6 end setmetatable({}, m) assert(t * t == 6)\n"
             "assert(setmetatable(t, nil) == t and getmetatable(t) == nil)\n"
             "rawset(t, 'a', 1) assert(rawget(t, 'a') == 1 and rawlen({1, 2}) == 2)" END);
}
END_TEST

/* ---- The library's own versions of Lua functions ------------------------------------- */

START_TEST(has_its_own_library)
{
    must_run("local t = {{1, 'a'}, {0, 'b'}, {1, 'c'}, {0, 'd'}}\n"
             "table.sort(t, function(a, b) return a[1] < b[1] end) -- which is stable\n"
             "local s = '' for i = 1, 4 do s = s .. t[i][2] end assert(s == 'bdac')\n"
             "local u = {3, 2, 1} table.sort(u, function(a, b) u[1], u[2], u[3] = nil return a < b "
             "end)\nassert(u[1] == 1 and u[3] == 3)\n"
             "local w = {'b', 'a', 'B'} table.sort(w) assert(table.concat(w) == 'Bab')" END);
    must_run("assert(table.concat({1, 'a', 2}, '-') == '1-a-2' and table.concat({}) == '')\n"
             "assert(table.concat({1, 2, 3}, ',', 2) == '2,3')\n"
             "assert(table.concat({1, 2, 3}, ',', 3, 3) == '3')\n"
             "assert(table.concat({1, 2, 3}, ',', 3, 2) == '')\n"
             "assert(('ab'):rep(3, '-') == 'ab-ab-ab' and ('ab'):rep(0) == '')" END);
    must_run("local f = string.format\n"
             "assert(f('%d %5.2f|%-5s|%5s|%%|%x', 3, math.pi, 'ab', 'cd', 255)\n"
             "  == '3  3.14|ab   |   cd|%|ff')\n"
             "assert(f('%s %s %s', true, nil, 1) == 'true nil 1' and f('%q', 'a') == '\"a\"')\n"
             "assert(f('%.3s|%c', 'abcdef', 65) == 'abc|A' and f('') == '' and f('%%') == '%')\n"
             "assert(f('a\\0b%sc', 'x') == 'a\\0bxc' and f('%5d|%-5d|%05d', 1, 2, 3) == "
             "'    1|2    |00003')" END);
    must_run("local k = '' for a in pairs({['a\\0c'] = 1, ['a\\0b'] = 1, [3] = 1, [2] = 1}) do\n"
             "  k = k .. a end assert(k == '23a\\0ba\\0c')" END);
    must_fail(&cr_default_limits, "string.format('%d')",
              "t.lua:1: string.format: found no value for '%d', expected one");
    must_fail(&cr_default_limits, "string.format('%d', {})",
              "t.lua:1: string.format: '%d': found table, expected a number");
    must_fail(&cr_default_limits, "string.format('%p', {})",
              "t.lua:1: string.format: found the directive '%p', expected one of Lua's");
    must_fail(&cr_default_limits, "string.format('%', 1)",
              "t.lua:1: string.format: found the directive '%', expected one of Lua's");
    must_fail(&cr_default_limits, "string.format('%100d', 1)",
              "t.lua:1: string.format: found the directive '%100', expected one of Lua's");
    must_fail(&cr_default_limits, "string.format('%s')",
              "t.lua:1: string.format: found no value for '%s', expected one");
    must_fail(&cr_default_limits, "table.concat({{}})",
              "t.lua:1: table.concat: item 1 is table, expected a string or number");
    must_fail(&cr_default_limits, "table.sort({1, 'a'})", "t.lua:1: attempt to compare");
}
END_TEST

/* Nothing that a script can read contains an address. */
START_TEST(tells_no_addresses)
{
    must_run("print(print, {}, function() end, math, string.format, require 'nn')\n"
             "print(string.format('%s %s %s', {}, print, exp), setmetatable({}, {}), options {})\n"
             "print(input('x', {1}))" END);
    ck_assert_str_eq(printed(), "function\ttable\tfunction\ttable\tfunction\ttable\n"
                                "table function function\ttable\ttable\ntensor f32 [1]\n");
}
END_TEST

/* ---- Output to terminals ------------------------------------------------------------- */

START_TEST(prints_no_control_characters)
{
    must_run("print('a\\27[31m\\0\\r\\8\\127b\\194\\155c', 'd\\tä\\255€😀\\nf')" END);
    ck_assert_str_eq(printed(), "a\\x1b[31m\\x00\\r\\x08\\x7fb\\xc2\\x9bc\td\tä\\xff€😀\nf\n");
    must_fail(&cr_default_limits, "error('a\\27[2J\\nä\\155')", "t.lua:1: a\\x1b[2J\\nä\\x9b");
    must_fail(&cr_default_limits, "input('\\27]0;x\\7', {1})",
              "t.lua:1: input: found the name '\\x1b]0;x\\x07', expected letters, digits, '_', '-' and '.'");
    must_fail(&cr_default_limits, "local x = y\27", "t.lua:1: ");
    must_fail(&cr_default_limits, "require 'a\\27'", "t.lua:1: require: found the module 'a\\x1b', expected letters");
    must_fail(&cr_default_limits, "local x = math['\\27']()", "t.lua:1: ");
}
END_TEST

/* Commands, with $T for the folder, that print names and values of the user's: a file and an option
 * that contain an escape character. */
static const char *const commands[] = {
    "run $T/e*.lua --backend ref --set 'o=\033[31m' --output y=$T/'o\033'.npy",
    "run $T/e*.lua --backend tcc --kernels",
    "run $T/e*.lua --set 'o\033=1'",
    "run $T/'n\033'.lua",
    "run $T/e*.lua --weights $T/'n\033'",
    "dump $T/e*.lua --after script",
    "params $T/e*.lua",
    "params $T/e*.lua '\302\233'",
};

START_TEST(reports_without_control_characters)
{
    char command[400];
    write_text("e\033.lua", "options {o = '\\27]0;t\\7'} print '\\27[2J'\n"
                            "local x = input('x', {2}) return {y = x + param('w', {2})}");
    setenv("T", folder, 1);
    setenv("CRESCENT", "build/crescent", 0);
    snprintf(command, sizeof command, "\"$CRESCENT\" %s >$T/printed 2>&1", commands[_i]);
    int status = system(command);
    ck_assert(status == 0 || WEXITSTATUS(status) == 2);
    const char *text = printed();
    ck_assert(*text);
    for (size_t at = 0, length; text[at]; at += length) {
        length = text[at] == '\n' ? 1 : cr_printable_size(text + at, strlen(text + at));
        ck_assert_msg(length > 0, "%s\n  %s", command, text);
    }
}
END_TEST

/* Bytes, and their escaped form for a terminal. */
static const struct {
    const char *text, *escaped;
} escapes[] = {
    {"plain ~", "plain ~"},
    {"\t\n\r\x01\x1f\x7f", "\\t\\n\\r\\x01\\x1f\\x7f"},
    {"ä €😀", "ä €😀"},
    {"\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0"},
    {"\xc0\x80\xe0\x80\x80\xf0\x80\x80\x80", /* overlong encodings */
     "\\xc0\\x80\\xe0\\x80\\x80\\xf0\\x80\\x80\\x80"},
    {"\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"},
    {"\xe2\x82", "\\xe2\\x82"},
    {"\xff\xfe", "\\xff\\xfe"},
};

START_TEST(escapes_texts)
{
    char text[256];
    size_t n = strlen(escapes[_i].text);
    cr_escape(text, sizeof text, escapes[_i].text, n);
    ck_assert_str_eq(text, escapes[_i].escaped);
    for (size_t room = 1; room < sizeof text; room++) { /* in a buffer of any size, only whole escapes */
        size_t length = cr_escape(text, room, escapes[_i].text, n);
        ck_assert(length < room && strncmp(text, escapes[_i].escaped, length) == 0);
    }
}
END_TEST

/* A message that is cut to the buffer ends with a whole character. */
START_TEST(cuts_messages_between_characters)
{
    char text[2000] = "";
    struct cr_error error;
    for (size_t i = 0; i + 4 < sizeof text; i += 3)
        strcat(text, "€");
    cr_fail(&error, "%s", text);
    ck_assert_uint_eq(strlen(error.text), 1023);
    cr_fail(&error, "a%s", text);
    ck_assert_uint_eq(strlen(error.text), 1021);
    ck_assert_str_eq(error.text + 1018, "€");
}
END_TEST

/* ---- Files ---------------------------------------------------------------------------- */

static void must_refuse_module(const char *expected)
{
    must_fail(&cr_default_limits, "require 'm'", expected);
    ck_assert_int_eq(unlink(path_of("m.lua")), 0);
}

START_TEST(requires_only_what_lies_inside)
{
    char inside[256], expected[400];
    const char *out = "is a link out of the script's folder";
    snprintf(expected, sizeof expected, "t.lua:1: require: %s/m.lua: %s", folder, out);
    ck_assert_int_eq(symlink("/etc/passwd", path_of("m.lua")), 0);
    must_refuse_module(expected);
    ck_assert_int_eq(symlink("/dev/zero", path_of("m.lua")), 0);
    must_refuse_module(expected);
    ck_assert_int_eq(symlink("../..", path_of("up")), 0);
    must_fail(&cr_default_limits, "require 'up.m'", "t.lua:1: require: found no module 'up.m'");
    unlink(path_of("up"));
    write_text("inner.lua", "return 42");
    snprintf(inside, sizeof inside, "%s/inner.lua", folder);
    ck_assert_int_eq(symlink(inside, path_of("m.lua")), 0);
    must_run("assert(require 'm' == 42)" END);
    unlink(path_of("m.lua"));
    snprintf(expected, sizeof expected, "t.lua:1: require: %s/m.lua: is not a regular", folder);
    ck_assert_int_eq(mkfifo(path_of("m.lua"), 0600), 0);
    must_refuse_module(expected);
    ck_assert_int_eq(mkdir(path_of("m.lua"), 0700), 0);
    must_fail(&cr_default_limits, "require 'm'", "t.lua:1: require: ");
    rmdir(path_of("m.lua"));
    write_text("m.lua", "return root:x:0");
    must_fail(&cr_default_limits, "require 'm\\0x'", "t.lua:1: require: module: found a string");
    unlink(path_of("m.lua"));
}
END_TEST

/* A sibling folder whose name begins with the script folder's name is outside of it. */
START_TEST(tells_folders_apart)
{
    char beside[256], file[300];
    snprintf(beside, sizeof beside, "%s-beside", folder);
    snprintf(file, sizeof file, "%s/m.lua", beside);
    ck_assert_int_eq(mkdir(beside, 0700), 0);
    FILE *module = fopen(file, "w");
    ck_assert_ptr_nonnull(module);
    fputs("return 1", module);
    fclose(module);
    ck_assert_int_eq(symlink(file, path_of("m.lua")), 0);
    must_fail(&cr_default_limits, "require 'm'", "t.lua:1: require: ");
    unlink(path_of("m.lua"));
    unlink(file);
    rmdir(beside);
}
END_TEST

#define COUNT(table) ((int)(sizeof table / sizeof *table))

static Suite *suite(void)
{
    Suite *s = suite_create("sandbox");
    TCase *tests = tcase_create("sandbox");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, holds_limits, 0, COUNT(limit_cases));
    tcase_add_loop_test(tests, holds_limits_while_parsing, 0, COUNT(parser_cases));
    tcase_add_test(tests, allows_what_is_within_limits);
    tcase_add_loop_test(tests, keeps_libraries_as_they_are, 0, COUNT(change_cases));
    tcase_add_test(tests, shows_libraries_a_clean_world);
    tcase_add_test(tests, keeps_metatables);
    tcase_add_test(tests, has_its_own_library);
    tcase_add_test(tests, tells_no_addresses);
    tcase_add_test(tests, prints_no_control_characters);
    tcase_add_loop_test(tests, reports_without_control_characters, 0, COUNT(commands));
    tcase_add_loop_test(tests, escapes_texts, 0, COUNT(escapes));
    tcase_add_test(tests, cuts_messages_between_characters);
    tcase_add_test(tests, requires_only_what_lies_inside);
    tcase_add_test(tests, tells_folders_apart);
    suite_add_tcase(s, tests);
    return s;
}

/* Removes the folder of the tests and the files in it. */
static void remove_folder(void)
{
    char command[sizeof folder + 20];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "could not remove %s\n", folder);
}

int main(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    remove_folder();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
