/* kept_file.c - files of the cache folder; see kept_file.h. */
#include "kept_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "compiler/files/cache_folder.h"
#include "compiler/files/writer.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"

/* The suffixes that names of kept files can have. */
static const char *const suffixes[] = {".weights", ".tokens"};
enum { N_SUFFIXES = sizeof suffixes / sizeof *suffixes };

enum { PAGE = 4096, FREE_SHARE = 4 };

/* ---- hashes ---- */

enum { BLOCK = 4 * sizeof(uint64_t), CHUNK = 1 << 14 };

/* Mixes a word into a lane of the hash; for a fixed word, or a fixed lane, different values give
 * different results. */
static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9e3779b97f4a7c15u;
    return lane << 29 | lane >> 35;
}

static inline void mix_block(uint64_t lanes[4], const unsigned char *from)
{
    uint64_t words[4];
    memcpy(words, from, BLOCK);
    lanes[0] = mix(lanes[0], words[0]);
    lanes[1] = mix(lanes[1], words[1]);
    lanes[2] = mix(lanes[2], words[2]);
    lanes[3] = mix(lanes[3], words[3]);
}

/* Mixes at most CHUNK bytes.  Four lanes take words in turn, because a multiplication must wait
 * for the previous one of its lane. */
static void hash_chunk(uint64_t hash[2], const unsigned char *from, size_t n)
{
    unsigned char last[BLOCK] = {0};
    uint64_t lanes[] = {hash[0], hash[1] ^ n, 0x632be59bd9b4e019u, 0xd6e8feb86659fd93u};
    for (; n >= BLOCK; from += BLOCK, n -= BLOCK)
        mix_block(lanes, from);
    memcpy(last, from, n);
    mix_block(lanes, last);
    for (int i = 0; i < 4; i++) {
        hash[0] = cr_hash_word(hash[0], lanes[i]);
        hash[1] = cr_hash_word(hash[1] + 0x632be59bd9b4e019u, lanes[i]);
    }
}

void cr_kept_hash(uint64_t hash[2], const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    for (size_t at = 0; at < n; at += CHUNK)
        hash_chunk(hash, from + at, n - at < CHUNK ? n - at : CHUNK);
}

bool cr_kept_hash_file(uint64_t hash[2], int fd, size_t at, size_t n)
{
    unsigned char bytes[CHUNK];
    for (size_t size; n > 0; at += size, n -= size) {
        size = n < CHUNK ? n : CHUNK;
        if (pread(fd, bytes, size, (off_t)at) != (ssize_t)size)
            return false;
        hash_chunk(hash, bytes, size);
    }
    return true;
}

/* ---- the build ---- */

/* The build id, as hexadecimal digits, of the object that contains the address `code`. */
struct build {
    uintptr_t code;
    char id[2 * 64 + 1];
};

/* Reads the build id if a segment of notes (PT_NOTE) contains one: the linker writes it as a note
 * of type NT_GNU_BUILD_ID. */
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

/* Reads the notes of the object that contains the code; returns 1 for it, which ends the
 * iteration. */
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

bool cr_kept_begin(struct cr_kept_key *key, const char *title)
{
    struct build build = {.code = (uintptr_t)cr_kept_begin};
    *key = (struct cr_kept_key){0};
    dl_iterate_phdr(visit_object, &build);
    cr_put(&key->text, "crescent %s\nbuild %s\n", title, build.id);
    key->sources_at = key->text.length;
    return *build.id;
}

/* Writes the key's line about a source.  A path may contain any byte but NUL. */
static void put_source(struct cr_text *text, const struct cr_kept_source *source,
                       const struct stat *s)
{
    cr_put(text, "file %" PRIuMAX ":%" PRIuMAX " %" PRIdMAX " %" PRIdMAX ".%09ld %" PRIdMAX ".%09ld "
                 "%016" PRIx64 "%016" PRIx64 " %zu %s\n",
           (uintmax_t)s->st_dev, (uintmax_t)s->st_ino, (intmax_t)s->st_size,
           (intmax_t)s->st_mtim.tv_sec, s->st_mtim.tv_nsec, (intmax_t)s->st_ctim.tv_sec,
           s->st_ctim.tv_nsec, source->hash[0], source->hash[1], strlen(source->path),
           source->path);
}

bool cr_kept_add_source(struct cr_kept_key *key, const char *path, int fd, const uint64_t hash[2])
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    if (key->n_sources == 0)
        key->sources_at = key->text.length;
    struct cr_kept_source *source = CR_PUSH(key->sources, key->n_sources, key->sources_cap);
    char *whole = realpath(path, NULL);
    source->path = cr_strdup(whole ? whole : path);
    free(whole);
    memcpy(source->hash, hash, sizeof source->hash);
    put_source(&key->text, source, &status);
    return true;
}

void cr_kept_name(struct cr_kept_key *key, const char *suffix)
{
    char path[CR_CACHE_PATH], name[64];
    uint64_t hash[2] = {0};
    cr_kept_hash(hash, key->text.data, key->text.length);
    snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 "%s", hash[0], hash[1], suffix);
    key->path = cr_cache_file(path, sizeof path, name) ? cr_strdup(path) : NULL;
}

