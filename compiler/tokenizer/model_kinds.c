/* model_kinds.c - the table of the kinds of models; see model_kind.h. */
#include <stdlib.h>
#include <string.h>

#include "model_kind.h"
#include "tokenizer.h"

static const struct cr_model_kind *const kinds[] = {&cr_bpe_model, &cr_wordpiece_model,
                                                   &cr_word_level_model, &cr_unigram_model};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Returns the type of a model whose file does not name it, as in older versions.  It follows from
 * members that only one kind has. */
static const char *type_by_members(const struct cr_document *d, int model)
{
    int vocabulary = cr_member(d, model, "vocab");
    if (cr_member(d, model, "merges") >= 0)
        return cr_bpe_model.type;
    if (vocabulary >= 0 && d->values[vocabulary].kind == CR_JSON_ARRAY)
        return cr_unigram_model.type;
    return cr_member(d, model, "continuing_subword_prefix") >= 0 ? cr_wordpiece_model.type
                                                                 : cr_word_level_model.type;
}

int cr_read_model(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    int model = cr_need_member(d, 0, "tokenizer", "model", CR_JSON_OBJECT, error);
    const char *type = model < 0 ? NULL : type_by_members(d, model);
    if (model < 0 || cr_read_string(d, model, "model", "type", &type, error))
        return -1;
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i]->type, type) == 0) {
            t->model = kinds[i];
            return t->model->read(t, d, model, error);
        }
    struct cr_text names = {0};
    for (int i = 0; i < N_KINDS; i++)
        cr_put(&names, "%s%s", i ? ", " : "", kinds[i]->type);
    cr_fail(error, "%s: found the model %.80s, expected %s", d->path, type, names.data);
    free(names.data);
    return -1;
}
