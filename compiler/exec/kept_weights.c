/* kept_weights.c - packed weights in files; see kept_weights.h. */
#include "kept_weights.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "compiler/files/cache_folder.h"
#include "compiler/files/writer.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

#define SUFFIX ".weights"
enum { PAGE = 4096, FREE_SHARE = 4 };

/* ---- hashes ---- */

void cr_kept_hash(uint64_t hash[2], const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    hash[0] = cr_hash_word(hash[0], n);
    hash[1] = cr_hash_word(hash[1], ~(uint64_t)n);
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, from + at, n - at < sizeof word ? n - at : sizeof word);
        hash[0] = cr_hash_word(hash[0], word);
        hash[1] = cr_hash_word(hash[1] + 0x632be59bd9b4e019u, word);
    }
}

/* ---- the build ---- */

/* The build id of the object that contains `code`, as hexadecimal digits. */
struct build {
    uintptr_t code;
    char id[2 * 64 + 1];
};

/* Reads the build id, if the notes of a segment (PT_NOTE) have one: the linker writes it as a note
 * of the type NT_GNU_BUILD_ID. */
static void read_notes(struct build *b, const unsigned char *at, size_t size)
{
    const unsigned char *end = at + size;
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const unsigned char *name = at + sizeof *note, *id = name + (note->n_namesz + 3) / 4 * 4;
        size_t n = note->n_descsz;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
            for (size_t i = 0; i < n && 2 * i + 3 <= sizeof b->id; i++)
                snprintf(b->id + 2 * i, 3, "%02x", id[i]);
        at = id + (n + 3) / 4 * 4;
    }
}

/* Reads the notes of the object that has the code, and ends the iteration there. */
static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct build *b = context;
    bool has_code = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        has_code |= p->p_type == PT_LOAD && b->code - begin < p->p_memsz;
    }
    for (int i = 0; has_code && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_notes(b, (const unsigned char *)info->dlpi_addr + p->p_vaddr, p->p_memsz);
    }
    return has_code;
}

/* ---- keys ---- */

/* Writes a line that identifies a file of weights; its path may hold any byte but NUL. */
static void put_source(struct cr_text *text, const struct cr_kept_source *source,
                       const struct stat *s)
{
    cr_put(text, "file %" PRIuMAX ":%" PRIuMAX " %" PRIdMAX " %" PRIdMAX ".%09ld %" PRIdMAX ".%09ld "
                 "%016" PRIx64 "%016" PRIx64 " %zu %s\n",
           (uintmax_t)s->st_dev, (uintmax_t)s->st_ino, (intmax_t)s->st_size,
           (intmax_t)s->st_mtim.tv_sec, s->st_mtim.tv_nsec, (intmax_t)s->st_ctim.tv_sec,
           s->st_ctim.tv_nsec, source->header[0], source->header[1], strlen(source->path),
           source->path);
}

/* Adds the files to the key; returns false if one of them has no descriptor. */
static bool put_sources(struct cr_kept *k, const struct cr_kept_file *files, int n)
{
    k->sources_at = k->key.length;
    k->sources = cr_calloc((size_t)n, sizeof *k->sources);
    for (int i = 0; i < n; i++) {
        const int handle = files[i].mapping->handle;
        struct cr_kept_source *source = &k->sources[k->n_sources++];
        struct stat status;
        char *whole = realpath(files[i].path, NULL);
        source->path = cr_strdup(whole ? whole : files[i].path);
        free(whole);
        if (!handle || fstat(handle - 1, &status) != 0)
            return false;
        memcpy(source->header, files[i].header, sizeof source->header);
        put_source(&k->key, source, &status);
    }
    return true;
}

/* Adds a parameter and its source tensor to the key. */
static void put_param(struct cr_text *key, const struct cr_engine *e, int i,
                      const struct cr_kept_file *files, const struct cr_kept_tensor *t)
{
    char shape[224];
    const struct cr_port *port = &e->params[i];
    cr_put(key, "param %d %s %s %s ", e->to_param[i], cr_formats[port->format].name, port->name,
           cr_shape_text(shape, sizeof shape, port->rank, port->shape));
    if (t->file == CR_NONE) {
        uint64_t hash[2] = {0};
        cr_kept_hash(hash, t->data, t->bytes);
        cr_put(key, "%016" PRIx64 "%016" PRIx64 " %s %s\n", hash[0], hash[1], t->type, t->name);
    } else {
        size_t at = (size_t)((const unsigned char *)t->data - files[t->file].mapping->bytes);
        cr_put(key, "%d %zu %s %s\n", t->file, at, t->type, t->name);
    }
}

