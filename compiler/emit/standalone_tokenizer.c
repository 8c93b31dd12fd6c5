/* standalone_tokenizer.c - prints a tokenizer as standalone C; see standalone_tokenizer.h. */
#include "standalone_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/tokenizer/byte_letters.h"
#include "compiler/tokenizer/decoders.h"
#include "compiler/tokenizer/shape.h"
#include "runtime_text.h"

/* A tokenizer, and the data for the emitted tables. */
struct tables {
    const struct cr_tokenizer *t;
    struct cr_shape shape;
    struct cr_text bytes; /* the decoded texts of all tokens, one after the other */
    uint32_t *starts; /* by id: the start of its text in `bytes` */
    size_t longest;   /* bytes of the longest text */
};

/* ---- supported parts ---- */

/* Fails for combinations of parts that emitted C cannot handle. */
static int check_rest(const struct cr_shape *s, const struct cr_tokenizer *t,
                      struct cr_error *error)
{
    if (!t->model->shape)
        return cr_refuse_shape(s, t->model->type, "BPE", error);
    if (t->model->shape(t, s, error))
        return -1;
    for (int i = 0; i < t->added.n; i++)
        if (t->added.tokens[i].normalized && t->normalizers.n > s->nfc)
            return cr_refuse_shape(s, "added tokens that are looked for in normalized text",
                                   "no normalizers but NFC", error);
    return 0;
}

/* ---- the texts of tokens ---- */

/* Appends the decoded text of a token that is not the first of its text. */
static int put_token(struct tables *s, int32_t id, struct cr_error *error)
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
    if (s->shape.strips_first && memchr(text, ' ', length))
        status = cr_refuse_shape(&s->shape, "a token with a space", "none under Metaspace", error);
    if (s->bytes.length - begin > s->longest)
        s->longest = s->bytes.length - begin;
    cr_free_decodings(decoders, states);
    free(before.data);
    return status;
}

static int put_tokens(struct tables *s, struct cr_error *error)
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

/* Reads the data for all tables; fails if emitted C cannot handle the tokenizer. */
static int read_tables(struct tables *s, struct cr_error *error)
{
    return cr_shape_encoding(&s->shape, s->t, error) || cr_shape_decoding(&s->shape, s->t, error) ||
                   check_rest(&s->shape, s->t, error) || put_tokens(s, error)
               ? -1
               : 0;
}

/* ---- arrays ---- */

/* An array that is printed: "static const TYPE NAME_what[] = {", elements by put_item, "};" */
struct array {
    struct cr_text *out;
    size_t line; /* the start of the current line */
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

/* Ends an array; an empty array gets one element, since C has no empty arrays. */
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
}

/* Prints the id of each byte's token: a letter of a byte-level tokenizer, else <0x00> to <0xFF>. */
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

/* Prints the hash table of the tokens of one character. */
static void put_letters(struct cr_text *out, const struct cr_bpe *bpe, const char *name)
{
    cr_put(out, "static const struct cr_letter %s_letters[] = {\n", name);
    for (uint32_t i = 0; i <= bpe->letter_mask; i++)
        cr_put(out, "%s{%u, %d},%s", i % 6 ? " " : "    ", bpe->letters[i].character,
               bpe->letters[i].id, i % 6 == 5 || i == bpe->letter_mask ? "\n" : "");
    cr_put(out, "};\n");
}

