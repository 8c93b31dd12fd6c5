/*
 * test_verify_program.c - tests of the verifier of programs by damage: to names and scopes in a body, its
 * addresses, its scratch, and the bindings of calls.
 */
#include "compiler/ir/steps.h"
#include "compiler/passes/module/target.h"
#include "damage.h"

#include "runtime/runtime.h"

/* ---- programs to damage ---- */

/* A training step of a small GPT: every kind of kernel, random numbers, loops up and down. */
static const struct cr_setting step_settings[] = {
    {"n_layer", "4", false}, {"T", "40", false},     {"n_embd", "12", false},
    {"n_head", "2", false},  {"vocab", "10", false},
};

/* A block of GPT-2, whose rows are cut into several blocks and columns into several groups. */
static const struct cr_setting block_settings[] = {{"T", "256", false}};

/* A block with few heads, whose queries are divided into several chunks. */
static const struct cr_setting chunk_settings[] = {{"T", "256", false}, {"n_head", "2", false}};

/* ALTERNATING: layers pass a result on through two buffers, used alternately.  LAYERS: each layer
 * stores its result over the result of the one before. */
/* JOINED: a kernel has three results, each the next value of a state.  CHOSEN: an i32 chooses a matrix of
 * a stack of weights.  SHARED: heads that share keys and values, of which a thread packs the values once. */
enum subject { STEP, BLOCK, CHUNKS, ALTERNATING, LAYERS, RECURRENCE, JOINED, CHOSEN, SHARED, N_SUBJECTS };

static const struct {
    const char *path;
    const struct cr_setting *settings;
    int n;
} subjects[] = {
    [STEP] = {"tests/scripts/stack_training.lua", step_settings, 5},
    [BLOCK] = {"graphs/gpt2_block.lua", block_settings, 1},
    [CHUNKS] = {"graphs/gpt2_block.lua", chunk_settings, 2},
    [ALTERNATING] = {"tests/golden/two_carries.lua", NULL, 0},
    [LAYERS] = {"tests/golden/layers.lua", NULL, 0},
    [RECURRENCE] = {"tests/golden/recurrence.lua", NULL, 0},
    [JOINED] = {"tests/golden/joined_tiles.lua", NULL, 0},
    [CHOSEN] = {"tests/scripts/chosen.lua", NULL, 0},
    [SHARED] = {"tests/golden/shared_heads.lua", NULL, 0},
};

static struct cr_module *make_module(enum subject subject)
{
    struct cr_module *m =
        module_of(subjects[subject].path, subjects[subject].settings, subjects[subject].n);
    static struct cr_target target; /* a target that makes loops over the rows of an item */
    target = cr_target_generic;
    target.gemm_step_rows = 24;
    target.gemm_step_floats = 3072;
    m->settings.target = &target;
    run_until(m, "schedule");
    return m;
}

/* ---- damage to functions ---- */

/* A call in a function's body, and a binding in a step. */
struct site {
    struct cr_function *f;
    struct cr_call *call;
};

/* Returns the first call of a runtime function, for a map or a reduction of an op. */
static struct site site_of(struct cr_module *m, enum cr_callee callee, enum cr_op op)
{
    for (int i = 0; i < m->program->n_functions; i++) {
        struct cr_function *f = &m->program->functions[i];
        for (int k = 0; k < f->n_calls; k++)
            if (f->calls[k].callee == callee && (callee < CR_CALLEE_MAP || f->calls[k].op == op))
                return (struct site){f, &f->calls[k]};
    }
    ck_abort_msg("no function calls %d", (int)callee);
    return (struct site){NULL, NULL};
}

static struct site gemm_of(struct cr_module *m)
{
    return site_of(m, CR_CALLEE_gemm, 0);
}

static struct site sub_of(struct cr_module *m)
{
    return site_of(m, CR_CALLEE_MAP, CR_OP_sub);
}

static struct cr_argument *argument_of(struct site s, int i)
{
    return &s.f->arguments[s.call->first_argument + i];
}

static struct cr_expr_node *number_at(struct site s, int i)
{
    return &s.f->exprs[argument_of(s, i)->number];
}

static struct cr_slot *slot_at(struct site s, int i)
{
    return &s.f->slots[argument_of(s, i)->address.slot];
}

/* Returns the first address in any call that has a term. */
static struct cr_address *address_of(struct cr_function *f)
{
    for (int i = 0; i < f->n_arguments; i++)
        if (f->arguments[i].kind == CR_ARGUMENT_ADDRESS && f->arguments[i].address.n_terms)
            return &f->arguments[i].address;
    ck_abort_msg("no address depends on anything");
    return NULL;
}

static struct cr_statement *statement_of(struct cr_function *f, enum cr_statement_kind kind)
{
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == kind)
            return &f->body[i];
    ck_abort_msg("no statement of kind %d", (int)kind);
    return NULL;
}

/* Returns the statement that contains a call. */
static struct cr_statement *statement_with(struct site s)
{
    for (int i = 0; i < s.f->n_body; i++)
        if (s.f->body[i].kind == CR_STATEMENT_CALL && s.f->body[i].call == s.call - s.f->calls)
            return &s.f->body[i];
    ck_abort_msg("no statement does a call");
    return NULL;
}

static struct cr_function *first_function(struct cr_module *m)
{
    return &m->program->functions[0];
}

