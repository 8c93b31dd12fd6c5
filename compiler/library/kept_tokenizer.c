/* kept_tokenizer.c - tokenizers whose tables are cached in files; see kept_tokenizer.h. */
#include "kept_tokenizer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/exec/kept_file.h"
#include "compiler/files/gguf.h"
#include "compiler/tokenizer/table_image.h"

/* ---- keys ---- */

/* Adds an open file to the key of the cache; returns false if the file has fewer than `least`
 * bytes.  Of a GGUF file only the first bytes are hashed, as most of the others are weights. */
static bool add_source(struct cr_kept_key *key, const char *source, int fd, int64_t least)
{
    const int64_t of_gguf = 1 << 20;
    struct stat status;
    uint64_t hash[2] = {0};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < least)
        return false;
    int64_t bytes = cr_is_gguf(source) && status.st_size > of_gguf ? of_gguf : status.st_size;
    return cr_kept_hash_file(hash, fd, 0, (size_t)bytes) && cr_kept_add_source(key, source, fd, hash);
}

/* Makes the key of a tokenizer in the cache; its path is null if the tokenizer is not cached. */
static void make_key(struct cr_kept_key *key, const char *path, int64_t least)
{
    char source[CR_PATH_SIZE];
    bool has_source = cr_kept_begin(key, "tables of a tokenizer") && cr_image_source(path, source);
    int fd = has_source ? open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0 && add_source(key, source, fd, least))
        cr_kept_name(key, ".tokens");
    if (fd >= 0)
        close(fd);
}

/* ---- files ---- */

enum { HASH_BYTES = 2 * sizeof(uint64_t) };

/* True if a cached file is undamaged: the hash behind its image equals a new hash of the image. */
static bool is_intact(int fd, size_t at, size_t bytes)
{
    uint64_t hash[2] = {0}, written[2];
    return bytes > HASH_BYTES && cr_kept_hash_file(hash, fd, at, bytes - HASH_BYTES) &&
           pread(fd, written, HASH_BYTES, (off_t)(at + bytes - HASH_BYTES)) == HASH_BYTES &&
           memcmp(hash, written, HASH_BYTES) == 0;
}

/* Maps the cached file if it exists; returns the image in it, or null. */
static const void *map_image(const struct cr_kept_key *key, struct cr_kept_image *image, size_t *bytes)
{
    const size_t at = cr_kept_at(key);
    int64_t contents;
    int fd = cr_kept_open(key, &contents);
    if (fd < 0)
        return NULL;
    *bytes = (size_t)contents - HASH_BYTES;
    void *mapping = is_intact(fd, at, (size_t)contents)
                        ? mmap(NULL, at + *bytes, PROT_READ, MAP_PRIVATE, fd, 0)
                        : MAP_FAILED;
    close(fd);
    if (mapping == MAP_FAILED)
        return NULL;
    *image = (struct cr_kept_image){mapping, at + *bytes};
    return (const char *)mapping + at;
}

/* Writes the tables of a tokenizer to the cache.  Ignores failures: then the next process reads the
 * tokenizer again. */
static void keep(const struct cr_kept_key *key, struct cr_tokenizer *t, int64_t most)
{
    struct cr_text contents = {0};
    struct cr_error ignored;
    uint64_t hash[2] = {0};
    cr_write_image(&contents, t);
    cr_kept_hash(hash, contents.data, contents.length);
    cr_put_bytes(&contents, (const char *)hash, sizeof hash);
    cr_kept_store(key, contents.data, (int64_t)contents.length, most, &ignored);
    free(contents.data);
}

/* ---- opening ---- */

struct cr_tokenizer *cr_open_kept_tokenizer(const char *path, int64_t most, int64_t least,
                                            struct cr_kept_image *image, struct cr_error *error)
{
    struct cr_kept_key key = {0};
    size_t bytes = 0;
    *image = (struct cr_kept_image){0};
    if (most > 0)
        make_key(&key, path, least);
    const void *tables = key.path ? map_image(&key, image, &bytes) : NULL;
    struct cr_tokenizer *t = cr_tokenizer_open_image(path, tables, bytes, error);
    if (tables && (!t || !cr_kept_is_current(&key))) { /* the file has changed while it was read */
        cr_tokenizer_free(t);
        cr_free_kept_image(image);
        t = cr_tokenizer_open(path, error);
    } else if (t && key.path && !tables) {
        keep(&key, t, most);
    }
    cr_kept_free_key(&key);
    return t;
}

void cr_free_kept_image(struct cr_kept_image *image)
{
    if (image->mapping)
        munmap(image->mapping, image->bytes);
    *image = (struct cr_kept_image){0};
}
