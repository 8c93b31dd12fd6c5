/* sentencepiece.h - the normalizer of SentencePiece, a tokenizer part.  Source: its `Normalizer`. */
#ifndef CR_SENTENCEPIECE_H
#define CR_SENTENCEPIECE_H

#include "tokenizer_part.h"

/* Appends SentencePiece's normalizer and returns it, for the caller to set its map, kept texts and
 * settings of spaces.  It puts a space in front of the first piece of a text only. */
struct cr_text_part *cr_add_sentencepiece(struct cr_text_parts *normalizers);

/* Returns the score of a user-defined token of a unigram model, which files do not store: a tenth
 * for each byte but the first, as in SentencePiece 0.2.3.  It exceeds the score of any path over
 * normal tokens. */
double cr_user_defined_score(size_t length);

#endif