static struct cr_expr_node *node_of_op(struct cr_function *f, enum cr_expr_op op)
{
    for (int i = 0; i < f->n_exprs; i++)
        if (f->exprs[i].op == op)
            return &f->exprs[i];
    ck_abort_msg("no expression of op %d", (int)op);
    return NULL;
}

/* Returns the first loop whose condition caches its result from item to item. */
static struct cr_statement *caching_loop(struct cr_module *m, struct cr_function **f)
{
    for (int i = 0; i < m->program->n_functions; i++) {
        *f = &m->program->functions[i];
        for (int k = 0; k < (*f)->n_body; k++)
            if ((*f)->body[k].kind == CR_STATEMENT_LOOP && (*f)->body[k].until != CR_NONE)
                return &(*f)->body[k];
    }
    ck_abort_msg("no loop keeps what it makes");
    return NULL;
}

static int var_named(const struct cr_function *f, const char *name)
{
    for (int i = 0; i < f->n_vars; i++)
        if (strcmp(f->vars[i].name, name) == 0)
            return i;
    ck_abort_msg("no variable %s", name);
    return 0;
}

static struct cr_slot *scratch_of(struct cr_module *m, int which)
{
    for (int i = 0; i < m->program->n_functions; i++) {
        struct cr_function *f = &m->program->functions[i];
        int seen = 0;
        for (int k = 0; k < f->n_slots; k++)
            if (f->slots[k].kind == CR_SLOT_SCRATCH && seen++ == which)
                return &f->slots[k];
    }
    ck_abort_msg("no function has so much scratch");
    return NULL;
}

DAMAGE(slot_too_many) { argument_of(gemm_of(m), 3)->address.slot = gemm_of(m).f->n_slots; }
DAMAGE(slots_bound_too_few) { first_function(m)->n_bound--; }
DAMAGE(slot_of_no_format) { first_function(m)->slots[0].format = CR_FORMAT_COUNT; }
DAMAGE(scratch_of_nothing) { scratch_of(m, 0)->elements = 0; }
DAMAGE(var_too_many)
{
    struct cr_function *f = first_function(m);
    node_of_op(f, CR_EXPR_VAR)->a = f->n_vars;
}
DAMAGE(expr_of_itself)
{
    struct cr_function *f = gemm_of(m).f;
    struct cr_expr_node *e = node_of_op(f, CR_EXPR_MIN);
    e->a = (int)(e - f->exprs);
}
DAMAGE(no_such_expr_op) { first_function(m)->exprs[0].op = (enum cr_expr_op)99; }
DAMAGE(number_not_there) { argument_of(gemm_of(m), 0)->number = gemm_of(m).f->n_exprs; }
DAMAGE(terms_beyond) { address_of(gemm_of(m).f)->first_term = gemm_of(m).f->n_terms; }
DAMAGE(no_such_callee) { first_function(m)->calls[0].callee = CR_CALLEE_COUNT; }
DAMAGE(argument_left_out) { gemm_of(m).call->n_arguments--; }
DAMAGE(arguments_beyond) { gemm_of(m).call->first_argument = gemm_of(m).f->n_arguments - 1; }
DAMAGE(operands_swapped)
{
    struct site s = gemm_of(m);
    struct cr_argument row = *argument_of(s, 3);
    *argument_of(s, 3) = *argument_of(s, 4);
    *argument_of(s, 4) = row;
}
DAMAGE(null_operand) { argument_of(gemm_of(m), 3)->kind = CR_ARGUMENT_NULL; }
DAMAGE(floats_as_ints)
{
    struct site s = site_of(m, CR_CALLEE_gather, 0);
    argument_of(s, 7)->address = argument_of(s, 4)->address;
}
DAMAGE(another_format_of_call)
{
    struct cr_call *call = site_of(m, CR_CALLEE_load, 0).call;
    call->format = call->format == CR_FORMAT_i32 ? CR_FORMAT_f32 : CR_FORMAT_i32;
}
DAMAGE(ints_have_no_rsqrt) { site_of(m, CR_CALLEE_MAP, CR_OP_rsqrt).call->format = CR_FORMAT_i32; }
DAMAGE(all_by_row) { sub_of(m).call->by_row = 3; }
DAMAGE(reduction_of_no_op) { site_of(m, CR_CALLEE_REDUCE, CR_OP_sum).call->op = CR_OP_add; }
DAMAGE(constant_written)
{
    struct site s = site_of(m, CR_CALLEE_MAP, CR_OP_maximum);
    argument_of(s, 2)->address = argument_of(s, 6)->address;
}
DAMAGE(not_to_be_written)
{
    struct cr_function *f = first_function(m);
    f->slots[f->n_bound - 1].written = false;
}
DAMAGE(packed_as_rows) { slot_at(site_of(m, CR_CALLEE_gather, 0), 4)->packed = true; }
DAMAGE(panels_of_another_format) { slot_at(gemm_of(m), 6)->format = CR_FORMAT_bool; }
DAMAGE(end_left_out)
{
    statement_of(first_function(m), CR_STATEMENT_END)->kind = CR_STATEMENT_NOTE;
}
DAMAGE(end_too_many) { statement_with(gemm_of(m))->kind = CR_STATEMENT_END; }
DAMAGE(not_in_scope)
{
    struct site s = gemm_of(m);
    int last = s.f->n_vars - 1; /* the innermost variable, which is declared late */
    node_of_op(s.f, CR_EXPR_VAR)->a = last;
}
DAMAGE(declared_again)
{
    struct cr_function *f = gemm_of(m).f;
    statement_of(f, CR_STATEMENT_LET)->var = CR_VAR_ITEM;
}
DAMAGE(set_though_fixed)
{
    struct cr_function *f = site_of(m, CR_CALLEE_gemm_scaled, 0).f;
    f->vars[statement_of(f, CR_STATEMENT_SET)->var].changes = false;
}
DAMAGE(counter_is_set) { first_function(m)->vars[CR_VAR_ITEM].changes = true; }
DAMAGE(loop_without_step) { statement_of(first_function(m), CR_STATEMENT_LOOP)->step = 0; }
DAMAGE(no_such_statement) { first_function(m)->body[0].kind = (enum cr_statement_kind)42; }
DAMAGE(no_such_call) { statement_with(gemm_of(m))->call = gemm_of(m).f->n_calls; }
DAMAGE(items_of_a_variable)
{
    struct cr_function *f = first_function(m);
    f->exprs[f->items] = (struct cr_expr_node){.op = CR_EXPR_VAR, .a = CR_VAR_END};
}
DAMAGE(another_function_number) { first_function(m)->number = 7; }

