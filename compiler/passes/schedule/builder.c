#include "builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/identifiers.h"
#include "compiler/ir/mem.h"
#include "compiler/ir/text.h"
#include "compiler/ir/unwind.h"

enum { ALIGN = 16 }; /* floats in a cache line */

/* ---- integer expressions ---- */

static cr_expr add_expr(struct cr_builder *b, struct cr_expr_node node)
{
    struct cr_function *f = b->f;
    *CR_PUSH(f->exprs, f->n_exprs, f->cap_exprs) = node;
    return f->n_exprs - 1;
}

cr_expr cr_named_number(struct cr_builder *b, int64_t number, int size)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_NUMBER, .number = number, .size = size});
}

cr_expr cr_number(struct cr_builder *b, int64_t number)
{
    return cr_named_number(b, number, 0);
}

/* Gives a name of a tile its value in this kernel; returns the named size. */
static int name_tile(struct cr_builder *b, int name, int64_t value)
{
    struct cr_named_sizes *sizes = cr_named_sizes_of(b->g);
    b->f->tiles[name] = value;
    sizes->names[CR_NAME_TILES + name].value = value;
    return cr_size_of_name(sizes, CR_NAME_TILES + name);
}

int cr_tile_size(struct cr_builder *b, enum cr_tile_axis axis, int level, int64_t value)
{
    if (!b->node_sizes || axis == CR_TILE_AXES || value <= 1)
        return 0;
    int first = (int)axis * CR_TILE_LEVELS, at = level;
    while (at < CR_TILE_PARTS && b->f->tiles[first + at] && b->f->tiles[first + at] != value)
        at++;
    for (int i = 0; i < at; i++)
        at = b->f->tiles[first + i] == value ? i : at;
    return at == CR_TILE_PARTS ? 0 : name_tile(b, first + at, value);
}

int cr_parts_size(struct cr_builder *b, enum cr_tile_axis axis, int64_t parts)
{
    int at = (int)axis * CR_TILE_LEVELS + CR_TILE_PARTS;
    if (!b->node_sizes || axis == CR_TILE_AXES || parts <= 1 || (b->f->tiles[at] && b->f->tiles[at] != parts))
        return 0;
    return name_tile(b, at, parts);
}

enum cr_tile_axis cr_axis_of_counter(const char *name)
{
    static const char *const names[] = {"row", "col", "query", "key", "head", "k"};
    size_t letters = strcspn(name, "0123456789");
    for (int i = 0; i < CR_TILE_AXES; i++)
        if (strlen(names[i]) == letters && strncmp(name, names[i], letters) == 0)
            return (enum cr_tile_axis)i;
    return CR_TILE_AXES;
}

bool cr_number_of(const struct cr_builder *b, cr_expr x, int64_t *number)
{
    const struct cr_expr_node *e = &b->f->exprs[x];
    *number = e->number;
    return e->op == CR_EXPR_NUMBER;
}

/* Returns the number that a variable without a declaration stands for; null for any other variable.
 * The index of a variable without a declaration is less than CR_NONE. */
static const struct cr_known *known_value(const struct cr_builder *b, int var)
{
    return var < CR_NONE ? &b->known[CR_NONE - 1 - var] : NULL;
}

cr_expr cr_var(struct cr_builder *b, int var)
{
    const struct cr_known *known = known_value(b, var);
    if (known)
        return cr_named_number(b, known->number, known->size);
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_VAR, .a = var});
}

cr_expr cr_field(struct cr_builder *b, int slot)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_FIELD, .a = slot});
}

/* Returns the value of x op y. */
static int64_t fold(enum cr_expr_op op, int64_t x, int64_t y)
{
    switch (op) {
    case CR_EXPR_ADD:
        return x + y;
    case CR_EXPR_SUB:
        return x - y;
    case CR_EXPR_MUL:
        return x * y;
    case CR_EXPR_DIV:
        return x / y;
    case CR_EXPR_MOD:
        return x % y;
    case CR_EXPR_MIN:
        return x < y ? x : y;
    case CR_EXPR_LESS:
        return x < y;
    case CR_EXPR_GREATER:
        return x > y;
    case CR_EXPR_EQUAL:
        return x == y;
    case CR_EXPR_AND:
        return x && y;
    default:
        CR_CHECK(op == CR_EXPR_OR);
        return x || y;
    }
}

