/*
 * tokenizer_thread.h - a tokenizer that is read while the model is compiled.
 *
 * To read a vocabulary of 50,000 tokens takes about as long as to compile a model and to map its weights.
 */
#ifndef CR_TOKENIZER_THREAD_H
#define CR_TOKENIZER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "compiler/crescent.h"

/* A tokenizer, and the context of all calls for it: a context serves one thread at a time. */
struct cr_tokenizer_thread {
    const char *path;
    crescent_context *context;
    crescent_tokenizer *tokenizer; /* null until it is open, and if that failed */
    int status;
    pthread_t thread;
    bool is_begun, is_running;
};

/* Begins to open the tokenizer of a path, which must live as long. */
void cr_tokenizer_begin(struct cr_tokenizer_thread *opening, const char *path);

/* Waits until it is open.  Returns the status of crescent_tokenizer_open; its error is the context's. */
int cr_tokenizer_wait(struct cr_tokenizer_thread *opening);

/* Waits for the thread, then closes the tokenizer and its context.  Does nothing to an all-zero struct. */
void cr_tokenizer_end(struct cr_tokenizer_thread *opening);

#endif
