/* signals.h - stops the program in order after Ctrl-C, SIGTERM or SIGHUP. */
#ifndef CR_SIGNALS_H
#define CR_SIGNALS_H

#include <stdbool.h>

enum { CR_INTERRUPTED = 130 /* exit status after a signal */ };

/*
 * Installs handlers: the first signal is noted, a second SIGINT or SIGTERM ends the process at
 * once. A second SIGHUP does not, since closing a terminal may send several.  SIGHUP stays ignored
 * if it was, as under nohup.
 */
void cr_catch_signals(void);

/* True if a signal came. */
bool cr_is_stopped(void);

#endif
