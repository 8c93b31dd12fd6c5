/* read_clip.c - makes CLIP's tokenizer from a vocabulary and merges, the form in which diffusion
 * models have it; see readers.h. */
#include <string.h>

#include "compiler/files/mapping.h"
#include "readers.h"

#define BEGIN "<|startoftext|>"
#define END "<|endoftext|>"

/* CLIP's pieces: words, single digits and runs of other characters.  Text between them is
 * dropped. */
static const char words[] = "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d"
                            "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/* Adds the parts that a tokenizer.json of CLIP lists. */
static int add_parts(struct cr_tokenizer *t, const char *path, struct cr_error *error)
{
    struct cr_pattern *spaces = cr_pattern_regex("\\s+", 3, path, error);
    struct cr_pattern *cut = spaces ? cr_pattern_regex(words, sizeof words - 1, path, error) : NULL;
    if (!cut) {
        cr_pattern_free(spaces);
        return -1;
    }
    cr_add_part(&t->normalizers, &cr_normalizers, "NFC");
    struct cr_text_part *replace = cr_add_part(&t->normalizers, &cr_normalizers, "Replace");
    replace->pattern = spaces;
    replace->content = " ";
    replace->length = 1;
    cr_add_part(&t->normalizers, &cr_normalizers, "Lowercase");
    struct cr_text_part *split = cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "Split");
    split->pattern = cut;
    split->behavior = CR_REMOVED;
    split->invert = true;
    struct cr_text_part *bytes = cr_add_part(&t->pre_tokenizers, &cr_pre_tokenizers, "ByteLevel");
    bytes->pattern = cr_pattern_gpt2();
    bytes->by_regex = true;
    cr_add_part(&t->decoders, &cr_decoders, "ByteLevel");
    t->has_decoder = true;
    return 0;
}

/* Adds a special token that the configuration names, with its flags.  Several names may have the
 * same token; then its flags are updated.  If `id` is not null, sets *id to the token's id, and
 * fails if the vocabulary lacks the token. */
static int add_special(struct cr_tokenizer *t, const struct cr_document *d, const char *name,
                       const char *otherwise, int32_t *id, struct cr_error *error)
{
    struct cr_added_token token = {0};
    int value = cr_member(d, 0, name);
    if (value >= 0 && d->values[value].kind == CR_JSON_OBJECT &&
        cr_read_added_flags(&token, d, value, error))
        return -1;
    token.text = cr_special_of(d, name, otherwise);
    token.length = strlen(token.text);
    token.special = true;
    token.id = cr_find_word(&t->vocabulary, token.text, token.length);
    if (id && token.id < 0)
        return cr_fail(error, "%s: found the %s %s, expected a token of the vocabulary", d->path, name,
                       cr_show(token.text, token.length).text);
    if (id)
        *id = token.id;
    return token.id < 0 ? 0 : cr_amend_added(&t->added, &token, &t->vocabulary, d->path, error);
}

int cr_add_clip_parts(struct cr_tokenizer *t, const struct cr_document *d, struct cr_error *error)
{
    struct cr_pair_template pair = {.separators = 2};
    t->bpe.suffix = "</w>";
    t->bpe.suffix_length = strlen(t->bpe.suffix);
    if (add_parts(t, d->path, error) || add_special(t, d, "bos_token", BEGIN, &pair.cls, error) ||
        add_special(t, d, "eos_token", END, &pair.sep, error) ||
        add_special(t, d, "unk_token", END, &t->bpe.unknown, error) ||
        add_special(t, d, "pad_token", END, NULL, error) ||
        cr_read_config_tokens(t, d->path, NULL, error))
        return -1;
    cr_add_pair_template(&t->post_processors, &pair);
    return 0;
}
