/*
 * crescent.h - the public C interface: from a Lua script to numbers.
 *
 *     crescent_model *m = NULL;
 *     crescent_config config = {.backend = CRESCENT_TCC};
 *     if (crescent_open("graphs/gpt2_block.lua", &config, &m) ||
 *         crescent_load_weights(m, "weights.safetensors") ||
 *         crescent_run(m, inputs, outputs))
 *         puts(crescent_error());
 *     crescent_close(m);
 *
 * A function returns CRESCENT_OK or, for what the caller or a file got wrong,
 * CRESCENT_FAILED, with one line about it in crescent_error().
 *
 * Several threads may call these functions at the same time, each with models of its own.
 */
#ifndef CRESCENT_H
#define CRESCENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CRESCENT_VERSION "0.1.0"

enum { CRESCENT_OK = 0, CRESCENT_FAILED = -1, CRESCENT_MAX_RANK = 8 };

/* How a model is run: TinyCC in memory, the system's compiler, the interpreter. */
typedef enum { CRESCENT_TCC, CRESCENT_CC, CRESCENT_REF } crescent_backend;

typedef enum { CRESCENT_F32, CRESCENT_I32, CRESCENT_BOOL } crescent_type;

typedef enum { CRESCENT_PARAM, CRESCENT_INPUT, CRESCENT_OUTPUT } crescent_port_kind;

typedef struct crescent_model crescent_model;

/* An option of the script and the value it shall have. */
typedef struct {
    const char *key, *value;
} crescent_setting;

/* All zero is a good configuration. */
typedef struct {
    crescent_backend backend;
    int threads;     /* 0: one */
    const char *isa; /* "avx512", "avx2", "plain"; null: the best there is */
    const crescent_setting *settings;
    int n_settings;
    int64_t max_arena; /* bytes that intermediate values may take; 0: any number */
} crescent_config;

/* A tensor at the model's border; the name lives as long as the model. */
typedef struct {
    const char *name;
    crescent_type type; /* of i32 the elements are int32_t, of f32 and bool (0 and 1) float */
    int rank;
    int64_t shape[CRESCENT_MAX_RANK];
} crescent_port;

/* The last failure of this thread, "FILE[:LINE]: what was found, what was expected". */
const char *crescent_error(void);

/* Runs a script, compiles its graph and makes room for its weights.  *model is null after
 * a failure. */
int crescent_open(const char *script, const crescent_config *config, crescent_model **model);
void crescent_close(crescent_model *model);

/* Ports are counted and numbered in the order the script made them. */
int crescent_port_count(const crescent_model *model, crescent_port_kind kind);
int crescent_port_at(const crescent_model *model, crescent_port_kind kind, int index,
                     crescent_port *port);

/* Weights: from a safetensors file, at random as PyTorch's layers begin, or one by one
 * (row-major, copied).  All must have come before a run. */
int crescent_load_weights(crescent_model *model, const char *path);
int crescent_draw_weights(crescent_model *model, uint64_t seed);
int crescent_set_weight(crescent_model *model, int index, const float *tensor);

/* One run; tensors are row-major, in the ports' order.  Not from two threads at once. */
int crescent_run(crescent_model *model, const void *const *inputs, void *const *outputs);

/* Compiles a script to standalone C: `path`, which ends in ".c", and its header. */
int crescent_emit(const char *script, const crescent_setting *settings, int n_settings,
                  const char *path);

#ifdef __cplusplus
}
#endif

#endif