/* Adds all parameters and the layout of the packed weights to the key. */
static void put_layout(struct cr_text *key, const struct cr_engine *e,
                       const struct cr_kept_file *files, const struct cr_kept_tensor *tensors)
{
    const struct cr_program *p = e->program;
    cr_put(key, "weights %" PRId64 "\n", p->weights_bytes);
    for (int i = 0; i < e->n_params; i++)
        put_param(key, e, i, files, &tensors[i]);
    for (int i = 0; i < p->n_layouts; i++) {
        const struct cr_weight_layout *at = &p->layouts[i];
        cr_put(key, "place %d %ld %ld %ld %ld %ld %ld %ld %ld %d\n", at->param, at->source, at->rows,
               at->cols, at->row_stride, at->col_stride, at->target, at->panel_stride, at->first_col,
               at->last);
    }
}

/* Makes the key; false if the weights cannot be kept. */
static bool make_key(struct cr_kept *k, const struct cr_engine *e, const struct cr_kept_file *files,
                     int n, const struct cr_kept_tensor *tensors)
{
    struct build build = {.code = (uintptr_t)cr_kept_find};
    if (!e->program || e->tensors || !e->program->weights_bytes)
        return false;
    dl_iterate_phdr(visit_object, &build);
    if (!*build.id)
        return false;
    cr_put(&k->key, "crescent packed weights\nbuild %s\n", build.id);
    put_layout(&k->key, e, files, tensors);
    return put_sources(k, files, n);
}

/* Returns the path of the file for the key, or null without a cache folder. */
static char *path_of(const struct cr_kept *k)
{
    char path[CR_CACHE_PATH], name[64];
    uint64_t hash[2] = {0};
    cr_kept_hash(hash, k->key.data, k->key.length);
    snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 SUFFIX, hash[0], hash[1]);
    return cr_cache_file(path, sizeof path, name) ? cr_strdup(path) : NULL;
}

/* ---- finding ---- */

/* Returns the offset of the weights in a file: the first page after the key. */
static size_t weights_at(const struct cr_kept *k)
{
    return (k->key.length / PAGE + 1) * PAGE;
}

/* Returns true if an open file belongs to this user, has the size of key and weights, and begins
 * with the key. */
static bool has_key(const struct cr_kept *k, int fd, int64_t weights_bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size != (int64_t)weights_at(k) + weights_bytes)
        return false;
    char *found = cr_calloc(k->key.length + 1, 1);
    bool same = pread(fd, found, k->key.length + 1, 0) == (ssize_t)k->key.length + 1 &&
                memcmp(found, k->key.data, k->key.length + 1) == 0;
    free(found);
    return same;
}

void cr_kept_find(struct cr_kept *k, struct cr_engine *e, const struct cr_kept_file *files, int n,
                  const struct cr_kept_tensor *tensors)
{
    *k = (struct cr_kept){0};
    if (!make_key(k, e, files, n, tensors) || !(k->path = path_of(k))) {
        cr_kept_free(k);
        return;
    }
    int fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (has_key(k, fd, e->program->weights_bytes)) {
        k->is_mapped = cr_engine_map_weights(e, fd, weights_at(k)) == 0;
        futimens(fd, NULL); /* for eviction: the least recently used files are removed first */
    }
    close(fd);
}

/* ---- room ---- */

/* A file of packed weights in the cache folder. */
struct kept_file {
    char *path;
    int64_t bytes;
    struct timespec used;
};

struct kept_files {
    struct kept_file *items;
    int n, cap;
    int64_t bytes; /* total size */
};

