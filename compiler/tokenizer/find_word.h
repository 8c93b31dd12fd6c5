/* find_word.h - looks up a text in a vocabulary, for the .inc files that are also copied into
 * emitted C.  There word_table.inc takes the place of this file. */
#ifndef CR_FIND_WORD_H
#define CR_FIND_WORD_H

#include "vocabulary.h"

struct cr_words {
    const struct cr_vocabulary *vocabulary;
};

static inline int32_t cr_word_id(const struct cr_words *words, const char *text, size_t n)
{
    return cr_find_word(words->vocabulary, text, n);
}

#endif
