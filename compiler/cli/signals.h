/* signals.h - lets Ctrl-C, SIGTERM or SIGHUP end a verb early, but in order. */
#ifndef CR_SIGNALS_H
#define CR_SIGNALS_H

#include <stdbool.h>

enum { CR_INTERRUPTED = 130 /* exit status after a signal */ };

/*
 * The first signal after this call is only noted; a second SIGINT or SIGTERM ends the process at
 * once.  A second SIGHUP does not, since a terminal that closes may send several.  If SIGHUP is
 * ignored, as under nohup, it stays so.
 */
void cr_catch_signals(void);

/* True if a signal has arrived. */
bool cr_is_stopped(void);

#endif
