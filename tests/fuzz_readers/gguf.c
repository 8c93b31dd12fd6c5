/* gguf.c - fuzz target: any bytes as a GGUF file are refused with a line, or all contents can be
 * read, also as a model, as weights and as a tokenizer. */
#include "compiler/files/gguf.h"
#include "compiler/exec/weight_files.h"
#include "compiler/library/gguf_model.h"
#include "compiler/tokenizer/tokenizer.h"

#include "target.h"

static void read_values(const struct cr_gguf *file)
{
    int64_t integer;
    double real;
    bool boolean;
    for (int i = 0; i < file->n_values; i++) {
        const struct cr_gguf_value *v = &file->values[i];
        PROMISE(*cr_gguf_kind_of(v));
        cr_gguf_count(v, &integer);
        cr_gguf_bool(v, &boolean);
        const unsigned char *at = v->data;
        for (uint64_t k = 0; k < v->n; k++) {
            if (v->kind == CR_GGUF_STRING)
                at += cr_gguf_next_string(&at).length > file->mapping.size;
            else
                cr_gguf_real(v, k, &real);
        }
        PROMISE(at <= file->mapping.bytes + file->mapping.size);
    }
}

static void read_tensors(const struct cr_gguf *file)
{
    const unsigned char *begin = file->mapping.bytes, *end = begin + file->mapping.size;
    char error[512];
    float out[256];
    for (int i = 0; i < file->n_tensors; i++) {
        const struct cr_gguf_tensor *t = &file->tensors[i];
        PROMISE(t->data >= begin && t->data <= end && t->bytes <= (size_t)(end - t->data));
        bool is_read = cr_gguf_check(file, t, error, sizeof error) == 0;
        for (int64_t k = 0; is_read && k < t->elements / t->type->elements; k++)
            t->type->floats(t->data + k * t->type->bytes, 0, t->type->elements, out);
    }
}

/* Reads all tensors under their parameters' names, as a loader does. */
static void read_weights(const char *path)
{
    const char *const paths[] = {path};
    struct cr_weight_files files;
    struct cr_error error = {""};
    float out[8];
    if (cr_weight_files_open(&files, paths, 1, &error)) {
        promise_message(error.text);
        return;
    }
    const struct cr_weight_file *f = &files.items[0];
    for (int i = 0; f->gguf && i < f->file.n_tensors; i++) {
        const struct cr_gguf_weight *w = &f->gguf->items[i];
        if (!w->tensor->type->floats)
            continue;
        for (int64_t k = 0; k < w->tensor->elements; k += 7)
            cr_gguf_weight_floats(w, k, w->tensor->elements - k < 8 ? w->tensor->elements - k : 8,
                                  out);
    }
    cr_weight_files_close(&files);
}

static void read_model(const char *path)
{
    struct cr_gguf_model model;
    struct cr_text_ends ends;
    struct cr_error error = {""};
    if (cr_gguf_model_read(&model, path, &error))
        promise_message(error.text);
    else
        PROMISE(model.family && model.n_settings <= CR_GGUF_SETTINGS);
    cr_gguf_model_free(&model);
    if (cr_gguf_text_ends(&ends, path, &error))
        promise_message(error.text);
}

static void read_tokenizer(const char *path)
{
    static const char text[] = " ab the\n\xc3\xa9<s>12";
    struct cr_error error = {""};
    struct cr_ids ids = {0};
    struct cr_tokenizer *t = cr_tokenizer_open(path, &error);
    if (!t) {
        promise_message(error.text);
        return;
    }
    PROMISE(cr_encode(t, text, sizeof text - 1, true, &ids, &error) == 0);
    for (int i = 0; i < ids.n; i++)
        PROMISE(ids.items[i] >= 0 && ids.items[i] < t->n_ids);
    free(ids.items);
    cr_tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_gguf file;
    struct cr_mapping mapping = {.bytes = data, .size = size};
    char error[512] = "", path[32];
    if (cr_gguf_parse(&file, "fuzz.gguf", mapping, error, sizeof error) != 0) {
        promise_message(error);
        if (size < 4 || memcmp(data, "GGUF", 4) != 0)
            return 0;
    } else {
        read_values(&file);
        read_tensors(&file);
        file.mapping = (struct cr_mapping){.size = 0}; /* the caller owns the bytes, so nothing is unmapped */
        cr_gguf_close(&file);
    }
    int fd = memory_file(data, size, path);
    read_weights(path);
    read_model(path);
    read_tokenizer(path);
    close(fd);
    return 0;
}