/* Returns the named size that the folded number x op y has: that of the operand that equals the
 * result or, for 0 - y, that of y; otherwise 0. */
static int fold_size(const struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y)
{
    const struct cr_expr_node *left = &b->f->exprs[x], *right = &b->f->exprs[y];
    if (op == CR_EXPR_MIN)
        return left->number > right->number   ? right->size
               : left->number < right->number ? left->size
               : left->size                   ? left->size
                                              : right->size;
    if (op == CR_EXPR_SUB && left->number == 0 && right->number > 0)
        return right->size;
    return (op == CR_EXPR_ADD || op == CR_EXPR_SUB) && right->number == 0 ? left->size : 0;
}

/* Simplifies an op with one constant operand, `number`, which is the right one if `right`.  Returns
 * `other`, the operand that is not constant, or a constant; CR_NONE if the op has to be computed.
 * Operands of AND and OR are 0 or 1. */
static cr_expr fold_half(struct cr_builder *b, enum cr_expr_op op, int64_t number, cr_expr other,
                         bool right)
{
    bool one = number == 1, zero = number == 0;
    if ((op == CR_EXPR_ADD && zero) || (op == CR_EXPR_SUB && zero && right) ||
        (op == CR_EXPR_MUL && one) || (op == CR_EXPR_DIV && one && right) ||
        (op == CR_EXPR_AND && !zero) || (op == CR_EXPR_OR && zero))
        return other;
    if (((op == CR_EXPR_MUL || op == CR_EXPR_AND) && zero) || (op == CR_EXPR_MOD && one && right))
        return cr_number(b, 0);
    return op == CR_EXPR_OR && !zero ? cr_number(b, 1) : CR_NONE;
}

cr_expr cr_binary(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y)
{
    int64_t left, right;
    bool is_left = cr_number_of(b, x, &left), is_right = cr_number_of(b, y, &right);
    if (is_left && is_right)
        return cr_named_number(b, fold(op, left, right), fold_size(b, op, x, y));
    cr_expr folded = is_left    ? fold_half(b, op, left, y, false)
                     : is_right ? fold_half(b, op, right, x, true)
                                : CR_NONE;
    if (folded != CR_NONE)
        return folded;
    return add_expr(b, (struct cr_expr_node){.op = op, .a = x, .b = y});
}

cr_expr cr_unfolded(struct cr_builder *b, enum cr_expr_op op, cr_expr x, cr_expr y)
{
    return add_expr(b, (struct cr_expr_node){.op = op, .a = x, .b = y});
}

cr_expr cr_not(struct cr_builder *b, cr_expr x)
{
    int64_t number;
    if (cr_number_of(b, x, &number))
        return cr_number(b, !number);
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_NOT, .a = x});
}

cr_expr cr_select(struct cr_builder *b, cr_expr condition, cr_expr x, cr_expr y)
{
    int64_t number;
    if (cr_number_of(b, condition, &number))
        return number ? x : y;
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_SELECT, .a = condition, .b = x, .c = y});
}

cr_expr cr_load(struct cr_builder *b, int slot, int64_t index)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_LOAD, .a = slot, .b = CR_NONE, .number = index});
}

cr_expr cr_load_at(struct cr_builder *b, int slot, int var)
{
    CR_CHECK(var >= 0);
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_LOAD, .a = slot, .b = var});
}

cr_expr cr_plus(struct cr_builder *b, cr_expr x, int64_t number)
{
    struct cr_expr_node e = b->f->exprs[x];
    int64_t more;
    if ((e.op == CR_EXPR_ADD || e.op == CR_EXPR_SUB) && cr_number_of(b, e.b, &more))
        return cr_plus(b, e.a, e.op == CR_EXPR_ADD ? number + more : number - more);
    return cr_binary(b, number < 0 ? CR_EXPR_SUB : CR_EXPR_ADD, x,
                     cr_number(b, number < 0 ? -number : number));
}

cr_expr cr_minus_var(struct cr_builder *b, int var, int origin)
{
    return cr_binary(b, CR_EXPR_SUB, cr_var(b, var), cr_var(b, origin));
}

cr_expr cr_call_value(struct cr_builder *b, int call)
{
    return add_expr(b, (struct cr_expr_node){.op = CR_EXPR_CALL, .a = call});
}

