/* standalone_tokenizer.c - a tokenizer as standalone C; see standalone_tokenizer.h. */
#include "standalone_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/tokenizer/byte_letters.h"
#include "compiler/tokenizer/decoders.h"
#include "compiler/tokenizer/scanner.h"
#include "runtime_text.h"

/* The settings that emitted tables have beside the tokens. */
struct shape {
    const struct cr_tokenizer *t;
    const char *path;
    bool byte_level, nfc;
    enum cr_scanner scanner;
    size_t digits;
    const char *space; /* the character that a space is made to; one, in UTF-8 */
    size_t space_bytes;
    bool splits;
    const char *prepending;
    int64_t strips;
    bool strips_first;
    struct cr_text bytes; /* what decoding makes of all tokens */
    uint32_t *starts;
    size_t longest;
};

static int refuse(const struct shape *s, const char *what, const char *expected,
                  struct cr_error *error)
{
    return cr_fail(error, "%s: found %s, which emitted C does not have, expected %s", s->path, what,
                   expected);
}

/* ---- what there is ---- */

static bool is(const struct cr_text_part *part, const char *type)
{
    return strcmp(part->kind->type, type) == 0;
}

/* True if a part replaces spaces by one character, which the shape then knows. */
static bool takes_spaces(struct shape *s, const struct cr_text_part *part)
{
    size_t length = 0, bytes = 0, at;
    const char *string = part->pattern ? cr_pattern_string(part->pattern, &length) : NULL;
    bool replaces = is(part, "Replace") && string && length == 1 && *string == ' ';
    if (!replaces && !is(part, "Metaspace"))
        return false;
    if (part->length == 0 || !cr_is_utf8(part->content, part->length, &at))
        return false;
    cr_is_space(part->content, 0, &bytes);
    s->space = part->content;
    s->space_bytes = part->length;
    return bytes == part->length;
}

/* Normalizers that make spaces visible, and may put one in front. */
static int read_normalizers(struct shape *s, struct cr_error *error)
{
    const struct cr_text_parts *parts = &s->t->normalizers;
    const struct cr_text_part *prepend = NULL;
    for (int i = 0; i < parts->n; i++) {
        const struct cr_text_part *part = &parts->items[i];
        if (is(part, "NFC") && parts->n == 1)
            s->nfc = true;
        else if (is(part, "Prepend") && !prepend)
            prepend = part;
        else if (s->space || !takes_spaces(s, part))
            return refuse(s, part->kind->type,
                          "NFC, or Prepend and Replace of spaces as normalizers", error);
    }
    if (!prepend)
        return 0;
    if (!s->space || prepend->length != s->space_bytes ||
        memcmp(prepend->content, s->space, s->space_bytes) != 0)
        return refuse(s, "Prepend", "one of what spaces become", error);
    s->prepending = "CR_PREPEND_TO_TEXT";
    return 0;
}

/* It brings GPT-2's pattern, or there is a Split before it. */
static int read_byte_level(struct shape *s, const struct cr_text_part *part, struct cr_error *error)
{
    if (part->prefix_space)
        return refuse(s, "ByteLevel with add_prefix_space", "none", error);
    if (s->t->normalizers.n > s->nfc)
        return refuse(s, s->t->normalizers.items[0].kind->type, "ByteLevel behind NFC or nothing",
                      error);
    if (part->by_regex && s->scanner != CR_SCAN_NONE)
        return refuse(s, "two patterns", "one", error);
    if (part->by_regex)
        s->scanner = CR_SCAN_GPT2;
    s->byte_level = true;
    return 0;
}

static void read_metaspace(struct shape *s, const struct cr_text_part *part)
{
    static const char *const names[] = {[CR_ALWAYS] = "CR_PREPEND_UNLESS_THERE",
                                        [CR_FIRST] = "CR_PREPEND_ONCE_UNLESS_THERE",
                                        [CR_NEVER] = "CR_PREPEND_NEVER"};
    s->prepending = names[part->prepend];
    s->splits = part->split;
}

/* A Split that cuts text as a scanner does, or one at spaces where there are none any more. */
static int read_split(struct shape *s, const struct cr_text_part *part, struct cr_error *error)
{
    size_t length;
    const char *string = cr_pattern_string(part->pattern, &length);
    if (string && s->space && length == 1 && *string == ' ')
        return 0;
    s->scanner = cr_pattern_scanner(part->pattern, &s->digits);
    if (s->scanner == CR_SCAN_NONE || (part->behavior == CR_REMOVED && !part->invert))
        return refuse(s, "Split by another pattern", "GPT-2's or Llama 3's", error);
    return 0;
}

