/* read_wordpiece.c - reads a vocab.txt, one token a line, as BERT and similar models have it; see
 * readers.h. */
#include <string.h>

#include "compiler/files/mapping.h"
#include "compiler/ir/mem.h"
#include "readers.h"

/* ---- the classes of tokenizer_config.json ---- */

/* The special tokens of a class and the layout of a pair.  transformers has them in the code of the
 * class, not in files. */
struct class
{
    const char *name;
    const char *cls, *sep, *pad, *mask;
    int separators;     /* how many separators are between the texts of a pair */
    int32_t first_type; /* the segment of the first special token */
};

#define BERT "[CLS]", "[SEP]", "[PAD]", "[MASK]", 1, 0

static const struct class classes[] = {
    {"BertTokenizer", BERT},
    {"DistilBertTokenizer", BERT},
    {"ElectraTokenizer", BERT},
    {"MobileBertTokenizer", BERT},
    {"SqueezeBertTokenizer", BERT},
    {"ConvBertTokenizer", BERT},
    {"LxmertTokenizer", BERT},
    {"RetriBertTokenizer", BERT},
    {"FunnelTokenizer", "<cls>", "<sep>", "<pad>", "<mask>", 1, 2},
    {"MPNetTokenizer", "<s>", "</s>", "<pad>", "<mask>", 2, 0},
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

/* ---- vocab.txt ---- */

/* Reads the tokens; the id of a token is the number of its line, counted from 0. */
static int read_vocabulary(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_mapping file;
    if (cr_map_file(&file, path, error->text, sizeof error->text))
        return -1;
    const char *line = (const char *)file.bytes, *end = line + file.size, *next;
    size_t at;
    int status = cr_is_utf8(line, file.size, &at)
                     ? 0
                     : cr_fail(error, "%s: byte %zu is no UTF-8, expected UTF-8", path, at);
    for (int64_t id = 0; line < end && status == 0; line = next, id++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        next = newline ? newline + 1 : end;
        stop -= stop > line && stop[-1] == '\r';
        status = cr_add_word(&t->vocabulary, line, (size_t)(stop - line), id, path, error);
    }
    cr_unmap_file(&file);
    return status;
}

/* ---- parts ---- */

/* Adds the normalizer, the pre-tokenizer and the decoder of BERT, with the settings in document `d`
 * unless that is null.  The default of strip_accents is whether text is converted to lower case. */
static int add_parts(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    struct cr_bert bert = {.clean = true, .chinese = true, .lowercase = true};
    static const char where[] = "tokenizer";
    if (d && (cr_read_bool(d, 0, where, "do_lower_case", &bert.lowercase, error) ||
              cr_read_bool(d, 0, where, "tokenize_chinese_chars", &bert.chinese, error)))
        return -1;
    bert.strips_accents = bert.lowercase;
    if (d && cr_read_bool(d, 0, where, "strip_accents", &bert.strips_accents, error))
        return -1;
    cr_add_part(&t->normalizers, &cr_normalizers, "BertNormalizer")->bert = bert;
    cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "BertPreTokenizer");
    struct cr_text_part *decoder = cr_add_part(&t->decoders, &cr_decoders, "WordPiece");
    decoder->content = t->wordpiece.prefix;
    decoder->length = strlen(t->wordpiece.prefix);
    decoder->cleanup = true;
    t->has_decoder = true;
    return 0;
}

/* Adds a special token if the vocabulary has it.  If `id` is not null, sets *id to its id, and
 * fails if the vocabulary lacks it. */
static int add_special(struct cr_tokenizer *t, const char *text, bool lstrip, int32_t *id,
                       const char *path, struct cr_error *error)
{
    struct cr_added_token token = {.text = text, .length = strlen(text), .special = true, .lstrip = lstrip};
    token.id = cr_find_word(&t->vocabulary, token.text, token.length);
    if (id && token.id < 0)
        return cr_fail(error, "%s: found no token %s, which is put around texts, expected it", path,
                       cr_show(text, token.length).text);
    if (id)
        *id = token.id;
    return token.id < 0 || cr_find_word(&t->added.words, text, token.length) >= 0
               ? 0
               : cr_add_added(&t->added, &token, &t->vocabulary, path, error);
}

/* Adds the special tokens of a class, and puts them around a text and between the texts of a
 * pair. */
static int add_specials(struct cr_tokenizer *t, const struct class *class,
                        const struct cr_document *d, const char *path, struct cr_error *error)
{
    struct cr_pair_template pair = {.separators = class->separators, .first_type = class->first_type, .second_type = 1};
    bool lstrip = class->separators == 2; /* MPNet's <mask> includes the space before it */
    if (add_special(t, cr_special_of(d, "cls_token", class->cls), false, &pair.cls, path, error) ||
        add_special(t, cr_special_of(d, "sep_token", class->sep), false, &pair.sep, path, error) ||
        add_special(t, t->wordpiece.unknown, false, NULL, path, error) ||
        add_special(t, cr_special_of(d, "pad_token", class->pad), false, NULL, path, error) ||
        add_special(t, cr_special_of(d, "mask_token", class->mask), lstrip, NULL, path, error))
        return -1;
    cr_add_pair_template(&t->post_processors, &pair);
    return 0;
}

/* ---- the files ---- */

int cr_read_wordpiece_files(struct cr_tokenizer *t, const char *vocabulary, const char *config,
                            struct cr_error *error)
{
    struct cr_document document, *d = config ? &document : NULL;
    const char *name = "BertTokenizer";
    t->model = &cr_wordpiece_model;
    if (read_vocabulary(t, vocabulary, error) || (d && cr_document_read_zeros(d, config, error)))
        return -1;
    int status = d ? cr_read_string(d, 0, "tokenizer", "tokenizer_class", &name, error) : 0;
    const struct class *class =
        status ? NULL : cr_find_class(name, classes, N_CLASSES, sizeof *classes);
    if (status == 0 && !class)
        status = cr_fail(error,
                         "%s: found the tokenizer_class %.60s beside vocab.txt, expected BertTokenizer, "
                         "MPNetTokenizer or one like BERT's",
                         config, name);
    t->wordpiece = (struct cr_wordpiece){cr_special_of(d, "unk_token", "[UNK]"), "##", 100};
    if (status == 0)
        status = add_parts(t, d, error) || add_specials(t, class, d, vocabulary, error) ||
                         (config && cr_read_config_tokens(t, config, NULL, error))
                     ? -1
                     : 0;
    if (d) {
        *CR_PUSH(t->strings, t->n_strings, t->strings_cap) = cr_document_keep_strings(d);
        cr_document_free(d);
    }
    return status;
}
