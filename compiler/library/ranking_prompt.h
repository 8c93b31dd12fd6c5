/*
 * ranking_prompt.h - the prompt of a reranking decoder: a template with a placeholder for a
 * question and one for a document.
 */
#ifndef CR_RANKING_PROMPT_H
#define CR_RANKING_PROMPT_H

#include <stddef.h>

#include "compiler/ir/error.h"
#include "compiler/ir/text.h"

enum cr_prompt_part_kind { CR_PROMPT_TEXT, CR_PROMPT_QUERY, CR_PROMPT_DOCUMENT };

struct cr_prompt_part {
    enum cr_prompt_part_kind kind;
    char *text; /* for CR_PROMPT_TEXT */
};

/* The template of a prompt as a list of parts; all zero if none was read. */
struct cr_ranking_prompt {
    struct cr_prompt_part *parts;
    int n, cap;
};

/* Reads a template in the language of Jinja.  It may consist of text and expressions only.
 * Expressions are strings, and messages | selectattr("role", "eq", ROLE) | map(attribute="content")
 * | first | default(STRING), where ROLE is "system", "query" or "document".  `instruction`, which
 * may be null, is the content of the system message.  Messages of errors name `path` and a line:
 * `line` if the source is a string in a file, or the line in the source if `line` is 0. */
int cr_read_ranking_prompt(struct cr_ranking_prompt *t, const char *source, size_t n, const char *instruction,
                          const char *path, int line, struct cr_error *error);

/* Returns the prompt for a question and a document.  Sets *end to the offset of the text that
 * follows both. */
struct cr_text cr_fill_ranking_prompt(const struct cr_ranking_prompt *t, const struct cr_text *query,
                              const struct cr_text *document, size_t *end);

void cr_free_ranking_prompt(struct cr_ranking_prompt *t);

#endif
