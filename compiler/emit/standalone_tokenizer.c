/* standalone_tokenizer.c - prints a tokenizer as standalone C; see standalone_tokenizer.h. */
#include "standalone_tokenizer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/tokenizer/byte_letters.h"
#include "compiler/tokenizer/decoders.h"
#include "compiler/tokenizer/emitted_parts.h"
#include "compiler/tokenizer/pattern_program.h"
#include "runtime_text.h"

/* A tokenizer, with the data from which the emitted tables are printed. */
struct tables {
    const struct cr_tokenizer *t;
    enum cr_tokenizer_use use;
    struct cr_shape shape;
    struct cr_stage_list list;
    bool decodes; /* true if the emitted tables include the texts of tokens, for decoding */
    struct cr_text bytes; /* decoded texts of all tokens, one after another */
    uint32_t *starts; /* by id: the offset of its text in `bytes` */
    struct cr_ids firsts; /* if decoding removes the spaces of a text's first token: for each
                           * token with spaces, three numbers: its id, and the begin and end in
                           * `bytes` of its text as first token */
    size_t longest;   /* bytes of the longest text of a token */
};

/* ---- supported parts ---- */

/* Makes the model choose the function that encodes a piece.  Only BPE accepts the letters that
 * ByteLevel makes of bytes. */
static int choose_piece(struct tables *s, struct cr_error *error)
{
    const struct cr_model_kind *model = s->t->model;
    s->list.piece = model->piece;
    if (model->list)
        return model->list(s->t, &s->shape, error);
    return s->shape.byte_level ? cr_refuse_shape(&s->shape, "ByteLevel before another model than BPE", "BPE behind it", error)
                               : 0;
}

/* Converts the tokenizer to stages and cuts, followed by a model; fails if emitted C does not
 * support a part. */
static int choose_shape(struct tables *s, struct cr_error *error)
{
    s->shape.list = &s->list;
    s->decodes = s->use == CR_FOR_PROMPTS || s->t->bpe.ignore_merges;
    return cr_list_encoding(&s->shape, s->t, error) || choose_piece(s, error) ||
                   (s->decodes && cr_shape_decoding(&s->shape, s->t, error))
               ? -1
               : 0;
}

/* ---- the texts of tokens ---- */

/* Returns the text of a token before decoders change it; null for an id without a token. */
static const char *text_to_decode(const struct tables *s, int32_t id, size_t *length)
{
    const struct cr_added_token *added = cr_find_added(&s->t->added, id);
    if (!added || !added->shown)
        return cr_token_text(s->t, id, length);
    *length = added->shown_length;
    return added->shown;
}

/* Appends the decoded text of a token that is not the first one of its text. */
static int put_token(struct tables *s, int32_t id, struct cr_error *error)
{
    const struct cr_text_parts *decoders = &s->t->decoders;
    size_t length, begin = s->bytes.length;
    const char *text = text_to_decode(s, id, &length);
    if (!text)
        return 0;
    struct cr_decoding *states = cr_new_decodings(decoders);
    struct cr_text before = {0};
    int status = cr_decode_token(decoders, states, "a", 1, &before, error);
    if (status == 0)
        status = cr_decode_token(decoders, states, text, length, &s->bytes, error);
    if (s->shape.strips_first && memchr(text, ' ', length))
        status = cr_refuse_shape(&s->shape, "a token that contains a space", "none with Metaspace", error);
    if (s->bytes.length - begin > s->longest)
        s->longest = s->bytes.length - begin;
    cr_free_decodings(decoders, states);
    free(before.data);
    return status;
}

/* Appends the text of a token as the first one of a text, unless that is a suffix of its text
 * elsewhere and not empty. */
static int put_first(struct tables *s, int32_t id, struct cr_error *error)
{
    const struct cr_text_parts *decoders = &s->t->decoders;
    size_t length, begin = s->bytes.length, rest = s->starts[id + 1] - s->starts[id];
    const char *text = text_to_decode(s, id, &length);
    if (!text)
        return 0;
    struct cr_decoding *states = cr_new_decodings(decoders);
    int status = cr_decode_token(decoders, states, text, length, &s->bytes, error);
    cr_free_decodings(decoders, states);
    length = s->bytes.length - begin;
    if (rest > 0 && length <= rest && memcmp(s->bytes.data + s->starts[id + 1] - length, s->bytes.data + begin, length) == 0) {
        s->bytes.length = begin;
        return status;
    }
    *CR_PUSH(s->firsts.items, s->firsts.n, s->firsts.cap) = id;
    *CR_PUSH(s->firsts.items, s->firsts.n, s->firsts.cap) = (int32_t)begin;
    *CR_PUSH(s->firsts.items, s->firsts.n, s->firsts.cap) = (int32_t)s->bytes.length;
    return status;
}

/* Appends the decoded text of each token, and a second text for tokens that are decoded
 * differently at the beginning of a text. */
static int put_tokens(struct tables *s, struct cr_error *error)
{
    cr_put_bytes(&s->bytes, "", 0);
    s->starts = cr_calloc((size_t)s->t->n_ids + 1, sizeof *s->starts);
    for (int32_t id = 0; id < s->t->n_ids; id++) {
        if (put_token(s, id, error))
            return -1;
        s->starts[id + 1] = (uint32_t)s->bytes.length;
    }
    for (int32_t id = 0; s->shape.strips_first && id < s->t->n_ids; id++)
        if (put_first(s, id, error))
            return -1;
    return 0;
}

/* Computes the data for all tables; fails if emitted C does not support the tokenizer. */
static int read_tables(struct tables *s, struct cr_error *error)
{
    return choose_shape(s, error) || (s->decodes && put_tokens(s, error)) ? -1 : 0;
}

/* ---- arrays ---- */

