/*
 * autopsy.c - finds the first node whose value is wrong; see crescent.h.
 *
 * A replay computes each node twice in double precision: from exact operands, and from the
 * operands that kernels stored.  The exact result shows the error of a stored value.  The other
 * result shows the part of the error that the kernel itself adds, which is compared with a bound
 * for the kernel's roundings.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "compiler/ir/mem.h"
#include "element_walk.h"

enum { HAS_NAN = 1, HAS_INFINITY = 2 };

/* A unit of rounding: half the distance from 1 to the next float. */
#define UNIT 0x1p-24

struct finding {
    crescent_tapped node; /* what the caller gets, except `where` and `culprit`, which are set
                           * later */
    char *where;
    bool is_leaf, reaches_output; /* reaches_output: the node's NaN or infinities make an output
                                   * NaN or infinite */
};

struct crescent_autopsy {
    crescent_context *context;
    char *path; /* path of the script */
    crescent_replay *replay;

    /* Results of the last run. */
    struct finding *findings; /* in the graph's order: one for each stored value, and for each
                               * node that makes NaN or infinities */
    int n, cap;
    unsigned char *not_finite; /* by node: HAS_... flags of the node's value */
    int *origin;               /* by node: index of the finding that caused its infinities or NaN;
                                * CRESCENT_NONE: it has none */
};

/* ---- opening ---- */

/* Fails because the graph has several entries; the message lists them. */
static int refuse_entries(const crescent_graph *graph, int n)
{
    char names[2048] = "";
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               crescent_graph_entry_name(graph, i));
    return cr_client_fail(crescent_graph_context(graph),
                          "%.400s: the script returns %d entr%s, expected --entry with one of %s",
                          crescent_graph_script(graph), n, n == 1 ? "y" : "ies", names);
}

/* Fails unless the backend has kernels that can be observed, and the graph a single entry. */
static int check_graph(const crescent_graph *graph, const crescent_config *config)
{
    int n_entries = crescent_graph_entry_count(graph);
    if (config && config->backend != CRESCENT_TCC && config->backend != CRESCENT_CC)
        return cr_client_fail(crescent_graph_context(graph),
                              "%.400s: found an autopsy with the backend %s, expected tcc or cc",
                              crescent_graph_script(graph), crescent_backend_name(config->backend));
    return n_entries ? refuse_entries(graph, n_entries) : CRESCENT_OK;
}

/* Opens an autopsy.  The autopsy's replay keeps the context alive. */
int crescent_autopsy_open(const crescent_graph *graph, const crescent_config *config,
                          crescent_autopsy **autopsy)
{
    if (autopsy)
        *autopsy = NULL;
    crescent_context *context = crescent_graph_context(graph);
    CR_CLIENT_REQUIRE(context, graph && autopsy);
    CR_CLIENT_ENTER(context);
    crescent_replay *replay = NULL;
    int status = check_graph(graph, config);
    if (!status)
        status = crescent_replay_open(graph, config, &replay);
    if (!status)
        status = crescent_keep_weights(crescent_replay_model(replay));
    if (status) {
        crescent_replay_close(replay);
        return status;
    }
    crescent_autopsy *a = cr_calloc(1, sizeof *a);
    a->context = context;
    a->path = cr_strdup(crescent_graph_script(graph));
    a->replay = replay;
    *autopsy = a;
    return CRESCENT_OK;
}

static void forget(crescent_autopsy *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->findings[i].where);
    free(a->findings);
    free(a->not_finite);
    free(a->origin);
    *a = (crescent_autopsy){.context = a->context, .path = a->path, .replay = a->replay};
}

void crescent_autopsy_close(crescent_autopsy *autopsy)
{
    if (!autopsy)
        return;
    forget(autopsy);
    crescent_replay_close(autopsy->replay);
    free(autopsy->path);
    free(autopsy);
}

crescent_model *crescent_autopsy_model(crescent_autopsy *autopsy)
{
    return autopsy ? crescent_replay_model(autopsy->replay) : NULL;
}