DAMAGE(base_shifted) { argument_of(site_of(m, CR_CALLEE_pack, 0), 2)->address.base++; }
DAMAGE(base_negative) { argument_of(site_of(m, CR_CALLEE_pack, 0), 2)->address.base = -1; }
DAMAGE(result_shifted) { argument_of(gemm_of(m), 8)->address.base++; }
DAMAGE(coefficient_doubled)
{
    struct cr_address *a = address_of(gemm_of(m).f);
    gemm_of(m).f->terms[a->first_term].coef *= 2;
}
DAMAGE(coefficient_overflows)
{
    struct cr_address *a = address_of(gemm_of(m).f);
    gemm_of(m).f->terms[a->first_term].coef = INT64_MAX;
}
DAMAGE(rows_too_far_apart) { number_at(sub_of(m), 3)->number++; }
DAMAGE(rows_apart_by_a_variable)
{
    struct site s = sub_of(m);
    for (int i = 0; i < s.f->n_exprs; i++)
        if (s.f->exprs[i].op == CR_EXPR_VAR && s.f->exprs[i].a == CR_VAR_ITEM)
            argument_of(s, 0)->number = argument_of(s, 3)->number = i;
}
DAMAGE(body_loop_too_long)
{
    struct cr_function *f = site_of(m, CR_CALLEE_REDUCE_DOWN, CR_OP_sum).f;
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == CR_STATEMENT_LOOP && f->body[i].var != CR_VAR_ITEM)
            f->exprs[f->body[i].last].number++;
}
DAMAGE(rest_forgotten) { node_of_op(gemm_of(m).f, CR_EXPR_MIN)->op = CR_EXPR_ADD; }
DAMAGE(items_too_many)
{
    struct cr_function *f = site_of(m, CR_CALLEE_gemm_scaled, 0).f;
    f->exprs[f->items].number++;
}
DAMAGE(items_too_few)
{
    struct cr_function *f = site_of(m, CR_CALLEE_gemm_scaled, 0).f;
    f->exprs[f->items].number--;
}
DAMAGE(items_below_zero)
{
    struct cr_function *f = first_function(m);
    f->exprs[f->items].number = -1;
}
DAMAGE(origin_forgotten)
{
    struct cr_function *f = gemm_of(m).f;
    for (int i = 0; i < f->n_terms; i++)
        f->terms[i].origin = CR_NONE;
}
DAMAGE(scratch_part_too_small) { scratch_of(m, 0)->elements--; }
DAMAGE(scratch_overlaps) { scratch_of(m, 1)->offset = scratch_of(m, 0)->offset; }
DAMAGE(scratch_before_all) { scratch_of(m, 0)->offset = -16; }
DAMAGE(scratch_of_function_too_small) { gemm_of(m).f->scratch_floats -= 16; }
DAMAGE(scratch_of_program_too_small) { m->program->scratch_bytes -= 64; }
DAMAGE(count_negative) { number_at(gemm_of(m), 2)->number = -1; }
DAMAGE(part_too_small)
{
    struct cr_function *f = gemm_of(m).f;
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == CR_STATEMENT_LET && f->exprs[f->body[i].value].op == CR_EXPR_ADD)
            f->exprs[f->exprs[f->body[i].value].b].number--;
}
DAMAGE(not_clamped)
{
    struct cr_function *f = site_of(m, CR_CALLEE_gemm_scaled, 0).f;
    int visible = var_named(f, "visible");
    for (int i = 0; i < f->n_body; i++)
        if (f->body[i].kind == CR_STATEMENT_SET && f->body[i].var == visible)
            f->exprs[f->body[i].value] =
                (struct cr_expr_node){.op = CR_EXPR_NUMBER, .number = -5};
}
DAMAGE(divided_by_zero)
{
    struct cr_function *f = gemm_of(m).f;
    f->exprs[node_of_op(f, CR_EXPR_MOD)->b].number = 0;
}
DAMAGE(divides_negative)
{
    struct cr_function *f;
    (void)caching_loop(m, &f);
    struct cr_expr_node *e = node_of_op(f, CR_EXPR_DIV);
    f->exprs[e->a] = (struct cr_expr_node){.op = CR_EXPR_NUMBER, .number = -1};
}
DAMAGE(panels_too_close) { number_at(gemm_of(m), 7)->number -= CR_PANEL; }
DAMAGE(not_packed)
{
    struct cr_statement *s = statement_with(site_of(m, CR_CALLEE_pack, 0));
    s->kind = CR_STATEMENT_NOTE;
}
DAMAGE(result_left_out)
{
    struct cr_function *f = site_of(m, CR_CALLEE_scatter_add, 0).f;
    statement_of(f, CR_STATEMENT_CALL)->kind = CR_STATEMENT_NOTE;
}
DAMAGE(kept_seldom)
{
    struct cr_function *f;
    struct cr_statement *loop = caching_loop(m, &f);
    f->exprs[loop->until].op = CR_EXPR_AND;
}
DAMAGE(kept_of_a_group)
{
    struct cr_function *f;
    struct cr_statement *loop = caching_loop(m, &f);
    int j0 = var_named(f, "col0");
    while (loop->kind != CR_STATEMENT_CALL)
        loop++;
    const struct cr_call *call = &f->calls[loop->call];
    for (int i = 0; i < call->n_arguments; i++) {
        const struct cr_argument *a = &f->arguments[call->first_argument + i];
        if (a->kind == CR_ARGUMENT_ADDRESS && a->address.n_terms) {
            f->terms[a->address.first_term].var = j0;
            f->terms[a->address.first_term].coef = 1;
        }
    }
}
/* The number of packed rows is chosen by a condition that differs from head to head. */
DAMAGE(kept_of_a_condition)
{
    struct cr_function *f = site_of(m, CR_CALLEE_gemm_scaled, 0).f;
    int visible = var_named(f, "visible");
    cr_expr is_first = node_of_op(f, CR_EXPR_OR)->b;
    int first = 1, second;
    while (f->body[first].kind != CR_STATEMENT_SET || f->body[first].var != visible)
        first++;
    for (second = first + 1; f->body[second].kind != CR_STATEMENT_SET;)
        second++;
    f->body[first - 1].value = is_first;
    f->body[first].value = f->body[second].value;
}
DAMAGE(kept_written_over)
{
    struct cr_function *f;
    int rows = (int)(slot_at(gemm_of(m), 3) - gemm_of(m).f->slots);
    (void)caching_loop(m, &f);
    argument_of(gemm_of(m), 8)->address = (struct cr_address){.slot = rows};
    number_at(gemm_of(m), 9)->number = 128;
}
DAMAGE(prefetch_beyond)
{
    struct site s = site_of(m, CR_CALLEE_fetch, 0);
    struct cr_address *a = &argument_of(s, 2)->address;
    for (int i = 0; i < a->n_terms; i++)
        if (s.f->terms[a->first_term + i].var == var_named(s.f, "next_head"))
            s.f->terms[a->first_term + i].coef *= 100;
}