/* An array while it is printed: "static const TYPE NAME_what[] = {", elements by put_item, "};" */
struct array {
    struct cr_text *out;
    size_t line; /* offset of the current line in the text */
};

static struct array begin_array(struct cr_text *out, const char *type, const char *name,
                                const char *what)
{
    cr_put(out, "static const %s %s_%s[] = {\n    ", type, name, what);
    return (struct array){out, out->length - 4};
}

static void put_item(struct array *a, int64_t value)
{
    enum { COLUMNS = 92 };
    if (a->out->length - a->line > COLUMNS) {
        cr_put(a->out, "\n    ");
        a->line = a->out->length - 4;
    }
    cr_put(a->out, "%lld, ", (long long)value);
}

/* Prints the end of an array; an empty array gets one element, since C has no empty arrays. */
static void end_array(struct array *a, bool empty)
{
    if (empty)
        cr_put(a->out, "0, ");
    a->out->length--;
    cr_put(a->out, "\n};\n");
}

static void put_ids(struct cr_text *out, const char *name, const char *what, const int32_t *items,
                    size_t n)
{
    struct array a = begin_array(out, "int32_t", name, what);
    for (size_t i = 0; i < n; i++)
        put_item(&a, items[i]);
    end_array(&a, n == 0);
}

static void put_raw(struct cr_text *out, const char *name, const char *what, const char *bytes,
                    size_t n)
{
    struct array a = begin_array(out, "unsigned char", name, what);
    for (size_t i = 0; i < n; i++)
        put_item(&a, (unsigned char)bytes[i]);
    end_array(&a, n == 0);
}

static void put_texts(struct cr_text *out, const struct tables *s, const char *name)
{
    put_raw(out, name, "bytes", s->bytes.data, s->bytes.length);
    struct array a = begin_array(out, "uint32_t", name, "starts");
    for (int i = 0; i <= s->t->n_ids; i++)
        put_item(&a, s->starts[i]);
    end_array(&a, false);
    if (s->firsts.n > 0)
        put_ids(out, name, "firsts", s->firsts.items, (size_t)s->firsts.n);
}

/* Prints the id of the token for each byte: a letter of a byte-level tokenizer, else <0x00> to
 * <0xFF>. */
static void put_byte_ids(struct cr_text *out, const struct tables *s, const char *name)
{
    int32_t ids[256];
    for (int i = 0; i < 256; i++) {
        struct cr_text letter = {0};
        char byte = (char)i;
        cr_put_byte_letters(&letter, &byte, 1);
        ids[i] = s->shape.byte_level ? cr_find_word(&s->t->vocabulary, letter.data, letter.length)
                               : s->t->bpe.bytes[i];
        free(letter.data);
    }
    put_ids(out, name, "byte_ids", ids, 256);
}

/* Prints the ids of the tokens for a byte at the end of a piece, which end with
 * end_of_word_suffix. */
static void put_end_ids(struct cr_text *out, const struct tables *s, const char *name)
{
    int32_t ids[256];
    for (int i = 0; i < 256; i++) {
        struct cr_text letter = {0};
        char byte = (char)i;
        cr_put_byte_letters(&letter, &byte, 1);
        cr_put_bytes(&letter, s->t->bpe.suffix, s->t->bpe.suffix_length);
        ids[i] = cr_find_word(&s->t->vocabulary, letter.data, letter.length);
        free(letter.data);
    }
    put_ids(out, name, "end_ids", ids, 256);
}

/* ---- merges, whole pieces, added tokens ---- */

static void put_merges(struct cr_text *out, const struct cr_bpe *bpe, const char *name)
{
    put_ids(out, name, "merge_left", bpe->left, (size_t)bpe->n_merges);
    put_ids(out, name, "merge_right", bpe->right, (size_t)bpe->n_merges);
    put_ids(out, name, "merge_made", bpe->made, (size_t)bpe->n_merges);
    put_ids(out, name, "merge_slots", bpe->slots, (size_t)bpe->mask + 1);
    if (bpe->levels)
        put_ids(out, name, "merge_levels", bpe->levels, (size_t)bpe->n_merges);
}

/* Prints the hash table of the tokens that are single characters. */
static void put_letters(struct cr_text *out, const struct cr_bpe *bpe, const char *name)
{
    const struct cr_letter_table *letters = &bpe->letters[0];
    cr_put(out, "static const struct cr_letter %s_letters[] = {\n", name);
    for (uint32_t i = 0; i <= letters->mask; i++)
        cr_put(out, "%s{%u, %d},%s", i % 6 ? " " : "    ", letters->slots[i].character,
               letters->slots[i].id, i % 6 == 5 || i == letters->mask ? "\n" : "");
    cr_put(out, "};\n");
}

/* A hash table from texts to ids, in the form in which word_table.inc looks them up. */
struct slots {
    int32_t *ids;
    uint32_t size;
};

static struct slots new_slots(int n)
{
    struct slots s = {.size = 4};
    while (s.size < 2 * (uint32_t)n)
        s.size *= 2;
    s.ids = cr_calloc(s.size, sizeof *s.ids);
    memset(s.ids, 0xff, s.size * sizeof *s.ids);
    return s;
}

static void add_slot(struct slots *s, const char *text, size_t n, int32_t id)
{
    uint32_t at = cr_hash_piece(text, n) & (s->size - 1);
    while (s->ids[at] >= 0)
        at = (at + 1) & (s->size - 1);
    s->ids[at] = id;
}

/* Prints a hash table from the bytes of a token to its id; returns the mask for its slots. */
static uint32_t put_whole(struct cr_text *out, const struct tables *s, const char *name)
{
    const struct cr_vocabulary *v = &s->t->vocabulary;
    struct slots slots = new_slots(v->n);
    for (int id = 0; id < v->n; id++) {
        struct cr_text bytes = {0};
        const char *text = cr_word_text(v, id);
        if (text && cr_put_letters_bytes(&bytes, text, v->tokens[id].length))
            add_slot(&slots, bytes.data, bytes.length, id);
        free(bytes.data);
    }
    put_ids(out, name, "whole", slots.ids, slots.size);
    free(slots.ids);
    return slots.size - 1;
}

