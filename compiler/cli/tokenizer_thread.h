/*
 * tokenizer_thread.h - opens a tokenizer in a thread while the model is compiled.
 *
 * Reading a vocabulary of 50,000 tokens takes about as long as compiling a model and mapping its
 * weights.
 */
#ifndef CR_TOKENIZER_THREAD_H
#define CR_TOKENIZER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "compiler/crescent.h"

/* A tokenizer opened by a thread, with a context of its own, since a context serves only one
 * thread at a time. */
struct cr_tokenizer_thread {
    const char *path;
    crescent_context *context;
    crescent_tokenizer *tokenizer; /* null before the tokenizer is open, and if opening failed */
    int status;
    pthread_t thread;
    bool is_begun, is_running;
};

/* Starts a thread that opens the tokenizer at a path; the string must stay valid.  The
 * tokenizer's tables in the cache may take `cache_bytes` (crescent_cache_weights). */
void cr_tokenizer_begin(struct cr_tokenizer_thread *opening, const char *path, int64_t cache_bytes);

/* Waits until the tokenizer is open.  Returns the status of crescent_tokenizer_open;
 * opening->context has the error. */
int cr_tokenizer_wait(struct cr_tokenizer_thread *opening);

/* Waits for the thread, then closes the tokenizer and its context.  Does nothing for a zeroed
 * struct. */
void cr_tokenizer_end(struct cr_tokenizer_thread *opening);

#endif