/* ---- findings ---- */

static crescent_op op_of(const crescent_node *node)
{
    crescent_op op = {0};
    crescent_op_at(node->op, &op);
    return op;
}

/* Returns a finding with the members that do not depend on the value's elements. */
static crescent_tapped describe(const crescent_replayed *value)
{
    const crescent_node *node = &value->node;
    const char *op = op_of(node).name, *scope = node->scope ? node->scope : "";
    bool at_border = node->name && strcmp(op, "literal") != 0;
    crescent_tapped out = {.name = node->tap     ? node->tap
                                   : at_border   ? node->name
                                   : *scope      ? scope
                                                 : op,
                           .op = op,
                           .scope = scope,
                           .kernel = value->kernel,
                           .backward = node->backward,
                           .type = node->type,
                           .rank = node->rank,
                           .verdict = CRESCENT_SOUND,
                           .worst = CRESCENT_NONE};
    memcpy(out.shape, node->shape, sizeof out.shape);
    return out;
}

static struct finding *add_finding(crescent_autopsy *a, const crescent_replayed *value)
{
    const crescent_node *node = &value->node;
    char where[512] = "";
    if (node->file && node->line > 0)
        snprintf(where, sizeof where, "%.480s:%d", node->file, node->line);
    struct finding *f = CR_PUSH(a->findings, a->n, a->cap);
    *f = (struct finding){.node = describe(value),
                          .where = cr_strdup(where),
                          .is_leaf = op_of(node).arity == 0};
    return f;
}

/* ---- NaN and infinities ---- */

struct scan {
    unsigned flags;
    int64_t first[4]; /* by flag: index of the first element that is NaN or infinite in this way */
};

static void scan_element(struct scan *s, int64_t i, double value)
{
    unsigned flag = isnan(value) ? HAS_NAN : isinf(value) ? HAS_INFINITY : 0;
    if (flag && !(s->flags & flag))
        s->first[flag] = i;
    s->flags |= flag;
}

static struct scan scan_local(const crescent_replayed *value)
{
    struct scan s = {0};
    struct cr_element_walk walk =
        cr_element_walk(&value->node, 1, (const crescent_values *[]){&value->local});
    for (int64_t i = 0; i < walk.n; i++, cr_element_next(&walk))
        scan_element(&s, i, *walk.at[0]);
    return s;
}

/* Returns element i, in row-major order, of a value. */
static double element(const crescent_values *values, int rank, const int64_t *shape, int64_t i)
{
    const double *at = values->data;
    for (int axis = rank - 1; axis >= 0; axis--) {
        at += i % shape[axis] * values->stride[axis];
        i /= shape[axis];
    }
    return *at;
}

/* Returns the union of the HAS_... flags of a node's operands. */
static unsigned flags_of_operands(const crescent_autopsy *a, const crescent_node *node)
{
    unsigned flags = 0;
    for (int i = 0; i < node->n_operands; i++)
        flags |= a->not_finite[node->operands[i]];
    return flags;
}

/* True if a finding is a leaf with infinities, such as a mask.  If another node makes NaN from
 * them, that node is the culprit, not the leaf. */
static bool has_given_infinities(const struct finding *f)
{
    return f->node.verdict == CRESCENT_INFINITE && f->is_leaf;
}

/* Returns the origin of the first operand with NaN or infinities.  If the node turns infinities
 * into NaN, skips operands that are leaves. */
static int inherited_origin(const crescent_autopsy *a, const crescent_node *node, unsigned made)
{
    for (int i = 0; i < node->n_operands; i++) {
        int in = node->operands[i];
        if (a->not_finite[in] && a->origin[in] >= 0 &&
            !(made & HAS_NAN && has_given_infinities(&a->findings[a->origin[in]])))
            return a->origin[in];
    }
    return CRESCENT_NONE;
}

/* True if the node makes no NaN or infinity, or if it is a constant that the script sets to
 * infinity, such as a mask. */
