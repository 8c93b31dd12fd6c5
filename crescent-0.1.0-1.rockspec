rockspec_format = "3.0"
package = "crescent"
version = "0.1.0-1"
-- There is no address of its own: `make dist` in a checkout writes the archive beside this file, and
-- `luarocks install` of this file reads it there; `luarocks make` takes the checkout as it is.
source = {url = "file://crescent-0.1.0.tar.gz", dir = "crescent-0.1.0"}
description = {
    license = "MIT",
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