/* ---- damage to buffers and steps ---- */

/* Returns the first binding of a form in a loop over at least four layers; with `slot`, one of an
 * address. */
static struct cr_binding *binding_in(struct cr_module *m, enum cr_form form, bool differs)
{
    const struct cr_program *p = m->program;
    struct cr_step_walk walk = cr_walk_steps(p, 0, p->n_steps, false);
    for (const struct cr_step *step; (step = cr_next_step(&walk));) {
        for (int k = 0; walk.loop && walk.loop->count > 2 && k < cr_n_operands(p, step); k++) {
            struct cr_binding *b = cr_operand_binding(p, step, k);
            if (b->form == form && b->first_differs == differs && b->space != CR_SPACE_NONE)
                return b;
        }
    }
    ck_abort_msg("no binding of form %d", (int)form);
    return NULL;
}

/* Returns the first part that a number selects. */
static struct cr_chosen_part *choice_in(struct cr_module *m)
{
    for (int i = 0; i < m->program->n_bindings; i++)
        if (m->program->bindings[i].choice.bound)
            return &m->program->bindings[i].choice;
    ck_abort_msg("nothing is chosen");
    return NULL;
}

static struct cr_step *step_of(struct cr_module *m, enum cr_step_kind kind)
{
    for (int i = 0; i < m->program->n_steps; i++)
        if (m->program->steps[i].kind == kind)
            return &m->program->steps[i];
    ck_abort_msg("no step of kind %d", (int)kind);
    return NULL;
}

/* Returns the first buffer in a space. */
static int buffer_in(const struct cr_module *m, enum cr_space space)
{
    for (int i = 0; i < m->program->n_buffers; i++)
        if (m->program->buffers[i].space == space)
            return i;
    ck_abort_msg("no buffer lies in space %d", (int)space);
    return 0;
}

/* Moves a buffer, and the bindings to it outside of loops. */
static void move_buffer(struct cr_module *m, int buffer, int64_t offset)
{
    struct cr_program *p = m->program;
    p->buffers[buffer].offset = offset;
    for (int i = 0; i < p->n_bindings; i++)
        if (p->bindings[i].space != CR_SPACE_NONE &&
            p->bound[p->bindings[i].first_buffer].what == buffer)
            p->bindings[i].start = offset;
}

