/* model_proto.c - reads an ONNX file; see model_proto.h. */
#include "model_proto.h"

#include <math.h>
#include <string.h>

#include "call_cache.h"
#include "compiler/files/lfs.h"
#include "compiler/files/wire.h"
#include "compiler/ir/mem.h"
#include "tensor_proto.h"

enum { DEPTH = 16 }; /* the deepest nesting of graphs */

/* The state of reading a model. */
struct reading {
    struct cr_onnx_model *model;
    struct cr_error *error;
    int depth;
    bool has_nul; /* a text contains a NUL, which would truncate it */
};

/* A function that reads one field of a message into `to`, the struct of that message. */
typedef int take(struct reading *r, const struct cr_wire_field *field, void *to);

static int cut_short(const struct reading *r)
{
    return cr_fail(r->error, "%.400s: cut short or no ONNX model, expected a whole message",
                   r->model->path);
}

static int each(struct reading *r, struct cr_wire wire, take *function, void *to)
{
    struct cr_wire_field field;
    int status;
    while ((status = cr_wire_next(&wire, &field)) == 1)
        if (function(r, &field, to))
            return -1;
        else if (r->has_nul)
            return cr_fail(r->error, "%.400s: found a zero byte in a name or string, expected none",
                           r->model->path);
    return status ? cut_short(r) : 0;
}

/* Reads a nested message. */
static int inside(struct reading *r, const struct cr_wire_field *field, take *function, void *to)
{
    return field->kind == CR_WIRE_BYTES ? each(r, field->bytes, function, to) : cut_short(r);
}

/* Returns the text of a field.  Sets `has_nul` if it contains a NUL, which would truncate it; the
 * file is refused later. */
static const char *text(struct reading *r, const struct cr_wire_field *field)
{
    if (field->kind != CR_WIRE_BYTES)
        return "";
    size_t n = (size_t)(field->bytes.end - field->bytes.at);
    r->has_nul |= n && memchr(field->bytes.at, '\0', n);
    return cr_arena_text(&r->model->arena, (const char *)field->bytes.at, n);
}

/* Appends a zeroed item to a list of the model. */
#define MORE(list, n, cap)                                                                         \
    (memset(CR_ARENA_PUSH(&r->model->arena, list, n, cap), 0, sizeof *(list)), &(list)[(n)-1])

/* ---- metadata ---- */

struct pair {
    const char *key, *value;
};

static int take_pair(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct pair *pair = to;
    if (field->number == 1)
        pair->key = text(r, field);
    if (field->number == 2)
        pair->value = text(r, field);
    return 0;
}

/* ---- types of values ---- */

static int take_size(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_size *size = to;
    if (field->number == 1 && field->kind == CR_WIRE_INTEGER)
        size->size = (int64_t)field->integer;
    if (field->number == 2)
        size->name = text(r, field);
    if (size->name && !*size->name)
        size->name = NULL;
    return 0;
}

static int take_shape(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_info *info = to;
    if (field->number != 1)
        return 0;
    struct cr_onnx_size *size = MORE(info->sizes, info->rank, info->cap);
    size->size = -1;
    return inside(r, field, take_size, size);
}

static int take_tensor_type(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_info *info = to;
    if (field->number == 1 && field->integer < CR_ONNX_N_TYPES)
        info->type = (int)field->integer;
    if (field->number != 2)
        return 0;
    info->rank = 0;
    return inside(r, field, take_shape, info);
}

static int take_plain_type(struct reading *r, const struct cr_wire_field *field, void *to)
{
    return field->number == 1 ? inside(r, field, take_tensor_type, to) : 0;
}

static int take_optional_type(struct reading *r, const struct cr_wire_field *field, void *to)
{
    return field->number == 1 ? inside(r, field, take_plain_type, to) : 0;
}

/* Reads a TypeProto.  An optional tensor is taken for a tensor, as it is always present. */
static int take_type(struct reading *r, const struct cr_wire_field *field, void *to)
{
    return field->number == 9 ? inside(r, field, take_optional_type, to)
                              : take_plain_type(r, field, to);
}

