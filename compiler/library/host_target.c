/* host_target.c - the target of this machine; see host_target.h. */
#include "host_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compiler/exec/probe_target.h"
#include "compiler/exec/processor.h"
#include "compiler/files/cache_folder.h"
#include "compiler/files/mapping.h"
#include "compiler/files/writer.h"
#include "compiler/ir/mem.h"
#include "handles.h"
#include "runtime/select_runtime.h"
#include "target_file.h"

/* Returns the instruction set that a run with the option `isa` uses, or null if the machine lacks
 * it. */
static const char *isa_of(const char *isa)
{
    const struct cr_runtime *rt = cr_runtime_select(isa);
    return rt ? rt->isa : NULL;
}

/* ---- stored by tuning ---- */

static bool tuned_path(const struct cr_host_processor *host, const char *isa, char *path, size_t size)
{
    char name[2 * CR_TARGET_NAME];
    snprintf(name, sizeof name, "%s-%s.target", host->name, isa);
    return cr_cache_file(path, size, name);
}

char *cr_tuned_path(const char *isa, struct cr_error *error)
{
    struct cr_host_processor host;
    char path[CR_CACHE_PATH];
    cr_detect_processor(&host);
    if (!tuned_path(&host, isa_of(isa), path, sizeof path)) {
        cr_fail(error,
                "XDG_CACHE_HOME and HOME: neither is an absolute path, expected one of them, "
                "or a file to write to");
        return NULL;
    }
    cr_make_folders(path);
    return cr_strdup(path);
}

/* ---- stored by a probe ---- */

static bool probe_path(const struct cr_host_processor *host, const char *isa, int threads, char *path,
                       size_t size)
{
    char name[2 * CR_TARGET_NAME];
    snprintf(name, sizeof name, "%s-%s-%d.probe", host->name, isa, threads);
    return cr_cache_file(path, size, name);
}

/* Prints the first line of a probe's file: everything that the probe's result depends on. */
static void print_key(char *key, size_t size, const struct cr_host_processor *host, const char *isa,
                      int threads)
{
    snprintf(key, size,
             "# probe %d: %s, microcode %s, %s, %d threads, caches of %lld, %lld and %lld bytes\n",
             (int)CR_PROBE_VERSION, host->name, *host->microcode ? host->microcode : "unknown", isa,
             threads, (long long)host->l1_bytes, (long long)host->l2_bytes,
             (long long)host->l3_bytes);
}

/* True if the file of a probe is still valid: it was written on an idle machine, or on a busy one
 * less than ten minutes ago. */
static bool is_recent(const struct cr_mapping *file, size_t key_length)
{
    const double most = 600; /* seconds */
    const size_t length = strlen(CR_BUSY_PROBE);
    struct stat status;
    if (file->size < key_length + length || memcmp(file->bytes + key_length, CR_BUSY_PROBE, length) != 0)
        return true;
    double age = fstat(file->handle - 1, &status) == 0 ? difftime(time(NULL), status.st_mtime) : most;
    return age >= 0 && age < most;
}

/* Reads a probe's file.  Returns false if its first line is not `key`, if it is not a valid target,
 * or if the probe has to be repeated. */
static bool read_probe(struct cr_target *target, const char *path, const char *key)
{
    struct cr_error ignored;
    struct cr_mapping file;
    size_t length = strlen(key);
    if (cr_map_file(&file, path, ignored.text, sizeof ignored.text))
        return false;
    bool is_read =
        file.size >= length && memcmp(file.bytes, key, length) == 0 && is_recent(&file, length) &&
        cr_target_read(target, "host", path, (const char *)file.bytes, file.size, &ignored) == 0;
    cr_unmap_file(&file);
    return is_read;
}

/* Stores the result of a probe in a file.  Ignores failures to write: then the next process probes
 * again. */
static void keep_probe(const struct cr_target *target, char *path, const char *key, bool is_certain)
{
    struct cr_error ignored;
    struct cr_writer writer;
    struct cr_text text = {0};
    cr_make_folders(path);
    if (cr_writer_open(&writer, path, ignored.text, sizeof ignored.text))
        return;
    cr_put(&text, "%s%s", key, is_certain ? "" : CR_BUSY_PROBE);
    cr_target_print(&text, target);
    cr_writer_put(&writer, text.data, text.length);
    cr_writer_commit(&writer, ignored.text, sizeof ignored.text);
    free(text.data);
}

/* ---- the target of this machine ---- */

struct cr_use cr_use_of(const struct cr_graph *graph, const char *isa, int threads)
{
    const double least = 1e8; /* the multiplications and additions of a long run, at least */
    double work = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct cr_node *node = &graph->nodes[i];
        if (cr_ops[node->op].kind != CR_KIND_CONTRACT)
            continue;
        const struct cr_node *left = &graph->nodes[graph->operands[node->first_in]];
        work +=
            2 * (double)cr_elements(node->rank, node->shape) * (double)left->shape[left->rank - 1];
    }
    return (struct cr_use){.isa = isa, .threads = threads, .is_long = work >= least};
}

/* Returns the number of work items that attention is split into.  For few threads there are few
 * items, each of which computes more of the heads that share keys. */
static int64_t attention_items_for(int threads)
{
    return threads > 2 ? 2 * threads : 4;
}

/* Finds the target of this machine.  Sets *is_final if tuning or a probe determined it. */
static int find_target(const struct cr_use *use, const char *isa, struct cr_target *target,
                       bool *is_final, struct cr_error *error)
{
    struct cr_host_processor host;
    char path[CR_CACHE_PATH], key[256];
    cr_detect_processor(&host);
    *is_final = true;
    if (tuned_path(&host, isa, path, sizeof path) && access(path, F_OK) == 0)
        return cr_read_target(target, host.name, path, error);
    bool has_folder = probe_path(&host, isa, use->threads, path, sizeof path);
    print_key(key, sizeof key, &host, isa, use->threads);
    struct cr_target kept;
    if (has_folder && read_probe(&kept, path, key)) {
        *target = kept;
        return 0;
    }
    cr_host_target(target, &host);
    if (target->attention_items > attention_items_for(use->threads))
        target->attention_items = attention_items_for(use->threads);
    *is_final = use->is_long;
    if (!use->is_long)
        return 0;
    bool is_certain = cr_probe_target(cr_runtime_select(isa), use->threads, target);
    if (has_folder)
        keep_probe(target, path, key, is_certain);
    return 0;
}

/* Returns the target of this machine.  The context caches the target of the last use, so that it is
 * probed once. */
int cr_host_target_for(crescent_context *context, const struct cr_use *use,
                       struct cr_target *target, struct cr_error *error)
{
    const char *isa = isa_of(use->isa);
    if (!isa) { /* the engine reports an unknown instruction set later */
        *target = cr_target_generic;
        return 0;
    }
    if (context->host_isa == isa && context->host_threads == use->threads) {
        *target = context->host;
        return 0;
    }
    bool is_final;
    if (find_target(use, isa, target, &is_final, error))
        return -1;
    if (is_final) {
        context->host = *target;
        context->host_isa = isa;
        context->host_threads = use->threads;
    }
    return 0;
}