bool cr_kept_is_current(const struct cr_kept_key *key)
{
    struct cr_text now = {0};
    struct stat status;
    bool same = true;
    for (int i = 0; i < key->n_sources && same; i++) {
        same = stat(key->sources[i].path, &status) == 0;
        if (same)
            put_source(&now, &key->sources[i], &status);
    }
    same = same && strcmp(now.data, key->text.data + key->sources_at) == 0;
    free(now.data);
    return same;
}

void cr_kept_free_key(struct cr_kept_key *key)
{
    for (int i = 0; i < key->n_sources; i++)
        free(key->sources[i].path);
    free(key->sources);
    free(key->text.data);
    free(key->path);
    *key = (struct cr_kept_key){0};
}

/* ---- finding ---- */

size_t cr_kept_at(const struct cr_kept_key *key)
{
    return (key->text.length / PAGE + 1) * PAGE;
}

/* True if an open file belongs to this user and begins with the key; sets *bytes to the size of
 * its contents. */
static bool has_key(const struct cr_kept_key *key, int fd, int64_t *bytes)
{
    struct stat status;
    const size_t length = key->text.length + 1;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return false;
    *bytes = status.st_size - (int64_t)cr_kept_at(key);
    char *found = cr_calloc(length, 1);
    bool same = *bytes > 0 && pread(fd, found, length, 0) == (ssize_t)length &&
                memcmp(found, key->text.data, length) == 0;
    free(found);
    return same;
}

int cr_kept_open(const struct cr_kept_key *key, int64_t *bytes)
{
    int fd = open(key->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && has_key(key, fd, bytes)) {
        futimens(fd, NULL); /* marks the file as used: the least recently used are removed first */
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- room ---- */

/* True if a file's name has the suffix of a kept file. */
static bool is_kept_name(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < N_SUFFIXES; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (length >= suffix && strcmp(name + length - suffix, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* A kept file in the cache folder. */
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

/* Appends a file of the folder to the list, if it is a kept file. */
static void add_file(struct kept_files *files, const char *folder, const char *name)
{
    char path[CR_CACHE_PATH];
    struct stat status;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!is_kept_name(name) || n < 0 ||
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

/* Removes the least recently used files until the rest plus `bytes` take at most `most` bytes. */
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

/* Fails unless at least FREE_SHARE times `bytes` are free in the file system. */
static int check_disk(const char *folder, int64_t bytes, struct cr_error *error)
{
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return cr_fail(error, "%.300s: cannot be examined: %s", folder, strerror(errno));
    double is_free = (double)disk.f_bavail * (double)disk.f_frsize;
    if (is_free < FREE_SHARE * (double)bytes)
        return cr_fail(error,
                       "%.300s: found %.0f bytes free on the disk, expected %d times the %" PRId64
                       " bytes to keep",
                       folder, is_free, FREE_SHARE, bytes);
    return 0;
}

/* ---- writing ---- */

/* Locks a folder, so that only one process at a time writes to it.  Returns a descriptor, or -1
 * with an error. */
static int lock_folder(const char *folder, struct cr_error *error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cr_fail(error, "%.300s: cannot be opened: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd; /* a file system without locks: continues without one */
    close(fd);
    return cr_fail(error, "%.300s: another process is writing there, expected one process "
                   "at a time", folder);
}

/* Writes a kept file: the key, padded to whole pages, then the contents. */
static int write_file(const struct cr_kept_key *key, const void *contents, int64_t bytes,
                      struct cr_error *error)
{
    struct cr_writer writer;
    const size_t text = sizeof error->text;
    if (cr_writer_open(&writer, key->path, error->text, text))
        return -1;
    char *page = cr_calloc(cr_kept_at(key), 1);
    memcpy(page, key->text.data, key->text.length);
    cr_writer_put(&writer, page, cr_kept_at(key));
    free(page);
    cr_writer_put(&writer, contents, (size_t)bytes);
    if (cr_writer_finish(&writer, error->text, text))
        return -1;
    if (!cr_kept_is_current(key)) {
        cr_writer_discard(&writer);
        return cr_fail(error, "%.400s: the file changed since it was read, expected it unchanged",
                       key->sources[0].path);
    }
    return cr_writer_commit(&writer, error->text, text);
}

int64_t cr_kept_store(const struct cr_kept_key *key, const void *contents, int64_t bytes, int64_t most,
                      struct cr_error *error)
{
    char folder[CR_CACHE_PATH];
    int64_t all = (int64_t)cr_kept_at(key) + bytes;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(key->path, '/') - key->path), key->path);
    if (all > most) {
        cr_fail(error, "%.300s: found %" PRId64 " bytes to keep, expected at most the %" PRId64 " of the cache",
                folder, all, most);
        return 0;
    }
    cr_make_folders(key->path);
    int lock = lock_folder(folder, error);
    if (lock < 0)
        return 0;
    int status = check_disk(folder, all, error);
    if (!status) {
        make_room(all, most);
        status = write_file(key, contents, bytes, error);
    }
    close(lock);
    return status ? 0 : all;
}
