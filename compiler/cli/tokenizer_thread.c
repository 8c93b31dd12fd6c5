/* tokenizer_thread.c - opens a tokenizer in a thread; see tokenizer_thread.h. */
#include "tokenizer_thread.h"

#include "compiler/ir/unwind.h"

static void *open_tokenizer(void *opening)
{
    struct cr_tokenizer_thread *o = opening;
    o->status = crescent_tokenizer_open(o->context, o->path, &o->tokenizer);
    return NULL;
}

/* Starts the thread.  If that fails, cr_tokenizer_wait opens the tokenizer on the calling
 * thread. */
void cr_tokenizer_begin(struct cr_tokenizer_thread *o, const char *path, int64_t cache_bytes)
{
    *o = (struct cr_tokenizer_thread){.path = path, .context = crescent_context_new(), .is_begun = true};
    if (!o->context)
        cr_throw("out of memory");
    crescent_cache_weights(o->context, cache_bytes);
    o->is_running = pthread_create(&o->thread, NULL, open_tokenizer, o) == 0;
}

int cr_tokenizer_wait(struct cr_tokenizer_thread *o)
{
    if (o->is_running)
        pthread_join(o->thread, NULL);
    else if (o->is_begun)
        open_tokenizer(o);
    o->is_running = o->is_begun = false;
    return o->status;
}

void cr_tokenizer_end(struct cr_tokenizer_thread *o)
{
    if (o->is_running)
        cr_tokenizer_wait(o);
    crescent_tokenizer_close(o->tokenizer);
    crescent_context_free(o->context);
    *o = (struct cr_tokenizer_thread){0};
}