DAMAGE(wrong_in_layer_2)
{
    const struct cr_binding *b = binding_in(m, CR_FORM_EVEN, false);
    m->program->bound[b->first_buffer + 2] = m->program->bound[b->first_buffer + 1];
}
DAMAGE(even_is_off)
{
    struct cr_binding *b = binding_in(m, CR_FORM_EVEN, false);
    b->relative = false;
    b->stride += 64;
}
DAMAGE(not_relative) { binding_in(m, CR_FORM_EVEN, false)->stride += 64; }
DAMAGE(start_is_off) { binding_in(m, CR_FORM_EVEN, false)->start += 64; }
DAMAGE(same_is_off) { binding_in(m, CR_FORM_SAME, false)->start += 64; }
DAMAGE(alternates_exchanged)
{
    struct cr_binding *b = binding_in(m, CR_FORM_ALTERNATING, false);
    int64_t even = b->alternate[0];
    b->alternate[0] = b->alternate[1];
    b->alternate[1] = even;
}
/* Returns the call of the last function that adds an operand to a product and stores the sum over
 * it. */
static struct site sum_over(struct cr_module *m)
{
    struct cr_function *f = &m->program->functions[m->program->n_functions - 1];
    return (struct site){f, &f->calls[1]};
}

/* The product is stored where the operand still is. */
DAMAGE(replaced_before_it_is_read)
{
    struct site sum = sum_over(m), product = {sum.f, &sum.f->calls[0]};
    *argument_of(product, 8) = *argument_of(sum, 6) = *argument_of(sum, 2);
    *argument_of(product, 9) = *argument_of(sum, 7) = *argument_of(sum, 3);
}
/* Returns the first binding that steps through the rows of an input. */
static struct cr_binding *row_by_row(struct cr_module *m)
{
    for (int i = 0; i < m->program->n_bindings; i++)
        if (m->program->bindings[i].within_stride)
            return &m->program->bindings[i];
    ck_abort_msg("no binding goes on inside a port");
    return NULL;
}

