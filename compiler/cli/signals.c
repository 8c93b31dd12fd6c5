/* signals.c - stops a verb early after a signal; see signals.h. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
    (void)number;
    stop = 1;
}

void cr_catch_signals(void)
{
    struct sigaction once = {.sa_handler = ask_to_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
    struct sigaction always = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART}, before;
    sigemptyset(&once.sa_mask);
    sigemptyset(&always.sa_mask);
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &always, NULL);
}

bool cr_is_stopped(void)
{
    return stop != 0;
}
