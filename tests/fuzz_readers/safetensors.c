/* safetensors.c - fuzz target: any bytes as a .safetensors file are refused with a line, or all
 * contents can be read, and a file written from them reads back as the same. */
#include "compiler/files/safetensors.h"

#include "target.h"

static int is_float(enum cr_st_type type)
{
    return type == CR_ST_F32 || type == CR_ST_F16 || type == CR_ST_BF16 || type == CR_ST_F64;
}

static void read_tensors(const struct cr_safetensors *file, const uint8_t *data, size_t size)
{
    char error[512];
    size_t bytes = 0;
    for (int i = 0; i < file->n_tensors; i++) {
        const struct cr_st_tensor *t = &file->tensors[i];
        PROMISE((const uint8_t *)t->data >= data && t->bytes <= size);
        PROMISE((const uint8_t *)t->data + t->bytes <= data + size);
        PROMISE(cr_safetensors_find(file, t->name) == t);
        bytes += t->bytes;
        float *out = is_float(t->type) ? malloc((size_t)t->elements * sizeof *out + 1) : NULL;
        int status = cr_safetensors_read(file, t, out, error, sizeof error);
        PROMISE((status == 0) == is_float(t->type));
        free(out);
    }
    PROMISE(bytes <= size);
}

static void read_metadata(const struct cr_safetensors *file)
{
    int n = 0;
    for (const char *key = cr_safetensors_next_key(file, NULL); key; n++) {
        PROMISE(cr_safetensors_metadata(file, key));
        key = cr_safetensors_next_key(file, key);
    }
    PROMISE(n == file->n_metadata);
}

/* Asserts that two files have the same tensors and metadata. */
static void promise_same(const struct cr_safetensors *a, const struct cr_safetensors *b)
{
    PROMISE(a->n_tensors == b->n_tensors && a->n_metadata == b->n_metadata);
    for (int i = 0; i < a->n_tensors; i++) {
        const struct cr_st_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        PROMISE(strcmp(x->name, y->name) == 0 && x->type == y->type && x->rank == y->rank);
        PROMISE(x->rank == 0 ||
                memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0);
        PROMISE(x->bytes == y->bytes && (!x->bytes || memcmp(x->data, y->data, x->bytes) == 0));
    }
    for (int i = 0; i < a->n_metadata; i++)
        PROMISE(strcmp(a->metadata[i].key, b->metadata[i].key) == 0 &&
                strcmp(a->metadata[i].value, b->metadata[i].value) == 0);
}

/* Writes the file's contents to memory, and reads them back. */
static void write_and_read(const struct cr_safetensors *file)
{
    struct cr_writer writer = {.path = "fuzz"};
    struct cr_safetensors again;
    char error[512], *bytes = NULL;
    size_t size = 0;
    writer.file = open_memstream(&bytes, &size);
    PROMISE(writer.file);
    PROMISE(cr_safetensors_put(&writer, file->tensors, file->n_tensors, file->metadata,
                               file->n_metadata, error, sizeof error) == 0);
    fclose(writer.file);
    struct cr_mapping mapping = {.bytes = (const unsigned char *)bytes, .size = size};
    PROMISE(cr_safetensors_parse(&again, "again", mapping, error, sizeof error) == 0);
    promise_same(file, &again);
    again.mapping = (struct cr_mapping){0};
    cr_safetensors_close(&again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_safetensors file;
    char error[512] = "";
    struct cr_mapping mapping = {.bytes = data, .size = size};
    if (cr_safetensors_parse(&file, "fuzz.safetensors", mapping, error, sizeof error) != 0) {
        promise_message(error);
        return 0;
    }
    read_tensors(&file, data, size);
    read_metadata(&file);
    write_and_read(&file);
    file.mapping = (struct cr_mapping){0}; /* the caller owns the bytes, so nothing is unmapped */
    cr_safetensors_close(&file);
    return 0;
}
