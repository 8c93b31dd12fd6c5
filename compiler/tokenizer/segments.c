/* segments.c - finds out whether a model gets segments from its tokenizer; see segments.h. */
#include "segments.h"

#include <string.h>

#include "compiler/ir/mem.h"
#include "readers.h"

/* The tokenizer classes of transformers that list token_type_ids among the inputs of a model.
 * PreTrainedTokenizerFast does not, nor does a class that transformers does not know. */
static const char *const classes[] = {"BertTokenizer",       "ElectraTokenizer",  "MobileBertTokenizer",
                                      "SqueezeBertTokenizer", "ConvBertTokenizer", "LxmertTokenizer",
                                      "LayoutLMTokenizer",    "DebertaTokenizer",  "DebertaV2Tokenizer",
                                      "FNetTokenizer"};

/* The families of models with an input for segments, but whose tokenizer class does not list it. */
static const char *const families[] = {"albert", "rembert", "roformer", "roberta", "xlm-roberta", "camembert"};

/* Sets *given to whether model_input_names lists token_type_ids.  Returns false if the file has no
 * such list. */
static bool read_names(bool *given, const struct cr_document *d)
{
    int list = cr_member(d, 0, "model_input_names");
    if (list < 0 || d->values[list].kind != CR_JSON_ARRAY)
        return false;
    *given = false;
    for (int i = d->values[list].first; i >= 0; i = d->values[i].next)
        *given |= d->values[i].kind == CR_JSON_STRING && strcmp(d->values[i].text, "token_type_ids") == 0;
    return true;
}

/* Sets *given, as cr_read_segments does, from tokenizer_config.json, and *known to true if the file
 * determines it. */
static int read_tokenizer_config(bool *given, bool *known, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    const char *class = NULL;
    int found = cr_document_read_optional(&d, folder, "tokenizer_config.json", true, error);
    if (found <= 0)
        return found;
    *known = read_names(given, &d);
    int status = *known ? 0 : cr_read_string(&d, 0, "tokenizer", "tokenizer_class", &class, error);
    if (class) {
        *known = true;
        *given = cr_find_class(class, classes, sizeof classes / sizeof *classes, sizeof *classes) != NULL;
    }
    cr_document_free(&d);
    return status;
}

/* Sets *given from model_type in config.json. */
static int read_config(bool *given, const char *folder, struct cr_error *error)
{
    struct cr_document d;
    const char *family = "";
    int found = cr_document_read_optional(&d, folder, "config.json", true, error);
    if (found <= 0)
        return found;
    int status = cr_read_string(&d, 0, "config", "model_type", &family, error);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        *given &= strcmp(family, families[i]) != 0;
    cr_document_free(&d);
    return status;
}

int cr_read_segments(bool *given, const char *folder, struct cr_error *error)
{
    bool known = false;
    *given = true;
    if (read_tokenizer_config(given, &known, folder, error))
        return -1;
    return known ? 0 : read_config(given, folder, error);
}

void cr_leave_out_segments(struct cr_tokenizer *t)
{
    for (int i = 0; i < t->single.n; i++)
        t->single.items[i].type = 0;
    for (int i = 0; i < t->pair.n; i++)
        t->pair.items[i].type = 0;
    t->padding.type = 0;
}
