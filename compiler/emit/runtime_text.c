#include "runtime_text.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "emit.h"

#define FILES(F)                                                                                   \
    F(elementwise, "elementwise.h")                                                                \
    F(runtime, "runtime.h")                                                                        \
    F(i32_h, "i32.h")                                                                              \
    F(i32, "i32.inc")                                                                              \
    F(select, "select.h")                                                                          \
    F(pool_h, "pool.h")                                                                            \
    F(place_h, "place.h")                                                                          \
    F(philox, "philox.h")                                                                          \
    F(philox_inc, "philox.inc")                                                                    \
    F(integers, "integers.inc")                                                                    \
    F(uniform, "uniform.inc")                                                                      \
    F(kernels, "kernels.c")                                                                        \
    F(kernels_inc, "kernels.inc")                                                                  \
    F(math, "math.inc")                                                                            \
    F(strips, "strips.inc")                                                                        \
    F(rows, "rows.inc")                                                                            \
    F(scatter, "scatter.inc")                                                                      \
    F(move, "move.inc")                                                                            \
    F(gemm, "gemm.inc")                                                                            \
    F(softmax, "softmax.inc")                                                                      \
    F(vector, "vector.h")                                                                          \
    F(plain, "vector_plain.h")                                                                     \
    F(avx2, "vector_avx2.h")                                                                       \
    F(avx512, "vector_avx512.h")                                                                   \
    F(end, "vector_end.h")                                                                         \
    F(pool, "pool.c")                                                                              \
    F(place, "place.c")                                                                            \
    F(mapping_h, "mapping.h")                                                                      \
    F(mapping, "mapping.c")                                                                        \
    F(json_h, "json.h")                                                                            \
    F(json, "json.c")                                                                              \
    F(numbers_h, "numbers.h")                                                                      \
    F(numbers, "numbers.c")                                                                        \
    F(npy_h, "npy_read.h")                                                                         \
    F(npy, "npy_read.c")                                                                           \
    F(safetensors_h, "safetensors_read.h")                                                         \
    F(safetensors, "safetensors_read.c")                                                           \
    F(write, "write.inc")                                                                          \
    F(main, "main.inc")

#define EMBED(symbol, file)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            ".globl cr_text_" #symbol "\n"                                                         \
            "cr_text_" #symbol ":\n"                                                               \
            ".incbin \"runtime/" file "\"\n"                                                       \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char cr_text_##symbol[];
FILES(EMBED)

static const struct {
    const char *name, *text;
} files[] = {
#define ROW(symbol, file) {file, cr_text_##symbol},
    FILES(ROW)
#undef ROW
};

static int find_file(const char *name, size_t length)
{
    int n = sizeof files / sizeof *files;
    for (int i = 0; i < n; i++)
        if (strlen(files[i].name) == length && memcmp(files[i].name, name, length) == 0)
            return i;
    assert(!"a file of the runtime is missing from the table");
    return -1;
}

/* Whether a line is one of the table of ops, and of an op that the text does not need. */
static bool is_surplus_op(const char *line, cr_needs_op *needs, void *context)
{
    char name[64];
    size_t n;
    if (!needs || strncmp(line, "    OP(", 7) != 0)
        return false;
    n = strcspn(line + 7, ",");
    assert(n < sizeof name);
    memcpy(name, line + 7, n);
    name[n] = 0;
    return !needs(context, name);
}

/* Whether a line ends in "only for NAME", a function of the runtime that the text does not need. */
static bool is_surplus_line(const char *line, cr_needs_op *needs, void *context)
{
    static const char mark[] = "/* only for ";
    const char *end = line + strcspn(line, "\n"), *at = strstr(line, mark);
    char name[64];
    if (!needs || !at || at > end)
        return false;
    at += sizeof mark - 1;
    size_t n = strcspn(at, " ");
    assert(n < sizeof name);
    memcpy(name, at, n);
    name[n] = 0;
    return !needs(context, name);
}

/* Behind a line: of a row of the table of ops, behind the row, which may go on, further in. */
static const char *end_of(const char *line)
{
    bool row = strncmp(line, "    OP(", 7) == 0;
    do {
        line += strcspn(line, "\n");
        line += *line == '\n';
    } while (row && strncmp(line, "       ", 7) == 0);
    return line;
}

/* The guard's two lines and its end say nothing in a text where the file stands once. */
static bool is_guarded(const char *text)
{
    const char *guard = strstr(text, "#ifndef CR_");
    return guard && strstr(guard, "_H\n#define CR_") == strchr(guard, '\n') - 2;
}

void cr_add_runtime(struct cr_text *text, const char *file, uint64_t *done, cr_needs_op *needs,
                    void *context)
{
    int index = find_file(file, strlen(file));
    const char *line = files[index].text, *end;
    if (is_guarded(line)) {
        if (*done >> index & 1)
            return;
        *done |= UINT64_C(1) << index;
    }
    for (; *line; line = end) {
        end = end_of(line);
        char name[64];
        const char *quote = strncmp(line, "#include \"", 10) == 0 ? line + 10 : NULL;
        if (is_surplus_line(line, needs, context))
            continue;
        if (quote) {
            size_t n = strcspn(quote, "\"");
            assert(n < sizeof name);
            memcpy(name, quote, n);
            name[n] = 0;
            cr_add_runtime(text, name, done, needs, context);
        } else if (!is_surplus_op(line, needs, context)) {
            cr_put_bytes(text, line, (size_t)(end - line));
        }
    }
}

static struct cr_text declarations;

static void make_declarations(void)
{
    uint64_t done = 0;
    cr_add_runtime(&declarations, "runtime.h", &done, NULL, NULL);
}

/* Made once in a process: several threads may compile at the same time. */
const char *cr_runtime_declarations(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_declarations);
    return declarations.data;
}