/* ---- words ---- */

/* Prints the texts of all tokens as the vocabulary stores them, and the table by which words are
 * looked up. */
static void put_words(struct cr_text *out, const struct cr_vocabulary *v, const char *name)
{
    struct slots slots = new_slots(v->n);
    struct array bytes = begin_array(out, "unsigned char", name, "word_bytes");
    size_t length = 0;
    for (int id = 0; id < v->n; id++) {
        const char *text = cr_word_text(v, id);
        for (uint32_t i = 0; i < v->tokens[id].length; i++, length++)
            put_item(&bytes, (unsigned char)text[i]);
        if (text)
            add_slot(&slots, text, v->tokens[id].length, id);
    }
    end_array(&bytes, length == 0);
    struct array starts = begin_array(out, "uint32_t", name, "word_starts");
    length = 0;
    for (int id = 0; id <= v->n; id++) {
        put_item(&starts, (int64_t)length);
        length += id < v->n ? v->tokens[id].length : 0;
    }
    end_array(&starts, false);
    put_ids(out, name, "word_slots", slots.ids, slots.size);
    cr_put(out,
           "static const struct cr_words %s_words = {%s_word_bytes, %s_word_starts, %s_word_slots, %uu};\n",
           name, name, name, name, slots.size - 1);
    free(slots.ids);
}

/* Prints numbers that read back as the same values; minus infinity is printed as the lowest
 * finite number. */
static void put_scores(struct cr_text *out, const struct cr_unigram *u, const char *name)
{
    cr_put(out, "static const double %s_scores[] = {\n", name);
    for (int i = 0; i < u->n_scores; i++)
        cr_put(out, "%s%.17g,%s", i % 4 ? " " : "    ", u->scores[i] < -DBL_MAX ? -DBL_MAX : u->scores[i],
               i % 4 == 3 || i == u->n_scores - 1 ? "\n" : "");
    cr_put(out, "%s};\n", u->n_scores ? "" : "    0\n");
}

static void put_unigram(struct cr_text *out, const struct cr_unigram *u, const char *name)
{
    put_scores(out, u, name);
    if (u->byte_fallback)
        put_ids(out, name, "byte_ids", u->bytes, 256);
    struct array heads = begin_array(out, "uint32_t", name, "heads");
    for (int i = 0; i < CR_UNIGRAM_HEADS; i++)
        put_item(&heads, u->longest[i]);
    end_array(&heads, false);
}

/* ---- added tokens ---- */

static void put_trie(struct cr_text *out, const struct cr_trie *trie, const char *name,
                     const char *what)
{
    cr_put(out, "static const struct cr_trie_node %s_%s[] = {\n", name, what);
    for (int i = 0; i < trie->n; i++)
        cr_put(out, "%s{%d, %d, %d, %u},%s", i % 4 ? " " : "    ", trie->nodes[i].child,
               trie->nodes[i].sibling, trie->nodes[i].token, trie->nodes[i].byte,
               i % 4 == 3 || i == trie->n - 1 ? "\n" : "");
    cr_put(out, "};\n");
}

/* Prints the added tokens, and the tries by which they are found. */
static void put_added(struct cr_text *out, const struct cr_added *added, const char *name)
{
    put_trie(out, &added->raw, name, "added_raw");
    put_trie(out, &added->normalized, name, "added_normalized");
    cr_put(out, "static const struct cr_added_rule %s_added[] = {\n", name);
    for (int i = 0; i < added->n; i++)
        cr_put(out, "    {%d, %d},\n", added->rules[i].id, added->rules[i].flags);
    cr_put(out, "%s};\n", added->n ? "" : "    {-1, 0},\n");
}

/* ---- the text ---- */

static bool wants_classes(const struct cr_added *added)
{
    for (int i = 0; i < added->n; i++)
        if (added->tokens[i].single_word || added->tokens[i].lstrip || added->tokens[i].rstrip)
            return true;
    return false;
}

/* True if `name`, in a mark "only for NAME", is a part that this tokenizer needs. */
static bool is_part_needed(void *context, const char *name)
{
    const struct tables *s = context;
    const struct {
        const char *name;
        bool needed;
    } parts[] = {{"decode", s->decodes},
                 {"texts", s->use == CR_FOR_TEXTS},
                 {"bpe", s->t->model == &cr_bpe_model}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, name) == 0)
            return parts[i].needed;
    bool found = strcmp(name, s->list.piece) == 0;
    for (int i = 0; i < s->list.n_stages; i++)
        found |= strcmp(cr_stage_rows[s->list.stages[i].kind].function, name) == 0;
    for (int i = 0; i < s->list.n_cuts; i++)
        found |= strcmp(s->list.cuts[i].piece, name) == 0 ||
                 (s->list.cuts[i].class_of && strcmp(s->list.cuts[i].class_of, name) == 0);
    return found;
}

/* True if any of the names is needed; null ends them. */
static bool needs_one(const struct tables *s, const char *const *names)
{
    while (*names && !is_part_needed((void *)(uintptr_t)s, *names))
        names++;
    return *names != NULL;
}

#define NEEDS(...) needs_one(s, (const char *const[]){__VA_ARGS__, NULL})

/* Why a file of the tokenizer's source is in the text. */
enum reason {
    ALWAYS, LEADS, CLASS_RUNS, CLASSES, BERT, SCANS, GPT2, LLAMA3, UTF8_PUT, BPE, PIECE_HASH, WORDS, WORDPIECE,
    UNIGRAM, DECODES, FOR_TEXTS, FORMS, COMPATIBLE, LOWER, MAPPED, SCRIPTS, STAGES, TEXT_MAP, PIECES, CUTS, PATTERN,
    REASONS
};