/* Prints a hash table from the bytes of a token to its id; returns the mask of the table. */
static uint32_t put_whole(struct cr_text *out, const struct tables *s, const char *name)
{
    const struct cr_vocabulary *v = &s->t->vocabulary;
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

/* Prints added tokens, and the tries that find them. */
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

/* Adds the source files that the tables need. */
static void put_files(struct cr_text *out, const struct tables *s)
{
    uint64_t done = 0;
    bool classes = s->shape.scanner != CR_SCAN_NONE || wants_classes(&s->t->added);
    const struct {
        const char *path;
        bool wanted;
    } files[] = {
        {"compiler/tokenizer/characters.inc", true},
        {"compiler/tokenizer/runs.inc", classes || s->shape.nfc},
        {"compiler/tokenizer/classes.inc", classes},
        {"compiler/tokenizer/class_of.inc", classes},
        {"compiler/tokenizer/scan.inc", s->shape.scanner != CR_SCAN_NONE},
        {"compiler/tokenizer/scan_gpt2.inc", s->shape.scanner == CR_SCAN_GPT2},
        {"compiler/tokenizer/scan_llama3.inc", s->shape.scanner == CR_SCAN_LLAMA3},
        {"compiler/files/utf8.h", true},
        {"compiler/tokenizer/lookup_tables.h", true},
        {"compiler/tokenizer/step_back.inc", true},
        {"compiler/tokenizer/added.inc", true},
        {"compiler/tokenizer/merge.inc", true},
        {"compiler/tokenizer/symbols.inc", true},
        {"compiler/tokenizer/piece_hash.inc", true},
        {"compiler/tokenizer/visible_space.inc", true},
        {"compiler/tokenizer/hidden_tokens.inc", true},
        {"compiler/tokenizer/stripping.inc", true},
        {"compiler/tokenizer/compositions.inc", s->shape.nfc},
        {"compiler/tokenizer/normal_forms.inc", s->shape.nfc},
        {"compiler/emit/standalone_nfc.inc", s->shape.nfc},
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

static void put_scanner(struct cr_text *out, const struct tables *s, const char *name)
{
    if (s->shape.scanner == CR_SCAN_LLAMA3)
        cr_put(out,
               "\nstatic size_t %s_scan(const char *text, size_t at, size_t n)\n{\n"
               "    return cr_scan_llama3(text, at, n, %zu);\n}\n",
               name, s->shape.digits);
}

/* Prints the structure that refers to all tables. */
static void put_tables(struct cr_text *out, const struct tables *s, const char *name,
                       uint32_t whole_mask)
{
    static const char *const prepending[] = {
        [CR_PREPEND_NEVER] = "CR_PREPEND_NEVER",
        [CR_PREPEND_TO_TEXT] = "CR_PREPEND_TO_TEXT",
        [CR_PREPEND_UNLESS_THERE] = "CR_PREPEND_UNLESS_THERE",
        [CR_PREPEND_ONCE_UNLESS_THERE] = "CR_PREPEND_ONCE_UNLESS_THERE"};
    const struct cr_tokenizer *t = s->t;
    size_t bytes;
    uint32_t space = s->shape.space ? cr_character_at(s->shape.space, 0, &bytes) : 0;
    cr_put(out,
           "\nstatic const struct cr_tokenizer_tables %s_tokenizer = {\n"
           "    .n = %d,\n    .bytes = %s_bytes,\n    .starts = %s_starts,\n"
           "    .bpe = {{%s_merge_left, %s_merge_right, %s_merge_made, %s_merge_slots, %uu,\n"
           "             %s%s},\n"
           "            %s%s, %uu, %s_byte_ids, %d, %d},\n",
           name, t->n_ids, name, name, name, name, name, name, t->bpe.mask,
           t->bpe.levels ? name : "0", t->bpe.levels ? "_merge_levels" : "", s->shape.space ? name : "0",
           s->shape.space ? "_letters" : "", s->shape.space ? t->bpe.letter_mask : 0, name, t->bpe.unknown,
           t->bpe.fuse_unknown);
    if (t->bpe.ignore_merges)
        cr_put(out, "    .whole = %s_whole,\n    .whole_mask = %uu,\n", name, whole_mask);
    if (s->shape.space)
        cr_put(out,
               "    .space = %u,\n    .splits = %d,\n    .prepending = %s,\n",
               space, s->shape.splits, prepending[s->shape.prepending]);
    if (s->shape.scanner == CR_SCAN_GPT2)
        cr_put(out, "    .scan = cr_scan_gpt2,\n");
    else if (s->shape.scanner == CR_SCAN_LLAMA3)
        cr_put(out, "    .scan = %s_scan,\n", name);
    if (s->shape.nfc)
        cr_put(out, "    .normalize = cr_nfc,\n");
    if (wants_classes(&t->added))
        cr_put(out, "    .class_of = cr_class,\n");
    cr_put(out,
           "    .raw = %s_added_raw,\n    .normalized = %s_added_normalized,\n"
           "    .added = %s_added,\n    .n_added = %d,\n"
           "    .before = %s_before,\n    .after = %s_after,\n    .n_before = %d,\n"
           "    .n_after = %d,\n    .strips = %d,\n    .strips_first = %d,\n};\n",
           name, name, name, t->added.n, name, name, t->frame.n_before, t->frame.n_after,
           (int)s->shape.strips, s->shape.strips_first);
}

/* Sets `upper` to a name in capitals: "GPT2" for "gpt2". */
static void put_upper(char upper[128], const char *name)
{
    size_t n = 0;
    for (; name[n] && n < 127; n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 'a' + 'A' : name[n]);
    upper[n] = '\0';
}

/* Prints the ids that frame a text, before and after it, and the ids that end one. */
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

/* All checks come before anything is appended. */
int cr_emit_tokenizer(struct cr_text *out, const struct cr_tokenizer *t, const char *name,
                      const char *path, struct cr_error *error)
{
    struct tables s = {.t = t, .shape = {.path = path}};
    uint32_t whole_mask = 0;
    int status = read_tables(&s, error);
    if (status == 0) {
        put_files(out, &s);
        put_texts(out, &s, name);
        put_merges(out, &t->bpe, name);
        put_byte_ids(out, &s, name);
        if (t->bpe.ignore_merges)
            whole_mask = put_whole(out, &s, name);
        if (s.shape.space)
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

/* Returns the largest number of symbols for one byte of text: more than one if the visible space
 * has no token, and so becomes its bytes, or if NFC makes a text longer. */
static int symbols_of_a_byte(const struct cr_tokenizer *t, bool *nfc)
{
    struct cr_shape s = {.path = ""};
    struct cr_error ignored;
    bool failed = cr_shape_encoding(&s, t, &ignored);
    *nfc = s.nfc;
    if (failed)
        return 4;
    return s.nfc                                                                       ? 3
           : !s.space || cr_find_word(&t->vocabulary, s.space, s.space_bytes) >= 0 ? 1
                                                                                       : 4;
}

/* The "+ 8" of ENCODE_SYMBOLS has room for a symbol before a text between added tokens, and for one
 * that is still pending. */
void cr_emit_tokenizer_header(struct cr_text *out, const struct cr_tokenizer *t, const char *name)
{
    char upper[128];
    size_t longest = 1, length;
    uint64_t done = 0;
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
    cr_add_runtime(out, "compiler/tokenizer/text_state.h", &done, NULL, NULL);
    cr_put(out,
           "\n/* The ids that end a text, and -1. */\nextern const int32_t %s_ends[];\n\n"
           "/* The number of ids, or -1 if the text is no UTF-8; `framed`: with what goes around "
           "it. */\n"
           "int64_t %s_encode(const char *text, size_t n, int framed, int32_t *ids, int32_t "
           "*work);\n\n"
           "/* The n bytes of a token.  `show` says which special ones have any: one of enum cr_specials. */\n"
           "const unsigned char *%s_decode(struct cr_text_state *state, int32_t id, int show,\n"
           "                               size_t *n);\n\n",
           name, name, name);
}
