/*
 * client.h - macros for functions of crescent.h that are implemented by other functions of
 * crescent.h: they check arguments and handle a lack of memory.
 *
 *     int crescent_something(crescent_explanation *e, const char *path)
 *     {
 *         CR_CLIENT_REQUIRE(e ? e->context : NULL, e && path);  // refuses null
 *         CR_CLIENT_ENTER(e->context);                          // returns here if memory is short
 *         return do_something(e, path);                         // a status, whose error is set
 *     }
 */
#ifndef CR_CLIENT_H
#define CR_CLIENT_H

#include "compiler/crescent.h"
#include "compiler/ir/unwind.h"

/* Sets the context's error by a format; returns CRESCENT_FAILED. */
int cr_client_fail(crescent_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define CR_CLIENT_REQUIRE(context, arguments)                                                      \
    do {                                                                                           \
        if (!(arguments))                                                                          \
            return cr_client_fail(                                                                 \
                (context), "%s: an argument is null or negative, expected neither", __func__);     \
    } while (0)

/* Enters the guard `guard` until the function returns.  If an allocation fails meanwhile, the
 * function returns CRESCENT_FAILED. */
#define CR_CLIENT_ENTER(context)                                                                   \
    struct cr_error out_of_memory = {0};                                                           \
    struct cr_guard guard __attribute__((cleanup(cr_guard_leave)));                                \
    cr_guard_enter(&guard, &out_of_memory);                                                        \
    if (setjmp(guard.back))                                                                        \
    return crescent_fail((context), out_of_memory.text)

#endif
