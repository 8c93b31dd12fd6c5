/* sentencepiece.h - the normalizer of SentencePiece; see part.h.  Source: its `Normalizer`. */
#ifndef CR_SENTENCEPIECE_H
#define CR_SENTENCEPIECE_H

#include "part.h"

/* Appends the normalizer, which no tokenizer.json has: it maps texts by the part's map, but for those
 * that are kept, and arranges spaces by its settings.  The space in front is put only before the first
 * piece of a text. */
struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers);

#endif
