/*
 * test_verify_bodies.c - compares the verifier's results on bodies of functions with a simulated run.
 *
 * An interpreter runs a body for all its items; it computes all addresses and no floats.  Accesses of
 * generated programs must lie in the ranges that the verifier finds.  A randomly changed body that the
 * verifier accepts must not access elements out of range.
 */
#include "damage.h"

#include "compiler/passes/verifier/verify_program.h"
#include "runtime/runtime.h"

/* ---- programs ---- */

static const struct cr_setting step_settings[] = {
    {"n_layer", "1", false}, {"T", "9", false},      {"n_embd", "12", false},
    {"n_head", "2", false},  {"vocab", "10", false},
};
static const struct cr_setting block_settings[] = {
    {"T", "60", false}, {"n_embd", "96", false}, {"n_head", "3", false}};
static const struct cr_setting long_settings[] = {
    {"T", "150", false}, {"n_embd", "8", false}, {"n_head", "2", false}};

static const struct {
    const char *path;
    const struct cr_setting *settings;
    int n;
} subjects[] = {
    {"tests/scripts/stack_training.lua", step_settings, 5},
    {"graphs/gpt2_block.lua", block_settings, 3},
    {"graphs/gpt2_block.lua", long_settings, 3},
    {"tests/golden/attention_window.lua", NULL, 0},
    {"tests/golden/grad_window.lua", NULL, 0},
    {"tests/golden/grad_dropout.lua", NULL, 0},
    {"tests/golden/columns.lua", NULL, 0},
    {"tests/golden/gather.lua", NULL, 0},
    {"tests/golden/integers.lua", NULL, 0},
};

enum { N_SUBJECTS = sizeof subjects / sizeof *subjects, MOST_STEPS = 100000, N_CHANGES = 1000 };

static struct cr_module *make_module(int subject)
{
    struct cr_module *m =
        module_of(subjects[subject].path, subjects[subject].settings, subjects[subject].n);
    run_until(m, "schedule");
    return m;
}

/* ---- a run of a body ---- */

struct run {
    const struct cr_function *f;
    int64_t *vars, *lowest, *highest; /* by variable; by slot */
    bool *touched;                    /* by slot */
    int **writers;                  /* by slot and element: 1 + the item that wrote it last, or 0 */
    const struct cr_reach *reaches; /* by slot */
    int64_t found;                  /* the result of each call that is used as a number */
    int steps;                      /* the number of statements that may still run */
    char first_error[160];          /* the first error found, or "" */
};

/* A strided area of a slot: rows x cols elements. */
struct area {
    int64_t at, rows, cols, row_stride, col_stride;
};

static int64_t value_of(struct run *r, cr_expr expr);

static int64_t size_value(struct run *r, const struct cr_call *call, const struct cr_size *size)
{
    if (size->argument == CR_NONE)
        return size->number;
    return value_of(r, cr_argument_of(r->f, call, size->argument)->number);
}

static void report_error(struct run *r, const char *what, const char *where)
{
    if (!*r->first_error)
        snprintf(r->first_error, sizeof r->first_error, "%s: %s", where, what);
}

/* Returns the area that a call accesses through a parameter.  Each panel counts as one row. */
static struct area area_of(struct run *r, const struct cr_call *call, const struct cr_parameter *p,
                           const struct cr_address *a)
{
    struct area area = {.at = a->base};
    for (int i = 0; i < a->n_terms; i++) {
        const struct cr_term *t = &r->f->terms[a->first_term + i];
        area.at += (r->vars[t->var] - (t->origin == CR_NONE ? 0 : r->vars[t->origin])) * t->coef;
    }
    area.rows = size_value(r, call, &p->rows);
    area.cols = size_value(r, call, &p->cols);
    area.row_stride = size_value(r, call, &p->row_stride);
    area.col_stride = size_value(r, call, &p->col_stride);
    if (area.rows < 0 || area.cols < 0)
        report_error(r, "a count is negative", "call");
    if (p->panels) {
        int64_t depth = area.rows;
        area.rows = (area.cols + CR_PANEL - 1) / CR_PANEL;
        area.cols = depth * CR_PANEL;
    }
    return area;
}

/* Records a read or write of an element that the body computes.  Only one item may write an element of an
 * argument. */