DAMAGE(within_is_off) { row_by_row(m)->within += 4; }
DAMAGE(row_too_far) { row_by_row(m)->within_stride += 4; }
DAMAGE(starts_inside_an_element)
{
    struct cr_binding *b = row_by_row(m);
    m->program->bound[b->first_buffer].start += 2;
    b->within += 2;
}
DAMAGE(starts_too_late)
{
    struct cr_binding *b = row_by_row(m);
    for (int i = 0; i < 6; i++)
        m->program->bound[b->first_buffer + i].start += 1024;
    b->within += 1024;
}
DAMAGE(wrong_row) { m->program->table[binding_in(m, CR_FORM_TABLE, false)->first_row + 1] += 64; }
DAMAGE(row_left_out) { binding_in(m, CR_FORM_TABLE, false)->n_rows--; }
DAMAGE(rows_beyond) { binding_in(m, CR_FORM_TABLE, false)->first_row = m->program->n_table; }
DAMAGE(first_is_no_exception) { binding_in(m, CR_FORM_EVEN, true)->first_differs = false; }
DAMAGE(no_such_form) { binding_in(m, CR_FORM_EVEN, false)->form = (enum cr_form)9; }
DAMAGE(layer_without_a_loop)
{
    m->program->bindings[step_of(m, CR_STEP_CALL)->first_binding].form = CR_FORM_EVEN;
}
DAMAGE(no_such_buffer) { m->program->bound[0].what = m->program->n_buffers; }
DAMAGE(bound_beyond) { m->program->bindings[0].first_buffer = m->program->n_bound; }
DAMAGE(another_stream)
{
    const struct cr_program *p = m->program;
    int i = 0;
    while (p->bindings[i].space != CR_SPACE_NONE)
        i++;
    p->bindings[i].start++;
}
DAMAGE(no_such_function) { step_of(m, CR_STEP_CALL)->function = m->program->n_functions; }
DAMAGE(no_code) { m->program->functions[step_of(m, CR_STEP_CALL)->function].n_body = 0; }
DAMAGE(bindings_beyond) { step_of(m, CR_STEP_CALL)->first_binding = m->program->n_bindings; }
DAMAGE(chosen_of_too_many) { choice_in(m)->bound++; }
DAMAGE(chosen_too_far_apart) { choice_in(m)->stride += 32 * 4; }
DAMAGE(chosen_inside_an_element) { choice_in(m)->stride += 2; }
DAMAGE(chosen_by_nothing) { choice_in(m)->by = m->program->n_bindings; }
DAMAGE(chosen_by_floats) { choice_in(m)->by--; }
DAMAGE(chosen_by_what_is_not_there) { choice_in(m)->element = 1; }
DAMAGE(no_shares) { step_of(m, CR_STEP_CALL)->call.shares = 0; }
DAMAGE(loop_not_ended) { step_of(m, CR_STEP_END)->kind = CR_STEP_LOOP; }
DAMAGE(loop_not_begun) { m->program->steps[0].kind = CR_STEP_END; }
DAMAGE(layers_not_numbers) { step_of(m, CR_STEP_LOOP)->loop.direction = -1; }
DAMAGE(entry_too_long) { m->program->entries[0].n_steps++; }
DAMAGE(entry_ends_in_a_loop)
{
    m->program->entries[0].n_steps = (int)(step_of(m, CR_STEP_LOOP) - m->program->steps) + 1;
}
DAMAGE(not_of_the_entry) { m->program->buffers[m->program->bound[0].what].entries = 2; }
DAMAGE(buffer_beyond_the_arena)
{
    move_buffer(m, buffer_in(m, CR_SPACE_ARENA), m->program->arena_bytes);
}
DAMAGE(buffer_before_the_arena) { move_buffer(m, buffer_in(m, CR_SPACE_ARENA), -64); }
DAMAGE(buffer_beyond_the_weights) { m->program->weights_bytes -= 64; }
DAMAGE(buffer_not_aligned) { move_buffer(m, buffer_in(m, CR_SPACE_ARENA), 4); }
DAMAGE(buffer_of_other_bytes) { m->program->buffers[0].bytes += 4; }
DAMAGE(buffer_without_shape) { m->program->buffers[0].rank = CR_MAX_RANK + 1; }
DAMAGE(buffer_nowhere) { m->program->buffers[0].space = CR_SPACE_NONE; }
DAMAGE(input_too_many) { m->program->buffers[buffer_in(m, CR_SPACE_INPUT)].offset = 1000; }
DAMAGE(output_of_another_type)
{
    struct cr_buffer *b = &m->program->buffers[buffer_in(m, CR_SPACE_OUTPUT)];
    b->format = b->format == CR_FORMAT_i32 ? CR_FORMAT_f32 : CR_FORMAT_i32;
}
DAMAGE(buffer_of_another_format)
{
    m->program->buffers[buffer_in(m, CR_SPACE_ARENA)].format = CR_FORMAT_i32;
}
DAMAGE(buffer_too_small)
{
    struct cr_buffer *b = &m->program->buffers[buffer_in(m, CR_SPACE_ARENA)];
    int axis = b->rank - 1;
    b->bytes -= b->bytes / b->shape[axis];
    b->shape[axis]--;
}
DAMAGE(weights_written)
{
    const struct cr_program *p = m->program;
    const struct cr_step *call = step_of(m, CR_STEP_CALL);
    int out = p->functions[call->function].n_bound - 1;
    p->bound[p->bindings[call->first_binding + out].first_buffer].what = buffer_in(m, CR_SPACE_WEIGHTS);
}
DAMAGE(read_before_written)
{
    struct cr_step first = m->program->steps[0];
    m->program->steps[0] = m->program->steps[1];
    m->program->steps[1] = first;
}
/* The result of attention overwrites the residual stream, which is read later. */
DAMAGE(written_over)
{
    const struct cr_program *p = m->program;
    int residual = CR_NONE, act = CR_NONE;
    for (int i = 0; i < p->n_buffers; i++) {
        residual = strcmp(p->buffers[i].name, "attn_residual") == 0 ? i : residual;
        act = strcmp(p->buffers[i].name, "mlp.act") == 0 ? i : act;
    }
    move_buffer(m, residual, p->buffers[act].offset);
}
/* The square root reads the old second moment instead of the new one, which has overwritten it. */
DAMAGE(state_read_late)
{
    struct site s = site_of(m, CR_CALLEE_MAP, CR_OP_sqrt);
    for (int i = 0; i < s.f->n_bound; i++)
        if (strcmp(s.f->slots[i].name, "adam_v_w") == 0)
            argument_of(s, 4)->address.slot = i;
}
DAMAGE(last_step_left_out)
{
    m->program->n_steps--;
    m->program->entries[0].n_steps--;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    enum subject subject;
    void (*damage)(struct cr_module *m);
    const char *message; /* behind "bug: after damage, " */
} rows[] = {
#define ROW(subject, damage, message)                                                              \
    {                                                                                              \
#damage, subject, damage, message                                                          \
    }
    ROW(STEP, slot_too_many, "function %d: there is no slot %d to address"),
    ROW(STEP, slots_bound_too_few, "function %d: slot %d is of another kind than its place"),
    ROW(STEP, slot_of_no_format, "function %d: slot %d has no such format as %d"),
    ROW(STEP, scratch_of_nothing, "function %d: scratch ri0 has %d elements"),
    ROW(BLOCK, var_too_many, "function %d: expression %d is made of %d, which is not there"),
    ROW(STEP, expr_of_itself, "function %d: expression %d is made of expression %d"),
    ROW(STEP, no_such_expr_op, "function %d: expression %d: no such op as %d"),
    ROW(STEP, number_not_there, "function %d: there is no expression %d"),
    ROW(STEP, terms_beyond, "function %d: an address has terms that are not there"),
    ROW(STEP, no_such_callee, "function %d: call %d is of nothing that there is"),
    ROW(STEP, argument_left_out, "function %d: gemm has %d arguments, %d are given"),
    ROW(STEP, arguments_beyond, "function %d: call %d has arguments that are not there"),
    ROW(STEP, operands_swapped, "function %d: argument %d of gemm is of another kind"),
    ROW(STEP, null_operand, "function %d: argument %d of gemm may not be null"),
    ROW(STEP, floats_as_ints, "function %d: argument %d of gather is of ints, wte_weight is "),
    ROW(STEP, another_format_of_call, "function %d: argument %d of load is of floats, ri0 is "),
    ROW(STEP, ints_have_no_rsqrt, "function %d: the runtime has no i32->rsqrt_v"),
    ROW(BLOCK, all_by_row, "function %d: the runtime has no sub_ss"),
    ROW(STEP, reduction_of_no_op, "function %d: the runtime has no add"),
    ROW(STEP, constant_written, "function %d: maximum_vs writes to c_0, which is only to be "),
    ROW(STEP, not_to_be_written, "function %d: i32->store writes to out, which is only to be "),
    ROW(STEP, panels_of_another_format,
        "function %d: argument 6 of gemm is of f32, %s is of bool"),
    ROW(STEP, packed_as_rows, "function %d: gather takes wte_weight, which is packed, as "),
    ROW(BLOCK, end_left_out, "function %d: %d loops or conditions do not end"),
    ROW(STEP, end_too_many, "function %d, statement %d: nothing is open that could end here"),
    ROW(STEP, not_in_scope, "function %d, statement %d: variable m is not declared here"),
    ROW(BLOCK, declared_again, "function %d, statement %d: variable item is declared again"),
    ROW(STEP, set_though_fixed, "function %d, statement %d: variable visible is set, but "),
    ROW(BLOCK, counter_is_set, "function %d, statement %d: the counter item is set"),
    ROW(BLOCK, loop_without_step, "function %d, statement %d: a loop goes by steps of %d"),
    ROW(STEP, no_such_statement, "function %d, statement %d: there is no such kind of "),
    ROW(STEP, no_such_call, "function %d, statement %d: there is no call %d"),
    ROW(STEP, items_of_a_variable, "function %d: its items depend on what it does"),
    ROW(STEP, another_function_number, "function %d: it is called function %d"),
    ROW(STEP, base_shifted, "function %d, statement %d: it reaches from %d to %d in values, "),
    ROW(STEP, base_negative, "function %d, statement %d: it reaches from %d to %d in values, "),
    ROW(BLOCK, result_shifted, "step %d: argument %d (out): it reaches from %d to %d of %d "),
    ROW(BLOCK, coefficient_doubled, "step %d: argument %d (x): it reaches from %d to %d of "),
    ROW(BLOCK, coefficient_overflows, "function %d, statement %d: it is not known how far it "),
    ROW(BLOCK, rows_too_far_apart, "function %d, statement %d: it reaches from %d to %d in "),
    ROW(BLOCK, rows_apart_by_a_variable, "function %d, statement %d: neither how many rows "),
    ROW(STEP, body_loop_too_long, "step %d: argument %d (d_ln_f): it reaches from %d to %d "),
    ROW(BLOCK, rest_forgotten, "function %d, statement %d: it reaches from %d to %d in rows, "),
    ROW(BLOCK, items_too_many, "step %d: argument %d (attn_c_attn): it reaches from %d to %d "),
    ROW(BLOCK, items_too_few, "buffer %d: elements %d to %d of %d are written, expected all"),
    ROW(STEP, items_below_zero, "function %d: its items may be fewer than %d"),
    ROW(BLOCK, origin_forgotten, "function %d, statement %d: it reaches from %d to %d in "),
    ROW(BLOCK, scratch_part_too_small, "function %d, statement %d: it reaches from %d to %d "),
    ROW(STEP, scratch_overlaps, "function %d: scratch r1 overlaps another"),
    ROW(STEP, scratch_before_all, "function %d: scratch ri0 lies outside the %d floats"),
    ROW(BLOCK, scratch_of_function_too_small, "function %d: scratch t2 lies outside the %d "),
    ROW(BLOCK, scratch_of_program_too_small, "function %d: its scratch takes more than the "),
    ROW(BLOCK, count_negative, "function %d, statement %d: a count may be negative"),
    ROW(BLOCK, part_too_small, "buffer %d: elements %d to %d of %d are written, expected all"),
    ROW(CHUNKS, not_clamped, "function %d, statement %d: a count may be negative"),
    ROW(BLOCK, divided_by_zero, "function %d, statement %d: it divides by what may not be "),
    ROW(BLOCK, divides_negative, "function %d, statement %d: it divides what may be negative"),
    ROW(BLOCK, panels_too_close, "function %d, statement %d: panels are not far enough apart "),
    ROW(STEP, not_packed, "function %d, statement %d: values is read before it is written"),
    ROW(STEP, result_left_out, "function %d: out is not written for sure"),
    ROW(BLOCK, kept_seldom, "function %d, statement %d: rows is read before it is written"),
    ROW(BLOCK, kept_of_a_group, "function %d, statement %d: what is kept here depends on col0, "),
    ROW(SHARED, kept_of_a_condition, "function %d, statement %d: what is kept here depends on visible, "),
    ROW(BLOCK, kept_written_over, "function %d, statement %d: rows is kept from item to "),
    ROW(BLOCK, prefetch_beyond, "step %d: argument %d (attn_c_attn): it reaches from %d to "),
    ROW(STEP, wrong_in_layer_2, "step %d, iteration %d: argument %d: its form says %d, it is "),
    ROW(STEP, even_is_off, "step %d, iteration %d: argument %d: its form says %d, it is "),
    ROW(STEP, not_relative, "step %d, iteration %d: argument %d does not go with the loop's "),
    ROW(STEP, start_is_off, "step %d, iteration %d: argument %d: its form says %d, it is "),
    ROW(STEP, same_is_off, "step %d, iteration %d: argument %d: its form says %d, it is "),
    ROW(LAYERS, replaced_before_it_is_read,
        "step %d, iteration %d: it reads buffer %d, where buffer %d is written over it"),
    ROW(ALTERNATING, alternates_exchanged, "step %d, iteration %d: argument %d: its form says %d, it "),
    ROW(RECURRENCE, within_is_off, "step %d, iteration %d: argument %d: its form says %d bytes "),
    ROW(RECURRENCE, row_too_far, "step %d, iteration %d: argument %d: its form says %d bytes "),
    ROW(RECURRENCE, starts_inside_an_element, "step %d, iteration %d: argument %d"),
    ROW(RECURRENCE, starts_too_late, "step %d, iteration %d: argument %d (x): it reaches from "),
    ROW(STEP, wrong_row, "step %d, iteration %d: argument %d: its form says %d, it is bound "),
    ROW(STEP, row_left_out, "step %d, iteration %d: argument %d: its table has no row for "),
    ROW(STEP, rows_beyond, "step %d, iteration %d: argument %d: its table has rows that are "),
    ROW(STEP, first_is_no_exception, "step %d, iteration %d: argument %d: its form says %d, "),
    ROW(STEP, no_such_form, "step %d, iteration %d: argument %d has no such form as %d"),
    ROW(STEP, layer_without_a_loop, "step %d: argument %d depends on the layer, and there is "),
    ROW(STEP, no_such_buffer, "step %d: argument %d: there is no buffer %d"),
    ROW(STEP, bound_beyond, "step %d: argument %d is bound to what is not there"),
    ROW(STEP, another_stream, "step %d: argument %d: its form says %d, it is bound to %d"),
    ROW(STEP, no_such_function, "step %d: there is no function %d"),
    ROW(STEP, no_code, "step %d: a function without code is not run by a step of kind call"),
    ROW(STEP, bindings_beyond, "step %d: it has bindings that are not there"),
    ROW(CHOSEN, chosen_of_too_many, "step %d, iteration %d: argument %d (%s): it reaches from %d to "),
    ROW(CHOSEN, chosen_too_far_apart, "step %d, iteration %d: argument %d (%s): it reaches from "),
    ROW(CHOSEN, chosen_inside_an_element, "step %d, iteration %d: argument %d: it cannot be one "),
    ROW(CHOSEN, chosen_by_nothing, "step %d, iteration %d: argument %d is chosen by an argument "),
    ROW(CHOSEN, chosen_by_floats, "step %d, iteration %d: argument %d is chosen by argument %d, "),
    ROW(CHOSEN, chosen_by_what_is_not_there,
        "step %d, iteration %d: argument %d (%s): the number that chooses it is not in its buffer"),
    ROW(STEP, no_shares, "step %d: its items are cut into no shares"),
    ROW(STEP, loop_not_ended, "step %d, iteration %d: a loop in a loop"),
    ROW(STEP, loop_not_begun, "step %d: no loop is open that could end"),
    ROW(STEP, layers_not_numbers, "step %d: the layers of its loop are not numbers from %d on"),
    ROW(STEP, entry_too_long, "entry %d has steps that are not there"),
    ROW(STEP, entry_ends_in_a_loop, "entry %d begins or ends in a loop"),
    ROW(STEP, not_of_the_entry, "step %d: argument %d (step): its buffer is not of this entry"),
    ROW(BLOCK, buffer_beyond_the_arena, "buffer %d: it lies outside the arena"),
    ROW(BLOCK, buffer_before_the_arena, "buffer %d: it lies outside the arena"),
    ROW(STEP, buffer_beyond_the_weights, "buffer %d: it lies outside the weights"),
    ROW(BLOCK, buffer_not_aligned, "buffer %d: it does not begin on a cache line"),
    ROW(STEP, buffer_of_other_bytes, "buffer %d: it has other bytes than its elements take"),
    ROW(STEP, buffer_without_shape, "buffer %d: it has no such shape"),
    ROW(STEP, buffer_nowhere, "buffer %d: it lies nowhere"),
    ROW(STEP, input_too_many, "buffer %d: there is no such input or output"),
    ROW(STEP, output_of_another_type, "buffer %d: its type or size is not that of its input "),
    ROW(STEP, buffer_of_another_format, "step %d: argument %d (out) is bool, its buffer i32"),
    ROW(BLOCK, buffer_too_small, "step %d: argument %d (out): it reaches from %d to %d of %d "),
    ROW(BLOCK, weights_written, "step %d: argument %d (out) is written, its buffer only to "),
    ROW(BLOCK, read_before_written, "step %d: it reads buffer %d before all of it is written"),
    ROW(BLOCK, written_over, "step %d: it reads buffer %d, where buffer %d is written over it"),
    ROW(JOINED, state_read_late,
        "step %d: it reads buffer %d, where buffer %d is written over it"),
    ROW(BLOCK, last_step_left_out, "output y is not written"),
#undef ROW
};

START_TEST(damage_is_caught)
{
    const struct cr_pass pass = {.name = "damage", .run = rows[_i].damage};
    expect_caught(make_module(rows[_i].subject), &pass, rows[_i].name, rows[_i].message);
}
END_TEST

static void nothing(struct cr_module *m)
{
    (void)m;
}

START_TEST(nothing_is_fine)
{
    const struct cr_pass pass = {.name = "nothing", .run = nothing};
    struct cr_error error;
    for (int subject = STEP; subject < N_SUBJECTS; subject++) {
        struct cr_module *m = make_module((enum subject)subject);
        ck_assert_msg(cr_run_pass(m, &pass, &error) == 0, "%s", error.text);
        cr_module_free(m);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_program");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, damage_is_caught, 0, sizeof rows / sizeof *rows);
    tcase_add_test(all, nothing_is_fine);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
