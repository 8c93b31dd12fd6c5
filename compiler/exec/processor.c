/* processor.c - identifies the processor that runs this program; see processor.h. */
#include "processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- which processor ---- */

/* Parses a line of /proc/cpuinfo, such as "vendor_id : AuthenticAMD", "cpu family : 26", "model :
 * 2", or on Arm "CPU part : 0xd0b". */
static void take_line(struct cr_host_processor *host, const char *line)
{
    unsigned part;
    if (sscanf(line, "vendor_id : %15s", host->vendor) == 1 ||
        sscanf(line, "cpu family : %d", &host->family) == 1 ||
        sscanf(line, "model : %d", &host->model) == 1 ||
        sscanf(line, "microcode : %23s", host->microcode) == 1)
        return;
    if (sscanf(line, "CPU part : %x", &part) == 1)
        host->model = (int)(part & 0xffff);
}

/* Sets host->name, which identifies the kind of processor and can be part of a file name. */
static void name_processor(struct cr_host_processor *host)
{
    bool amd = strcmp(host->vendor, "AuthenticAMD") == 0;
    bool intel = strcmp(host->vendor, "GenuineIntel") == 0;
    if (*host->vendor)
        snprintf(host->name, sizeof host->name, "%s-%d-%d",
                 amd     ? "amd"
                 : intel ? "intel"
                         : "x86",
                 host->family, host->model);
    else if (host->model)
        snprintf(host->name, sizeof host->name, "arm-%x", (unsigned)host->model);
    else
        snprintf(host->name, sizeof host->name, "unknown");
}

/* Reads the description of the first core that the kernel lists. */
static void find_processor(struct cr_host_processor *host)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file) && *line != '\n')
        take_line(host, line);
    if (file)
        fclose(file);
    name_processor(host);
}

/* ---- its caches ---- */

/* Reads one line from a file in which the kernel describes cache `index` of the first core. */
static bool read_line(char *text, int size, int index, const char *file)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    FILE *in = fopen(path, "re");
    bool read = in && fgets(text, size, in);
    if (in)
        fclose(in);
    return read;
}

/* Returns a size such as "48K" or "32M" in bytes; 0 for other texts. */
static int64_t bytes_of(const char *text)
{
    char *unit;
    long long n = strtoll(text, &unit, 10);
    int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    return n < 0 || n > 1 << 20 ? 0 : (int64_t)n << shift;
}

static int64_t *bytes_of_level(struct cr_host_processor *host, int level)
{
    int64_t *bytes[] = {&host->l1_bytes, &host->l2_bytes, &host->l3_bytes};
    return level >= 1 && level <= 3 ? bytes[level - 1] : NULL;
}

/* Sets the sizes of the caches from the files under /sys of Linux. */
static void list_caches(struct cr_host_processor *host)
{
    char level[16], type[32], size[32];
    for (int i = 0; i < 16 && read_line(level, sizeof level, i, "level"); i++) {
        if (!read_line(type, sizeof type, i, "type") || !read_line(size, sizeof size, i, "size") ||
            strncmp(type, "Instruction", 11) == 0)
            continue;
        int64_t *bytes = bytes_of_level(host, *level - '0');
        if (bytes)
            *bytes = bytes_of(size);
    }
}

/* Each subleaf of a leaf of cpuid describes one cache: of leaf 4 on Intel's processors, of leaf
 * 0x8000001d on AMD's. */
void cr_detect_caches(struct cr_host_processor *host)
{
#if defined(__x86_64__)
    unsigned leaf = strcmp(host->vendor, "AuthenticAMD") == 0 ? 0x8000001d : 4;
    unsigned a, b, c, d;
    for (unsigned i = 0; i < 8 && __get_cpuid_count(leaf, i, &a, &b, &c, &d); i++) {
        int64_t *bytes = bytes_of_level(host, (int)(a >> 5 & 7));
        enum { NO_MORE, DATA, CODE };
        if ((a & 31) == NO_MORE)
            break;
        if ((a & 31) != CODE && bytes) /* the size is ways x partitions x bytes of a line x sets */
            *bytes = (int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) *
                     ((int64_t)c + 1);
    }
#else
    (void)host;
#endif
}

void cr_detect_processor(struct cr_host_processor *host)
{
    *host = (struct cr_host_processor){.family = 0};
    find_processor(host);
    list_caches(host);
    if (!host->l1_bytes)
        cr_detect_caches(host);
}

/* ---- as a target ---- */

static bool is(const struct cr_host_processor *host, const struct cr_processor *p)
{
    if (!p->vendor || strcmp(host->vendor, p->vendor) != 0 || host->family != p->family)
        return false;
    for (int i = 0; p->models[i] >= 0; i++)
        if (p->models[i] == host->model)
            return true;
    return p->models[0] < 0;
}

/* Sets a size of the target to the value that the system reports, if it is in the size's
 * permitted range. */
static void take(struct cr_target *target, const char *name, int64_t bytes)
{
    for (int i = 0; i < cr_n_target_sizes; i++) {
        const struct cr_target_size *size = &cr_target_sizes[i];
        if (strcmp(size->name, name) == 0 && bytes > 0 && bytes >= size->least &&
            bytes <= size->most)
            *cr_target_field(target, i) = bytes;
    }
}

void cr_host_target(struct cr_target *target, const struct cr_host_processor *host)
{
    *target = cr_target_generic;
    snprintf(target->name, sizeof target->name, "host");
    for (int i = 0; i < cr_n_processors; i++)
        if (is(host, &cr_processors[i])) {
            cr_target_of(target, &cr_processors[i]);
            break;
        }
    take(target, "l1_bytes", host->l1_bytes);
    take(target, "l2_bytes", host->l2_bytes);
    take(target, "l3_bytes", host->l3_bytes);
}
