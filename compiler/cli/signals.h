/* signals.h - ending early, but in order: what is asked for by Ctrl-C, SIGTERM or SIGHUP. */
#ifndef CR_SIGNALS_H
#define CR_SIGNALS_H

#include <stdbool.h>

enum { CR_INTERRUPTED = 130 /* the exit status then */ };

/*
 * From now on the first signal is noted; a second SIGINT or SIGTERM ends the process at once.  A second
 * SIGHUP does not: a terminal that is closed may send several.  SIGHUP stays ignored where it is, as
 * nohup has it.
 */
void cr_catch_signals(void);

/* Whether one came. */
bool cr_is_stopped(void);

#endif
