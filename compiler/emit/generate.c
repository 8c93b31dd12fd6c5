/* generate.c - prints the functions and the main of a model that generates text, as standalone C;
 * see generate.h. */
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/hash.h"
#include "compiler/ir/mem.h"
#include "embed_text.h"
#include "runtime/sampler.h"
#include "runtime_text.h"
#include "standalone_fillers.h"
#include "standalone_tokenizer.h"

/* ---- the memory of a session ---- */

/* The offsets in bytes of the parts of a session's memory. */
struct session {
    int64_t *inputs, *outputs; /* by port of the program: its offset */
    int64_t ports, scratch, arena;
};

/* Returns the offset of a new part of `bytes` bytes, aligned to a cache line, and advances *end
 * past it. */
static int64_t place(int64_t *end, int64_t bytes)
{
    int64_t at = *end;
    *end += (bytes + 63) / 64 * 64;
    return at;
}

static int64_t port_bytes(const struct cr_port *port)
{
    return cr_elements(port->rank, port->shape) * (int64_t)sizeof(float);
}

/* Lays out the memory of a session: its own structure, then the ports, the sampler's scratch
 * memory and the arena. */
static struct session lay_out(const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    const struct cr_port *logits = &p->outputs[w->generation->logits];
    struct session s = {.ports = 64};
    int64_t end = s.ports;
    s.inputs = cr_calloc((size_t)p->n_inputs, sizeof *s.inputs);
    s.outputs = cr_calloc((size_t)p->n_outputs, sizeof *s.outputs);
    for (int i = 0; i < p->n_inputs; i++)
        s.inputs[i] = place(&end, port_bytes(&p->inputs[i]));
    for (int i = 0; i < p->n_outputs; i++)
        s.outputs[i] = place(&end, port_bytes(&p->outputs[i]));
    int64_t doubles = CR_SAMPLE_SCRATCH(logits->shape[logits->rank - 1]);
    s.scratch = place(&end, doubles * (int64_t)sizeof(double));
    s.arena = end;
    return s;
}

static void free_session(struct session *s)
{
    free(s->inputs);
    free(s->outputs);
}

/* ---- packed weights ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (const unsigned char *b = bytes; n > 0; n--)
        hash = cr_hash_word(hash, *b++);
    return hash;
}

/* Returns a hash of everything that determines the layout of packed weights: parameters, formats
 * and positions. */
static uint64_t hash_layout(const struct cr_program *p)
{
    uint64_t hash = cr_hash_word((uint64_t)p->n_params, (uint64_t)p->weights_bytes);
    for (int i = 0; i < p->n_params; i++) {
        const struct cr_port *port = &p->params[i];
        const char *format = cr_formats[port->format].name;
        hash = hash_bytes(hash, port->name, strlen(port->name) + 1);
        hash = hash_bytes(hash, format, strlen(format) + 1);
        for (int r = 0; r < port->rank; r++)
            hash = cr_hash_word(hash, (uint64_t)port->shape[r]);
        hash = cr_hash_word(hash, (uint64_t)port->offset);
    }
    for (int i = 0; i < p->n_layouts; i++) {
        const struct cr_weight_layout *at = &p->layouts[i];
        const int64_t numbers[] = {at->param,      at->source,     at->rows,   at->cols,
                                   at->row_stride, at->col_stride, at->target, at->panel_stride,
                                   at->first_col,  at->last};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            hash = cr_hash_word(hash, (uint64_t)numbers[k]);
    }
    return hash;
}

/* Writes the header: 16 bytes that mark the format, the hash of the layout, the size of the
 * weights, and the model's name. */
void cr_packed_header(unsigned char header[CR_PACKED_HEADER], const struct cr_program *p)
{
    const uint64_t numbers[] = {hash_layout(p), (uint64_t)p->weights_bytes};
    memset(header, 0, CR_PACKED_HEADER);
    memcpy(header, "crescent packed\n", 16);
    for (int i = 0; i < 16; i++)
        header[16 + i] = (unsigned char)(numbers[i / 8] >> 8 * (i % 8));
    strncpy((char *)header + 32, p->name, CR_PACKED_HEADER - 33);
}

/* Prints the bytes of an array, in rows. */
static void put_array(struct cr_text *t, const unsigned char *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cr_put(t, "%s%d,%s", i % 24 ? "" : "    ", bytes[i],
               i % 24 == 23 || i == n - 1 ? "\n" : "");
}

static void put_packed_header(struct cr_text *t, const struct cr_standalone *w)
{
    unsigned char header[CR_PACKED_HEADER];
    cr_packed_header(header, w->p);
    cr_put(t,
           "\n/* The header of packed weights: a mark, a hash of the layout, bytes, the model's "
           "name. */\n"
           "static const unsigned char %s_packed_header[] = {\n",
           w->p->name);
    put_array(t, header, CR_PACKED_HEADER);
    cr_put(t, "};\n");
}

