/* sentencepiece.h - the normalizer of SentencePiece; see part.h.  Source: its `Normalizer`. */
#ifndef CR_SENTENCEPIECE_H
#define CR_SENTENCEPIECE_H

#include "part.h"

/* Appends SentencePiece's normalizer and returns it, for the caller to set its map, kept texts and
 * settings of spaces.  It puts a space in front of the first piece of a text only. */
struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers);

#endif
