/*
 * emitted_tokenizers.h - programs of an emitted tokenizer that print ids of the texts of a file, and what the library
 * says of the same texts.
 */
#ifndef EMITTED_TOKENIZERS_H
#define EMITTED_TOKENIZERS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/emit/standalone_tokenizer.h"
#include "compiler/ir/text.h"

/* A C program that encodes texts of a file, each of which follows its length, and decodes the
 * ids. */
static const char program[] =
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "static void show(const int32_t *ids, int64_t n, int mode)\n"
    "{\n"
    "    struct cr_text_state state = {0, 0, 0, 0};\n"
    "    for (int64_t i = 0; i < n; i++) {\n"
    "        size_t bytes;\n"
    "        const unsigned char *text = small_decode(&state, ids[i], mode, &bytes);\n"
    "        for (size_t k = 0; k < bytes; k++)\n"
    "            printf(\"%02x\", text[k]);\n"
    "        if (bytes > SMALL_TOKEN_BYTES)\n"
    "            abort();\n"
    "    }\n"
    "    printf(\"\\n\");\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    FILE *file = fopen(argv[argc - 1], \"rb\");\n"
    "    uint32_t n;\n"
    "    while (fread(&n, sizeof n, 1, file) == 1) {\n"
    "        char *text = malloc(n + 1);\n"
    "        int32_t *ids = malloc(SMALL_ENCODE_IDS(n) * sizeof *ids);\n"
    "        int32_t *work = malloc(SMALL_ENCODE_WORK(n) * sizeof *work);\n"
    "        if (fread(text, 1, n, file) != n)\n"
    "            return 1;\n"
    "        int64_t k = small_encode(text, n, 1, ids, work);\n"
    "        for (int64_t i = 0; i < k; i++)\n"
    "            printf(\"%d \", (int)ids[i]);\n"
    "        printf(\"\\n\");\n"
    "        for (int mode = 0; mode < 3; mode++)\n"
    "            show(ids, k, mode);\n"
    "        free(text);\n"
    "        free(ids);\n"
    "        free(work);\n"
    "    }\n"
    "    fclose(file);\n"
    "    return small_ends[SMALL_ENDS] != -1;\n"
    "}\n";

/* A C program that lays out token sequences: each text alone, and each third text also as a pair
 * with its own second half; some are cut to 9 ids. */
static const char texts_program[] =
    "#include <stdio.h>\n#include <stdlib.h>\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    FILE *file = fopen(argv[argc - 1], \"rb\");\n"
    "    uint32_t n;\n"
    "    for (int number = 0; fread(&n, sizeof n, 1, file) == 1; number++) {\n"
    "        char *text = malloc(n + 1);\n"
    "        struct cr_texts texts = {text, 0, n, 0, number % 4 ? 0 : 9, 0, 0, 0};\n"
    "        if (fread(text, 1, n, file) != n)\n"
    "            return 1;\n"
    "        if (number % 3 == 0) {\n"
    "            texts.n_pair = n / 2;\n"
    "            while (texts.n_pair > 0 && (text[n - texts.n_pair] & 0xc0) == 0x80)\n"
    "                texts.n_pair--;\n"
    "            texts.pair = text + n - texts.n_pair;\n"
    "        }\n"
    "        texts.ids = malloc(SMALL_ENCODE_IDS(n + texts.n_pair) * sizeof *texts.ids);\n"
    "        texts.types = malloc(SMALL_ENCODE_IDS(n + texts.n_pair) * sizeof *texts.types);\n"
    "        int32_t *work = malloc(SMALL_ENCODE_TEXTS_WORK(n + texts.n_pair) * sizeof *work);\n"
    "        int64_t k = small_encode_texts(&texts, work);\n"
    "        printf(\"%d:\", (int)(k < 0 ? -1 : texts.cut));\n"
    "        for (int64_t i = 0; i < k; i++)\n"
    "            printf(\" %d/%d\", (int)texts.ids[i], (int)texts.types[i]);\n"
    "        printf(\"\\n\");\n"
    "        free(text);\n"
    "        free(texts.ids);\n"
    "        free(texts.types);\n"
    "        free(work);\n"
    "    }\n"
    "    fclose(file);\n"
    "    return 0;\n"
    "}\n";

/* Appends the expected output of the program for texts and pairs, for text `number`. */
static void put_expected_texts(struct cr_text *out, struct cr_tokenizer *t, const char *text, size_t n,
                               int number)
{
    struct cr_encoding_request r = {.text = text, .length = n, .framed = true, .most = number % 4 ? 0 : 9,
                                    .truncation = &t->truncation};
    struct cr_encoding e = {0};
    struct cr_error error;
    if (number % 3 == 0) {
        r.pair_length = n / 2;
        while (r.pair_length > 0 && (text[n - r.pair_length] & 0xc0) == 0x80)
            r.pair_length--;
        r.pair = text + n - r.pair_length;
    }
    int status = cr_encode_request(t, &r, &e, &error);
    cr_put(out, "%d:", status ? -1 : e.truncated);
    for (int i = 0; i < e.ids.n && status == 0; i++)
        cr_put(out, " %d/%d", e.ids.items[i], e.types.items[i]);
    cr_put(out, "\n");
    free(e.ids.items);
    free(e.types.items);
}

/* Appends the expected output of the program for prompts, for one text. */
static void put_expected(struct cr_text *out, struct cr_tokenizer *t, const char *text, size_t n, int number)
{
    (void)number;
    struct cr_ids ids = {0};
    struct cr_error error;
    if (cr_encode(t, text, n, true, &ids, &error))
        ids.n = 0;
    for (int i = 0; i < ids.n; i++)
        cr_put(out, "%d ", ids.items[i]);
    cr_put(out, "\n");
    for (int mode = 0; mode < 3; mode++) {
        struct cr_decoder *d = cr_decoder_new(t, (enum cr_specials)mode);
        struct cr_text bytes = {0};
        for (int i = 0; i < ids.n; i++)
            if (cr_decoder_add(d, ids.items[i], &bytes, &error) != 0)
                ck_abort_msg("%d cannot be decoded: %s", (int)ids.items[i], error.text);
        cr_decoder_end(d, &bytes, &error);
        for (size_t i = 0; i < bytes.length; i++)
            cr_put(out, "%02x", (unsigned char)bytes.data[i]);
        cr_put(out, "\n");
        cr_decoder_free(d);
        free(bytes.data);
    }
    free(ids.items);
}

static void write_file(const char *folder, const char *name, const struct cr_text *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text->data, 1, text->length, file), text->length);
    fclose(file);
}

typedef void put_function(struct cr_text *out, struct cr_tokenizer *t, const char *text, size_t n,
                          int number);

/* Adds a text to the file of texts. */
static void add_text(struct cr_text *texts, const char *text, size_t length)
{
    uint32_t n = (uint32_t)length;
    cr_put_bytes(texts, (const char *)&n, sizeof n);
    cr_put_bytes(texts, text, length);
}

/* Appends the source of an emitted tokenizer and its program.  Returns -1 with an error if it has a part that emitted C
 * does not have. */
static int put_source(struct cr_text *source, const struct cr_tokenizer *t, const char *path, enum cr_tokenizer_use use,
                      struct cr_error *error)
{
    struct cr_text body = {0};
    if (cr_emit_tokenizer(&body, t, "small", use, path, error))
        return -1;
    cr_emit_tokenizer_header(source, t, "small", use);
    cr_put(source, "%s%s", body.data, use == CR_FOR_TEXTS ? texts_program : program);
    free(body.data);
    return 0;
}

#endif