/* The source files, in the order in which they use each other. */
static const struct {
    const char *path;
    enum reason reason;
} files[] = {
    {"compiler/tokenizer/leading.inc", ALWAYS},
    {"compiler/tokenizer/leading_characters.inc", LEADS},
    {"compiler/tokenizer/characters.inc", ALWAYS},
    {"compiler/tokenizer/class_runs.inc", CLASS_RUNS},
    {"compiler/tokenizer/classes.inc", CLASSES},
    {"compiler/tokenizer/class_of.inc", CLASSES},
    {"compiler/tokenizer/bert_classes.inc", BERT},
    {"compiler/tokenizer/bert_class_of.inc", BERT},
    {"compiler/tokenizer/scan_shared.inc", SCANS},
    {"compiler/tokenizer/scan_gpt2.inc", GPT2},
    {"compiler/tokenizer/scan_llama3.inc", LLAMA3},
    {"compiler/files/utf8.h", ALWAYS},
    {"compiler/files/utf8_put.h", UTF8_PUT},
    {"compiler/tokenizer/lookup_tables.h", ALWAYS},
    {"compiler/tokenizer/step_back.inc", ALWAYS},
    {"compiler/tokenizer/trie.inc", ALWAYS},
    {"compiler/tokenizer/added_tokens.inc", ALWAYS},
    {"compiler/tokenizer/merge.inc", BPE},
    {"compiler/tokenizer/symbols.inc", BPE},
    {"compiler/tokenizer/piece_hash.inc", PIECE_HASH},
    {"compiler/tokenizer/word_table.inc", WORDS},
    {"compiler/tokenizer/wordpiece.inc", WORDPIECE},
    {"compiler/tokenizer/unigram.inc", UNIGRAM},
    {"compiler/tokenizer/visible_space.inc", ALWAYS},
    {"compiler/tokenizer/hidden_tokens.inc", DECODES},
    {"compiler/tokenizer/stripping.inc", DECODES},
    {"compiler/tokenizer/truncation.inc", FOR_TEXTS},
    {"compiler/tokenizer/compositions.inc", FORMS},
    {"compiler/tokenizer/normal_forms.inc", FORMS},
    {"compiler/tokenizer/compatible.inc", COMPATIBLE},
    {"compiler/tokenizer/lower_case.inc", LOWER},
    {"compiler/tokenizer/graphemes.inc", MAPPED},
    {"compiler/tokenizer/graphemes_of.inc", MAPPED},
    {"compiler/tokenizer/script_runs.inc", SCRIPTS},
    {"compiler/tokenizer/stage.h", ALWAYS},
    {"compiler/tokenizer/cutter.h", ALWAYS},
    {"compiler/tokenizer/text_stages.inc", STAGES},
    {"compiler/tokenizer/text_map.inc", TEXT_MAP},
    {"compiler/tokenizer/precompiled.inc", MAPPED},
    {"compiler/tokenizer/sentencepiece.inc", PIECES},
    {"compiler/tokenizer/cut_characters.inc", CUTS},
    {"compiler/tokenizer/run_pattern.inc", PATTERN},
    {"compiler/emit/standalone_stages.inc", ALWAYS},
    {"compiler/emit/standalone_tokenizer.inc", ALWAYS},
};

/* Sets for each reason whether it holds for the tables. */
static void find_reasons(const struct tables *s, bool holds[REASONS])
{
    memset(holds, 0, REASONS * sizeof *holds);
    holds[ALWAYS] = true;
    holds[GPT2] = NEEDS("cr_piece_by_gpt2");
    holds[LLAMA3] = NEEDS("cr_piece_by_llama3");
    holds[SCANS] = holds[GPT2] || holds[LLAMA3];
    holds[MAPPED] = NEEDS("cr_make_mapped");
    holds[PIECES] = NEEDS("cr_make_sentencepiece");
    holds[TEXT_MAP] = holds[MAPPED] || holds[PIECES];
    holds[LOWER] = NEEDS("cr_make_lower");
    holds[SCRIPTS] = NEEDS("cr_piece_by_script");
    holds[BPE] = NEEDS("bpe");
    holds[WORDPIECE] = NEEDS("cr_piece_of_wordpiece");
    holds[UNIGRAM] = NEEDS("cr_piece_of_unigram");
    holds[WORDS] = holds[WORDPIECE] || holds[UNIGRAM] || NEEDS("cr_piece_of_word");
    holds[PIECE_HASH] = holds[WORDS] || s->t->bpe.ignore_merges;
    holds[PATTERN] = NEEDS("cr_piece_by_pattern");
    holds[DECODES] = s->decodes;
    holds[FOR_TEXTS] = s->use == CR_FOR_TEXTS;
    holds[STAGES] = s->list.n_stages > 0;
    holds[CUTS] = s->list.n_cuts > 0;
}

/* Sets the reasons that are about characters: their classes, their normal forms, their bytes. */
static void find_reasons_of_characters(const struct tables *s, bool holds[REASONS])
{
    bool changes = NEEDS("cr_make_lower", "cr_make_unaccented", "cr_make_bert_clean", "cr_make_bert_apart",
                         "cr_make_nmt");
    holds[COMPATIBLE] = NEEDS("cr_make_nfkc", "cr_make_nfkd");
    holds[FORMS] = holds[COMPATIBLE] || NEEDS("cr_make_nfc", "cr_make_nfd", "cr_make_bert_unmarked");
    holds[BERT] = NEEDS("cr_make_bert_clean", "cr_make_bert_unmarked", "cr_cut_bert", "cr_cut_punctuation");
    holds[LEADS] = holds[FORMS] || holds[MAPPED] || changes;
    holds[UTF8_PUT] = holds[FORMS] || changes || NEEDS("cr_piece_of_letters");
    holds[CLASSES] = holds[SCANS] || wants_classes(&s->t->added) ||
                     NEEDS("cr_make_unaccented", "cr_make_bert_clean", "cr_make_stripped", "cr_make_replaced_runs",
                           "cr_cut_space", "cr_cut_bert", "cr_cut_digits", "cr_cut_words");
    holds[CLASS_RUNS] = holds[CLASSES] || holds[FORMS] || holds[BERT] || holds[SCRIPTS] || holds[MAPPED] ||
                        holds[LOWER];
}

