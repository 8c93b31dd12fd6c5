/* embed.c - crescent embed: prints the vectors of texts, or writes them to a .npy file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "encoders.h"
#include "outfiles.h"
#include "verbs.h"

/* The state of one call of the verb. */
struct embedding {
    struct cr_encoder encoder;
    FILE *rows; /* a temporary file of the vectors until all are computed; null if no .npy file is
                 * written */
};

/* Prints a vector as a line of JSON; NaN and infinities, which JSON lacks, become null. */
static void print_vector(const float *vector, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isfinite(vector[i]))
            printf("%s%.9g", i ? ", " : "[", (double)vector[i]);
        else
            printf("%snull", i ? ", " : "[");
    puts("]");
}

/* Prints the vector of the current text, or keeps it for the file. */
static int take_vector(void *context, struct cr_error *error)
{
    struct embedding *e = context;
    size_t length = (size_t)e->encoder.facts.dimensions;
    if (!e->rows)
        print_vector(e->encoder.vector, e->encoder.facts.dimensions);
    else if (fwrite(e->encoder.vector, sizeof(float), length, e->rows) != length)
        return cr_fail(error, "a temporary file cannot be written: %s", strerror(errno));
    return 0;
}

/* Copies the vectors from the temporary file to the .npy file. */
static int copy_rows(FILE *rows, crescent_file *file)
{
    char part[1 << 16];
    size_t n;
    rewind(rows);
    while ((n = fread(part, 1, sizeof part, rows)) > 0)
        if (crescent_file_put(file, part, n))
            return -1;
    return 0;
}

/* Writes the vectors as an array [texts, dimensions] to the .npy file. */
static int write_array(struct embedding *e, struct cr_error *error)
{
    const struct cr_options *o = e->encoder.o;
    int64_t n = e->encoder.n_texts, dimensions = e->encoder.facts.dimensions;
    crescent_port port = {.name = "embedding", .type = CRESCENT_F32, .rank = 2, .shape = {n, dimensions}};
    crescent_file *file = NULL;
    if (fflush(e->rows))
        return cr_fail(error, "a temporary file cannot be written: %s", strerror(errno));
    int status = crescent_file_open(o->context, o->out, &file) || crescent_file_put_npy(file, &port, NULL) ||
                 copy_rows(e->rows, file);
    if (status == 0 && ferror(e->rows))
        status = crescent_fail(o->context, "a temporary file cannot be read");
    status = status || crescent_file_finish(file) || crescent_file_commit(file);
    if (status)
        cr_fail(error, "%.500s", crescent_error(o->context));
    crescent_file_close(file);
    return status ? -1 : 0;
}

/* Opens the encoder, embeds all texts, and writes the .npy file if one is requested.  With
 * several ranks, the first rank writes. */
int cr_verb_embed(const struct cr_options *o, struct cr_error *error)
{
    struct embedding e = {.rows = NULL};
    const struct cr_named_file files[] = {{"-o", o->out, true, 0}, {"the texts", o->file, false, 0}};
    int status = cr_check_files(o, files, o->file && strcmp(o->file, "-") != 0 ? 2 : 1, error);
    if (status == 0)
        status = cr_encoder_open(&e.encoder, o, CRESCENT_NO_CLASSES, error);
    if (status == 0 && o->out && crescent_ranks_of(o->context).rank == 0 && !(e.rows = tmpfile()))
        status = cr_fail(error, "a temporary file cannot be made: %s", strerror(errno));
    if (status == 0)
        status = cr_encode_texts(&e.encoder, false, take_vector, &e, error);
    if (status == 0 && e.rows)
        status = write_array(&e, error);
    if (status == 0)
        cr_encoder_end(&e.encoder);
    if (e.rows)
        fclose(e.rows);
    cr_encoder_close(&e.encoder);
    return status ? 2 : 0;
}
