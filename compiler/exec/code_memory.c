/*
 * code_memory.c - allocates memory for machine code; see code_memory.h.
 *
 * There are two ways to turn writable pages into executable ones.  The first uses a file in
 * memory, which is mapped writable and later, at the same address, executable.  No mapping
 * changes its protection: some systems forbid making written memory executable (PR_SET_MDWE,
 * MemoryDenyWriteExecute= of systemd, execmem of SELinux).  If the system has no such files, or
 * forbids executing them, the second way changes the protection of anonymous pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "code_memory.h"

/* Flag of memfd_create since Linux 6.3: execve refuses the file.  With vm.memfd_noexec=2 the
 * system makes only such files. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static const char name[] = "crescent-code";

/* Returns a file in memory of this size, or -1.  Checks RLIMIT_FSIZE first, since exceeding that
 * limit raises a signal. */
static int new_file(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return -1;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Maps the file executable, to find out whether the system allows that, then writable at the same
 * address. */
static bool map_file(struct cr_code_memory *memory)
{
    int fd = new_file(memory->bytes);
    if (fd < 0)
        return false;
    void *start = mmap(NULL, memory->bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (start != MAP_FAILED && mmap(start, memory->bytes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_FIXED, fd, 0) == start) {
        memory->start = start;
        memory->fd = fd;
        return true;
    }
    if (start != MAP_FAILED)
        munmap(start, memory->bytes);
    close(fd);
    return false;
}

bool cr_code_memory_new(struct cr_code_memory *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *memory = (struct cr_code_memory){.bytes = (bytes + page - 1) / page * page, .fd = -1};
    if (map_file(memory))
        return true;
    void *start =
        mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory->start = start == MAP_FAILED ? NULL : start;
    return memory->start;
}

bool cr_code_memory_protect(struct cr_code_memory *memory)
{
    const int rights = PROT_READ | PROT_EXEC;
    if (memory->fd < 0) {
        if (mprotect(memory->start, memory->bytes, rights))
            return false;
    } else {
        if (mmap(memory->start, memory->bytes, rights, MAP_SHARED | MAP_FIXED, memory->fd, 0) ==
            MAP_FAILED)
            return false;
        close(memory->fd);
        memory->fd = -1;
    }
    __builtin___clear_cache(memory->start, (char *)memory->start + memory->bytes);
    return true;
}

void cr_code_memory_free(struct cr_code_memory *memory)
{
    if (memory->start) {
        munmap(memory->start, memory->bytes);
        if (memory->fd >= 0)
            close(memory->fd);
    }
    *memory = (struct cr_code_memory){0};
}
