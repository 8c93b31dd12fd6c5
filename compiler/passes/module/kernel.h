/*
 * kernel.h - a fused kernel: loops, tile programs, and the indices of its operands.
 *
 * Every kernel computes a node, its *root*, and stores it.  It may also store other nodes that it
 * computes for the root.  Its loops, called atoms (index_map.h), have fixed roles:
 *
 *   outer atoms   loops whose iterations are divided among threads
 *   row atom      rows of the tiles that the runtime works on
 *   col atom      columns of these tiles
 *
 * The ops on a tile are a *tile program*: a list of values, each of which is a load, an elementwise
 * op or row reduction of earlier values, and so on, computed by the runtime's vectorised functions.
 *
 *   TILE        root = program(loads)
 *   GEMM        root = epilogue(A B), A loaded or computed row by row by a prologue
 *   ATTENTION   root = epilogue(dropout(softmax(scores(Q K))) V), online over blocks of keys; or
 *               epilogue(scores(Q K) V)
 *   ATTENTION_BACKWARD  dQ, dK and dV of such an attention, each a result or a part of a concat
 *   COLUMNS     root = reduction of program(loads) over the row atom, which the root does not have
 *   SCATTER     root[r] = sum of the rows of A whose index in B is r
 *   SCAN        root = running sums of A along an axis
 *   ALL_GATHER  root = the tensors A of all ranks, one after another; a step without code
 *   WRITE       the rows of program(loads), each stored in a row of the root known at run time
 */
#ifndef CR_KERNEL_H
#define CR_KERNEL_H

#include "kernel_all_gather.h"
#include "kernel_attention.h"
#include "kernel_gemm.h"
#include "kernel_scan.h"
#include "kernel_scatter.h"
#include "kernel_write.h"

enum { CR_MAX_REFS = 24, CR_MAX_STREAMS = 8 };

/* The kinds, each a row of kernel_kinds.def; cr_kernel_kinds[kind] describes it. */
enum cr_kernel_kind {
#define KIND(NAME, name, title) CR_KERNEL_##NAME,
#include "kernel_kinds.def"
#undef KIND
};

enum {
#define KIND(NAME, name, title) +1
    CR_KERNEL_KINDS = 0
#include "kernel_kinds.def"
#undef KIND
};

struct cr_kernel_parts;

struct cr_kernel {
    enum cr_kernel_kind kind;
    const struct cr_kernel_parts *parts; /* the row of the kernel's kind; null in a kernel that is
                                            all zeros */
    cr_id root;
    union {
        cr_id buffer; /* the node whose storage contains the root: the root itself, a concat or a
                         write */
        cr_id stored[CR_MAX_STORED]; /* all nodes that the kernel stores: first the buffer, then
                                        nodes that it stores as a whole */
    };
    int n_stored;
    int entry;  /* the entry that calls the kernel */
    bool again; /* the kernel recomputes a value whose storage was reused (recompute.c) */
    struct cr_atoms atoms;
    int outer[CR_MAX_ATOMS], n_outer;
    int row, col; /* an atom of -1 has extent 1; this also holds for `k` and `key` */
    int k;        /* the atom over which a product sums */
    int key;      /* the atom of the keys, of an attention.  The root of its gradients need not have
                     the atom `col`, the column of V and G */
    cr_id refs[CR_MAX_REFS]; /* the nodes whose storage the kernel reads, except packed weights */
    int n_refs;
    int64_t streams[CR_MAX_STREAMS]; /* streams of random numbers; each call passes them, like
                                        refs */
    int n_streams;
    cr_id core;              /* the contraction of which the root is an epilogue, or CR_NONE */
    struct cr_tiles program; /* all ops on a tile; after a product: the epilogue */
    union {
        struct cr_affine dest;                   /* the affine index of the root's element in the
                                                    buffer */
        struct cr_affine results[CR_MAX_STORED]; /* by result: the affine index of the result's
                                                    element in its node */
    };
    int stored_in[CR_MAX_STORED]; /* by result: the index in `stored` of the node in which the
                                     result is */

    /* The members that only kernels of one or two kinds have; TILE and COLUMNS have none. */
    union {
        struct cr_kernel_gemm gemm;
        struct {
            struct cr_kernel_attention attention; /* of ATTENTION and ATTENTION_BACKWARD */
            union {
                struct cr_kernel_attention_rows attention_rows; /* ATTENTION */
                struct cr_kernel_attention_backward attention_backward;
            };
        };
        struct cr_kernel_scatter scatter;
        struct cr_kernel_scan scan;
        struct cr_kernel_all_gather all_gather;
        struct cr_kernel_write write;
    };

    double flops, bytes_read, bytes_written;
};

/* Returns the extent of an atom, or 1 if the atom is -1. */
static inline int64_t cr_extent(const struct cr_kernel *kernel, int atom)
{
    return atom < 0 ? 1 : kernel->atoms.extent[atom];
}

/* Returns 1 + the number of the length that ends the loop of an atom.  Returns 0 if the extent is
 * fixed or the atom is -1. */
static inline int cr_length_of(const struct cr_kernel *kernel, int atom)
{
    return atom < 0 ? 0 : kernel->atoms.length[atom];
}

/* Returns the index of a node in kernel->stored, or -1. */
static inline int cr_find_stored_node(const struct cr_kernel *kernel, cr_id id)
{
    int i = kernel->n_stored - 1;
    while (i >= 0 && kernel->stored[i] != id)
        i--;
    return i;
}

/* Returns the node of an operand or result.  In this numbering stored nodes are -1 .. -n_stored,
 * and refs are 0 .. n_refs - 1. */
static inline cr_id cr_touched(const struct cr_kernel *kernel, int number)
{
    return number < 0 ? kernel->stored[-1 - number] : kernel->refs[number];
}

/* Returns the node that stands for most of the kernel's operations: its contraction, or else its
 * root. */
static inline cr_id cr_main_node(const struct cr_kernel *kernel)
{
    return kernel->core == CR_NONE ? kernel->root : kernel->core;
}

/* Prints the keys that a bound lets query `row` see, such as "<= i - 2" for row "i"; returns the
 * buffer. */
const char *cr_bound_text(char *buffer, size_t size, const struct cr_bound *bound,
                          const char *row);

/* True if a node is a reduction down columns: over an axis other than the last. */
bool cr_goes_down(const struct cr_graph *g, cr_id id);

/* True if a node is among the operands of a kernel. */
bool cr_reads_node(const struct cr_kernel *kernel, cr_id id);

#endif