/* ByteLevel, behind a Split or not; or Metaspace. */
static int read_pre_tokenizers(struct shape *s, struct cr_error *error)
{
    const struct cr_text_parts *parts = &s->t->pre_tokenizers;
    for (int i = 0; i < parts->n; i++) {
        const struct cr_text_part *part = &parts->items[i];
        int status = 0;
        if (is(part, "Split") && i == 0)
            status = read_split(s, part, error);
        else if (is(part, "ByteLevel") && i == parts->n - 1 && !s->space)
            status = read_byte_level(s, part, error);
        else if (is(part, "Metaspace") && parts->n == 1 && !s->space && takes_spaces(s, part))
            read_metaspace(s, part);
        else
            status = refuse(s, part->kind->type, "Split, ByteLevel or Metaspace", error);
        if (status)
            return -1;
    }
    if (!s->byte_level && s->scanner != CR_SCAN_NONE)
        return refuse(s, "Split without ByteLevel", "both", error);
    return s->byte_level || s->space
               ? 0
               : refuse(s, "text cut otherwise", "ByteLevel or Metaspace", error);
}

/* Reads from the decoders how many spaces decoding removes at the beginning of a text. */
static int read_decoders(struct shape *s, struct cr_error *error)
{
    const struct cr_text_parts *parts = &s->t->decoders;
    if (!s->t->has_decoder)
        return refuse(s, "no decoder", "one", error);
    for (int i = 0; i < parts->n; i++) {
        const struct cr_text_part *part = &parts->items[i];
        bool strip = is(part, "Strip") && part->fused, meta = is(part, "Metaspace");
        if (part->gathers || (strip && (part->length != 1 || *part->content != ' ')) ||
            (strip && s->strips > 0) || (meta && (part->fused || i < parts->n - 1)))
            return refuse(s, part->kind->type, "decoders that take token after token", error);
        if (strip)
            s->strips = part->start;
        if (meta && part->prepend != CR_NEVER)
            s->strips_first = true;
    }
    return s->strips <= INT32_MAX ? 0 : refuse(s, "Strip", "fewer characters", error);
}

/* Refuses combinations of parts that emitted C cannot handle. */
static int check_rest(const struct shape *s, struct cr_error *error)
{
    const struct cr_tokenizer *t = s->t;
    if (s->byte_level && t->bpe.byte_fallback)
        return refuse(s, "ByteLevel with byte_fallback", "one of them", error);
    if (!s->byte_level && t->bpe.ignore_merges)
        return refuse(s, "ignore_merges without ByteLevel", "both", error);
    for (int i = 0; i < t->added.n; i++)
        if (t->added.tokens[i].normalized && t->normalizers.n > s->nfc)
            return refuse(s, "added tokens that are looked for in normalized text",
                          "no normalizers but NFC", error);
    return 0;
}

/* ---- the texts of tokens ---- */

/* Appends the text that decoding makes of a token that is not the first. */
static int put_token(struct shape *s, int32_t id, struct cr_error *error)
{
    const struct cr_text_parts *decoders = &s->t->decoders;
    size_t length, begin = s->bytes.length;
    const char *text = cr_token_text(s->t, id, &length);
    if (!text)
        return 0;
    struct cr_decoding *states = cr_new_decodings(decoders);
    struct cr_text before = {0};
    int status = cr_decode_token(decoders, states, "a", 1, &before, error);
    const struct cr_added_token *added = cr_find_added(&s->t->added, id);
    if (added && added->shown) {
        text = added->shown;
        length = added->shown_length;
    }
    if (status == 0)
        status = cr_decode_token(decoders, states, text, length, &s->bytes, error);
    if (s->strips_first && memchr(text, ' ', length))
        status = refuse(s, "a token with a space", "none under Metaspace", error);
    if (s->bytes.length - begin > s->longest)
        s->longest = s->bytes.length - begin;
    cr_free_decodings(decoders, states);
    free(before.data);
    return status;
}

static int put_tokens(struct shape *s, struct cr_error *error)
{
    cr_put_bytes(&s->bytes, "", 0);
    s->starts = cr_calloc((size_t)s->t->n_ids + 1, sizeof *s->starts);
    for (int32_t id = 0; id < s->t->n_ids; id++) {
        if (put_token(s, id, error))
            return -1;
        s->starts[id + 1] = (uint32_t)s->bytes.length;
    }
    return 0;
}