/* Appends a file if it holds packed weights. */
static void add_file(struct kept_files *files, const char *folder, const char *name)
{
    char path[CR_CACHE_PATH];
    struct stat status;
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < suffix || strcmp(name + length - suffix, SUFFIX) != 0 || n < 0 ||
        (size_t)n >= sizeof path || lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    *CR_PUSH(files->items, files->n, files->cap) =
        (struct kept_file){cr_strdup(path), status.st_size, status.st_mtim};
    files->bytes += status.st_size;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept_file *)a)->used,
                          *y = &((const struct kept_file *)b)->used;
    return x->tv_sec != y->tv_sec ? (x->tv_sec > y->tv_sec) - (x->tv_sec < y->tv_sec)
                                  : (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Removes the least recently used files until the rest and `bytes` more take at most `most`. */
static void make_room(int64_t bytes, int64_t most)
{
    char folder[CR_CACHE_PATH];
    struct kept_files files = {0};
    DIR *open_folder = cr_cache_folder(folder, sizeof folder) ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (open_folder && (entry = readdir(open_folder)))
        add_file(&files, folder, entry->d_name);
    if (open_folder)
        closedir(open_folder);
    if (files.n)
        qsort(files.items, (size_t)files.n, sizeof *files.items, by_use);
    for (int i = 0; i < files.n; i++) {
        if (files.bytes > most - bytes && unlink(files.items[i].path) == 0)
            files.bytes -= files.items[i].bytes;
        free(files.items[i].path);
    }
    free(files.items);
}

/* Fails unless the file system has FREE_SHARE times `bytes` free. */
static int check_disk(const char *folder, int64_t bytes, struct cr_error *error)
{
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return cr_fail(error, "%.300s: %s", folder, strerror(errno));
    double is_free = (double)disk.f_bavail * (double)disk.f_frsize;
    if (is_free < FREE_SHARE * (double)bytes)
        return cr_fail(error,
                       "%.300s: found %.0f bytes free on the disk, expected %d times the %" PRId64
                       " bytes of the weights",
                       folder, is_free, FREE_SHARE, bytes);
    return 0;
}

/* ---- writing ---- */

/* Returns true if no file of weights has changed since the key was made. */
static bool is_unchanged(const struct cr_kept *k)
{
    struct cr_text now = {0};
    struct stat status;
    bool same = true;
    for (int i = 0; i < k->n_sources && same; i++) {
        same = stat(k->sources[i].path, &status) == 0;
        if (same)
            put_source(&now, &k->sources[i], &status);
    }
    same = same && strcmp(now.data, k->key.data + k->sources_at) == 0;
    free(now.data);
    return same;
}

/* Takes the lock of a folder, so that one process at a time writes to it.  Returns its descriptor,
 * or -1 with an error. */
static int lock_folder(const char *folder, struct cr_error *error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cr_fail(error, "%.300s: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd; /* continue without a lock if the file system has none */
    close(fd);
    return cr_fail(error, "%.300s: another process is writing weights there, expected one process "
                   "at a time", folder);
}

/* Writes the file: the key padded to whole pages, then the weights. */
static int write_file(const struct cr_kept *k, const struct cr_engine *e, struct cr_error *error)
{
    struct cr_writer writer;
    const size_t text = sizeof error->text;
    if (cr_writer_open(&writer, k->path, error->text, text))
        return -1;
    char *page = cr_calloc(weights_at(k), 1);
    memcpy(page, k->key.data, k->key.length);
    cr_writer_put(&writer, page, weights_at(k));
    free(page);
    cr_writer_put(&writer, e->weights, (size_t)e->program->weights_bytes);
    if (cr_writer_finish(&writer, error->text, text))
        return -1;
    if (!is_unchanged(k)) {
        cr_writer_discard(&writer);
        return cr_fail(error, "%.400s: the file changed since it was read, expected it unchanged",
                       k->sources[0].path);
    }
    return cr_writer_commit(&writer, error->text, text);
}

int64_t cr_kept_write(const struct cr_kept *k, const struct cr_engine *e, int64_t most,
                      struct cr_error *error)
{
    char folder[CR_CACHE_PATH];
    int64_t bytes = (int64_t)weights_at(k) + e->program->weights_bytes;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(k->path, '/') - k->path), k->path);
    if (bytes > most) {
        cr_fail(error, "%.300s: %" PRId64 " bytes of weights, expected at most the %" PRId64 " of the cache",
                folder, bytes, most);
        return 0;
    }
    cr_make_folders(k->path);
    int lock = lock_folder(folder, error);
    if (lock < 0)
        return 0;
    int status = check_disk(folder, bytes, error);
    if (!status) {
        make_room(bytes, most);
        status = write_file(k, e, error);
    }
    close(lock);
    return status ? 0 : bytes;
}

void cr_kept_free(struct cr_kept *k)
{
    for (int i = 0; i < k->n_sources; i++)
        free(k->sources[i].path);
    free(k->sources);
    free(k->key.data);
    free(k->path);
    *k = (struct cr_kept){0};
}
