/* The files of graphs/lib, built into the program; paths are from the project's root. */
#include "builtin_modules.h"

#include <string.h>

#define MODULES(MODULE)                                                                            \
    MODULE(nn)                                                                                     \
    MODULE(attention)                                                                              \
    MODULE(masks)                                                                                  \
    MODULE(rotary)                                                                                 \
    MODULE(transformer)                                                                            \
    MODULE(gpt2)                                                                                   \
    MODULE(llama)                                                                                  \
    MODULE(huggingface)                                                                            \
    MODULE(optim)

#define EMBED(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global cr_lib_" #name "\n"                                                           \
            ".hidden cr_lib_" #name "\n"                                                           \
            "cr_lib_" #name ":\n"                                                                  \
            ".incbin \"graphs/lib/" #name ".lua\"\n"                                               \
            ".global cr_lib_" #name "_end\n"                                                       \
            ".hidden cr_lib_" #name "_end\n"                                                       \
            "cr_lib_" #name "_end:\n"                                                              \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char cr_lib_##name[], cr_lib_##name##_end[];

MODULES(EMBED)

static const struct {
    const char *name, *path, *text, *end;
} modules[] = {
#define ROW(name) {#name, "graphs/lib/" #name ".lua", cr_lib_##name, cr_lib_##name##_end},
    MODULES(ROW)
#undef ROW
};

const char *cr_builtin_module(const char *name, const char **path, size_t *size)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) != 0)
            continue;
        *path = modules[i].path;
        *size = (size_t)(modules[i].end - modules[i].text);
        return modules[i].text;
    }
    return NULL;
}
