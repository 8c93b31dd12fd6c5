/* machine.c - measures the machine's peak rates; see crescent.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/exec/peak_rates.h"
#include "compiler/ir/mem.h"
#include "handles.h"

enum { MEGABYTE = 1 << 20, MAX_THREADS = 256, TRIES = 4 };

/* Returns four times the size of the last-level cache, but at least 128 and at most 1024 MB. */
static int64_t beyond_caches(void)
{
    int64_t cache = -1, least = 128 * MEGABYTE, most = 1024 * (int64_t)MEGABYTE;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return 4 * cache < least ? least : 4 * cache > most ? most : 4 * cache;
}

struct crescent_machine {
    crescent_context *context;
    crescent_model *model; /* measurements use this model's threads */
    char *buffer;
    int64_t bytes;  /* the size of the buffer, a multiple of the caches' size */
    int64_t filled; /* the first bytes, which were written; before that, all pages are mapped to one
                       page of zeros */
};

/* Reserves address space for the buffer; pages are allocated when they are first written.  Huge
 * pages, if the system has them, keep TLB misses out of the measurement. */
static char *new_buffer(int64_t bytes, struct cr_error *error)
{
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        cr_fail(error, "cannot allocate %lld bytes to measure memory, expected more free memory",
                (long long)bytes);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* Writes the buffer up to `bytes` bytes, so that its pages exist. */
static void fill(crescent_machine *m, int64_t bytes)
{
    if (bytes > m->filled) {
        memset(m->buffer + m->filled, 1, (size_t)(bytes - m->filled));
        m->filled = bytes;
    }
}

/* Opens a machine that measures with the threads and the runtime of a model. */
int crescent_machine_open(crescent_model *model, crescent_machine **machine)
{
    if (machine)
        *machine = NULL;
    CR_REQUIRE(model, machine);
    CR_ENTER(model->context);
    crescent_machine *m = cr_calloc(1, sizeof *m);
    m->bytes = beyond_caches();
    if (!(m->buffer = new_buffer(m->bytes, guard.error))) {
        free(m);
        return cr_done(&guard, CRESCENT_FAILED);
    }
    m->context = cr_refer(model->context);
    m->model = model;
    model->references++;
    *machine = m;
    return CRESCENT_OK;
}

void crescent_machine_close(crescent_machine *machine)
{
    if (!machine)
        return;
    munmap(machine->buffer, (size_t)machine->bytes);
    cr_model_release(machine->model);
    cr_release(machine->context);
    free(machine);
}

/* The operations to perform, and by thread the number of those performed. */
struct operating {
    enum cr_arithmetic arithmetic;
    const char *isa;
    double *done;
};

/* A thread's part of the measurement: performs the operations once for each item. */
static void operate_body(const void *args, long begin, long end, float *scratch)
{
    const struct operating *o = args;
    (void)scratch;
    for (long i = begin; i < end; i++)
        o->done[i] = o->arithmetic == CR_ARITHMETIC_f32
                         ? cr_peak_work()
                         : cr_peak_products(o->isa, o->arithmetic == CR_ARITHMETIC_bf16);
}

static double operating_speed(const struct cr_engine *e, enum cr_arithmetic arithmetic)
{
    double done[MAX_THREADS] = {0}, total = 0;
    const struct operating args = {arithmetic, e->rt->isa, done};
    int64_t start = cr_clock();
    e->rt->parallel(e->pool, e->threads, e->threads, operate_body, &args, NULL, 0);
    int64_t time = cr_clock() - start;
    for (int i = 0; i < e->threads; i++)
        total += done[i];
    return total / (double)time;
}

/* Returns the largest rate of a few tries.  Tries are short, so that at least one of them is not
 * disturbed even if other programs use the processor. */
static double best_operating(const crescent_machine *m, enum cr_arithmetic arithmetic)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        double speed = operating_speed(&m->model->engine, arithmetic);
        best = speed > best ? speed : best;
    }
    return best;
}

double crescent_machine_flops(const crescent_machine *m)
{
    return m ? best_operating(m, CR_ARITHMETIC_f32) : 0;
}

double crescent_machine_products(const crescent_machine *m, const char *name)
{
    enum cr_arithmetic arithmetic =
        name ? cr_arithmetic_find(name, strlen(name)) : CR_ARITHMETIC_COUNT;
    return m && arithmetic < CR_ARITHMETIC_COUNT ? best_operating(m, arithmetic) : 0;
}

/* The buffer to read, and the number of times to read it. */
struct reading {
    const char *buffer;
    long times;
};

/* A thread's part of the measurement: reads items of CR_READ_STEP bytes. */
static void read_body(const void *args, long begin, long end, float *scratch)
{
    const struct reading *r = args;
    (void)scratch;
    for (long i = 0; i < r->times; i++)
        cr_read_work(r->buffer + begin * CR_READ_STEP, end - begin);
}

static double read_speed(const struct cr_engine *e, const struct reading *r, long steps)
{
    int64_t start = cr_clock();
    e->rt->parallel(e->pool, steps, e->threads, read_body, r, NULL, 0);
    return (double)steps * CR_READ_STEP * (double)r->times / (double)(cr_clock() - start);
}

/* Returns the largest rate of a few reads of `steps` steps.  The first read brings the data into
 * the caches.  Short reads are repeated. */
static double best_reading(const crescent_machine *m, const char *from, long steps)
{
    const struct cr_engine *e = &m->model->engine;
    struct reading reading = {from, 1};
    double best = 0;
    read_speed(e, &reading, steps);
    reading.times += 2 * MEGABYTE / (steps * CR_READ_STEP);
    for (int i = 0; i < TRIES; i++) {
        double speed = read_speed(e, &reading, steps);
        best = speed > best ? speed : best;
    }
    return best;
}

/* Returns the largest rate of reading the whole buffer, which exceeds the caches, in TRIES
 * parts. */
static double best_beyond(const crescent_machine *m)
{
    double best = 0;
    long steps = m->bytes / TRIES / CR_READ_STEP;
    for (int i = 0; i < TRIES; i++) {
        const struct reading reading = {m->buffer + i * steps * CR_READ_STEP, 1};
        double speed = read_speed(&m->model->engine, &reading, steps);
        best = speed > best ? speed : best;
    }
    return best;
}

/* Returns the largest rate of reading `bytes` bytes of the machine's buffer; 0: the whole buffer.
 * Every thread reads at least CR_READ_STEP bytes. */
double crescent_machine_read(crescent_machine *m, int64_t bytes)
{
    if (!m || bytes < 0)
        return 0;
    bool beyond = !bytes || bytes >= m->bytes;
    long steps = bytes / CR_READ_STEP;
    steps = steps < m->model->engine.threads ? m->model->engine.threads : steps;
    fill(m, beyond ? m->bytes : steps * CR_READ_STEP);
    return beyond ? best_beyond(m) : best_reading(m, m->buffer, steps);
}

double crescent_machine_read_weights(const crescent_machine *m, int64_t bytes)
{
    const struct cr_engine *e = m ? &m->model->engine : NULL;
    if (!e || !e->program || !e->weights || bytes < 0)
        return 0;
    bool all = !bytes || bytes > e->program->weights_bytes;
    long steps = (all ? e->program->weights_bytes : bytes) / CR_READ_STEP;
    return steps ? best_reading(m, (const char *)e->weights, steps) : 0;
}