static bool is_intended(const crescent_node *node, unsigned made)
{
    const char *op = op_of(node).name;
    bool written = strcmp(op, "const") == 0 || strcmp(op, "literal") == 0;
    return !made || (written && !(made & HAS_NAN));
}

/* Records the values that the operands of an elementwise op have at the op's worst element. */
static void note_operands(const crescent_autopsy *a, const crescent_replayed *value,
                          crescent_tapped *tapped)
{
    const crescent_node *node = &value->node;
    crescent_values operand;
    tapped->n_operands = op_of(node).elementwise ? node->n_operands : 0;
    for (int i = 0; i < tapped->n_operands; i++)
        if (!crescent_replay_operand(a->replay, i, &operand))
            tapped->operands[i] = element(&operand, node->rank, node->shape, tapped->worst);
}

/* Records whether the value of a node has NaN or infinities, and their origin: the node itself if
 * its operands are finite, else the origin of an operand. */
static void trace(crescent_autopsy *a, const crescent_replayed *value)
{
    const crescent_node *node = &value->node;
    int id = value->number;
    struct scan s = scan_local(value);
    unsigned of_operands = flags_of_operands(a, node);
    unsigned made = s.flags & HAS_NAN && !(of_operands & HAS_NAN) ? HAS_NAN
                    : s.flags && !of_operands                     ? HAS_INFINITY
                                                                  : 0;
    a->not_finite[id] = (unsigned char)s.flags;
    a->origin[id] = s.flags ? inherited_origin(a, node, made) : CRESCENT_NONE;
    if (is_intended(node, made) || (made == HAS_NAN && a->origin[id] >= 0))
        return;
    a->origin[id] = a->n;
    crescent_tapped *f = &add_finding(a, value)->node;
    f->verdict = made == HAS_NAN ? CRESCENT_NAN : CRESCENT_INFINITE;
    f->worst = s.first[made];
    f->got = element(&value->local, node->rank, node->shape, f->worst);
    f->want = element(&value->exact, node->rank, node->shape, f->worst);
    note_operands(a, value, f);
}

/* ---- stored values ---- */

/* Returns the absolute difference of two numbers; infinity if one of them is NaN. */
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double apart = fabs(a - b);
    return isnan(apart) ? INFINITY : apart;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* True if the error of an element is within its bound, or if the element overflowed to infinity
 * near the largest float. */
static bool passes(double got, double want, double bound, double own)
{
    if (!(own > bound) || !(bound < INFINITY))
        return true;
    return isinf(got) && fabs(want) + bound >= (double)FLT_MAX;
}

/* The versions of one element: as stored, computed from stored operands, computed from exact
 * operands; and its error bound. */
struct held {
    double got, want, exact, bound;
};

/* Takes an element into account in a finding, which keeps the worst one: the largest ratio of
 * error to bound, which is *worst.  The bound is doubled, because kernels sum in blocks and
 * rescale partial sums. */
static void judge_element(crescent_tapped *f, double *worst, int64_t i, const struct held *x)
{
    double own = distance(x->got, x->want), bound = x->bound;
    if (f->type == CRESCENT_F32)
        bound = 2 * (bound + UNIT * fabs(x->want) + (double)FLT_MIN);
    bound = bound >= 0 ? bound : INFINITY; /* a NaN bound counts as infinity */
    bool good = passes(x->got, x->want, bound, own);
    double ratio = own == 0 ? 0 : good && !(bound > 0) ? 1 : own / bound;
    f->error = larger(distance(x->got, x->exact), f->error);
    f->inherited = larger(distance(x->want, x->exact), f->inherited);
    f->own = larger(own, f->own);
    if (f->worst < 0 || (!good && !f->failing) || (good == !f->failing && ratio > *worst)) {
        *worst = ratio;
        f->worst = i;
        f->got = x->got;
        f->want = x->want;
        f->bound = bound;
    }
    f->failing += !good;
}

/* Compares the value that a kernel stored with the value by the op's formula.  NaN and infinities
 * that the formula does not give have this kernel as origin. */
