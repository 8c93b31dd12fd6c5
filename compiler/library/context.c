/* context.c - errors, and reference counts of handles; see handles.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit/make_program.h"
#include "compiler/exec/join_ranks.h"
#include "compiler/exec/tensor_memory.h"
#include "compiler/ir/escape.h"
#include "compiler/ir/mem.h"
#include "handles.h"
#include "imported_model.h"

/* The error of calls that have no handle, and so no context. */
static _Thread_local struct cr_error homeless;

/* ---- contexts ---- */

crescent_context *crescent_context_new(void)
{
    crescent_context *context = calloc(1, sizeof *context);
    if (context)
        context->references = 1;
    return context;
}

crescent_context *cr_refer(crescent_context *context)
{
    context->references++;
    return context;
}

void cr_release(crescent_context *context)
{
    if (!context || --context->references > 0)
        return;
    for (int i = 0; i < context->n_notes; i++)
        free(context->notes[i]);
    cr_ranks_close(context->ranks);
    free(context);
}

void crescent_context_free(crescent_context *context)
{
    cr_release(context);
}

const char *crescent_version(void)
{
    return CRESCENT_VERSION;
}

/* ---- notes ---- */

void cr_keep_note(crescent_context *context, const char *note)
{
    const int room = sizeof context->notes / sizeof *context->notes;
    char line[4096];
    if (!note)
        return;
    cr_escape(line, sizeof line, note, strlen(note));
    for (int i = 0; i < context->n_notes; i++)
        if (strcmp(context->notes[i], line) == 0)
            return;
    if (context->n_notes < room)
        context->notes[context->n_notes++] = cr_strdup(line);
}

const char *crescent_note_at(const crescent_context *context, int index)
{
    return context && index >= 0 && index < context->n_notes ? context->notes[index] : NULL;
}

/* ---- errors ---- */

struct cr_error *cr_error_of(crescent_context *context)
{
    return context ? &context->error : &homeless;
}

const char *crescent_error(const crescent_context *context)
{
    return context ? context->error.text : homeless.text;
}

int cr_refuse(crescent_context *context, const char *function, const char *why)
{
    cr_fail(cr_error_of(context), "%s: %s", function, why);
    return CRESCENT_FAILED;
}

int cr_check_index(const char *path, const char *what, int index, int n, struct cr_error *error)
{
    if (index >= 0 && index < n)
        return 0;
    return cr_fail(error, "%.400s: found %s %d, expected one of %d, counted from 0", path, what,
                   index, n);
}

int cr_refuse_null(crescent_context *context, const char *function)
{
    return cr_refuse(context, function, "an argument is null or negative, expected neither");
}

/* Control characters in the message are escaped, since file readers copy names into messages
 * unchanged. */
int cr_done(struct cr_guard *guard, int status)
{
    struct cr_error *error = guard->error;
    if (!status)
        return CRESCENT_OK;
    struct cr_error raw = *error;
    cr_escape(error->text, sizeof error->text, raw.text, strlen(raw.text));
    return cr_is_bug(error) ? CRESCENT_BUG : CRESCENT_FAILED;
}

int crescent_fail(crescent_context *context, const char *line)
{
    struct cr_error *error = cr_error_of(context);
    if (!line)
        return cr_refuse_null(context, __func__);
    cr_fail(error, "%s", line);
    return cr_is_bug(error) ? CRESCENT_BUG : CRESCENT_FAILED;
}

/* ---- origins ---- */

struct cr_origin *cr_origin_refer(struct cr_origin *origin)
{
    origin->references++;
    return origin;
}

/* Drops a reference to an origin; frees the origin with the last reference. */
void cr_origin_release(struct cr_origin *origin)
{
    if (!origin || --origin->references > 0)
        return;
    for (int i = 0; i < origin->n_settings; i++) {
        free((char *)origin->settings[i].key);
        free((char *)origin->settings[i].value);
    }
    for (int i = 0; i < origin->n_options; i++) {
        free(origin->options[i].name);
        free(origin->options[i].value);
    }
    for (int i = 0; i < origin->n_ignored; i++)
        free(origin->ignored[i]);
    free(origin->ignored);
    free(origin->settings);
    free(origin->options);
    free(origin->text);
    free(origin->folder);
    free(origin->family);
    cr_imported_release(origin->imported);
    free(origin->entry);
    free(origin->config);
    free(origin->path);
    free(origin);
}

void cr_keep_text(struct cr_origin *o, const char *text, size_t length)
{
    o->text = cr_calloc(length + 1, 1);
    memcpy(o->text, text, length);
    o->length = length;
}

const char *cr_origin_option(const struct cr_origin *origin, const char *name)
{
    for (int i = 0; i < origin->n_options; i++)
        if (strcmp(origin->options[i].name, name) == 0)
            return origin->options[i].value;
    return NULL;
}

/* ---- memory and time ---- */

int cr_buffers_new(struct cr_buffers *buffers, const struct cr_port *ports, const bool *left_out,
                   int n, struct cr_error *error)
{
    buffers->data = cr_calloc((size_t)n, sizeof *buffers->data);
    buffers->n = n;
    for (int i = 0; i < n; i++) {
        int64_t bytes = cr_port_elements(&ports[i]) * (int64_t)sizeof(float);
        if (!(left_out && left_out[i]) &&
            !(buffers->data[i] = cr_memory_new(bytes, ports[i].name, error)))
            return -1;
    }
    return 0;
}

void cr_buffers_free(struct cr_buffers *buffers)
{
    for (int i = 0; buffers->data && i < buffers->n; i++)
        free(buffers->data[i]);
    free(buffers->data);
    *buffers = (struct cr_buffers){0};
}

int crescent_memory(crescent_context *context, int64_t bytes, const char *what, void **memory)
{
    if (memory)
        *memory = NULL;
    CR_REQUIRE_CONTEXT(context, memory && what);
    CR_ENTER(context);
    *memory = cr_memory_new(bytes, what, guard.error);
    return cr_done(&guard, *memory ? 0 : -1);
}

void crescent_free(void *text)
{
    free(text);
}

int64_t crescent_clock(void)
{
    return cr_clock();
}