/* ---- weights in the program ---- */

/* Prints code that embeds the packed file by the assembler's .incbin. */
static void put_incbin(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name, *upper = w->upper;
    cr_put(t,
           "\n/* The packed file; a relative path starts where the compiler runs. */\n"
           "#ifndef %s_WEIGHTS_FILE\n#define %s_WEIGHTS_FILE ",
           upper, upper);
    cr_put_string(t, w->generation->packed);
    cr_put(t,
           "\n#endif\n"
           "#if defined(__TINYC__) || !defined(__GNUC__)\n"
           "#error \"no .incbin: write the weights as an array (emit --embed-array)\"\n#endif\n"
           "#ifdef __APPLE__\n#define CR_EMBED_SECTION \".section __TEXT,__const\\n\"\n"
           "#define CR_EMBED_LABEL(name) \"_\" name\n#else\n"
           "#define CR_EMBED_SECTION \".section .rodata\\n\"\n#define CR_EMBED_LABEL(name) name\n"
           "#endif\n"
           "__asm__(CR_EMBED_SECTION \".balign 64\\n\"\n"
           "        \".globl \" CR_EMBED_LABEL(\"%s_embedded_file\") \"\\n\"\n"
           "        \".globl \" CR_EMBED_LABEL(\"%s_embedded_end\") \"\\n\"\n"
           "        CR_EMBED_LABEL(\"%s_embedded_file\") \":\\n\"\n"
           "        \".incbin \\\"\" %s_WEIGHTS_FILE \"\\\"\\n\"\n"
           "        CR_EMBED_LABEL(\"%s_embedded_end\") \":\\n\"\n"
           "        \".byte 0\\n.text\\n\");\n"
           "extern const unsigned char %s_embedded_file[], %s_embedded_end[];\n\n"
           "const void *%s_embedded(void)\n{\n"
           "    return %s_packed(%s_embedded_file,\n"
           "        (size_t)%s_embedded_end - (size_t)%s_embedded_file);\n}\n",
           name, name, name, upper, name, name, name, name, name, name, name, name);
}

/* Prints the packed weights as an array of bytes, aligned so that they can be read as any
 * format. */
static void put_embedded_array(struct cr_text *t, const struct cr_standalone *w)
{
    const char *name = w->p->name;
    cr_put(t,
           "\n/* The weights%s, as the kernels read them. */\n"
           "#ifdef __GNUC__\n__attribute__((aligned(64)))\n#else\n_Alignas(64)\n#endif\n"
           "static const unsigned char %s_embedded_weights[] = {\n",
           w->p->ranks ? " of each rank" : "", name);
    int ranks = w->p->ranks ? w->p->ranks : 1;
    put_array(t, (const unsigned char *)w->generation->weights, ranks * w->p->weights_bytes);
    cr_put(t, "%s};\n\nconst void *%s_embedded(void)\n{\n", w->p->weights_bytes ? "" : "    0,\n", name);
    if (w->p->ranks)
        cr_put(t, "    return %s_rank() < 0 ? 0 : %s_embedded_weights + %s_rank() * %s_PARAM_BYTES;\n}\n", name,
               name, name, w->upper);
    else
        cr_put(t, "    return %s_embedded_weights;\n}\n", name);
}

static void put_embedded(struct cr_text *t, const struct cr_standalone *w)
{
    if (w->generation->embedding == CR_EMBED_FILE)
        put_incbin(t, w);
    if (w->generation->embedding == CR_EMBED_ARRAY)
        put_embedded_array(t, w);
}

/* ---- the header ---- */

int cr_generation_check(const struct cr_generation *g, const struct cr_program *p,
                        struct cr_error *error)
{
    struct cr_text text = {0};
    int status = g->tokenizer
                     ? cr_emit_tokenizer(&text, g->tokenizer, p->name, g->encoder ? CR_FOR_TEXTS : CR_FOR_PROMPTS,
                                         g->tokenizer_path, error)
                     : 0;
    free(text.data);
    return status;
}

