/*
 * driver.c - runs a fuzz target where libFuzzer is not at hand.
 *
 *     TARGET [N=1000] [SECONDS=10] [SEED=1] [CRASH=FILE] SEED_FILE...
 *
 * Inputs are the seeds, then mutations of them: bytes changed, removed and doubled, numbers at
 * their limits, pieces of other seeds.  The input at hand is in the file CRASH, which is
 * removed at the end: what is left there made the program end.
 */
#include <time.h>

#include "target.h"

enum { MAX_SEEDS = 1000, MAX_SIZE = 1 << 16 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[MAX_SEEDS];

static int n_seeds;
static uint64_t state = 88172645463325252u;

/* Returns a random number below `limit`, which is not 0, by xorshift64. */
static size_t draw(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % limit);
}

static void add_seed(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MAX_SIZE);
    PROMISE(bytes);
    if (!file || n_seeds == MAX_SEEDS) {
        fprintf(stderr, "%s: cannot be a seed, expected a file of at most %d\n", path, MAX_SEEDS);
        exit(2);
    }
    seeds[n_seeds].size = fread(bytes, 1, MAX_SIZE, file);
    seeds[n_seeds++].bytes = bytes;
    fclose(file);
}

/* Makes room for n bytes at `at`, unless the input would be too large. */
static size_t widen(uint8_t *bytes, size_t size, size_t at, size_t n)
{
    if (n > MAX_SIZE - size)
        return size;
    memmove(bytes + at + n, bytes + at, size - at);
    return size + n;
}

/* Copies a piece of a random seed to `at`, over the bytes there or between them. */
static size_t splice_in(uint8_t *bytes, size_t size, size_t at)
{
    size_t other = draw((size_t)n_seeds), from, n;
    if (seeds[other].size == 0)
        return size;
    from = draw(seeds[other].size);
    n = 1 + draw(seeds[other].size - from < 40 ? seeds[other].size - from : 40);
    if (draw(2))
        size = widen(bytes, size, at, n);
    if (n <= size - at)
        memcpy(bytes + at, seeds[other].bytes + from, n);
    return size;
}

/* Writes a little-endian number of 1 to 8 bytes that is at a limit of its type. */
static void put_limit(uint8_t *bytes, size_t size, size_t at)
{
    static const uint64_t limits[] = {
        0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX, 100000000};
    uint64_t value = limits[draw(sizeof limits / sizeof *limits)];
    size_t n = (size_t)1 << draw(4);
    if (n <= size - at)
        memcpy(bytes + at, &value, n);
}

static size_t mutate_once(uint8_t *bytes, size_t size)
{
    static const char likely[] = "[]{}\",: 0123456789-.e\\()'u\n=<>+*/#~^;%_";
    size_t at, n;
    if (size == 0)
        return splice_in(bytes, size, 0);
    at = draw(size);
    n = 1 + draw(size - at < 16 ? size - at : 16);
    switch (draw(8)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << draw(8));
        return size;
    case 1:
        bytes[at] = (uint8_t)draw(256);
        return size;
    case 2:
        bytes[at] = (uint8_t)likely[draw(sizeof likely - 1)];
        return size;
    case 3:
        memmove(bytes + at, bytes + at + n, size - at - n);
        return size - n;
    case 4:
        return widen(bytes, size, at, n);
    case 5:
        put_limit(bytes, size, at);
        return size;
    case 6: /* a digit: shapes, offsets */
        bytes[at] = (uint8_t)('0' + draw(10));
        return size;
    default:
        return splice_in(bytes, size, at);
    }
}

/* Runs one input; the target gets a copy that ends at the end of its allocation. */
static void run_one(const uint8_t *bytes, size_t size, const char *crash)
{
    FILE *file = crash ? fopen(crash, "wb") : NULL;
    uint8_t *copy = malloc(size ? size : 1);
    PROMISE(copy && (!crash || (file && fwrite(bytes, 1, size, file) == size)));
    if (file)
        fclose(file);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Returns the value of an argument NAME=VALUE, or null. */
static const char *value_of(const char *argument, const char *name)
{
    size_t n = strlen(name);
    return strncmp(argument, name, n) == 0 && argument[n] == '=' ? argument + n + 1 : NULL;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[MAX_SIZE];
    const char *crash = NULL, *value;
    long n = 1000, seconds = 1000000, i;
    for (i = 1; i < argc; i++) {
        if ((value = value_of(argv[i], "N")))
            n = atol(value);
        else if ((value = value_of(argv[i], "SECONDS")))
            seconds = atol(value);
        else if ((value = value_of(argv[i], "SEED")))
            state += (uint64_t)atol(value) * 0x9e3779b97f4a7c15u;
        else if ((value = value_of(argv[i], "CRASH")))
            crash = value;
        else
            add_seed(argv[i]);
    }
    for (i = 0; i < n_seeds; i++)
        run_one(seeds[i].bytes, seeds[i].size, crash);
    time_t end = time(NULL) + seconds;
    for (i = 0; i < n && n_seeds > 0 && time(NULL) < end; i++) {
        size_t seed = draw((size_t)n_seeds), size = seeds[seed].size, edits = 1 + draw(6);
        memcpy(bytes, seeds[seed].bytes, size);
        while (edits-- > 0)
            size = mutate_once(bytes, size);
        run_one(bytes, size, crash);
    }
    if (crash)
        remove(crash);
    printf("%ld inputs\n", n_seeds + i);
    return 0;
}