static void record_element(struct run *r, const struct cr_parameter *p, const struct cr_slot *s, int *writer)
{
    int item = 1 + (int)r->vars[CR_VAR_ITEM];
    if (p->read && !*writer)
        report_error(r, "an element is read before it is written", s->name);
    if (s->kind == CR_SLOT_ARGUMENT && *writer && *writer != item)
        report_error(r, "an element is of two items", s->name);
    if (p->written)
        *writer = item;
}

/* Records a read or write of an area: its lowest and highest element, which are corners, and who writes what. */
static void record_area(struct run *r, const struct cr_parameter *p, int slot, const struct area *a)
{
    const struct cr_slot *s = &r->f->slots[slot];
    int64_t elements = s->kind == CR_SLOT_CONSTANT ? 1 : s->elements;
    int64_t down = (a->rows - 1) * a->row_stride, across = (a->cols - 1) * a->col_stride;
    int64_t lowest = a->at + (down < 0 ? down : 0) + (across < 0 ? across : 0);
    int64_t highest = a->at + (down > 0 ? down : 0) + (across > 0 ? across : 0);
    if (a->rows < 1 || a->cols < 1)
        return;
    if (!r->touched[slot] || lowest < r->lowest[slot])
        r->lowest[slot] = lowest;
    if (!r->touched[slot] || highest > r->highest[slot])
        r->highest[slot] = highest;
    r->touched[slot] = true;
    if (s->kind != CR_SLOT_ARGUMENT && (lowest < 0 || highest >= elements)) {
        report_error(r, "an element that is not there", s->name);
        return;
    }
    if (!r->writers || !r->writers[slot])
        return;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->cols; j++)
            record_element(r, p, s, &r->writers[slot][a->at + i * a->row_stride + j * a->col_stride]);
}

static void run_call(struct run *r, const struct cr_call *call)
{
    struct cr_signature s;
    cr_parse_signature(&s, call);
    for (int pass = 0; pass < 2; pass++) /* first reads, then writes */
        for (int i = 0; i < s.n && !*r->first_error; i++) {
            const struct cr_parameter *p = &s.parameters[i];
            const struct cr_argument *a = cr_argument_of(r->f, call, i);
            if (p->kind == CR_PARAMETER_COUNT && value_of(r, a->number) < 0)
                report_error(r, "a count is negative", "call");
            if (a->kind != CR_ARGUMENT_ADDRESS || p->read == pass ||
                (a->number != CR_NONE && !value_of(r, a->number)))
                continue;
            struct area area = area_of(r, call, p, &a->address);
            if (area.rows > 1 << 20 || area.cols > 1 << 20 || area.rows * area.cols > 1 << 20)
                r->steps = 0; /* it can only be an area of an argument, and takes too long */
            else
                record_area(r, p, a->address.slot, &area);
        }
}

static int64_t binary(struct run *r, enum cr_expr_op op, int64_t a, int64_t b)
{
    if ((op == CR_EXPR_DIV || op == CR_EXPR_MOD) && (a < 0 || b < 1)) {
        report_error(r, "a division", "expression");
        return 0;
    }
    switch (op) {
    case CR_EXPR_ADD:
        return a + b;
    case CR_EXPR_SUB:
        return a - b;
    case CR_EXPR_MUL:
        return a * b;
    case CR_EXPR_DIV:
        return a / b;
    case CR_EXPR_MOD:
        return a % b;
    case CR_EXPR_MIN:
        return a < b ? a : b;
    case CR_EXPR_LESS:
        return a < b;
    case CR_EXPR_GREATER:
        return a > b;
    case CR_EXPR_EQUAL:
        return a == b;
    case CR_EXPR_AND:
        return a && b;
    default:
        return a || b;
    }
}

static int64_t value_of(struct run *r, cr_expr expr)
{
    const struct cr_expr_node *e = &r->f->exprs[expr];
    switch (e->op) {
    case CR_EXPR_NUMBER:
        return e->number;
    case CR_EXPR_VAR:
        return r->vars[e->a];
    case CR_EXPR_FIELD:
        return 3;
    case CR_EXPR_NOT:
        return !value_of(r, e->a);
    case CR_EXPR_SELECT:
        return value_of(r, e->a) ? value_of(r, e->b) : value_of(r, e->c);
    case CR_EXPR_CALL:
        run_call(r, &r->f->calls[e->a]);
        return r->found;
    default:
        return binary(r, e->op, value_of(r, e->a), value_of(r, e->b));
    }
}

