/* prompt_tokens.c - counts the tokens of a prompt; see prompt_tokens.h. */
#include "prompt_tokens.h"

#include <stdlib.h>
#include <string.h>

int cr_count_prompt_tokens(struct cr_tokenizer *t, const char *prompt, int64_t most, int64_t *n,
                           struct cr_error *error)
{
    const struct cr_encoding_request request = {.text = prompt, .length = strlen(prompt), .framed = true,
                                                .most = most, .truncation = &t->truncation};
    struct cr_encoding encoding = {0};
    int status = cr_encode_request(t, &request, &encoding, error);
    *n = encoding.ids.n;
    if (status == 0 && *n > 0) {
        const struct cr_added_token *last = cr_find_added(&t->added, encoding.ids.items[*n - 1]);
        *n -= last && last->special;
    }
    free(encoding.ids.items);
    free(encoding.types.items);
    return status;
}