/* ---- statements ---- */

/* Returns the declaration of a variable named `name` in the innermost open block, or null. */
static const struct cr_statement *find_let(const struct cr_builder *b, const char *name)
{
    int depth = 0;
    for (int i = b->f->n_body - 1; i >= 0 && depth >= 0; i--) {
        const struct cr_statement *s = &b->f->body[i];
        depth += s->kind == CR_STATEMENT_END;
        depth -= s->kind == CR_STATEMENT_LOOP || s->kind == CR_STATEMENT_IF;
        if (depth == 0 && s->kind == CR_STATEMENT_LET && !strcmp(b->f->vars[s->var].name, name))
            return s;
    }
    return NULL;
}

/* True if two expressions are the same tree of operators.  Always false if they have a call. */
static bool is_same_expr(const struct cr_function *f, cr_expr x, cr_expr y)
{
    const struct cr_expr_node *s = &f->exprs[x], *t = &f->exprs[y];
    if (s->op != t->op || s->op == CR_EXPR_CALL || s->op == CR_EXPR_SELECT)
        return false;
    if (s->op == CR_EXPR_NUMBER || s->op == CR_EXPR_LOAD)
        return s->number == t->number && s->a == t->a && s->b == t->b;
    if (s->op == CR_EXPR_VAR || s->op == CR_EXPR_FIELD)
        return s->a == t->a && !(s->op == CR_EXPR_VAR && f->vars[s->a].changes);
    return is_same_expr(f, s->a, t->a) && (s->op == CR_EXPR_NOT || is_same_expr(f, s->b, t->b));
}

static int add_var(struct cr_builder *b, const char *name, bool changes)
{
    struct cr_function *f = b->f;
    struct cr_var *var = CR_PUSH(f->vars, f->n_vars, f->cap_vars);
    *var = (struct cr_var){.changes = changes};
    snprintf(var->name, sizeof var->name, "%s", name);
    return f->n_vars - 1;
}

static void add_statement(struct cr_builder *b, struct cr_statement s, const char *note)
{
    struct cr_function *f = b->f;
    s.note = note ? cr_strdup(note) : NULL;
    *CR_PUSH(f->body, f->n_body, f->cap_body) = s;
}

int cr_let(struct cr_builder *b, const char *name, cr_expr value)
{
    return cr_let_noted(b, name, value, false, NULL);
}

/* Returns a variable with this constant value, which is not declared: its index is less than
 * CR_NONE. */
static int let_known(struct cr_builder *b, int64_t number, int size)
{
    int i = 0;
    while (i < b->n_known && (b->known[i].number != number || b->known[i].size != size))
        i++;
    CR_CHECK(i < CR_MAX_KNOWN);
    b->known[i] = (struct cr_known){number, size};
    b->n_known += i == b->n_known;
    return CR_NONE - 1 - i;
}

int cr_let_number(struct cr_builder *b, int64_t number, int size)
{
    return let_known(b, number, size);
}

int cr_let_noted(struct cr_builder *b, const char *name, cr_expr value, bool changes,
                 const char *note)
{
    int64_t number;
    if (!changes && cr_number_of(b, value, &number))
        return let_known(b, number, b->f->exprs[value].size);
    const char *plain = name;
    char other[24];
    const struct cr_statement *s = find_let(b, name);
    if (s && !changes && !b->f->vars[s->var].changes && is_same_expr(b->f, s->value, value))
        return s->var;
    for (int i = 2; s; i++, s = find_let(b, name)) {
        snprintf(other, sizeof other, "%.12s%d", plain, i);
        name = other;
    }
    int var = add_var(b, name, changes);
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_LET, .var = var, .value = value},
                  note);
    return var;
}

void cr_set(struct cr_builder *b, int var, cr_expr value)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_SET, .var = var, .value = value},
                  NULL);
}

int cr_let_count(struct cr_builder *b, const char *name, int var, int64_t step, int step_size, cr_expr last)
{
    cr_expr left = cr_binary(b, CR_EXPR_SUB, last, cr_var(b, var)), most = cr_named_number(b, step, step_size);
    int count = cr_let(b, name, step == 1 ? most : cr_binary(b, CR_EXPR_MIN, left, most));
    if (count >= 0)
        b->f->vars[count].most = step_size;
    return count;
}