/* Adds the source files that the tables need. */
static void put_files(struct cr_text *out, const struct tables *s)
{
    uint64_t done = 0;
    bool holds[REASONS];
    find_reasons(s, holds);
    find_reasons_of_characters(s, holds);
    cr_put(out, "%s#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n",
           holds[UNIGRAM] ? "#include <float.h>\n" : "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!holds[files[i].reason])
            continue;
        cr_add_runtime(out, files[i].path, &done, is_part_needed, (void *)(uintptr_t)s);
        cr_put(out, "\n");
    }
}

/* ---- stages and cuts ---- */

/* Prints a string literal of n bytes; each byte is an escape of three digits, so that no byte
 * joins with the next. */
static void put_literal(struct cr_text *out, const char *text, size_t n)
{
    cr_put(out, "\"");
    for (size_t i = 0; i < n; i++)
        cr_put(out, "\\%03o", (unsigned char)text[i]);
    cr_put(out, "\"");
}

/* Prints texts as arrays of characters with a final zero, since C compilers need not accept such
 * long string literals. */
static void put_results(struct cr_text *out, const struct cr_text_map *map, const char *name, int stage)
{
    enum { COLUMNS = 16 };
    cr_put(out, "static const char %s_results%d[] = {", name, stage);
    for (size_t k = 0; k < map->n_results; k++)
        cr_put(out, "%s'\\%03o',", k % COLUMNS ? " " : "\n    ", (unsigned char)map->results[k]);
    cr_put(out, "\n    0\n};\n");
}

/* Prints the text maps of all stages that have one. */
static void put_maps(struct cr_text *out, const struct tables *s, const char *name)
{
    for (int i = 0; i < s->list.n_stages; i++) {
        const struct cr_text_map *map = s->list.stages[i].map;
        char what[40];
        if (!map)
            continue;
        snprintf(what, sizeof what, "units%d", i);
        struct array units = begin_array(out, "uint32_t", name, what);
        for (size_t k = 0; k < map->n_units; k++)
            put_item(&units, map->units[k]);
        end_array(&units, map->n_units == 0);
        put_results(out, map, name, i);
        cr_put(out,
               "static const struct cr_map_tables %s_map%d = {%s_units%d, %s_results%d, %zuu, %zuu};\n", name,
               i, name, i, name, i, map->n_units, map->n_results);
    }
}

/* Prints the strings to which stages refer. */
static void put_kept(struct cr_text *out, const struct tables *s, const char *name)
{
    for (int i = 0; i < s->list.n_stages; i++) {
        char what[40];
        snprintf(what, sizeof what, "kept%d", i);
        if (s->list.stages[i].kept)
            put_trie(out, s->list.stages[i].kept, name, what);
    }
}

/* Prints the list of stages; a stage without a string gets an empty one. */
static void put_stages(struct cr_text *out, const struct tables *s, const char *name)
{
    put_maps(out, s, name);
    put_kept(out, s, name);
    cr_put(out, "static const struct cr_stage %s_stages[] = {\n", name);
    for (int i = 0; i < s->list.n_stages; i++) {
        const struct cr_listed_stage *stage = &s->list.stages[i];
        cr_put(out, "    {%s, ", cr_stage_rows[stage->kind].function);
        put_literal(out, stage->from, stage->from ? stage->n_from : 0);
        cr_put(out, ", ");
        put_literal(out, stage->to, stage->n_to);
        cr_put(out, ", %zu, %zu, ", stage->n_from, stage->n_to);
        if (stage->map)
            cr_put(out, "&%s_map%d, ", name, i);
        else
            cr_put(out, "0, ");
        if (stage->kept)
            cr_put(out, "%s_kept%d, %d},\n", name, i, stage->flags);
        else
            cr_put(out, "0, %d},\n", stage->flags);
    }
    cr_put(out, "%s};\n", s->list.n_stages ? "" : "    {0, 0, 0, 0, 0, 0, 0, 0},\n");
}

/* Prints the program that matches the pattern of a cut. */
static void put_program(struct cr_text *out, const struct cr_pattern *pattern, const char *name, int cut)
{
    static const char *const codes[] = {
        [CR_OP_SET] = "CR_OP_SET",       [CR_OP_SPLIT] = "CR_OP_SPLIT",           [CR_OP_JUMP] = "CR_OP_JUMP",
        [CR_OP_LOOK] = "CR_OP_LOOK",     [CR_OP_BEHIND] = "CR_OP_BEHIND",         [CR_OP_NOT_BEHIND] = "CR_OP_NOT_BEHIND",
        [CR_OP_BEGIN] = "CR_OP_BEGIN",   [CR_OP_LINE_BEGIN] = "CR_OP_LINE_BEGIN", [CR_OP_LINE_END] = "CR_OP_LINE_END",
        [CR_OP_END] = "CR_OP_END",       [CR_OP_LAST_END] = "CR_OP_LAST_END",     [CR_OP_MATCH] = "CR_OP_MATCH"};
    struct cr_pattern_program program = {0};
    const char *what;
    char sets[40];
    cr_compile_pattern(&program, pattern, &what);
    snprintf(sets, sizeof sets, "sets%d", cut);
    struct array a = begin_array(out, "uint32_t", name, sets);
    for (int i = 0; i < program.n_sets; i++)
        put_item(&a, program.sets[i]);
    end_array(&a, program.n_sets == 0);
    cr_put(out, "static const struct cr_pattern_op %s_ops%d[] = {\n", name, cut);
    for (int i = 0; i < program.n; i++)
        cr_put(out, "    {%s, %d, %d},\n", codes[program.ops[i].code], program.ops[i].a, program.ops[i].b);
    cr_put(out, "};\n");
    cr_free_pattern_program(&program);
}