/* Returns the index of the statement after the block that a statement begins. */
static int after_block(const struct cr_function *f, int begin)
{
    int depth = 0;
    do {
        depth += f->body[begin].kind == CR_STATEMENT_LOOP || f->body[begin].kind == CR_STATEMENT_IF;
        depth -= f->body[begin].kind == CR_STATEMENT_END;
        begin++;
    } while (depth > 0);
    return begin;
}

static void run_block(struct run *r, int begin, int end);

static void run_loop(struct run *r, int at)
{
    const struct cr_statement *s = &r->f->body[at];
    int64_t *i = &r->vars[s->var];
    for (*i = value_of(r, s->value);
         *i < value_of(r, s->last) && (s->until == CR_NONE || value_of(r, s->until));
         *i += s->step) {
        run_block(r, at + 1, after_block(r->f, at) - 1);
        if (*r->first_error || --r->steps < 0)
            return;
    }
}

/* Runs one statement; returns the index of the next one. */
static int run_statement(struct run *r, int at)
{
    const struct cr_statement *s = &r->f->body[at];
    switch (s->kind) {
    case CR_STATEMENT_LOOP:
        run_loop(r, at);
        return after_block(r->f, at);
    case CR_STATEMENT_IF:
        return value_of(r, s->value) ? at + 1 : after_block(r->f, at);
    case CR_STATEMENT_LET:
    case CR_STATEMENT_SET:
        r->vars[s->var] = value_of(r, s->value);
        break;
    case CR_STATEMENT_CALL:
        run_call(r, &r->f->calls[s->call]);
        break;
    default:
        break;
    }
    return at + 1;
}

static void run_block(struct run *r, int begin, int end)
{
    while (begin < end && !*r->first_error && r->steps-- > 0)
        begin = run_statement(r, begin);
}

/* Returns the number of elements of a slot that the body writes; 0 if it only reads the slot. */
static size_t written_elements(const struct run *r, int slot)
{
    const struct cr_slot *s = &r->f->slots[slot];
    if (s->kind == CR_SLOT_SCRATCH)
        return (size_t)s->elements;
    return s->written ? (size_t)r->reaches[slot].highest + 1 : 0;
}

/* Runs a share of the items; at its start no element is written. */
static void run_share(struct run *r, int64_t begin, int64_t end)
{
    for (int i = 0; r->writers && i < r->f->n_slots; i++) {
        free(r->writers[i]);
        r->writers[i] = written_elements(r, i) ? calloc(written_elements(r, i), sizeof **r->writers) : NULL;
    }
    r->vars[CR_VAR_BEGIN] = begin;
    r->vars[CR_VAR_END] = end;
    run_block(r, 0, r->f->n_body);
}

/* Runs all items: in one share, then in two, with both possible results of calls. */
static void run_function(struct run *r, const struct cr_function *f, const struct cr_reach *reaches,
                         bool track_writers)
{
    size_t vars = (size_t)f->n_vars, slots = (size_t)f->n_slots;
    *r = (struct run){.f = f, .reaches = reaches, .steps = MOST_STEPS};
    r->vars = calloc(vars, sizeof *r->vars);
    r->lowest = calloc(slots, sizeof *r->lowest);
    r->highest = calloc(slots, sizeof *r->highest);
    r->touched = calloc(slots, sizeof *r->touched);
    r->writers = track_writers ? calloc(slots, sizeof *r->writers) : NULL;
    int64_t items = value_of(r, f->items), third = (items + 1) / 3;
    for (r->found = 0; r->found < 2; r->found++) {
        run_share(r, 0, items);
        run_share(r, 0, third);
        run_share(r, third, items);
    }
}

static void free_run(struct run *r)
{
    for (int i = 0; r->writers && i < r->f->n_slots; i++)
        free(r->writers[i]);
    free(r->writers);
    free(r->vars);
    free(r->lowest);
    free(r->highest);
    free(r->touched);
}

/* Checks that the verifier's ranges contain all accesses; with `exact`, that they are no wider. */
static void compare_reaches(struct run *r, const struct cr_reach *reaches, bool exact)
{
    for (int i = 0; i < r->f->n_bound; i++) {
        const struct cr_reach *v = &reaches[i];
        if (r->f->slots[i].kind != CR_SLOT_ARGUMENT || !r->touched[i])
            continue;
        if (!v->touched || v->lowest > r->lowest[i] || v->highest < r->highest[i])
            report_error(r, "it reaches farther than the verifier says", r->f->slots[i].name);
        if (exact && (v->lowest != r->lowest[i] || v->highest != r->highest[i]))
            report_error(r, "it does not reach as far as the verifier says", r->f->slots[i].name);
    }
}

