#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/runtime.h"

/* ---- formats ---- */

const struct cr_format_info cr_formats[CR_FORMAT_COUNT] = {
#define FORMAT(name, dtype, bits, c_type, family, description)                                     \
    {#name, dtype, bits, 1, 0, sizeof(c_type), #c_type, family, NULL, CR_CALLEE_COUNT,             \
     CR_CALLEE_COUNT, description},
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, pack, unpack, gemm, gather, description)   \
    {#name,  CR_F32,           bits,       block, scale, sizeof(c_type), #c_type, "",              \
     #pack, CR_CALLEE_##gemm, CR_CALLEE_##gather, description},
#include "formats.def"
#undef FORMAT
#undef WEIGHT_FORMAT
#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)                     \
    {"rows_" #name, CR_F32, bits, block, scale,           sizeof(c_type),                          \
     #c_type,       "",     NULL, CR_CALLEE_COUNT, CR_CALLEE_COUNT,                                \
     description},
#define PRODUCT(format, arithmetic, gemm)
#include "arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT
};

#define FORMAT(name, dtype, bits, c_type, family, description)
#define WEIGHT_FORMAT(name, bits, block, scale, c_type, pack, unpack, gemm, gather, description)   \
    _Static_assert((block) > 0 && 32 % (block) == 0, "32 rows are whole blocks of " #name);        \
    _Static_assert(((block) * (bits) + (scale)) % (8 * sizeof(c_type)) == 0,                       \
                   "a block of " #name " is a whole number of " #c_type);                          \
    _Static_assert(sizeof #pack > 1 && sizeof #unpack > 1, #name " is packed and read back");
#include "formats.def"
#undef FORMAT
#undef WEIGHT_FORMAT

#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)                     \
    _Static_assert(((block) * (bits) + (scale)) % (8 * sizeof(c_type)) == 0,                       \
                   "a block of rows of " #name " is a whole number of " #c_type);                  \
    _Static_assert(sizeof #read > 1, "rows of " #name " are read back");
#define PRODUCT(format, arithmetic, gemm)
#include "arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT

/* Returns the default format of a type: its first row in formats.def.  Other formats of the type
 * are selected by name. */
enum cr_format cr_format_of(enum cr_dtype dtype)
{
    int format = 0;
    while (cr_formats[format].dtype != dtype)
        format++;
    return (enum cr_format)format;
}

int64_t cr_format_bytes(enum cr_format format, int64_t elements)
{
    const struct cr_format_info *f = &cr_formats[format];
    return (elements + f->block - 1) / f->block * (f->block * f->bits + f->scale) / 8;
}

enum cr_format cr_format_find(const char *name, size_t length)
{
    int format = 0;
    while (format < CR_FORMAT_COUNT && (strlen(cr_formats[format].name) != length ||
                                        strncasecmp(cr_formats[format].name, name, length) != 0))
        format++;
    return (enum cr_format)format;
}

int64_t cr_block_rows(enum cr_format format, int64_t K)
{
    int block = cr_formats[format].block;
    return (K + block - 1) / block * block;
}

int64_t cr_column_units(enum cr_format format, int64_t K)
{
    return cr_format_bytes(format, K) / cr_formats[format].unit;
}

const char *cr_c_type(enum cr_dtype dtype)
{
    return cr_formats[cr_format_of(dtype)].c_type;
}

/* Writes a number with `digits` significant digits; true if the text reads back as the same
 * float. */
static bool reads_back(char *text, size_t size, int digits, double value)
{
    snprintf(text, size, "%.*g", digits, value);
    return (double)strtof(text, NULL) == value;
}

/* Writes the shortest text that reads back as the same float.  Tries few digits and many digits
 * first, since most numbers need one or the other. */
static void shortest(char *text, size_t size, double value)
{
    int digits = reads_back(text, size, 6, value) ? 1 : 7;
    while (digits <= 9 && !reads_back(text, size, digits, value))
        digits++;
    if (strchr(text, 'e') && fabs(value) < 1e6 && value == floor(value))
        snprintf(text, size, "%.0f", value);
}

void cr_number_text(char *text, size_t size, enum cr_format format, double value)
{
    if (cr_formats[format].dtype == CR_I32)
        snprintf(text, size, "%lld", (long long)value);
    else if (isnan(value))
        snprintf(text, size, "NAN");
    else if (isinf(value))
        snprintf(text, size, value < 0 ? "MINUS_INFINITY" : "INFINITY");
    else
        shortest(text, size, value);
}

/* ---- arithmetics ---- */

const struct cr_arithmetic_info cr_arithmetics[CR_ARITHMETIC_COUNT] = {
    {"f32", CR_FORMAT_f32, CR_CALLEE_COUNT, "chains of fma over blocks of 256 k, in order"},
#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)                     \
    {#name, CR_FORMAT_rows_##name, CR_CALLEE_##round, description},
#define PRODUCT(format, arithmetic, gemm)
#include "arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT
};

/* By format and arithmetic: the runtime function that multiplies.  Products in f32 are in
 * formats.def instead. */
static const enum cr_callee products[CR_FORMAT_COUNT][CR_ARITHMETIC_COUNT] = {
#define ARITHMETIC(name, bits, block, scale, c_type, round, read, description)
#define PRODUCT(format, arithmetic, gemm)                                                          \
    [CR_FORMAT_##format][CR_ARITHMETIC_##arithmetic] = CR_CALLEE_##gemm,
#include "arithmetics.def"
#undef ARITHMETIC
#undef PRODUCT
};

enum cr_arithmetic cr_arithmetic_find(const char *name, size_t length)
{
    int i = 0;
    while (i < CR_ARITHMETIC_COUNT && (strlen(cr_arithmetics[i].name) != length ||
                                       memcmp(cr_arithmetics[i].name, name, length) != 0))
        i++;
    return (enum cr_arithmetic)i;
}

/* A zero entry of `products` means that there is no such product: function 0 in functions.def is
 * not a product. */
enum cr_callee cr_product_of(enum cr_format format, enum cr_arithmetic arithmetic)
{
    if (arithmetic == CR_ARITHMETIC_f32)
        return cr_formats[format].gemm;
    enum cr_callee product = products[format][arithmetic];
    return product ? product : CR_CALLEE_COUNT;
}

/* ---- the runtime's functions ---- */

/* Each row of the runtime's function tables must have a row in functions.def. */
#define CR_FUNCTION(name, result, parameters)                                                      \
    _Static_assert(CR_CALLEE_##name < CR_CALLEE_MAP, "functions.def has no row for " #name);
CR_FUNCTIONS CR_FUNCTIONS_I32
#undef CR_FUNCTION

static const struct {
    const char *name, *signature;
} callees[] = {
#define FUNCTION(name, signature) {#name, signature},
#include "functions.def"
#undef FUNCTION
};

void cr_callee_name(char *buffer, size_t size, const struct cr_call *call)
{
    const char *family = cr_formats[call->format].family;
    const char *op = cr_ops[call->op].name;
    char variant[4] = "";
    switch (call->callee) {
    case CR_CALLEE_MAP:
        for (int i = 0; i < cr_ops[call->op].arity; i++)
            variant[i] = call->by_row >> i & 1 ? 's' : 'v';
        snprintf(buffer, size, "%s%s_%s", family, op, variant);
        break;
    case CR_CALLEE_REDUCE:
        snprintf(buffer, size, "%s%s", family, op);
        break;
    case CR_CALLEE_REDUCE_DOWN:
        snprintf(buffer, size, "%s%s_down", family, op);
        break;
    case CR_CALLEE_REDUCE_LANES:
        snprintf(buffer, size, "%s%s_lanes", family, op);
        break;
    default:
        snprintf(buffer, size, "%s%s", family, callees[call->callee].name);
    }
}

/* Writes the signature of an elementwise op on tiles.  Comparisons and conversions write floats,
 * `select` has a float condition, and `truncate` reads a float. */
static void map_signature(char *buffer, size_t size, const struct cr_call *call)
{
    enum cr_rule rule = cr_ops[call->op].rule;
    bool floats = rule == CR_RULE_COMPARE || rule == CR_RULE_CONVERT;
    snprintf(buffer, size, "M N wMN:s1%s", floats ? "." : "");
    for (int i = 0; i < cr_ops[call->op].arity; i++) {
        size_t n = strlen(buffer);
        snprintf(buffer + n, size - n, " %s%s", call->by_row >> i & 1 ? "rM1:s0" : "rMN:s1",
                 (rule == CR_RULE_SELECT && i == 0) || rule == CR_RULE_TRUNCATE ? "." : "");
    }
}

void cr_callee_signature(char *buffer, size_t size, const struct cr_call *call)
{
    switch (call->callee) {
    case CR_CALLEE_MAP:
        map_signature(buffer, size, call);
        break;
    case CR_CALLEE_REDUCE:
        snprintf(buffer, size, "M N w1M:01 rMN:s1");
        break;
    case CR_CALLEE_REDUCE_DOWN:
        snprintf(buffer, size, "M N u16N:N1 rMN:s1");
        break;
    case CR_CALLEE_REDUCE_LANES:
        snprintf(buffer, size, "N u16N:N1");
        break;
    default:
        snprintf(buffer, size, "%s", callees[call->callee].signature);
    }
}

/* ---- freeing ---- */

/* Frees a function; its notes and comments belong to the program. */
static void free_function(struct cr_function *f)
{
    for (int i = 0; i < f->n_slots; i++)
        free((char *)f->slots[i].note);
    for (int i = 0; i < f->n_body; i++)
        free((char *)f->body[i].note);
    free((char *)f->comment);
    free(f->slots);
    free(f->names);
    free(f->vars);
    free(f->exprs);
    free(f->terms);
    free(f->arguments);
    free(f->calls);
    free(f->body);
}

static void free_ports(struct cr_port *ports, int n)
{
    for (int i = 0; i < n; i++) {
        free((char *)ports[i].name);
        free((char *)ports[i].identifier);
    }
    free(ports);
}

/* Frees the arrays of lengths and of entries.  Their names belong to the program. */
static void free_entries(struct cr_program *p)
{
    for (int i = 0; i < p->n_lengths; i++)
        free((char *)p->lengths[i].name);
    for (int i = 0; i < p->n_entries; i++)
        free((char *)p->entries[i].name);
    free(p->lengths);
    free(p->input_of_length);
    free(p->entries);
}

static void free_infos(struct cr_program *p)
{
    for (int i = 0; i < p->n_kernels; i++) {
        free((char *)p->kernels[i].name);
        free((char *)p->kernels[i].scope);
        free((char *)p->kernels[i].where);
    }
    free(p->kernels);
    free(p->sequence);
}

static void free_literals(struct cr_program *p)
{
    for (int i = 0; i < p->n_literals; i++)
        free((void *)p->literals[i].words);
    free(p->literals);
}

void cr_program_drop_code(struct cr_program *p)
{
    for (int i = 0; i < p->n_functions; i++)
        free_function(&p->functions[i]);
    for (int i = 0; i < p->n_buffers; i++)
        free((char *)p->buffers[i].name);
    for (int i = 0; i < p->n_params; i++) {
        free((char *)p->params[i].name);
        p->params[i].name = NULL;
    }
    free(p->functions);
    free(p->buffers);
    free(p->bindings);
    free(p->bound);
    free(p->table);
    free(p->text);
    p->functions = NULL;
    p->buffers = NULL;
    p->bindings = NULL;
    p->bound = NULL;
    p->table = NULL;
    p->text = NULL;
    p->n_functions = p->n_buffers = p->n_bindings = p->n_bound = p->n_table = 0;
    p->text_length = 0;
}

/* Frees a program and everything that it points to. */
void cr_program_free(struct cr_program *p)
{
    if (!p)
        return;
    cr_program_drop_code(p);
    free_entries(p);
    free(p->steps);
    free_literals(p);
    free_ports(p->params, p->n_params);
    free_ports(p->inputs, p->n_inputs);
    free_ports(p->outputs, p->n_outputs);
    free_infos(p);
    free(p->layouts);
    free(p->whole_inputs);
    free(p->whole_outputs);
    free(p->first_layout);
    cr_named_sizes_drop(p->sizes);
    free((char *)p->name);
    free(p);
}

struct cr_port cr_port_of_node(const struct cr_node *node, char *name)
{
    struct cr_port port = {.name = name,
                           .dtype = node->dtype,
                           .rank = node->rank,
                           .init = node->init,
                           .bound = node->value,
                           .format = node->format,
                           .arithmetic = node->arithmetic,
                           .state = node->op == CR_OP_state,
                           .offset = -1};
    memcpy(port.shape, node->shape, sizeof port.shape);
    return port;
}
