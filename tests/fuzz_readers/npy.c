/* npy.c - fuzz target: any bytes as a .npy file are refused with a line, or every element can be
 * read. */
#include "compiler/files/npy.h"

#include "target.h"

/* Reads the array as integers; it is not mapped, so nothing is unmapped. */
static void read_integers(const struct cr_npy *file, char *error, size_t size)
{
    int32_t *out = malloc((size_t)file->elements * sizeof *out + 1);
    PROMISE(out);
    if (cr_npy_read_i32(file, out, error, size) != 0)
        promise_message(error);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_mapping mapping = {.bytes = data, .size = size};
    struct cr_npy file;
    char error[512] = "";
    if (cr_npy_parse(&file, "fuzz.npy", mapping, error, sizeof error) != 0) {
        promise_message(error);
        return 0;
    }
    PROMISE((size_t)file.elements <= size);
    float *floats = malloc((size_t)file.elements * sizeof *floats + 1);
    double *doubles = malloc((size_t)file.elements * sizeof *doubles + 1);
    PROMISE(floats && doubles);
    cr_npy_read_f64(&file, doubles);
    if (cr_npy_read_f32(&file, floats, error, sizeof error) == 0) {
        for (int64_t i = 0; i < file.elements; i++)
            PROMISE(floats[i] == (float)doubles[i] || doubles[i] != doubles[i]);
    } else {
        promise_message(error);
        read_integers(&file, error, sizeof error);
    }
    free(floats);
    free(doubles);
    return 0;
}
