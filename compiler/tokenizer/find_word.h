/* find_word.h - looks up the tokens of a vocabulary, for the .inc files that emitted C contains,
 * too: there word_table.inc takes its place. */
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
