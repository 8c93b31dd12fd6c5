/*
 * two_states.c - programs that have Lua in them: two states, each in a thread of its own, which use the
 * module at the same time, and are closed while models are open.  Prints "15" for each.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>

static const char script[] =
    "local crescent = require 'crescent'\n"
    "model = crescent.model('return {y = sum(input(\"x\", {5}), 1)}', {threads = 2})\n"
    "for i = 1, 50 do\n"
    "    local again = crescent.model(function() return {y = sum(input('x', {5}), 1)} end)\n"
    "    total = again:run{x = {1, 2, 3, 4, 5}}.y:totable()[1]\n"
    "end\n"
    "assert(model:run{x = {1, 2, 3, 4, 5}}.y:totable()[1] == total)\n"
    "return string.format('%.0f', total)\n";

static void *work(void *printed)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_loadstring(L, script) || lua_pcall(L, 0, 1, 0))
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    snprintf(printed, 40, "%.39s", lua_tostring(L, -1));
    lua_close(L);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char first[40], second[40];
    if (pthread_create(&thread, NULL, work, first))
        return 2;
    work(second);
    pthread_join(thread, NULL);
    printf("%s %s\n", first, second);
    return 0;
}