static void judge(crescent_autopsy *a, const crescent_replayed *value)
{
    int id = value->number, number = a->n;
    struct scan left = {0};
    double worst = 0;
    crescent_tapped *f = &add_finding(a, value)->node;
    struct cr_element_walk walk = cr_element_walk(
        &value->node, 3, (const crescent_values *[]){&value->local, &value->exact, &value->bound});
    for (int64_t i = 0; i < walk.n; i++, cr_element_next(&walk)) {
        const struct held held = {cr_stored_element(value, i), *walk.at[0], *walk.at[1],
                                  *walk.at[2]};
        judge_element(f, &worst, i, &held);
        scan_element(&left, i, held.got);
    }
    if (f->failing)
        f->verdict = CRESCENT_WRONG;
    if (left.flags & ~(unsigned)a->not_finite[id])
        a->origin[id] = number;
    a->not_finite[id] = (unsigned char)left.flags;
}

/* ---- the run ---- */

/* Examines the value of one node; if it is an output with NaN or infinities, marks the finding
 * that caused them. */
static void look_at(crescent_autopsy *a, const crescent_replayed *value)
{
    int id = value->number;
    if (!value->again)
        trace(a, value);
    if (value->stored)
        judge(a, value);
    if (value->is_output && a->not_finite[id] && a->origin[id] >= 0)
        a->findings[a->origin[id]].reaches_output = true;
}

/* Replays a run and examines every node. */
static int run(crescent_autopsy *a, const void *const *inputs, void *const *outputs)
{
    crescent_replayed value;
    int status = crescent_replay_run(a->replay, CRESCENT_REPLAY_KERNELS, inputs, outputs);
    size_t n = (size_t)crescent_replay_size(a->replay);
    a->not_finite = cr_calloc(n, sizeof *a->not_finite);
    a->origin = cr_calloc(n, sizeof *a->origin);
    for (size_t i = 0; i < n; i++)
        a->origin[i] = CRESCENT_NONE;
    while (!status && !(status = crescent_replay_next(a->replay, &value)))
        look_at(a, &value);
    return status == CRESCENT_STOPPED ? CRESCENT_OK : status;
}

int crescent_autopsy_run(crescent_autopsy *autopsy, const void *const *inputs, void *const *outputs)
{
    CR_CLIENT_REQUIRE(NULL, autopsy);
    CR_CLIENT_ENTER(autopsy->context);
    forget(autopsy);
    int status = run(autopsy, inputs, outputs);
    if (status)
        forget(autopsy);
    return status;
}

/* ---- results ---- */

int crescent_autopsy_count(const crescent_autopsy *autopsy)
{
    return autopsy ? autopsy->n : 0;
}

static bool is_culprit(const struct finding *f)
{
    return f->node.verdict == CRESCENT_WRONG ||
           (f->node.verdict != CRESCENT_SOUND && f->reaches_output);
}

int crescent_autopsy_culprit(const crescent_autopsy *autopsy)
{
    for (int i = 0; i < crescent_autopsy_count(autopsy); i++)
        if (is_culprit(&autopsy->findings[i]))
            return i;
    return CRESCENT_NONE;
}

/* Returns a number for display: NaN without its sign. */
static double unsigned_nan(double number)
{
    return isnan(number) ? fabs(number) : number;
}

/* Returns finding `index`.  Its strings belong to the replay and to the autopsy. */
int crescent_autopsy_at(const crescent_autopsy *autopsy, int index, crescent_tapped *node)
{
    CR_CLIENT_REQUIRE(autopsy ? autopsy->context : NULL, autopsy && node);
    if (index < 0 || index >= autopsy->n)
        return cr_client_fail(autopsy->context,
                              "%.400s: found node %d, expected one of %d, counted from 0",
                              autopsy->path, index, autopsy->n);
    const struct finding *f = &autopsy->findings[index];
    *node = f->node;
    node->where = f->where;
    node->culprit = is_culprit(f);
    node->got = unsigned_nan(node->got);
    node->want = unsigned_nan(node->want);
    return CRESCENT_OK;
}