/* Prints macros: the sizes that a caller needs, and the chunk, which the caller may redefine. */
static void put_sizes(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    const struct cr_port *logits = &w->p->outputs[g->logits];
    const char *upper = w->upper;
    struct session s = lay_out(w);
    char parts[32] = "";
    if (w->p->ranks)
        snprintf(parts, sizeof parts, "%dL * ", w->p->ranks);
    cr_put(
        t,
        "\n/* ---- continuing a text ---- */\n\n"
        "/* The most tokens that go through the model at once; results do not depend on it. */\n"
        "#ifndef %s_CHUNK\n#define %s_CHUNK %lld\n#endif\n"
        "#if %s_CHUNK < 1 || %s_CHUNK > %lld\n#error \"%s_CHUNK: expected 1 to %lld\"\n#endif\n\n"
        "#define %s_CONTEXT %lldL /* tokens that a text can have */\n"
        "#define %s_VOCABULARY %lldL /* logits of a token */\n"
        "#define %s_ID_LIMIT %lldL /* all ids are less */\n"
        "#define %s_SESSION_BYTES (%lldL + %s_ARENA_BYTES) /* bytes of memory for a session */\n"
        "#define %s_PACKED_BYTES (%dL + %s%s_PARAM_BYTES) /* bytes of a file of packed weights */\n",
        upper, upper, (long long)g->chunk, upper, upper, (long long)g->chunk, upper,
        (long long)g->chunk, upper, (long long)g->context, upper,
        (long long)logits->shape[logits->rank - 1], upper, (long long)g->id_limit, upper,
        (long long)s.arena, upper, upper, CR_PACKED_HEADER, parts, upper);
    free_session(&s);
}

/* Prints the declaration of embedded weights, if weights are embedded. */
static void put_embedded_header(struct cr_text *t, const struct cr_standalone *w)
{
    if (w->generation->embedding)
        cr_put(t,
               "/* Returns the embedded weights; null if the packed file was another model's. */\n"
               "const void *%s_embedded(void);\n\n",
               w->p->name);
}

void cr_put_generation_header(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    if (g->encoder) {
        cr_put_encoder_header(t, w);
        put_embedded_header(t, w);
        return;
    }
    put_sizes(t, w);
    cr_put(t, "\n");
    if (g->tokenizer)
        cr_emit_tokenizer_header(t, g->tokenizer, w->p->name, CR_FOR_PROMPTS);
    else
        cr_put(t, "#include <stddef.h>\n#include <stdint.h>\n\n");
    cr_put_named_template(t, w, "compiler/emit/generate_header.inc");
    cr_put(t, "\n");
    put_embedded_header(t, w);
    if (g->tokenizer)
        cr_put_named_template(t, w, "compiler/emit/generate_text_header.inc");
}

/* ---- the source ---- */

static void put_ids(struct cr_text *t, const struct cr_standalone *w, const char *what,
                    const int32_t *ids, int n)
{
    cr_put(t, "static const int32_t %s_%s[] = {", w->p->name, what);
    for (int i = 0; i < n; i++)
        cr_put(t, "%d, ", ids[i]);
    cr_put(t, "-1};\n");
}

static void put_offsets(struct cr_text *t, const struct cr_standalone *w, const char *what,
                        const int64_t *offsets, int n)
{
    cr_put(t, "static const long %s_%s_at[] = {", w->p->name, what);
    for (int i = 0; i < n; i++)
        cr_put(t, "%s%lldL,", i % 8 ? " " : "\n    ", (long long)offsets[i]);
    cr_put(t, "\n};\n");
}

/* Prints the offsets of the parts of a session as macros for generate_session.inc. */
static void put_places(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_program *p = w->p;
    const struct cr_generation *g = w->generation;
    const char *upper = w->upper;
    struct session s = lay_out(w);
    cr_put(t,
           "\n/* ---- offsets of the parts of a session, in bytes ---- */\n\n"
           "#define %s_INPUTS %d\n#define %s_OUTPUTS %d\n"
           "#define %s_AT_PORTS %lldL\n#define %s_AT_IDS %lldL\n#define %s_AT_N %lldL\n"
           "#define %s_AT_LOGITS %lldL\n#define %s_AT_SCRATCH %lldL\n#define %s_AT_ARENA %lldL\n\n",
           upper, p->n_inputs, upper, p->n_outputs, upper, (long long)s.ports, upper,
           (long long)s.inputs[g->ids], upper, (long long)s.inputs[g->n], upper,
           (long long)s.outputs[g->logits], upper, (long long)s.scratch, upper, (long long)s.arena);
    cr_put(t, "/* Bytes from a session to its inputs and to its outputs, in the order of the arguments of %s_run. */\n",
           p->name);
    put_offsets(t, w, "inputs", s.inputs, p->n_inputs);
    put_offsets(t, w, "outputs", s.outputs, p->n_outputs);
    free_session(&s);
}

void cr_put_generation_source(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    struct cr_error error;
    if (g->encoder) {
        cr_put_encoder_source(t, w);
        put_packed_header(t, w);
        cr_put_named_template(t, w, "compiler/emit/embed_session.inc");
        put_embedded(t, w);
        return;
    }
    cr_put(t, "\n#include <float.h>\n");
    put_places(t, w);
    cr_put(t, "\n/* Tokens that end a text. */\n");
    put_ids(t, w, "end_ids", g->ends, g->n_ends);
    put_packed_header(t, w);
    cr_put_named_template(t, w, "compiler/emit/generate_session.inc");
    put_embedded(t, w);
    if (!g->tokenizer)
        return;
    cr_put(t, "\n/* ---- the tokenizer ---- */\n\n");
    cr_emit_tokenizer(t, g->tokenizer, w->p->name, CR_FOR_PROMPTS, g->tokenizer_path, &error);
    cr_put_named_template(t, w, "compiler/emit/generate_text.inc");
}