/* All of the above. */
static int read_shape(struct shape *s, struct cr_error *error)
{
    s->prepending = "CR_PREPEND_NEVER";
    return read_normalizers(s, error) || read_pre_tokenizers(s, error) || read_decoders(s, error) ||
                   check_rest(s, error) || put_tokens(s, error)
               ? -1
               : 0;
}

/* ---- arrays ---- */

/* "static const TYPE NAME_what[] = {", elements by put_item, "};" */
struct array {
    struct cr_text *out;
    size_t line; /* where it begins */
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

/* An array has an element at least. */
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

static void put_texts(struct cr_text *out, const struct shape *s, const char *name)
{
    put_raw(out, name, "bytes", s->bytes.data, s->bytes.length);
    struct array a = begin_array(out, "uint32_t", name, "starts");
    for (int i = 0; i <= s->t->n_ids; i++)
        put_item(&a, s->starts[i]);
    end_array(&a, false);
}

/* Writes the id of each byte's own token: a letter of a byte-level tokenizer, else <0x00> to <0xFF>. */
static void put_byte_ids(struct cr_text *out, const struct shape *s, const char *name)
{
    int32_t ids[256];
    for (int i = 0; i < 256; i++) {
        struct cr_text letter = {0};
        char byte = (char)i;
        cr_put_byte_letters(&letter, &byte, 1);
        ids[i] = s->byte_level ? cr_find_word(&s->t->bpe.vocabulary, letter.data, letter.length)
                               : s->t->bpe.bytes[i];
        free(letter.data);
    }
    put_ids(out, name, "byte_ids", ids, 256);
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

/* The tokens of one character. */
static void put_letters(struct cr_text *out, const struct cr_bpe *bpe, const char *name)
{
    cr_put(out, "static const struct cr_letter %s_letters[] = {\n", name);
    for (uint32_t i = 0; i <= bpe->letter_mask; i++)
        cr_put(out, "%s{%u, %d},%s", i % 6 ? " " : "    ", bpe->letters[i].character,
               bpe->letters[i].id, i % 6 == 5 || i == bpe->letter_mask ? "\n" : "");
    cr_put(out, "};\n");
}

/* A hash table of the tokens that stand for bytes, by those; its mask. */
static uint32_t put_whole(struct cr_text *out, const struct shape *s, const char *name)
{
    const struct cr_vocabulary *v = &s->t->bpe.vocabulary;
    uint32_t size = 4;
    while (size < 2 * (uint32_t)v->n)
        size *= 2;
    int32_t *slots = cr_calloc(size, sizeof *slots);
    memset(slots, 0xff, size * sizeof *slots);
    for (int id = 0; id < v->n; id++) {
        struct cr_text bytes = {0};
        bool stands = v->tokens[id].text &&
                      cr_put_letters_bytes(&bytes, v->tokens[id].text, v->tokens[id].length);
        uint32_t at = stands ? cr_hash_piece(bytes.data, bytes.length) & (size - 1) : 0;
        while (stands && slots[at] >= 0)
            at = (at + 1) & (size - 1);
        if (stands)
            slots[at] = id;
        free(bytes.data);
    }
    put_ids(out, name, "whole", slots, size);
    free(slots);
    return size - 1;
}

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

/* Added tokens, and the trees that they are found by. */
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

/* The files that the tables need. */
static void put_files(struct cr_text *out, const struct shape *s)
{
    uint64_t done = 0;
    bool classes = s->scanner != CR_SCAN_NONE || wants_classes(&s->t->added);
    const struct {
        const char *path;
        bool wanted;
    } files[] = {
        {"compiler/tokenizer/characters.inc", true},
        {"compiler/tokenizer/classes.inc", classes},
        {"compiler/tokenizer/class_of.inc", classes},
        {"compiler/tokenizer/scan.inc", s->scanner != CR_SCAN_NONE},
        {"compiler/tokenizer/scan_gpt2.inc", s->scanner == CR_SCAN_GPT2},
        {"compiler/tokenizer/scan_llama3.inc", s->scanner == CR_SCAN_LLAMA3},
        {"compiler/files/utf8.h", true},
        {"compiler/tokenizer/lookup_tables.h", true},
        {"compiler/tokenizer/step_back.inc", true},
        {"compiler/tokenizer/added.inc", true},
        {"compiler/tokenizer/merge.inc", true},
        {"compiler/tokenizer/symbols.inc", true},
        {"compiler/tokenizer/piece_hash.inc", true},
        {"compiler/tokenizer/compositions.inc", s->nfc},
        {"compiler/tokenizer/normal_forms.inc", s->nfc},
        {"compiler/emit/standalone_nfc.inc", s->nfc},
        {"compiler/emit/standalone_tokenizer.inc", true},
    };
    cr_put(out, "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i].wanted)
            continue;
        cr_add_runtime(out, files[i].path, &done, NULL, NULL);
        cr_put(out, "\n");
    }
}

static void put_scanner(struct cr_text *out, const struct shape *s, const char *name)
{
    if (s->scanner == CR_SCAN_LLAMA3)
        cr_put(out,
               "\nstatic size_t %s_scan(const char *text, size_t at, size_t n)\n{\n"
               "    return cr_scan_llama3(text, at, n, %zu);\n}\n",
               name, s->digits);
}

/* The structure that has all tables. */
static void put_tables(struct cr_text *out, const struct shape *s, const char *name,
                       uint32_t whole_mask)
{
    const struct cr_tokenizer *t = s->t;
    size_t bytes;
    uint32_t space = s->space ? cr_character_at(s->space, 0, &bytes) : 0;
    cr_put(out,
           "\nstatic const struct cr_tokenizer_tables %s_tokenizer = {\n"
           "    .n = %d,\n    .bytes = %s_bytes,\n    .starts = %s_starts,\n"
           "    .bpe = {{%s_merge_left, %s_merge_right, %s_merge_made, %s_merge_slots, %uu,\n"
           "             %s%s},\n"
           "            %s%s, %uu, %s_byte_ids, %d, %d},\n",
           name, t->n_ids, name, name, name, name, name, name, t->bpe.mask,
           t->bpe.levels ? name : "0", t->bpe.levels ? "_merge_levels" : "", s->space ? name : "0",
           s->space ? "_letters" : "", s->space ? t->bpe.letter_mask : 0, name, t->bpe.unknown,
           t->bpe.fuse_unknown);
    if (t->bpe.ignore_merges)
        cr_put(out, "    .whole = %s_whole,\n    .whole_mask = %uu,\n", name, whole_mask);
    if (s->space)
        cr_put(out,
               "    .space = %u,\n    .splits = %d,\n    .prepending = %s,\n",
               space, s->splits, s->prepending);
    if (s->scanner == CR_SCAN_GPT2)
        cr_put(out, "    .scan = cr_scan_gpt2,\n");
    else if (s->scanner == CR_SCAN_LLAMA3)
        cr_put(out, "    .scan = %s_scan,\n", name);
    if (s->nfc)
        cr_put(out, "    .normalize = cr_nfc,\n");
    if (wants_classes(&t->added))
        cr_put(out, "    .class_of = cr_class,\n");
    cr_put(out,
           "    .raw = %s_added_raw,\n    .normalized = %s_added_normalized,\n"
           "    .added = %s_added,\n    .n_added = %d,\n"
           "    .before = %s_before,\n    .after = %s_after,\n    .n_before = %d,\n"
           "    .n_after = %d,\n    .strips = %d,\n    .strips_first = %d,\n};\n",
           name, name, name, t->added.n, name, name, t->frame.n_before, t->frame.n_after, (int)s->strips,
           s->strips_first);
}

/* "GPT2" of "gpt2". */
static void put_upper(char upper[128], const char *name)
{
    size_t n = 0;
    for (; name[n] && n < 127; n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 'a' + 'A' : name[n]);
    upper[n] = '\0';
}

/* Writes the ids that are put before and behind a text, and those that end one. */
static void put_frame(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    put_ids(out, name, "before", t->frame.before, (size_t)t->frame.n_before);
    put_ids(out, name, "after", t->frame.after, (size_t)t->frame.n_after);
    cr_put(out, "const int32_t %s_ends[] = {", name);
    for (int i = 0; i < t->ends.n; i++)
        cr_put(out, "%d, ", t->ends.items[i]);
    cr_put(out, "-1};\n");
}

/* The functions that callers see. */
static void put_calls(struct cr_text *out, const char *name)
{
    char upper[128];
    put_upper(upper, name);
    cr_put(
        out,
        "\nint64_t %s_encode(const char *text, size_t n, int framed, int32_t *ids, int32_t *work)\n"
        "{\n    return cr_encode_by(&%s_tokenizer, text, n, framed, ids, work,\n"
        "                        %s_ENCODE_SYMBOLS(n));\n}\n\n"
        "const unsigned char *%s_decode(struct cr_text_state *state, int32_t id, int show,\n"
        "                               size_t *n)\n"
        "{\n    return cr_decode_by(&%s_tokenizer, state, id, show, n);\n}\n",
        name, name, upper, name, name);
}

/* All is found out before anything is appended. */
int cr_emit_tokenizer(struct cr_text *out, const struct cr_tokenizer *t, const char *name,
                      const char *path, struct cr_error *error)
{
    struct shape s = {.t = t, .path = path};
    uint32_t whole_mask = 0;
    int status = read_shape(&s, error);
    if (status == 0) {
        put_files(out, &s);
        put_texts(out, &s, name);
        put_merges(out, &t->bpe, name);
        put_byte_ids(out, &s, name);
        if (t->bpe.ignore_merges)
            whole_mask = put_whole(out, &s, name);
        if (s.space)
            put_letters(out, &t->bpe, name);
        put_added(out, &t->added, name);
        put_frame(out, t, name);
        put_scanner(out, &s, name);
        put_tables(out, &s, name, whole_mask);
        put_calls(out, name);
    }
    free(s.bytes.data);
    free(s.starts);
    return status;
}

/* Returns the largest number of symbols that one byte of text can become.  It is more than one where a space is
 * written as a character without a token, which becomes its bytes, and where a normal form makes a text longer. */
static int symbols_of_a_byte(const struct cr_tokenizer *t, bool *nfc)
{
    struct shape s = {.t = t, .path = ""};
    struct cr_error ignored;
    bool failed = read_normalizers(&s, &ignored) || read_pre_tokenizers(&s, &ignored);
    *nfc = s.nfc;
    if (failed)
        return 4;
    return s.nfc                                                                       ? 3
           : !s.space || cr_find_word(&t->bpe.vocabulary, s.space, s.space_bytes) >= 0 ? 1
                                                                                       : 4;
}

/* One more symbol goes in front of what lies between added tokens, and one may be due. */
void cr_emit_tokenizer_header(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    char upper[128];
    size_t longest = 1, length;
    bool nfc;
    int symbols = symbols_of_a_byte(t, &nfc);
    put_upper(upper, name);
    for (int id = 0; id < t->n_ids; id++)
        if (cr_token_text(t, id, &length) && length > longest)
            longest = length;
    cr_put(
        out,
        "#include <stddef.h>\n#include <stdint.h>\n\n"
        "/* The tokenizer: ids that a text of n bytes has at most, and int32_t to work with. */\n"
        "#define %s_TOKENS %d\n#define %s_TOKEN_BYTES %zu\n#define %s_ENDS %d\n"
        "#define %s_ENCODE_SYMBOLS(n) (%d * (size_t)(n) + 8)\n"
        "#define %s_ENCODE_IDS(n) (%d * (size_t)(n) + %d)\n"
        "#define %s_ENCODE_WORK(n) (9 * %s_ENCODE_SYMBOLS(n)%s)\n\n",
        upper, t->n_ids, upper, longest, upper, t->ends.n, upper, symbols, upper, 2 * symbols,
        8 + t->frame.n_before + t->frame.n_after, upper, upper, nfc ? " + 5 * (size_t)(n)" : "");
    cr_put(out,
           "/* What came before a token that is decoded; zeros at the beginning. */\n"
           "#ifndef CR_TEXT_STATE\n#define CR_TEXT_STATE\nstruct cr_text_state {\n"
           "    int32_t tokens, stripped;\n    int shown, begun;\n};\n#endif\n\n"
           "/* The ids that end a text, and -1. */\nextern const int32_t %s_ends[];\n\n"
           "/* The number of ids, or -1 if the text is no UTF-8; `framed`: with what goes around "
           "it. */\n"
           "int64_t %s_encode(const char *text, size_t n, int framed, int32_t *ids, int32_t "
           "*work);\n\n"
           "/* The n bytes of a token.  `show` says which special ones have any: 0 not those in "
           "front of\n"
           " * the text, 1 all, 2 none. */\n"
           "const unsigned char *%s_decode(struct cr_text_state *state, int32_t id, int show,\n"
           "                               size_t *n);\n\n",
           name, name, name);
}
