/* tokens.c - looks up the tokens of a tokenizer, those of its model and added ones; see
 * tokenizer.h. */
#include "tokenizer.h"

/* If both have an id, the added token takes precedence over the model's. */
const char *cr_token_text(const struct cr_tokenizer *t, int32_t id, size_t *length)
{
    const struct cr_vocabulary *const both[] = {&t->added.words, &t->vocabulary};
    for (int i = 0; i < 2; i++) {
        const char *text = cr_word_text(both[i], id);
        if (!text)
            continue;
        *length = both[i]->tokens[id].length;
        return text;
    }
    return NULL;
}

int32_t cr_token_id(const struct cr_tokenizer *t, const char *text, size_t length)
{
    int32_t id = cr_find_word(&t->added.words, text, length);
    return id >= 0 ? id : cr_find_word(&t->vocabulary, text, length);
}