static void open_block(struct cr_builder *b, struct cr_open_block block)
{
    CR_CHECK(b->n_open < CR_MAX_OPEN);
    b->open[b->n_open++] = block;
}

void cr_begin_plain(struct cr_builder *b)
{
    open_block(b, (struct cr_open_block){.kind = CR_BLOCK_PLAIN});
}

static void begin_loop(struct cr_builder *b, struct cr_statement loop)
{
    loop.kind = CR_STATEMENT_LOOP;
    open_block(b, (struct cr_open_block){.kind = CR_BLOCK_STATEMENT});
    add_statement(b, loop, NULL);
}

int cr_begin_loop(struct cr_builder *b, const char *name, cr_expr first, cr_expr last,
                  int64_t step, int step_size, cr_expr until)
{
    int64_t begin, end;
    if (until == CR_NONE && cr_number_of(b, first, &begin) && cr_number_of(b, last, &end) &&
        begin < end && end - begin <= step) {
        cr_begin_plain(b);
        return cr_let_number(b, begin, 0);
    }
    int var = add_var(b, name, false);
    begin_loop(b, (struct cr_statement){.var = var,
                                        .value = first,
                                        .last = last,
                                        .until = until,
                                        .step = step,
                                        .step_size = step_size});
    return var;
}

void cr_begin_item_loop(struct cr_builder *b, int64_t items)
{
    b->n_items = items;
    if (items == 1)
        cr_begin_plain(b);
    else
        begin_loop(b, (struct cr_statement){.var = CR_VAR_ITEM,
                                            .value = cr_var(b, CR_VAR_BEGIN),
                                            .last = cr_var(b, CR_VAR_END),
                                            .until = CR_NONE,
                                            .step = 1});
}

void cr_begin_if(struct cr_builder *b, cr_expr condition, const char *note)
{
    int64_t number;
    bool decided = cr_number_of(b, condition, &number);
    open_block(b, (struct cr_open_block){decided && number ? CR_BLOCK_PLAIN
                                         : decided         ? CR_BLOCK_NEVER
                                                           : CR_BLOCK_STATEMENT,
                                         b->f->n_body});
    if (decided)
        return;
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_IF, .value = condition}, note);
}

void cr_end(struct cr_builder *b)
{
    const struct cr_open_block *block = &b->open[--b->n_open];
    while (block->kind == CR_BLOCK_NEVER && b->f->n_body > block->begin)
        free((char *)b->f->body[--b->f->n_body].note);
    if (block->kind == CR_BLOCK_STATEMENT)
        add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_END}, NULL);
}

void cr_remark(struct cr_builder *b, const char *note)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_NOTE}, note);
}

/* ---- calls ---- */

struct cr_argument cr_x(cr_expr number)
{
    return (struct cr_argument){.kind = CR_ARGUMENT_NUMBER, .number = number};
}

struct cr_argument cr_n(struct cr_builder *b, int64_t number)
{
    return cr_x(cr_number(b, number));
}

struct cr_argument cr_at(struct cr_address address)
{
    return cr_at_if(address, CR_NONE);
}

struct cr_argument cr_at_if(struct cr_address address, cr_expr condition)
{
    return (struct cr_argument){CR_ARGUMENT_ADDRESS, condition, address};
}

struct cr_argument cr_by_value(int constant)
{
    return (struct cr_argument){CR_ARGUMENT_VALUE, CR_NONE, cr_start_of(constant)};
}

const struct cr_argument cr_null = {.kind = CR_ARGUMENT_NULL, .number = CR_NONE};

/* Returns an argument whose address has the name of the value that its slot holds. */
static struct cr_argument name_held(const struct cr_builder *b, struct cr_argument argument)
{
    bool plain = argument.kind == CR_ARGUMENT_ADDRESS && !argument.address.name;
    for (int i = 0; plain && i < b->n_held; i++)
        if (b->held[i].slot == argument.address.slot)
            argument.address.name = b->held[i].name;
    return argument;
}

int cr_make_call(struct cr_builder *b, struct cr_call call, int n,
                 const struct cr_argument *arguments)
{
    struct cr_function *f = b->f;
    call.first_argument = f->n_arguments;
    call.n_arguments = n;
    call.node = b->node;
    for (int i = 0; i < n; i++)
        *CR_PUSH(f->arguments, f->n_arguments, f->cap_arguments) = name_held(b, arguments[i]);
    *CR_PUSH(f->calls, f->n_calls, f->cap_calls) = call;
    return f->n_calls - 1;
}