static int take_info(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_info *info = to;
    if (field->number == 1)
        info->name = text(r, field);
    return field->number == 2 ? inside(r, field, take_type, info) : 0;
}

static int more_info(struct reading *r, const struct cr_wire_field *field,
                     struct cr_onnx_info *info)
{
    info->rank = -1;
    info->name = "";
    return inside(r, field, take_info, info);
}

/* ---- attributes ---- */

static float read_float(const struct cr_wire *bytes)
{
    float value = NAN;
    if (bytes->end - bytes->at >= 4)
        memcpy(&value, bytes->at, 4);
    return value;
}

/* The list fields of an attribute, while they grow. */
struct list {
    struct cr_onnx_attribute *attribute;
    double *floats;
    int64_t *ints;
    const char **strings;
    int n_floats, cap_floats, n_ints, cap_ints, n_strings, cap_strings;
};

static int take_floats(struct reading *r, const struct cr_wire_field *field, struct list *l)
{
    struct cr_wire wire = field->bytes;
    if (field->kind == CR_WIRE_INTEGER || (wire.end - wire.at) % 4)
        return cut_short(r);
    for (; wire.at < wire.end; wire.at += 4)
        *CR_ARENA_PUSH(&r->model->arena, l->floats, l->n_floats, l->cap_floats) =
            (double)read_float(&wire);
    return 0;
}

static int take_ints(struct reading *r, const struct cr_wire_field *field, struct list *l)
{
    struct cr_wire wire = field->bytes;
    uint64_t value;
    int status = 0;
    if (field->kind == CR_WIRE_INTEGER)
        *CR_ARENA_PUSH(&r->model->arena, l->ints, l->n_ints, l->cap_ints) = (int64_t)field->integer;
    else
        while ((status = cr_wire_integer(&wire, &value)) == 1)
            *CR_ARENA_PUSH(&r->model->arena, l->ints, l->n_ints, l->cap_ints) = (int64_t)value;
    return status ? cut_short(r) : 0;
}

static int read_body(struct reading *r, const struct cr_wire_field *field,
                     struct cr_onnx_body *body);

/* Reads a tensor or a graph of an attribute. */
static int take_message(struct reading *r, const struct cr_wire_field *field,
                        struct cr_onnx_attribute *a)
{
    if (field->kind != CR_WIRE_BYTES)
        return cut_short(r);
    if (field->number == 5) {
        struct cr_onnx_tensor *tensor = cr_arena_new(&r->model->arena, 1, sizeof *tensor);
        a->tensor = tensor;
        return cr_onnx_read_tensor(r->model, field->bytes, tensor, r->error);
    }
    struct cr_onnx_body *body = cr_arena_new(&r->model->arena, 1, sizeof *body);
    a->graph = body;
    return read_body(r, field, body);
}

/* Reads a field of AttributeProto: items of lists are appended to the lists in `to`, the others set
 * the attribute. */
static int take_attribute(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct list *l = to;
    struct cr_onnx_attribute *a = l->attribute;
    switch (field->number) {
    case 1:
        a->name = text(r, field);
        return 0;
    case 21:
        a->of = text(r, field);
        return 0;
    case 20:
        a->kind = (int)(field->integer & 63);
        return 0;
    case 2:
        a->f = (double)read_float(&field->bytes);
        return 0;
    case 3:
        a->i = (int64_t)field->integer;
        return 0;
    case 4:
        a->s = text(r, field);
        return 0;
    case 5:
    case 6:
        return take_message(r, field, a);
    case 7:
        return take_floats(r, field, l);
    case 8:
        return take_ints(r, field, l);
    case 9:
        *CR_ARENA_PUSH(&r->model->arena, l->strings, l->n_strings, l->cap_strings) = text(r, field);
        return 0;
    default:
        return 0;
    }
}