/* ---- scheduled bodies ---- */

/* Every address of every body is in the range that the verifier finds, and this range is exact.  A body
 * reads only elements of its results that it wrote before, and no two items write the same element. */
START_TEST(verified_ranges_are_exact)
{
    struct cr_error error = {""};
    struct cr_module *m = make_module(_i);
    struct cr_program_check *c = cr_check_begin(m->program, &error);
    for (int i = 0; i < m->program->n_functions; i++) {
        struct run r;
        ck_assert_msg(cr_check_function(c, i) == 0, "%s", error.text);
        const struct cr_reach *reaches = &c->reaches[c->first_reach[i]];
        run_function(&r, &m->program->functions[i], reaches, true);
        compare_reaches(&r, reaches, true);
        ck_assert_msg(r.steps > 0 && !*r.first_error, "%s, function %d: %s", subjects[_i].path, i + 1,
                      r.first_error);
        free_run(&r);
    }
    cr_check_end(c);
    cr_module_free(m);
}
END_TEST

/* Runs a function of GPT-2's block with the original ranges and compares the error found; "" stands for
 * none. */
static void expect_error(struct cr_module *m, const struct cr_reach *reaches, int function,
                        const char *expected)
{
    struct run r;
    run_function(&r, &m->program->functions[function], reaches, true);
    ck_assert_str_eq(r.first_error, expected);
    free_run(&r);
}

/* The simulated run finds planted errors: columns of an item that begin too early, rows that are not
 * written, a scratch slot that is too small. */
START_TEST(planted_errors_are_found)
{
    struct cr_error error = {""};
    struct cr_module *m = make_module(1);
    struct cr_program_check *c = cr_check_begin(m->program, &error);
    struct cr_function *f = &m->program->functions[0];
    int first = 0, loop = 0;
    ck_assert_int_eq(cr_check_function(c, 0), 0);
    while (f->body[first].kind != CR_STATEMENT_LET || strcmp(f->vars[f->body[first].var].name, "col0") != 0)
        first++;
    const int mul = f->body[first].value; /* the item's number among its columns, times 128 */
    ck_assert_int_eq(f->exprs[mul].op, CR_EXPR_MUL);
    while (f->body[loop].until == CR_NONE || f->body[loop].kind != CR_STATEMENT_LOOP)
        loop++;
    expect_error(m, c->reaches, 0, "");
    f->exprs[mul].op = CR_EXPR_ADD;
    expect_error(m, c->reaches, 0, "out: an element is of two items");
    f->exprs[mul].op = CR_EXPR_MUL;
    f->exprs[f->body[loop].until].op = CR_EXPR_AND;
    expect_error(m, c->reaches, 0, "rows: an element is read before it is written");
    f->exprs[f->body[loop].until].op = CR_EXPR_OR;
    f->slots[f->n_bound].elements--;
    expect_error(m, c->reaches, 0, "rows: an element that is not there");
    cr_check_end(c);
    cr_module_free(m);
}
END_TEST

/* ---- random changes ---- */

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(*state >> 8) * below) >> 24);
}

/* Returns a changed number: off by one, multiplied, or a typical size. */
static int64_t another(uint32_t *state, int64_t number)
{
    static const int64_t numbers[] = {0, 1, 2, 31, 32, 33, 64, 128, -1, -32};
    switch (draw(state, 4)) {
    case 0:
        return number + 1;
    case 1:
        return number - 1;
    case 2:
        return number * 2;
    default:
        return numbers[draw(state, sizeof numbers / sizeof *numbers)];
    }
}

/* The bytes that a change replaced, to undo it. */
struct change {
    void *at;
    size_t size;
    char before[sizeof(struct cr_statement) + sizeof(struct cr_argument)];
};

static struct change remember(void *at, size_t size)
{
    struct change change = {.at = at, .size = size};
    ck_assert(size <= sizeof change.before);
    memcpy(change.before, at, size);
    return change;
}

static struct change change_expr(struct cr_function *f, uint32_t *state)
{
    struct cr_expr_node *e = &f->exprs[draw(state, (uint32_t)f->n_exprs)];
    struct change change = remember(e, sizeof *e);
    if (e->op == CR_EXPR_NUMBER)
        e->number = another(state, e->number);
    else if (draw(state, 2))
        e->op = (enum cr_expr_op)draw(state, CR_EXPR_CALL + 1);
    else
        *(draw(state, 2) ? &e->a : &e->b) = (int)draw(state, (uint32_t)f->n_exprs);
    return change;
}

