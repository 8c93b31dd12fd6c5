/* output_file.c - writes files atomically, and reads .npy files; see crescent.h. */
#include "output_file.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/ir/mem.h"
#include "compiler/files/npy.h"

/* ---- writing ---- */

/* Opens a file for writing; the writer keeps a copy of the path for its error messages. */
static int open_file(crescent_context *context, const char *path, crescent_file **file,
                     struct cr_error *error)
{
    crescent_file *f = cr_calloc(1, sizeof *f);
    f->path = cr_strdup(path);
    if (cr_writer_open(&f->writer, f->path, error->text, sizeof error->text)) {
        free(f->path);
        free(f);
        return -1;
    }
    f->context = cr_refer(context);
    *file = f;
    return 0;
}

int crescent_file_open(crescent_context *context, const char *path, crescent_file **file)
{
    if (file)
        *file = NULL;
    CR_REQUIRE_CONTEXT(context, path && file);
    CR_ENTER(context);
    return cr_done(&guard, open_file(context, path, file, guard.error));
}

int cr_file_check(const crescent_file *file, struct cr_error *error)
{
    return file->closed
               ? cr_fail(error, "%.400s: the file is closed, expected one that is open", file->path)
               : 0;
}

int crescent_file_put(crescent_file *file, const void *bytes, size_t n)
{
    CR_REQUIRE(file, bytes || !n);
    CR_ENTER(file->context);
    int status = cr_file_check(file, guard.error);
    if (!status && n)
        cr_writer_put(&file->writer, bytes, n);
    return cr_done(&guard, status);
}

/* Fails if a port, which the caller may have filled in himself, is invalid. */
static int check_port(const crescent_port *port, struct cr_error *error)
{
    int64_t n = 1;
    bool good = port->rank >= 0 && port->rank <= CRESCENT_MAX_RANK;
    for (int i = 0; good && i < port->rank; i++)
        good = port->shape[i] >= 0 && !__builtin_mul_overflow(n, port->shape[i], &n) &&
               n <= INT64_MAX / 8;
    return good ? 0
                : cr_fail(error,
                          "a port of rank %d whose elements cannot be counted, expected one "
                          "of a model",
                          port->rank);
}

int crescent_file_put_npy(crescent_file *file, const crescent_port *port, const void *tensor)
{
    CR_REQUIRE(file, port);
    CR_ENTER(file->context);
    int status = cr_file_check(file, guard.error) || check_port(port, guard.error) ? -1 : 0;
    if (!status)
        cr_npy_put(&file->writer, port->type == CRESCENT_I32 ? CR_NPY_I4 : CR_NPY_F4, port->rank,
                   port->shape, tensor);
    return cr_done(&guard, status);
}

int crescent_file_finish(crescent_file *file)
{
    CR_REQUIRE(file, true);
    CR_ENTER(file->context);
    int status = cr_file_check(file, guard.error);
    if (!status)
        status = cr_writer_finish(&file->writer, guard.error->text, sizeof guard.error->text);
    file->closed |= status != 0;
    return cr_done(&guard, status);
}

int crescent_file_commit(crescent_file *file)
{
    CR_REQUIRE(file, true);
    CR_ENTER(file->context);
    int status = cr_file_check(file, guard.error);
    if (!status)
        status = cr_writer_commit(&file->writer, guard.error->text, sizeof guard.error->text);
    file->closed = true;
    return cr_done(&guard, status);
}

void crescent_file_close(crescent_file *file)
{
    if (!file)
        return;
    cr_writer_discard(&file->writer);
    cr_release(file->context);
    free(file->path);
    free(file);
}

/* ---- reading ---- */

/* Reads a .npy file into `tensor`, as doubles; fails unless it has the port's shape. */
static int read_npy(const char *path, const crescent_port *port, double *tensor,
                    struct cr_error *error)
{
    struct cr_npy file;
    char found[224], expected[224];
    if (check_port(port, error) || cr_npy_open(&file, path, error->text, sizeof error->text))
        return -1;
    int status = 0;
    if (file.rank != port->rank ||
        memcmp(file.shape, port->shape, (size_t)port->rank * sizeof *port->shape) != 0)
        status =
            cr_fail(error, "%.400s: shape %s, expected %s for %.100s", path,
                    cr_shape_text(found, sizeof found,
                                  file.rank < CR_MAX_RANK ? file.rank : CR_MAX_RANK, file.shape),
                    cr_shape_text(expected, sizeof expected, port->rank, port->shape),
                    port->name ? port->name : "the tensor");
    else
        cr_npy_read_f64(&file, tensor);
    cr_npy_close(&file);
    return status;
}

int crescent_read_npy(crescent_context *context, const char *path, const crescent_port *port,
                      double *tensor)
{
    CR_REQUIRE_CONTEXT(context, path && port && tensor);
    CR_ENTER(context);
    return cr_done(&guard, read_npy(path, port, tensor, guard.error));
}