void cr_do_call(struct cr_builder *b, int call)
{
    add_statement(b, (struct cr_statement){.kind = CR_STATEMENT_CALL, .call = call}, NULL);
}

/* ---- slots of a function ---- */

int cr_scratch(struct cr_builder *b, const char *name, enum cr_format format, int64_t elements,
               const char *note)
{
    struct cr_function *f = b->f;
    struct cr_slot *slot = CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    int64_t floats = cr_format_bytes(format, elements) / (int64_t)sizeof(float);
    *slot = (struct cr_slot){.kind = CR_SLOT_SCRATCH,
                             .format = format,
                             .offset = f->scratch_floats,
                             .elements = elements,
                             .length = CR_NONE,
                             .note = cr_strdup(note)};
    snprintf(slot->name, sizeof slot->name, "%s", name);
    f->scratch_floats += (floats + ALIGN - 1) / ALIGN * ALIGN;
    return f->n_slots - 1;
}

/* True if a local variable that the printer of C declares has this name. */
static bool is_local(const struct cr_function *f, const char *name)
{
    bool found = false;
    for (int i = f->n_bound; i < f->n_slots; i++)
        found |= f->slots[i].kind == CR_SLOT_SCRATCH && !strcmp(f->slots[i].name, name);
    for (int i = 0; i < f->n_vars; i++)
        found |= !strcmp(f->vars[i].name, name);
    for (int i = 0; i < f->n_names; i++)
        found |= !strcmp(f->names[i].text, name);
    return found;
}

int cr_name_value(struct cr_builder *b, int slot, const char *role)
{
    struct cr_function *f = b->f;
    struct cr_value_name name = {.slot = slot};
    snprintf(name.text, sizeof name.text, "%s", role);
    for (int i = cr_is_reserved(role) ? 1 : 2; is_local(f, name.text) || cr_is_reserved(name.text); i++)
        snprintf(name.text, sizeof name.text, "%.56s%d", role, i);
    *CR_PUSH(f->names, f->n_names, f->cap_names) = name;
    return f->n_names;
}

/* If the slot held a value before, that value gets the slot's own name. */
struct cr_address cr_new_value(struct cr_builder *b, int slot, const char *role)
{
    struct cr_function *f = b->f;
    struct cr_value_name *own = CR_PUSH(f->names, f->n_names, f->cap_names);
    *own = (struct cr_value_name){.slot = slot};
    snprintf(own->text, sizeof own->text, "%s", f->slots[slot].name);
    struct cr_address address = cr_start_of(slot);
    address.name = cr_name_value(b, slot, role);
    return address;
}

void cr_hold(struct cr_builder *b, struct cr_address value)
{
    CR_CHECK(b->n_held < CR_MAX_HELD);
    b->held[b->n_held++] = value;
}

/* Writes the name of a constant, such as "c_0_25", "c_m1", "c_1em05" or "i_m3" (m stands for
 * minus). */
static void name_constant(char *name, size_t size, enum cr_format format, double value)
{
    char text[64];
    size_t n = 2;
    snprintf(name, size, "%s", format == CR_FORMAT_i32 ? "i_" : "c_");
    cr_number_text(text, sizeof text, format, value);
    for (const char *c = text; *c && n + 1 < size; c++)
        if (*c != '+')
            name[n++] = (char)(*c == '.' ? '_' : *c == '-' ? 'm' : *c);
    name[n] = 0;
}

/* True if a slot is a constant of this format and value.  All NaN are equal; 0 and -0 are not. */
static bool is_constant(const struct cr_slot *slot, enum cr_format format, double value)
{
    return slot->kind == CR_SLOT_CONSTANT && slot->format == format &&
           ((slot->number == value && signbit(slot->number) == signbit(value)) ||
            (isnan(slot->number) && isnan(value)));
}

