/* target_file.c - reads targets from files; see target_file.h. */
#include "target_file.h"

#include "compiler/files/mapping.h"

int cr_read_target(struct cr_target *target, const char *name, const char *path,
                   struct cr_error *error)
{
    struct cr_mapping file;
    if (cr_map_file(&file, path, error->text, sizeof error->text))
        return -1;
    int status = cr_target_read(target, name, path, (const char *)file.bytes, file.size, error);
    cr_unmap_file(&file);
    return status;
}
