rockspec_format = "3.0"
package = "crescent"
version = "0.1.0-1"
source = {url = "git+https://crescent.example/crescent.git", tag = "v0.1.0"}
description = {
    summary = "Graph compiler for transformers that are described in Lua",
    detailed = "Runs a short Lua script that describes a transformer, fuses its graph into C, compiles " ..
        "that in memory with TinyCC, and runs, trains or generates with it.",
}
dependencies = {"lua >= 5.1, < 5.5"}
external_dependencies = {
    TCC = {header = "libtcc.h"}, PCRE2 = {header = "pcre2.h"}, UTF8PROC = {header = "utf8proc.h"},
}
build = {
    type = "make",
    build_target = "lua-module",
    install_target = "install-lua",
    build_variables = {LUA_INCDIR = "$(LUA_INCDIR)"},
    install_variables = {LUA_INCDIR = "$(LUA_INCDIR)", LIBDIR = "$(LIBDIR)", LUADIR = "$(LUADIR)"},
}
