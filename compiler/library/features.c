/* features.c - versions of the parts of the library; see crescent.h.  Not in context.c, which all
 * programs link, because contexts do not need Lua. */
#include "compiler/exec/exec.h"
#include "handles.h"
#include "runtime/select_runtime.h"

int crescent_get_build(crescent_context *context, crescent_build *build)
{
    CR_REQUIRE_CONTEXT(context, build);
    CR_ENTER(context);
    int tinycc = cr_tinycc_version(guard.error);
    if (tinycc > 0)
        *build = (crescent_build){CRESCENT_VERSION, cr_lua_release, tinycc,
                                  cr_runtime_select(NULL)->isa};
    return cr_done(&guard, tinycc > 0 ? 0 : -1);
}