int cr_constant(struct cr_builder *b, enum cr_format format, double value)
{
    struct cr_function *f = b->f;
    double rounded = format == CR_FORMAT_i32 ? value : (double)(float)value;
    if (format == CR_FORMAT_bool)
        format = CR_FORMAT_f32;
    for (int i = 0; i < f->n_slots; i++)
        if (is_constant(&f->slots[i], format, rounded))
            return i;
    struct cr_slot *slot = CR_PUSH(f->slots, f->n_slots, f->cap_slots);
    *slot = (struct cr_slot){
        .kind = CR_SLOT_CONSTANT, .format = format, .elements = 1, .length = CR_NONE, .number = rounded};
    name_constant(slot->name, sizeof slot->name, format, rounded);
    return f->n_slots - 1;
}

/* ---- addresses ---- */

struct cr_address cr_start_of(int slot)
{
    return (struct cr_address){.slot = slot};
}

/* Prepares an address for another term: its terms must be consecutive, so copies them to the end of
 * the pool unless they are there. */
static void begin_terms(struct cr_builder *b, struct cr_address *address)
{
    struct cr_function *f = b->f;
    int old = address->first_term;
    if (old + address->n_terms == f->n_terms)
        return;
    address->first_term = f->n_terms;
    for (int i = 0; i < address->n_terms; i++) {
        struct cr_term term = f->terms[old + i];
        *CR_PUSH(f->terms, f->n_terms, f->cap_terms) = term;
    }
}

struct cr_address cr_offset(struct cr_builder *b, struct cr_address address, int var, int origin,
                            int64_t coef)
{
    struct cr_function *f = b->f;
    if (coef == 0 || var == CR_NONE || var == origin)
        return address;
    if (known_value(b, var)) {
        address.base += coef * known_value(b, var)->number;
        return cr_offset(b, address, origin, CR_NONE, -coef);
    }
    if (known_value(b, origin)) {
        address.base -= coef * known_value(b, origin)->number;
        origin = CR_NONE;
    }
    if (address.n_terms == 0)
        address.first_term = f->n_terms;
    begin_terms(b, &address);
    *CR_PUSH(f->terms, f->n_terms, f->cap_terms) = (struct cr_term){var, origin, coef, 0};
    address.n_terms++;
    return address;
}

struct cr_address cr_element(struct cr_builder *b, int slot, const struct cr_affine *at,
                             int row_atom, int row_var, int col_atom, int col_var)
{
    struct cr_address address = {.slot = slot, .base = at->base};
    for (int i = 0; i < b->k->n_outer; i++)
        address = cr_offset(b, address, b->outer[i], CR_NONE, at->coef[b->k->outer[i]]);
    if (row_atom >= 0)
        address = cr_offset(b, address, row_var, CR_NONE, at->coef[row_atom]);
    if (col_atom >= 0)
        address = cr_offset(b, address, col_var, CR_NONE, at->coef[col_atom]);
    return address;
}

cr_expr cr_affine_value(struct cr_builder *b, const struct cr_affine *at, int row_atom, int row_var,
                        int col_atom, int col_var)
{
    struct cr_address address = cr_element(b, 0, at, row_atom, row_var, col_atom, col_var);
    cr_expr sum = CR_NONE;
    for (int i = 0; i < 2 * address.n_terms; i++) {
        struct cr_term term = b->f->terms[address.first_term + i % address.n_terms];
        bool minus = i >= address.n_terms; /* negative terms are added last */
        int64_t coef = minus ? -term.coef : term.coef;
        if (minus != (term.coef < 0))
            continue;
        cr_expr x = cr_var(b, term.var);
        if (coef != 1)
            x = cr_binary(b, CR_EXPR_MUL, x, cr_number(b, coef));
        if (sum == CR_NONE)
            sum = minus ? cr_binary(b, CR_EXPR_SUB, cr_number(b, 0), x) : x;
        else
            sum = cr_binary(b, minus ? CR_EXPR_SUB : CR_EXPR_ADD, sum, x);
    }
    return sum == CR_NONE ? cr_number(b, address.base) : cr_plus(b, sum, address.base);
}

bool cr_same_address(const struct cr_builder *b, const struct cr_address *x,
                     const struct cr_address *y)
{
    if (x->slot != y->slot || x->base != y->base || x->n_terms != y->n_terms)
        return false;
    for (int i = 0; i < x->n_terms; i++) {
        const struct cr_term *s = &b->f->terms[x->first_term + i];
        const struct cr_term *t = &b->f->terms[y->first_term + i];
        if (s->var != t->var || s->origin != t->origin || s->coef != t->coef)
            return false;
    }
    return true;
}
