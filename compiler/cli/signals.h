/* signals.h - lets a verb end in good order after Ctrl-C, SIGTERM or SIGHUP. */
#ifndef CR_SIGNALS_H
#define CR_SIGNALS_H

#include <stdbool.h>

enum { CR_INTERRUPTED = 130 /* exit status after a signal */ };

/*
 * Installs handlers: the first signal is only recorded, a second SIGINT or SIGTERM ends the
 * process at once. A second SIGHUP does not, since closing a terminal may send several.  If
 * SIGHUP was ignored, as under nohup, it stays ignored.
 */
void cr_catch_signals(void);

/* True if a signal was received. */
bool cr_is_stopped(void);

#endif