/* Prints the programs of patterns, then the list of cuts. */
static void put_cuts(struct cr_text *out, const struct tables *s, const char *name)
{
    for (int i = 0; i < s->list.n_cuts; i++)
        if (s->list.cuts[i].pattern)
            put_program(out, s->list.cuts[i].pattern, name, i);
    cr_put(out, "static const struct cr_cutter %s_cuts[] = {\n", name);
    for (int i = 0; i < s->list.n_cuts; i++) {
        const struct cr_listed_cut *cut = &s->list.cuts[i];
        cr_put(out, "    {%s, %s, %d, %d, %u, %zu, ", cut->piece, cut->class_of ? cut->class_of : "0",
               cut->cutter.joins, cut->cutter.drops, cut->cutter.character, cut->cutter.digits);
        if (cut->pattern)
            cr_put(out, "%s_ops%d, %s_sets%d, sizeof %s_ops%d / sizeof *%s_ops%d},\n", name, i, name, i, name, i, name,
                   i);
        else
            cr_put(out, "0, 0, 0},\n");
    }
    cr_put(out, "%s};\n", s->list.n_cuts ? "" : "    {0, 0, 0, 0, 0, 0, 0, 0, 0},\n");
}

/* Prints a template: the positions of the texts among special ids. */
static void put_template(struct cr_text *out, const struct cr_template *template, const char *name,
                         const char *what)
{
    cr_put(out, "static const struct cr_template_item %s_%s[] = {", name, what);
    for (int i = 0; i < template->n; i++)
        cr_put(out, "{%d, %d}, ", template->items[i].id, template->items[i].type);
    cr_put(out, "%s};\n", template->n ? "" : "{0, 0}, ");
}

/* ---- all tables ---- */

static const char *const prepending[] = {
    [CR_PREPEND_NEVER] = "CR_PREPEND_NEVER",
    [CR_PREPEND_TO_TEXT] = "CR_PREPEND_TO_TEXT",
    [CR_PREPEND_UNLESS_THERE] = "CR_PREPEND_UNLESS_THERE",
    [CR_PREPEND_ONCE_UNLESS_THERE] = "CR_PREPEND_ONCE_UNLESS_THERE"};

/* True if the symbols that byte-pair encoding merges are characters, not bytes. */
static bool has_letters(const struct tables *s)
{
    return s->t->model == &cr_bpe_model && !s->shape.byte_level;
}

/* Prints the members of the structure for byte-pair encoding. */
static void put_bpe_members(struct cr_text *out, const struct tables *s, const char *name,
                            uint32_t whole_mask)
{
    const struct cr_bpe *bpe = &s->t->bpe;
    bool letters = has_letters(s);
    cr_put(out,
           "    .bpe = {{%s_merge_left, %s_merge_right, %s_merge_made, %s_merge_slots, %uu,\n"
           "             %s%s},\n"
           "            %s%s, %uu, %s_byte_ids, %d, %d},\n",
           name, name, name, name, bpe->mask, bpe->levels ? name : "0", bpe->levels ? "_merge_levels" : "",
           letters ? name : "0", letters ? "_letters" : "", letters ? bpe->letters[0].mask : 0, name,
           bpe->unknown, bpe->fuse_unknown);
    if (bpe->suffix_length > 0)
        cr_put(out, "    .end_ids = %s_end_ids,\n", name);
    if (bpe->ignore_merges)
        cr_put(out, "    .whole = %s_whole,\n    .whole_mask = %uu,\n", name, whole_mask);
}

/* Returns the id of the unknown token of a model of words, or -1. */
static int32_t unknown_word(const struct cr_tokenizer *t)
{
    const char *text = t->model == &cr_wordpiece_model ? t->wordpiece.unknown : t->unknown_word;
    return cr_find_word(&t->vocabulary, text, strlen(text));
}

/* Prints the members of the structure for a model of words or for Unigram. */
static void put_word_members(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    const struct cr_wordpiece *w = &t->wordpiece;
    const struct cr_unigram *u = &t->unigram;
    if (t->model == &cr_wordpiece_model) {
        cr_put(out, "    .wordpiece = {&%s_words, ", name);
        put_literal(out, w->prefix, strlen(w->prefix));
        cr_put(out, ", %zu, %zu, %lld},\n", strlen(w->prefix), (size_t)t->vocabulary.longest,
               (long long)(w->longest < INT32_MAX ? w->longest : INT32_MAX));
    } else if (t->model == &cr_unigram_model) {
        cr_put(out, "    .unigram = {&%s_words, %s_scores, %.17g, %d, %s%s, %d, %s_heads},\n", name, name,
               u->unknown_score, u->unknown, u->byte_fallback ? name : "0", u->byte_fallback ? "_byte_ids" : "",
               u->single, name);
        return;
    } else {
        cr_put(out, "    .words = &%s_words,\n", name);
    }
    cr_put(out, "    .unknown = %d,\n", unknown_word(t));
}