/* Reads an attribute with its lists. */
static int read_attribute(struct reading *r, const struct cr_wire_field *field,
                          struct cr_onnx_attribute *a)
{
    struct list l = {.attribute = a};
    *a = (struct cr_onnx_attribute){.name = "", .s = ""};
    if (inside(r, field, take_attribute, &l))
        return -1;
    if ((l.n_floats != 0) + (l.n_ints != 0) + (l.n_strings != 0) > 1)
        return cr_fail(r->error, "%.400s: attribute %s has lists of several types, expected one",
                       r->model->path, cr_show(a->name, strlen(a->name)).text);
    a->floats = l.floats;
    a->ints = l.ints;
    a->strings = l.strings;
    a->n = l.n_floats + l.n_ints + l.n_strings;
    return 0;
}

/* ---- nodes ---- */

/* Reads the paths of a node's modules, which PyTorch's exporter writes as a list of texts in
 * brackets. */
static int take_note(struct reading *r, const struct cr_wire_field *field,
                     struct cr_onnx_call *call)
{
    struct pair pair = {"", ""};
    if (inside(r, field, take_pair, &pair))
        return -1;
    if (strcmp(pair.key, "pkg.torch.onnx.name_scopes") == 0)
        call->scope = pair.value;
    return 0;
}

/* Reads a field of NodeProto. */
static int take_call(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_call *c = to;
    struct cr_arena *arena = &r->model->arena;
    switch (field->number) {
    case 1:
        *CR_ARENA_PUSH(arena, c->inputs, c->n_inputs, c->cap_inputs) = text(r, field);
        return 0;
    case 2:
        *CR_ARENA_PUSH(arena, c->outputs, c->n_outputs, c->cap_outputs) = text(r, field);
        return 0;
    case 3:
        c->name = text(r, field);
        return 0;
    case 4:
        c->op = text(r, field);
        return 0;
    case 5:
        return read_attribute(
            r, field, CR_ARENA_PUSH(arena, c->attributes, c->n_attributes, c->cap_attributes));
    case 7:
        c->domain = text(r, field);
        return 0;
    case 9:
        return take_note(r, field, c);
    default:
        return 0;
    }
}

static int more_call(struct reading *r, const struct cr_wire_field *field, struct cr_onnx_body *b)
{
    struct cr_onnx_call *call = MORE(b->calls, b->n_calls, b->cap_calls);
    call->op = call->domain = call->name = call->scope = "";
    if (inside(r, field, take_call, call))
        return -1;
    if (strcmp(call->domain, "ai.onnx") == 0)
        call->domain = "";
    return 0;
}

/* ---- graphs ---- */

/* Reads a field of GraphProto. */
static int take_body(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_body *b = to;
    switch (field->number) {
    case 1:
        return more_call(r, field, b);
    case 2:
        b->name = text(r, field);
        return 0;
    case 5:
        if (field->kind != CR_WIRE_BYTES)
            return cut_short(r);
        return cr_onnx_read_tensor(r->model, field->bytes,
                                   MORE(b->initializers, b->n_initializers, b->cap_initializers),
                                   r->error);
    case 11:
        return more_info(r, field, MORE(b->inputs, b->n_inputs, b->cap_inputs));
    case 12:
        return more_info(r, field, MORE(b->outputs, b->n_outputs, b->cap_outputs));
    case 15:
        return cr_fail(r->error, "%.400s: sparse initializers, expected dense ones",
                       r->model->path);
    default:
        return 0;
    }
}

static int read_body(struct reading *r, const struct cr_wire_field *field,
                     struct cr_onnx_body *body)
{
    if (r->depth == DEPTH)
        return cr_fail(r->error, "%.400s: graphs are nested too deep, expected at most %d levels",
                       r->model->path, DEPTH);
    r->depth++;
    *body = (struct cr_onnx_body){.name = ""};
    int status = inside(r, field, take_body, body);
    r->depth--;
    return status;
}

/* ---- functions ---- */

static int take_opset(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_opset *opset = to;
    if (field->number == 1)
        opset->domain = text(r, field);
    if (field->number == 2)
        opset->version = (int64_t)field->integer;
    if (strcmp(opset->domain, "ai.onnx") == 0)
        opset->domain = "";
    return 0;
}

