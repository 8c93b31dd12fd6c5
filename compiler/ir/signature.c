#include "signature.h"
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

/* By letter: the index of the argument that is the count of that letter. */
struct counts {
    int argument['Z' + 1];
};

/* Parses the first `length` characters of `text`: "K" is the argument of that letter, "16" a
 * constant. */
static struct cr_size size_of(const struct counts *counts, const char *text, int length)
{
    struct cr_size size = {CR_NONE, 0};
    if (*text >= 'A' && *text <= 'Z') {
        size.argument = counts->argument[(int)*text];
        return size;
    }
    for (int i = 0; i < length; i++)
        size.number = 10 * size.number + (text[i] - '0');
    return size;
}

/* Parses a stride; the letter 's' stands for the next argument. */
static struct cr_size stride_of(struct cr_signature *s, const struct counts *counts, char letter)
{
    if (letter != 's')
        return size_of(counts, &letter, 1);
    s->parameters[s->n].kind = CR_PARAMETER_INTEGER;
    return (struct cr_size){s->n++, 0};
}

/* Parses an address such as "rMN:s1?": its access, row count, column count, strides and marks, as
 * in functions.def. */
static void add_address(struct cr_signature *s, const struct counts *counts, const char *word)
{
    struct cr_parameter *p = &s->parameters[s->n++];
    const char *colon = strchr(word, ':'), *c = colon + 1;
    *p = (struct cr_parameter){.kind = CR_PARAMETER_ADDRESS,
                               .read = strchr("rup", *word) != NULL,
                               .written = strchr("wuq", *word) != NULL,
                               .panels = strchr("pq", *word) != NULL,
                               .rows = size_of(counts, word + 1, (int)(colon - word) - 2),
                               .cols = size_of(counts, colon - 1, 1),
                               .col_stride = {CR_NONE, 1}};
    p->row_stride = stride_of(s, counts, *c++);
    if (!p->panels)
        p->col_stride = stride_of(s, counts, *c++);
    if (*c == '=')
        p->format = cr_format_find(c + 1, strcspn(c + 1, " "));
    CR_CHECK(p->format < CR_FORMAT_COUNT);
    for (; *c && *c != ' ' && *c != '='; c++) {
        p->nullable |= *c == '?';
        p->element = *c == '#' ? CR_ELEMENT_INT : *c == '.' ? CR_ELEMENT_FLOAT : p->element;
    }
}

static void add_word(struct cr_signature *s, const struct counts *counts, const char *word)
{
    CR_CHECK(s->n + 3 <= CR_MAX_SIGNATURE);
    if (strchr(word, ':') && strcspn(word, ":") < strcspn(word, " "))
        add_address(s, counts, word);
    else
        s->parameters[s->n++].kind = *word == 'i'   ? CR_PARAMETER_INTEGER
                                     : *word == 'f' ? CR_PARAMETER_FLOAT
                                                    : CR_PARAMETER_COUNT;
}

/* Reads the words twice, since the count of an array may follow the array in the signature. */
void cr_parse_signature(struct cr_signature *signature, const struct cr_call *call)
{
    char text[128];
    struct counts counts = {{0}};
    cr_callee_signature(text, sizeof text, call);
    for (int pass = 0; pass < 2; pass++) {
        *signature = (struct cr_signature){0};
        for (const char *word = text; *word; word += strspn(word, " ")) {
            if (*word >= 'A' && *word <= 'Z')
                counts.argument[(int)*word] = signature->n;
            add_word(signature, &counts, word);
            word += strcspn(word, " ");
        }
    }
}