/* Prints the members of the structure for stages, cuts, and the model after them. */
static void put_list_members(struct cr_text *out, const struct tables *s, const char *name,
                             uint32_t whole_mask)
{
    const struct cr_stage_list *list = &s->list;
    const char *space = list->prefixed ? " " : s->shape.space ? s->shape.space : "";
    if (s->t->model == &cr_bpe_model)
        put_bpe_members(out, s, name, whole_mask);
    else
        put_word_members(out, s->t, name);
    cr_put(out,
           "    .stages = %s_stages,\n    .cuts = %s_cuts,\n    .n_stages = %d,\n    .n_cuts = %d,\n"
           "    .spaced = %d,\n    .prefixed = %d,\n    .space_text = ",
           name, name, list->n_stages, list->n_cuts, list->spaced, list->prefixed);
    put_literal(out, space, strlen(space));
    cr_put(out, ",\n    .n_space = %zu,\n    .piece = %s,\n    .prepending = %s,\n", strlen(space), list->piece,
           prepending[s->shape.prepending]);
}

/* Prints the members of the structure for texts and pairs. */
static void put_texts_members(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    static const char *const strategies[] = {"CR_LONGEST_FIRST", "CR_ONLY_FIRST", "CR_ONLY_SECOND"};
    cr_put(out,
           "    .single = %s_single,\n    .pair = %s_pair,\n    .n_single = %d,\n    .n_pair = %d,\n"
           "    .strategy = %s,\n    .cuts_left = %d,\n",
           name, name, t->single.n, t->pair.n, strategies[t->truncation.strategy], t->truncation.left);
}

/* Prints the structure with pointers to all tables. */
static void put_tables(struct cr_text *out, const struct tables *s, const char *name,
                       uint32_t whole_mask)
{
    const struct cr_tokenizer *t = s->t;
    cr_put(out, "\nstatic const struct cr_tokenizer_tables %s_tokenizer = {\n    .n = %d,\n", name, t->n_ids);
    if (s->decodes)
        cr_put(out, "    .bytes = %s_bytes,\n    .starts = %s_starts,\n", name, name);
    put_list_members(out, s, name, whole_mask);
    if (wants_classes(&t->added))
        cr_put(out, "    .class_of = cr_class,\n");
    cr_put(out,
           "    .raw = %s_added_raw,\n    .normalized = %s_added_normalized,\n"
           "    .added = %s_added,\n    .n_added = %d,\n"
           "    .before = %s_before,\n    .after = %s_after,\n    .n_before = %d,\n"
           "    .n_after = %d,\n",
           name, name, name, t->added.n, name, name, t->frame.n_before, t->frame.n_after);
    if (s->decodes)
        cr_put(out, "    .strips = %d,\n    .strips_first = %d,\n", (int)s->shape.strips,
               s->shape.strips_first);
    if (s->firsts.n > 0)
        cr_put(out, "    .firsts = %s_firsts,\n    .n_firsts = %d,\n", name, s->firsts.n);
    if (s->use == CR_FOR_TEXTS)
        put_texts_members(out, t, name);
    cr_put(out, "};\n");
}

/* Writes a name in capitals to `upper`: "GPT2" for "gpt2". */
static void put_upper(char upper[128], const char *name)
{
    size_t n = 0;
    for (; name[n] && n < 127; n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 'a' + 'A' : name[n]);
    upper[n] = '\0';
}

/* Prints the ids that encoding adds before and after a text, and the ids that end a text. */
static void put_frame(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    put_ids(out, name, "before", t->frame.before, (size_t)t->frame.n_before);
    put_ids(out, name, "after", t->frame.after, (size_t)t->frame.n_after);
    cr_put(out, "const int32_t %s_ends[] = {", name);
    for (int i = 0; i < t->ends.n; i++)
        cr_put(out, "%d, ", t->ends.items[i]);
    cr_put(out, "-1};\n");
}

/* Prints the public functions. */
static void put_calls(struct cr_text *out, const struct tables *s, const char *name)
{
    char upper[128];
    put_upper(upper, name);
    cr_put(
        out,
        "\nint64_t %s_encode(const char *text, size_t n, int framed, int32_t *ids, int32_t *work)\n"
        "{\n    return cr_encode_by(&%s_tokenizer, text, n, framed, ids, work,\n"
        "                        %s_ENCODE_SYMBOLS(n));\n}\n",
        name, name, upper);
    if (s->decodes)
        cr_put(out,
               "\nconst unsigned char *%s_decode(struct cr_text_state *state, int32_t id, int show,\n"
               "                               size_t *n)\n"
               "{\n    return cr_decode_by(&%s_tokenizer, state, id, show, n);\n}\n",
               name, name);
    if (s->use == CR_FOR_TEXTS)
        cr_put(out,
               "\nint64_t %s_encode_texts(struct cr_texts *texts, int32_t *work)\n{\n"
               "    const size_t sizes[2] = {%s_ENCODE_SYMBOLS(texts->n), %s_ENCODE_SYMBOLS(texts->n_pair)};\n"
               "    int32_t *rest = work + %s_ENCODE_IDS(texts->n + texts->n_pair) + %s_ENCODE_IDS(0);\n"
               "    return cr_encode_texts(&%s_tokenizer, texts, work, rest, sizes);\n}\n",
               name, upper, upper, upper, upper, name);
}

/* Prints the tables of the tokenizer's model. */
static void put_model(struct cr_text *out, const struct tables *s, const char *name)
{
    const struct cr_tokenizer *t = s->t;
    if (t->model == &cr_bpe_model) {
        put_merges(out, &t->bpe, name);
        put_byte_ids(out, s, name);
        if (has_letters(s))
            put_letters(out, &t->bpe, name);
        if (t->bpe.suffix_length > 0)
            put_end_ids(out, s, name);
        return;
    }
    put_words(out, &t->vocabulary, name);
    if (t->model == &cr_unigram_model)
        put_unigram(out, &t->unigram, name);
}

