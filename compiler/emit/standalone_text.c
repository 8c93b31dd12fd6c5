/* standalone_text.c - prints text that occurs in several kinds of standalone files; see
 * standalone_text.h. */
#include "standalone_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "generate.h"
#include "runtime/pool.h"
#include "runtime_text.h"

void cr_put_port(struct cr_text *t, const struct cr_port *port)
{
    cr_put(t, "%s", port->identifier);
}

void cr_put_origin(struct cr_text *t, const struct cr_port *port)
{
    char plain[256];
    cr_plain_text(plain, sizeof plain, port->name);
    if (strlen(plain) != strlen(port->identifier))
        cr_put(t, " (%s)", plain);
}

void cr_put_port_upper(struct cr_text *t, const struct cr_port *port)
{
    for (const char *p = port->identifier; *p; p++)
        cr_put(t, "%c", cr_upper(*p));
}

/* Escapes all bytes that are not plain ASCII, so that any name is safe in C. */
void cr_put_string(struct cr_text *t, const char *string)
{
    cr_put(t, "\"");
    for (const unsigned char *p = (const unsigned char *)string; *p; p++) {
        if (*p < 32 || *p > 126 || *p == '"' || *p == '\\' || *p == '?')
            cr_put(t, "\\%03o", *p);
        else
            cr_put(t, "%c", *p);
    }
    cr_put(t, "\"");
}

void cr_put_port_shape(struct cr_text *t, const struct cr_port *port)
{
    char shape[200];
    cr_put(t, "%s", cr_shape_text(shape, sizeof shape, port->rank, port->shape));
}

/* True if any parameter has the format. */
static bool has_format(const struct cr_program *p, enum cr_format format)
{
    for (int i = 0; i < p->n_params; i++)
        if (p->params[i].offset >= 0 && p->params[i].format == format)
            return true;
    return false;
}

/* The table is called "layouts" for f32, else "places_NAME". */
void cr_put_layouts_name(struct cr_text *t, enum cr_format format)
{
    cr_put(t, "layouts");
    if (format != cr_format_of(CR_F32))
        cr_put(t, "_%s", cr_formats[format].name);
}

/* The table for f32 always exists, but may be empty. */
bool cr_has_layouts(const struct cr_program *p, enum cr_format format)
{
    return format == cr_format_of(CR_F32) || (cr_formats[format].pack && has_format(p, format));
}

void cr_put_threads(struct cr_text *t, const struct cr_standalone *w)
{
    cr_put(t,
           "/* Threads that share the work; more than 1 needs pthreads (compile both with the\n"
           " * same value, as in -D%s_THREADS=4 -pthread). */\n"
           "#ifndef %s_THREADS\n#define %s_THREADS 1\n#endif\n\n"
           "#define %s_POOL_BYTES (%s_THREADS * %dL) /* of the memory of a pool */\n",
           w->upper, w->upper, w->upper, w->upper, w->upper, CR_POOL_BYTES(1));
}

void cr_put_pool_header(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    cr_put(t,
           "/* Starts a pool of threads, for the functions that take one; between their calls the threads\n"
           " * sleep.  `threads`, 1 to %s_THREADS, counts the calling thread; there are fewer if the\n"
           " * system refuses some.  `memory` has %s_POOL_BYTES, aligned to 64 bytes.  Returns null if\n"
           " * it is not aligned, or for another number of threads.  A pool serves one call at a time, in\n"
           " * the process that started it: not in a child that fork made. */\n"
           "struct %s_pool;\n"
           "struct %s_pool *%s_pool_start(void *memory, int threads);\n\n"
           "/* Ends the threads; the memory is the caller's again. */\n"
           "void %s_pool_stop(struct %s_pool *pool);\n\n",
           w->upper, w->upper, name, name, name, name, name);
}

void cr_put_pool_source(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    cr_put(t,
           "\n/* ---- threads ---- */\n\n"
           "struct %s_pool *%s_pool_start(void *memory, int threads)\n{\n"
           "    if (!memory || (size_t)memory %% 64 || threads > %s_THREADS)\n        return 0;\n"
           "    return (struct %s_pool *)(void *)cr_pool_init(memory, threads);\n}\n\n"
           "void %s_pool_stop(struct %s_pool *pool)\n{\n"
           "    if (pool)\n        cr_pool_stop((struct cr_pool *)(void *)pool);\n}\n",
           name, name, w->upper, name, name, name);
}

void cr_put_own_pool(struct cr_text *t, const struct cr_standalone *w, const char *function,
                     const char *arguments)
{
    cr_put(t,
           "    double memory[%s_POOL_BYTES / sizeof(double)];\n"
           "    struct cr_pool *own = cr_pool_init(memory, %s_THREADS);\n"
           "    int status = %s((void *)own, %s);\n"
           "    if (own)\n        cr_pool_stop(own);\n    return status;\n",
           w->upper, w->upper, function, arguments);
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* True if any parameter is an embedding table that is also the model's head. */
static bool has_heads(const struct cr_standalone *w)
{
    bool has = false;
    for (int i = 0; w->generation && w->generation->heads && i < w->p->n_params; i++)
        has |= w->generation->heads[i] > 0;
    return has;
}

/* True if a model that generates text makes logits for each token of a chunk, not for the last one alone. */
static bool has_rows(const struct cr_standalone *w)
{
    return w->generation && !w->generation->encoder && w->p->outputs[w->generation->logits].shape[1] > 1;
}

bool cr_is_needed_by_program(void *standalone, const char *name)
{
    const struct cr_standalone *w = standalone;
    const struct cr_encoder_ports *e = w->generation ? w->generation->encoder : NULL;
    if (strcmp(name, "vectors") == 0)
        return e && e->n_labels == 0;
    if (strcmp(name, "scores") == 0)
        return e && e->n_labels > 0;
    if (strcmp(name, "encoders") == 0)
        return e && !e->prompt_parts;
    if (strcmp(name, "rerankers") == 0)
        return e && e->prompt_parts;
    if (strcmp(name, "types") == 0)
        return e && e->types >= 0;
    if (strcmp(name, "rows") == 0)
        return has_rows(w);
    if (strcmp(name, "one_row") == 0)
        return !has_rows(w);
    if (strcmp(name, "one") == 0)
        return !w->p->ranks;
    if (strcmp(name, "heads") == 0)
        return has_heads(w);
    return strcmp(name, "ranks") != 0 || w->p->ranks;
}

void cr_put_named_template(struct cr_text *t, const struct cr_standalone *w, const char *path)
{
    struct cr_text text = {0};
    uint64_t done = 0;
    cr_add_runtime(&text, path, &done, cr_is_needed_by_program, (void *)w);
    const char *from = text.data;
    for (const char *at = from; at && *at; at++) {
        bool begins = at == text.data || !is_letter(at[-1]);
        bool lower = begins && strncmp(at, "name_", 5) == 0;
        if (!lower && (!begins || strncmp(at, "NAME_", 5) != 0))
            continue;
        cr_put_bytes(t, from, (size_t)(at - from));
        cr_put(t, "%s", lower ? w->p->name : w->upper);
        from = at + 4;
    }
    cr_put(t, "%s", from ? from : "");
    free(text.data);
}
