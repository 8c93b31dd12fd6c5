/* standalone_fillers.h - prints what a main needs to read weights from files in pieces, so that it never has a
 * tensor in memory as a whole. */
#ifndef CR_STANDALONE_FILLERS_H
#define CR_STANDALONE_FILLERS_H

#include "standalone_text.h"

/* Prints functions that fill the layouts of each format, and their table cr_main_fillers, for
 * standalone_pieces.inc.  The text also needs the readers of files and runtime/pack_pieces.c. */
void cr_put_fillers(struct cr_text *t, const struct cr_standalone *w);

#endif