static int more_opset(struct reading *r, const struct cr_wire_field *field,
                      struct cr_onnx_opset *opset)
{
    *opset = (struct cr_onnx_opset){.domain = ""};
    return inside(r, field, take_opset, opset);
}

/* Reads a field of FunctionProto, whose inputs and outputs are names without types. */
static int take_function(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_function *f = to;
    struct cr_onnx_body *b = &f->body;
    switch (field->number) {
    case 1:
        f->name = text(r, field);
        return 0;
    case 4:
        *MORE(b->inputs, b->n_inputs, b->cap_inputs) =
            (struct cr_onnx_info){.name = text(r, field), .rank = -1};
        return 0;
    case 5:
        *MORE(b->outputs, b->n_outputs, b->cap_outputs) =
            (struct cr_onnx_info){.name = text(r, field), .rank = -1};
        return 0;
    case 7:
        return more_call(r, field, b);
    case 9:
        return more_opset(r, field, MORE(f->opsets, f->n_opsets, f->cap_opsets));
    case 10:
        f->domain = text(r, field);
        return 0;
    case 11:
        return read_attribute(r, field, MORE(f->defaults, f->n_defaults, f->cap_defaults));
    default:
        return 0;
    }
}

/* ---- the model ---- */

/* Reads a field of ModelProto. */
static int take_model(struct reading *r, const struct cr_wire_field *field, void *to)
{
    struct cr_onnx_model *m = to;
    struct cr_onnx_function *f;
    switch (field->number) {
    case 2:
        m->producer = text(r, field);
        return 0;
    case 7:
        return read_body(r, field, &m->graph);
    case 8:
        return more_opset(r, field, MORE(m->opsets, m->n_opsets, m->cap_opsets));
    case 25:
        f = MORE(m->functions, m->n_functions, m->cap_functions);
        f->domain = f->name = "";
        return inside(r, field, take_function, f);
    default:
        return 0;
    }
}

/* Parses a model.  The caller frees it, also after a failure. */
static int parse(struct cr_onnx_model *model, const char *path, const void *bytes, size_t size,
                 struct cr_error *error)
{
    struct reading r = {.model = model, .error = error};
    model->path = cr_arena_text(&model->arena, path, strlen(path));
    model->producer = "";
    model->calls = cr_onnx_calls_new();
    model->language = cr_arena_new(&model->arena, 1, sizeof *model->language);
    model->graph.name = "";
    if (cr_is_lfs(bytes, size))
        return cr_fail(error, "%.400s: " CR_LFS_MESSAGE, path);
    if (each(&r, (struct cr_wire){bytes, (const unsigned char *)bytes + size}, take_model, model))
        return -1;
    if (!model->graph.n_outputs || !model->n_opsets)
        return cr_fail(error, "%.400s: no ONNX model, expected a graph with outputs and an opset",
                       path);
    return 0;
}

bool cr_is_onnx(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".onnx") == 0;
}

int cr_onnx_model_parse(struct cr_onnx_model *model, const char *path, const void *bytes,
                        size_t size, struct cr_error *error)
{
    *model = (struct cr_onnx_model){0};
    if (parse(model, path, bytes, size, error) == 0)
        return 0;
    cr_onnx_model_close(model);
    return -1;
}

int cr_onnx_model_open(struct cr_onnx_model *model, const char *path, struct cr_error *error)
{
    *model = (struct cr_onnx_model){0};
    if (cr_map_file(&model->mapping, path, error->text, sizeof error->text))
        return -1;
    if (parse(model, path, model->mapping.bytes, model->mapping.size, error) == 0)
        return 0;
    cr_onnx_model_close(model);
    return -1;
}

void cr_onnx_model_close(struct cr_onnx_model *model)
{
    for (int i = 0; i < model->n_external; i++)
        cr_unmap_file(&model->external[i].mapping);
    if (model->mapping.bytes)
        cr_unmap_file(&model->mapping);
    cr_onnx_calls_free(model->calls);
    if (model->language && model->language->state)
        model->language->close(model->language->state);
    cr_arena_free(&model->arena);
    *model = (struct cr_onnx_model){0};
}