/* Makes all checks before it appends any text. */
int cr_emit_tokenizer(struct cr_text *out, const struct cr_tokenizer *t, const char *name,
                      enum cr_tokenizer_use use, const char *path, struct cr_error *error)
{
    struct tables s = {.t = t, .use = use, .shape = {.path = path}};
    uint32_t whole_mask = 0;
    int status = read_tables(&s, error);
    if (status == 0) {
        put_files(out, &s);
        if (s.decodes)
            put_texts(out, &s, name);
        put_model(out, &s, name);
        if (t->bpe.ignore_merges)
            whole_mask = put_whole(out, &s, name);
        put_added(out, &t->added, name);
        put_frame(out, t, name);
        put_stages(out, &s, name);
        put_cuts(out, &s, name);
        if (use == CR_FOR_TEXTS) {
            put_template(out, &t->single, name, "single");
            put_template(out, &t->pair, name, "pair");
        }
        put_tables(out, &s, name, whole_mask);
        put_calls(out, &s, name);
    }
    free(s.bytes.data);
    free(s.starts);
    free(s.firsts.items);
    return status;
}

/* ---- the header ---- */

/* Returns the number of bytes of work memory that the model needs for each byte of a piece. */
static int bytes_of_model(const struct cr_tokenizer *t)
{
    return t->model == &cr_bpe_model ? 36 : t->model == &cr_unigram_model ? 16 : 1;
}

/* Prints the sizes of work memory: ENCODE_SYMBOLS, the bytes of the text after all stages, and
 * the memory that cr_encode_by uses. */
static void put_list_sizes(struct cr_text *out, const struct tables *s, const char *upper)
{
    const struct cr_stage_list *list = &s->list;
    const struct cr_tokenizer *t = s->t;
    int spaces = list->spaced < 0 ? 1 : list->prefixed ? 1 : (int)s->shape.space_bytes;
    int piece = spaces * (1 + bytes_of_model(t));
    int items = t->single.n > t->pair.n ? t->single.n : t->pair.n;
    size_t constant = (size_t)piece + 256 + (t->model == &cr_wordpiece_model ? strlen(t->wordpiece.prefix) : 0);
    double ids = 4 * spaces * (list->growth + list->more);
    cr_put(out,
           "#define %s_ENCODE_SYMBOLS(n) (((size_t)(n) * %.0f + 3) / 4 + %.0f)\n"
           "#define %s_ENCODE_IDS(n) (%.0f * (size_t)(n) + %d)\n"
           "#define %s_ENCODE_WORK(n) ((%d * %s_ENCODE_SYMBOLS(n) + %zu) / 4 + %.0f * (size_t)(n) + %.0f)\n",
           upper, ceil(4 * list->growth), ceil(list->more) + 8, upper, ceil(ids), 16 + items, upper, 2 + piece,
           upper, constant, ceil(list->work), 16 * ceil(list->more) + 16);
}

/* Prints the declarations for encoding texts and pairs. */
static void put_texts_header(struct cr_text *out, const char *name, const char *upper)
{
    uint64_t done = 0;
    cr_put(out, "#define %s_ENCODE_TEXTS_WORK(n) (%s_ENCODE_IDS(n) + %s_ENCODE_IDS(0) + %s_ENCODE_WORK(n))\n\n",
           upper, upper, upper, upper);
    cr_add_runtime(out, "compiler/emit/standalone_texts.h", &done, NULL, NULL);
    cr_put(out,
           "\n/* Encodes a text or a pair, with the special ids around them.  Returns the number of ids; -1 if a text\n"
           " * is not UTF-8, -2 if a word has no token, -3 if there is no form for a pair or `most` is too small.\n"
           " * The work memory is that of the bytes of both texts. */\n"
           "int64_t %s_encode_texts(struct cr_texts *texts, int32_t *work);\n",
           name);
}

void cr_emit_tokenizer_header(struct cr_text *out, const struct cr_tokenizer *t, const char *name,
                              enum cr_tokenizer_use use)
{
    char upper[128];
    size_t longest = 1, length;
    uint64_t done = 0;
    struct tables s = {.t = t, .use = use, .shape = {.path = ""}};
    struct cr_error ignored;
    if (choose_shape(&s, &ignored))
        return;
    put_upper(upper, name);
    for (int id = 0; id < t->n_ids; id++)
        if (cr_token_text(t, id, &length) && length > longest)
            longest = length;
    cr_put(
        out,
        "#include <stddef.h>\n#include <stdint.h>\n\n"
        "/* The tokenizer: the number of its ids, the bytes of the longest token, and the ids that end a\n"
        " * text; for a text of n bytes, the most ids, and the int32_t of work memory. */\n"
        "#define %s_TOKENS %d\n#define %s_TOKEN_BYTES %zu\n#define %s_ENDS %d\n",
        upper, t->n_ids, upper, longest, upper, t->ends.n);
    put_list_sizes(out, &s, upper);
    cr_put(out, "\n");
    cr_add_runtime(out, "compiler/tokenizer/text_state.h", &done, NULL, NULL);
    cr_put(out,
           "\n/* The ids that end a text, and -1. */\nextern const int32_t %s_ends[];\n\n"
           "/* Encodes a text to `ids`, with the special ids around it if `framed`.  Returns the number of\n"
           " * ids; -1 if the text is not UTF-8, -2 if a word has no token. */\n"
           "int64_t %s_encode(const char *text, size_t n, int framed, int32_t *ids, int32_t "
           "*work);\n\n",
           name, name);
    if (s.decodes)
        cr_put(out,
               "/* Decodes the next token of a text: returns its *n bytes.  `show`, one of enum cr_specials,\n"
               " * says for which special tokens it returns their text, and not 0 bytes. */\n"
               "const unsigned char *%s_decode(struct cr_text_state *state, int32_t id, int show,\n"
               "                               size_t *n);\n\n",
               name);
    if (use == CR_FOR_TEXTS)
        put_texts_header(out, name, upper);
}