/* ---- main ---- */

/* Prints a list of names as one string literal: each name ends with a zero byte, an empty name
 * ends the list. */
static void put_names(struct cr_text *t, const char *names)
{
    cr_put(t, "    ");
    for (; *names; names += strlen(names) + 1) {
        cr_put_string(t, names);
        cr_put(t, " \"\\000\" ");
    }
    cr_put(t, "\"\",\n");
}

/* Prints a table with one entry for each parameter: the index of the first of its names that is
 * the name of a separate head. */
static void put_heads(struct cr_text *t, const struct cr_standalone *w)
{
    if (!cr_is_needed_by_program((void *)w, "heads"))
        return;
    cr_put(t,
           "\n/* By parameter: the index of its first name that is a separate head's, or 0. */\n"
           "static const int %s_heads[] = {",
           w->p->name);
    for (int i = 0; i < w->p->n_params; i++)
        cr_put(t, "%s%d,", i % 24 ? " " : "\n    ", w->generation->heads[i]);
    cr_put(t, "\n};\n");
}

/* Prints the tables of parameters' names that generate_weights.inc uses. */
static void put_weight_names(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    cr_put(t,
           "/* The names that a parameter may have in files, in the order of search. "
           "*/\n"
           "static const char *const %s_names[] = {\n",
           w->p->name);
    for (int i = 0; i < w->p->n_params; i++)
        put_names(t, g->names[i]);
    cr_put(t, "%s};\n", w->p->n_params ? "" : "    \"\",\n");
    put_heads(t, w);
    cr_put(t,
           "\n/* Suffixes of tensors that are not parameters. */\n"
           "static const char *const %s_buffers[] = {\n",
           w->p->name);
    for (int i = 0; g->buffers[i]; i++) {
        cr_put(t, "    ");
        cr_put_string(t, g->buffers[i]);
        cr_put(t, ",\n");
    }
    cr_put(t, "    NULL,\n};\n");
}

/* Prints the code that finds the weights: embedded ones, or readers of files. */
static void put_weights(struct cr_text *t, const struct cr_standalone *w)
{
    static const char *const readers[] = {"compiler/files/mapping.c", "compiler/files/json.c",
                                          "compiler/files/numbers.c",
                                          "compiler/files/safetensors_read.c"};
    const bool embedded = w->generation->embedding != CR_EMBED_NOT;
    uint64_t done = 0;
    for (size_t i = 0; !embedded && i < sizeof readers / sizeof *readers; i++)
        cr_add_runtime(t, readers[i], &done, cr_is_needed_by_program, (void *)w);
    cr_put(t, "\n");
    if (w->p->ranks)
        cr_put(t, "#define CR_MAIN_RANKS %s_RANKS\n\n", w->upper);
    cr_add_runtime(t, "compiler/emit/standalone_main_tools.inc", &done, cr_is_needed_by_program, (void *)w);
    if (embedded) {
        cr_put_named_template(t, w, "compiler/emit/generate_embedded.inc");
        return;
    }
    cr_put(t, "struct cr_tensor {\n    const char *name;\n    int rank;\n    const long *shape;\n"
              "    long elements;\n    int is_i32;\n};\n\n");
    cr_add_runtime(t, "compiler/emit/standalone_main_files.inc", &done, cr_is_needed_by_program, (void *)w);
    put_weight_names(t, w);
    cr_put(t, "\n");
    cr_put_fillers(t, w);
    cr_put_named_template(t, w, "compiler/emit/generate_weights.inc");
}

void cr_put_generation_main(struct cr_text *t, const struct cr_standalone *w)
{
    const struct cr_generation *g = w->generation;
    cr_put(t,
           "\n#ifdef %s_MAIN\n\n#include <errno.h>\n#include <limits.h>\n#include <stdarg.h>\n"
           "#include <stdio.h>\n#include <stdlib.h>\n\n"
           "#define CR_MAIN_NAME \"%s\"\n#define %s_WEIGHTS_USAGE \"%s\"\n\n",
           w->upper, w->p->name, w->upper, g->embedding ? "" : "WEIGHTS... ");
    put_weights(t, w);
    if (!g->encoder) {
        cr_put(t, "\n/* The tokens of an empty prompt. */\n");
        put_ids(t, w, "begin_ids", g->begin, g->n_begin);
    }
    cr_put_named_template(t, w, g->encoder ? "compiler/emit/embed_main.inc" : "compiler/emit/generate_main.inc");
    cr_put(t, "\n#endif\n");
}
