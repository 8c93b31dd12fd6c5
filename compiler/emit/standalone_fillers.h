/* standalone_fillers.h - prints the functions by which a main reads weights from files in pieces,
 * so that no tensor is ever in memory as a whole. */
#ifndef CR_STANDALONE_FILLERS_H
#define CR_STANDALONE_FILLERS_H

#include "standalone_text.h"

/* Prints functions that fill the layouts of each format, and a table of them, cr_main_fillers,
 * for standalone_pieces.inc.  The text also needs the file readers and runtime/pack_pieces.c. */
void cr_put_fillers(struct cr_text *t, const struct cr_standalone *w);

#endif