static struct change change_term(struct cr_function *f, uint32_t *state)
{
    struct cr_term *t = &f->terms[draw(state, (uint32_t)f->n_terms)];
    struct change change = remember(t, sizeof *t);
    switch (draw(state, 3)) {
    case 0:
        t->coef = another(state, t->coef);
        break;
    case 1:
        t->var = (int)draw(state, (uint32_t)f->n_vars);
        break;
    default:
        t->origin = (int)draw(state, (uint32_t)f->n_vars + 1) - 1;
        break;
    }
    return change;
}

static struct change change_argument(struct cr_function *f, uint32_t *state)
{
    struct cr_argument *a = &f->arguments[draw(state, (uint32_t)f->n_arguments)];
    struct change change = remember(a, sizeof *a);
    if (a->kind == CR_ARGUMENT_NUMBER)
        a->number = (int)draw(state, (uint32_t)f->n_exprs);
    else if (draw(state, 2))
        a->address.base = another(state, a->address.base);
    else
        a->address.slot = (int)draw(state, (uint32_t)f->n_slots);
    return change;
}

static struct change change_statement(struct cr_function *f, uint32_t *state)
{
    struct cr_statement *s = &f->body[draw(state, (uint32_t)f->n_body)];
    struct change change = remember(s, sizeof *s);
    switch (draw(state, 6)) {
    case 0:
        s->step = another(state, s->step);
        break;
    case 1:
        s->value = (int)draw(state, (uint32_t)f->n_exprs);
        break;
    case 2:
        s->last = (int)draw(state, (uint32_t)f->n_exprs);
        break;
    case 3:
        s->until = CR_NONE;
        break;
    case 4:
        s->call = (int)draw(state, (uint32_t)f->n_calls);
        break;
    default:
        s->kind = (enum cr_statement_kind)draw(state, CR_STATEMENT_NOTE + 1);
        break;
    }
    return change;
}

static struct change change_slot(struct cr_function *f, uint32_t *state)
{
    struct cr_slot *s = &f->slots[draw(state, (uint32_t)f->n_slots)];
    struct change change = remember(&s->elements, sizeof s->elements);
    s->elements = another(state, s->elements);
    return change;
}

static struct change change_something(struct cr_function *f, uint32_t *state)
{
    switch (draw(state, 8)) {
    case 0:
        return change_slot(f, state);
    case 1:
    case 2:
        return change_statement(f, state);
    case 3:
        return change_argument(f, state);
    case 4:
    case 5:
        if (f->n_terms)
            return change_term(f, state);
        return change_expr(f, state);
    default:
        return change_expr(f, state);
    }
}

/* The verifier refuses a changed body, or its run is correct: many changes are of numbers that are not
 * used or that nothing depends on.  A body that takes too long is run in part. */
START_TEST(changed_bodies_are_refused_or_correct)
{
    struct cr_error error = {""};
    struct cr_module *m = make_module(_i);
    uint32_t state = 1 + (uint32_t)_i;
    int refused = 0;
    for (int n = 0; n < N_CHANGES; n++) {
        int function = (int)draw(&state, (uint32_t)m->program->n_functions);
        struct change change = change_something(&m->program->functions[function], &state);
        struct cr_program_check *c = cr_check_begin(m->program, &error);
        bool fine = cr_check_function(c, function) == 0;
        refused += !fine;
        if (fine) {
            struct run r;
            const struct cr_reach *reaches = &c->reaches[c->first_reach[function]];
            run_function(&r, &m->program->functions[function], reaches, false);
            compare_reaches(&r, reaches, false);
            ck_assert_msg(!*r.first_error, "%s, change %d, function %d: %s", subjects[_i].path, n,
                          function + 1, r.first_error);
            free_run(&r);
        }
        cr_check_end(c);
        memcpy(change.at, change.before, change.size);
    }
    ck_assert_int_gt(refused, N_CHANGES / 6);
    cr_module_free(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_bodies");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, verified_ranges_are_exact, 0, N_SUBJECTS);
    tcase_add_test(all, planted_errors_are_found);
    tcase_add_loop_test(all, changed_bodies_are_refused_or_correct, 0, N_SUBJECTS);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
