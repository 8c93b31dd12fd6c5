/* model_kinds.c - the table of the kinds of models; see model_kind.h. */
#include <stdlib.h>
#include <string.h>

#include "model_kind.h"
#include "tokenizer.h"

static const struct cr_model_kind *const kinds[] = {&cr_bpe_model};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Older files have no `type`; a model with merges is BPE. */
int cr_read_model(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    int model = cr_need_member(d, 0, "tokenizer", "model", CR_JSON_OBJECT, error);
    const char *type =
        cr_member(d, model, "merges") >= 0 ? cr_bpe_model.type : "without a type";
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
