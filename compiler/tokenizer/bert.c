/* bert.c - the normalizer of BERT; see bert.h. */
#include "bert.h"

#include <stdlib.h>

#include "emitted_parts.h"

/* The default of strip_accents is the value of lowercase. */
int cr_read_bert_normalizer(struct cr_text_part *part, const struct cr_document *d, int object,
                            const char *where, struct cr_error *error)
{
    struct cr_bert *bert = &part->bert;
    *bert = (struct cr_bert){.clean = true, .chinese = true, .lowercase = true};
    if (cr_read_bool(d, object, where, "clean_text", &bert->clean, error) ||
        cr_read_bool(d, object, where, "handle_chinese_chars", &bert->chinese, error) ||
        cr_read_bool(d, object, where, "lowercase", &bert->lowercase, error))
        return -1;
    bert->strips_accents = bert->lowercase;
    return cr_read_bool(d, object, where, "strip_accents", &bert->strips_accents, error);
}

/* Lists the normalization stages that the settings switch on, in their order; returns their
 * number. */
static int stages_of(const struct cr_bert *bert, enum cr_stage_kind kinds[4])
{
    int n = 0;
    if (bert->clean)
        kinds[n++] = CR_BERT_CLEAN;
    if (bert->chinese)
        kinds[n++] = CR_BERT_APART;
    if (bert->strips_accents)
        kinds[n++] = CR_BERT_UNMARKED;
    if (bert->lowercase)
        kinds[n++] = CR_LOWER;
    return n;
}

int cr_normalize_bert(const struct cr_text_part *part, const char *text, size_t n,
                      struct cr_text *out, size_t *leading, struct cr_error *error)
{
    enum cr_stage_kind kinds[4];
    int n_stages = stages_of(&part->bert, kinds);
    struct cr_text from = {0}, to = {0};
    (void)error;
    cr_put_bytes(&from, text, n);
    for (int i = 0; i < n_stages; i++) {
        to.length = 0;
        cr_put_stage(&to, from.data, from.length, kinds[i], leading);
        struct cr_text old = from;
        from = to;
        to = old;
    }
    cr_put_bytes(out, from.data, from.length);
    free(from.data);
    free(to.data);
    return 0;
}

int cr_list_bert(const struct cr_text_part *part, struct cr_shape *s, struct cr_error *error)
{
    enum cr_stage_kind kinds[4];
    int n = stages_of(&part->bert, kinds), status = 0;
    for (int i = 0; i < n && status == 0; i++)
        status = cr_list_stage(s, &(struct cr_listed_stage){.kind = kinds[i]}, error);
    return status;
}
