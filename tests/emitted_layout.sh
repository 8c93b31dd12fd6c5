#!/bin/sh
# emitted_layout.sh - tests the structure of an emitted file, which includes itself for the template at its end.
#
# once     the template is in the file once, after the model; functions of unused formats are left out
# places   the file compiles without a warning under its own name and renamed, from other folders, and if another C
#          file includes it; from standard input it fails with a message
# isas     with --isa A,B it has the vectors of these alone, and computes the same bits; a wrong list is refused
# tiles    tiles that no product uses are left out, and the bits stay the same
# names    sizes have names, also in a generator; no two kernels of a model have the same name
#
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

strict="-std=c11 -Wall -Wextra -Wpedantic -Werror -O0"
sizes="--set B=1 --set T=4 --set n_embd=8 --set n_head=2"

# check WHAT COMMAND...: passes if the command succeeds and prints nothing.
check() {
    what=$1
    shift
    "$@" >"$log" 2>&1 && [ ! -s "$log" ]
    report $? "$what"
}

# emit NAME OPTION...: emits graphs/gpt2_block.lua as NAME.c in a folder of its own.
emit() {
    name=$1
    shift
    mkdir -p "$T/$name"
    "$crescent" emit graphs/gpt2_block.lua $sizes "$@" -o "$T/$name/$name.c" >"$log" 2>&1
    report $? "emit $*"
}

# count WANTED TEXT FILE: passes if WANTED lines of the file begin with a text.
count() {
    awk -v wanted="$1" -v text="$2" 'index($0, text) == 1 { n++ } END { print n + 0, "times"; exit n + 0 != wanted }' \
        "$3" >"$log"
    report $? "$3: lines that begin with '$2', expected $1"
}

# line TEXT FILE: prints the number of the first line that begins with a text.
line() {
    awk -v text="$1" 'index($0, text) == 1 { print NR; exit }' "$2"
}

# ---- the text ----

emit whole
emit placed --isa plain
emit chosen --isa avx2,plain
emit step --isa plain,avx512,vnni
whole=$T/whole/whole.c
for text in 'static void CR_NAME(cr_gemm)(' ' * gemm.inc - ' '/* vector_end.h - ' '/* types.h - ' ' * runtime.h - ' \
    'struct cr_runtime {' '#define CR_FUNCTIONS '; do
    count 1 "$text" "$whole"
done
count 4 '#include CR_TEMPLATE' "$whole"
count 1 '        rt->parallel(pool, N_HEAD, 1, k2_attn_y,' "$whole"
count 0 'static void CR_NAME(cr_gather)' "$whole"
count 0 ' * q8.inc - ' "$whole"
[ "$(line '/* ---- the model' "$whole")" -lt 160 ] &&
    [ "$(line '/* ---- the model' "$whole")" -lt "$(line '#define CR_FUNCTIONS' "$whole")" ] &&
    [ "$(line '/* ---- the runtime' "$whole")" -lt "$(line '#else /* CR_ISA */' "$whole")" ]
report $? "$whole: the model does not come first"

# The file of a block has at most 4,950 lines.
for file in generated/*_block.c; do
    lines=$(wc -l <"$file")
    echo "$file has $lines lines" >"$log"
    [ "$lines" -le 4950 ]
    report $? "$file: at most 4,950 lines"
done

# Functions and types that only removed text used are left out, and so are reductions down columns and by max.
for text in 'typedef void cr_reduce_down(' '#define CR_PRINTF(' '#define CR_REDUCE_COLUMNS(' '#define CR_ROW_LOOSELY('; do
    count 0 "$text" generated/heads_block.c
done
count 1 '#define CR_REDUCE_COLUMNS(' generated/train_add.c
count 1 '#define CR_ROW_LOOSELY(' generated/train_add.c

# ---- folders and file names ----

# A file with one instruction set includes itself as well, and compiles in a fifth of the time of one with four.
count 1 '#include CR_TEMPLATE' "$T/placed/placed.c"
placed=$T/placed/placed.c
mkdir "$T/other"
cp "$placed" "$T/other/renamed.c"
cp "$T/placed/placed.h" "$T/other"
printf '#include "placed/placed.c"\nint other(void);\nint other(void) { return GPT2_BLOCK_PARAMS; }\n' >"$T/including.c"
for cc in cc clang tcc; do
    command -v $cc >/dev/null || { echo "skipped: $cc is not installed"; continue; }
    case $cc in tcc) options="-Wall -Werror" ;; *) options=$strict ;; esac
    # The included files are listed without generating code, which would take most of the time.
    case $cc in tcc) parse="-c -o $T/a.o" ;; *) parse=-fsyntax-only ;; esac
    check "$cc by its path" $cc $options $parse "$placed"
    check "$cc in its folder" sh -c "cd '$T/placed' && $cc $options -DGPT2_BLOCK_MAIN placed.c -o ../a -lm"
    check "$cc -I, threads" $cc $options -I "$T/placed" -DGPT2_BLOCK_THREADS=2 -pthread $parse "$T/placed/../placed/placed.c"
    check "$cc included" $cc $options $parse "$T/including.c"
    named=
    printf 'char *name = __FILE_NAME__;\n' | $cc -x c -c - -o "$T/d.o" 2>/dev/null || named="-DGPT2_BLOCK_FILE=\"renamed.c\""
    check "$cc renamed" $cc $options $named $parse "$T/other/renamed.c"
done
cc -I "$T/placed" -x c -c - -o "$T/e.o" <"$placed" >"$log" 2>&1
[ $? -ne 0 ] && sed -n 1p "$log" | grep -q 'this file includes itself'
report $? "from standard input: another message"

# ---- chosen instruction sets ----

count 2 '#include CR_TEMPLATE' "$T/chosen/chosen.c"
count 0 ' * vector_avx512.h - ' "$T/chosen/chosen.c"
count 0 ' * vector_neon.h - ' "$T/chosen/chosen.c"
check "avx512,vnni,plain" cc $strict -c "$T/step/step.c" -o "$T/g.o"

# refused LIST MESSAGE: passes if the list is refused with status 2 and one line.
refused() {
    "$crescent" emit graphs/gpt2_block.lua --isa "$1" -o "$T/refused.c" >"$log" 2>&1
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -q -e "$2" "$log" && [ ! -e "$T/refused.c" ]
    report $? "--isa $1"
}
refused avx2 '--isa avx2: found a list without plain, expected plain in it'
refused plain,sse "'sse', expected a list of plain, neon, avx2, avx512, vnni and amx"
refused plain, "'', expected a list of"
refused vnni,plain 'vnni without avx512'
refused amx,plain,avx512 'amx without vnni'

# A generator has names for the positions of the cache, the number of tokens of a call, and heads.
"$crescent" emit graphs/fables --generate --isa plain -o "$T/fables.c" >"$log" 2>&1
report $? "emit --generate"
count 4 ' * out[B, NUM_KEY_VALUE_HEADS, CHUNK, HEAD_DIM / 2]' "$T/fables.c"
count 3 ' * out[B, NUM_KEY_VALUE_HEADS, 1, T, HEAD_DIM]' "$T/fables.c"
count 1 '        const long head = item / K12_PARTS_OF_QUERIES % (NUM_ATTENTION_HEADS / NUM_KEY_VALUE_HEADS);' "$T/fables.c"
count 0 ' * out[B, B' "$T/fables.c"

# If heads share keys and values, the number of heads in a group is a quotient of names, and so is the stride of
# groups.
"$crescent" emit graphs/llama.lua --set T=10 --set num_attention_heads=8 --set num_key_value_heads=2 \
    --set hidden_size=160 --isa plain -o "$T/groups.c" >"$log" 2>&1
report $? "emit graphs/llama.lua"
count 1 '        const long head = item % (NUM_ATTENTION_HEADS / NUM_KEY_VALUE_HEADS);' "$T/groups.c"
count 4 '            group * (HIDDEN_SIZE / NUM_KEY_VALUE_HEADS) + head * HEAD_DIM' "$T/groups.c"

# If the script has an option head_dim, it is the name of a head's columns, in place of HEAD_DIM. A sum over all axes
# but one has the name of the size of its columns.
"$crescent" emit graphs/t5.lua --isa plain -o "$T/head_dim.c" >"$log" 2>&1
report $? "emit graphs/t5.lua"
count 1 ' * out[B, T, HEAD_DIM * NUM_ATTENTION_HEADS] = softmax(q[T, HEAD_DIM] x k[HEAD_DIM, T])' "$T/head_dim.c"
count 1 'enum { B = 1, T = 16, HEAD_DIM = 64,' "$T/head_dim.c"
"$crescent" emit graphs/train_add.lua --grads none --isa plain -o "$T/sums.c" >"$log" 2>&1
report $? "emit graphs/train_add.lua"
count 1 ' * out[WIDTH] = sum over B rows of columns[WIDTH]' "$T/sums.c"

# A recurrence whose number of steps is an option: the nodes of all steps have names, and the parts of the gates begin
# at multiples of a name.  A script with more experts has names for other sizes.
"$crescent" emit tests/scripts/recurrence.lua --set H=8 --isa plain -o "$T/steps.c" >"$log" 2>&1
report $? "emit tests/scripts/recurrence.lua"
count 5 ' * out[B, H]' "$T/steps.c"
count 3 '    rt->mul_sigmoid(B, H, a->out, H, tanh' "$T/steps.c"
count 0 ' * out[B, 8' "$T/steps.c"
"$crescent" emit tests/fixtures/model_mixtral --script docs/families/mixtral.lua --set B=2 --set T=9 --isa plain \
    -o "$T/experts.c" >"$log" 2>&1
report $? "emit docs/families/mixtral.lua"
count 2 ' * out[T, HEAD_DIM / 2]' "$T/experts.c"
count 1 ' * out[B, T, NUM_LOCAL_EXPERTS]' "$T/experts.c"
count 3 ' * out[B, T, HIDDEN_SIZE] = rows[B * T, INTERMEDIATE_SIZE] x columns' "$T/experts.c"

# A product by weights of several scopes has the names of all of them.
count 1 'static void k7_model_layers_block_sparse_moe_gate_experts(' "$T/experts.c"

# A sum of sizes has an enumerator, as the size of a concat of different parts, and a size that is 1 more than a
# product.
count 1 'enum { SIZE_164 = NUM_LOCAL_EXPERTS + 8 * INTERMEDIATE_SIZE }; /* sums of sizes */' "$T/experts.c"
count 1 ' * out[B, T, SIZE_164] = rows[B * T, HIDDEN_SIZE] x columns[HIDDEN_SIZE, SIZE_164]' "$T/experts.c"
count 1 'enum { SIZE_31 = 2 * T - 1 }; /* sums of sizes */' "$T/head_dim.c"
count 1 ' * out[10, N_EMBD] = for each row the sum of the 2 * B rows[N_EMBD] with its index' "$T/sums.c"

# If data chooses a matrix, a function checks its number; files without such a choice do not have the function.
# Groups of queries that share a head, halves of rotated queries and panels of values have names.
"$crescent" emit tests/scripts/chosen.lua --isa plain -o "$T/matrix.c" >"$log" 2>&1
report $? "emit tests/scripts/chosen.lua"
count 1 '                .l1_up = layer_weights + cr_chosen(((int *)arena)[480], 4) * 6144, /* l1.up' "$T/matrix.c"
check "a chosen matrix" cc $strict -c "$T/matrix.c" -o "$T/m.o"
count 0 'static inline long cr_chosen(' "$T/fables.c"
count 8 '                group * (HIDDEN_SIZE / NUM_KEY_VALUE_HEADS) + head * HEAD_DIM +' "$T/fables.c"
count 1 '            rt->fma_vvv(1, HEAD_DIM / 2, rows + HEAD_DIM / 2, HEAD_DIM,' "$T/fables.c"
count 1 '        rt->pack(visible, HEAD_DIM, values, T * CR_PANEL,' "$T/fables.c"

# A text encoder: the bound of the length T has a name.  The stride of groups of query heads is not named after the
# width of a token's keys, although both are equal here.
"$crescent" emit graphs/fables --embed-text --isa plain -o "$T/texts.c" >"$log" 2>&1
report $? "emit --embed-text"
count 1 ' * out[1, MAX_T, HIDDEN_SIZE] = softmax(q[MAX_T, HEAD_DIM] x k[HEAD_DIM, MAX_T])' "$T/texts.c"
count 4 '                group * (HIDDEN_SIZE / NUM_KEY_VALUE_HEADS) + head * HEAD_DIM +' "$T/texts.c"
count 1 '            rt->pack(HEAD_DIM, n_queries, queries, HEAD_DIM * CR_PANEL, rows, 1, HEAD_DIM);' "$T/texts.c"

# An offset of two strides is printed as the sum of both, and the second number of a pair as that plus 1. Kernels of
# rotary positions, pointers of ports and variables of lengths have names.
count 2 '            a->k4_layers_self_attn_q_proj_k_proj_v_proj + batch * (4 * T * HEAD_DIM) + HIDDEN_SIZE +' "$T/experts.c"
"$crescent" emit graphs/roformer.lua --isa plain -o "$T/pairs.c" >"$log" 2>&1
report $? "emit graphs/roformer.lua"
count 2 '            a->attention_self_query_key_value_add + head * HEAD_DIM + HIDDEN_SIZE + 1,' "$T/pairs.c"
count 1 '    rt->i32->iota(B * T, NUM_LOCAL_EXPERTS,' "$T/experts.c"
count 1 '    const int *const in_ids = inputs[0]; /* ids[B, T] */' "$T/experts.c"

# The offset of a slice is the sum of the widths in front of it.
count 2 '        a->k7_layers_block_sparse_moe_gate_experts + 2 * INTERMEDIATE_SIZE + NUM_LOCAL_EXPERTS,' "$T/experts.c"
"$crescent" emit graphs/phi.lua --isa plain -o "$T/phi.c" >"$log" 2>&1
report $? "emit graphs/phi.lua"
count 2 '            a->k4_self_attn_q_proj_k_proj_v_proj_mlp + row * SIZE_448 + 3 * HIDDEN_SIZE, SIZE_448,' "$T/phi.c"

# A stored value has the same name outside and inside of its kernel; a copy of an operand has another name than the
# result.
"$crescent" emit graphs/deberta_v2.lua --isa plain -o "$T/mean.c" >"$log" 2>&1
report $? "emit graphs/deberta_v2.lua"
count 1 ' * out[B, T, 1], encoder_layer_attention_output_LayerNorm_mean[B, T, 1]' "$T/mean.c"
"$crescent" emit graphs/train_add.lua --isa plain -o "$T/train.c" >"$log" 2>&1
report $? "emit graphs/train_add.lua"
count 1 '    rt->i32->add_sv(1, 1, add, 0, a->step, 0, column, 0);' "$T/train.c"
"$crescent" emit graphs/llama.lua --generate --ids --isa plain -o "$T/llama.c" >"$log" 2>&1
report $? "emit graphs/llama.lua --generate --ids"
count 1 '    const long length_n = *(const int *)inputs[0]; /* n */' "$T/llama.c"
count 1 'static void k9_model_layers_0_self_attn_rotary_sub(' "$T/llama.c"
count 4 '            a->k7_layers_self_attn_q_proj_k_proj_v_proj + head * HEAD_DIM + HIDDEN_SIZE' "$T/llama.c"

# The size of a tile has a name with the kernel's number. Layers that share code share an operand's name, and the
# first layer's buffer is named beside that of the others. Packed weights have the shape of their matrix.
"$crescent" emit graphs/llama.lua --isa plain -o "$T/tiles.c" >"$log" 2>&1
report $? "emit graphs/llama.lua"
count 1 'enum { K7_COLUMNS = 128 }; /* of an item */' "$T/tiles.c"
count 1 'enum { K8_STEP_ROWS = 11 }; /* of a step of its loops */' "$T/tiles.c"
count 1 '    for (long row = 0; row < T; row += K8_STEP_ROWS) {' "$T/tiles.c"
count 1 '            rt->parallel(pool, (2 * INTERMEDIATE_SIZE + K7_COLUMNS - 1) / K7_COLUMNS, ' "$T/tiles.c"
count 2 '                .x = arena + 5504, /* model.embed_tokens, then model.layers.#.ffn_residual[B, ' "$T/tiles.c"
count 1 'static int llama_execute(' "$T/tiles.c"
count 0 '    (void)weights' "$T/tiles.c"
cat >"$T/option.lua" <<'EOF'
local o = options { k1_columns = 512 }
return {y = matmul(input("x", {4, o.k1_columns}), param("w", {o.k1_columns, o.k1_columns}))}
EOF
"$crescent" emit "$T/option.lua" --isa plain -o "$T/option.c" >"$log" 2>&1
report $? "emit a script with an option k1_columns"
count 1 'enum { OPTION_K1_COLUMNS = 512 }; /* options of the script */' "$T/option.c"
check "a script with an option k1_columns" cc $strict -c "$T/option.c" -o "$T/i.o"

# A number of layers is no size, even though the gradients of one layer can match those of another.
"$crescent" emit --train graphs/train_sort.lua --set B=4 --set digits=3 --isa plain -o "$T/sort.c" >"$log" 2>&1
report $? "emit --train graphs/train_sort.lua"
count 1 'enum { B = 4, DIGITS = 3, N_EMBD = 48, N_HEAD = 3 }; /* options of the script */' "$T/sort.c"
count 1 'enum { HEAD_DIM = N_EMBD / N_HEAD };' "$T/sort.c"

# An imported model has no options; the bounds of its lengths and the strides of panels have names.
"$crescent" emit tests/exports/gpt2_dynamic.onnx --length batch=4 --length seq=12 --isa plain -o "$T/imported.c" \
    >"$log" 2>&1
report $? "emit tests/exports/gpt2_dynamic.onnx"
count 1 'enum { MAX_BATCH = 4, MAX_SEQ = 12 }; /* bounds of lengths */' "$T/imported.c"
count 1 ' * out[MAX_BATCH, MAX_SEQ, 48] = rows[MAX_SEQ, 16] x columns[16, 48]' "$T/imported.c"
check "an imported model" cc $strict -c "$T/imported.c" -o "$T/i.o"
count 1 'enum { CR_AHEAD = 16384 };' "$T/matrix.c"

# Kernels of a layer have different names, and those of the first layer other names than those of the others.
"$crescent" emit graphs/bert.lua --isa plain -o "$T/bert.c" >"$log" 2>&1
report $? "emit graphs/bert.lua"
sed -n 's/^static void k[0-9]*_\([A-Za-z0-9_]*\).*/\1/p' "$T/bert.c" | sort | uniq -d >"$log"
[ ! -s "$log" ]
report $? "graphs/bert.lua: kernels of one name"
for name in k4_encoder_layer_0_attention_output_dense_add k7_encoder_layer_output_dense_add; do
    count 1 "static void $name(" "$T/bert.c"
done

# A model for several ranks: the share of a rank has a name, and a tensor is exchanged without a loop.
"$crescent" emit graphs/gpt2_stack.lua --ranks 2 --isa plain -o "$T/ranks.c" >"$log" 2>&1
report $? "emit --ranks 2"
count 1 'enum { RANKS = 2 }; /* processes among which the model is split */' "$T/ranks.c"
count 1 ' * out[B, T, N_EMBD / RANKS] = softmax(q[T, HEAD_DIM] x k[HEAD_DIM, T]) x v[T, HEAD_DIM]' "$T/ranks.c"
count 0 '            for (long piece' "$T/ranks.c"
count 0 'enum { RANKS' "$whole"

# Products of many rows by an even number of panels use tiles of two and of four vectors only; a product of one row
# uses a tile of eight.
wide="graphs/gpt2_block.lua --set n_embd=512 --set n_head=8"
"$crescent" emit $wide -o "$T/wide.c" >"$log" 2>&1
report $? "emit $wide"
"$crescent" emit graphs/gpt2_block.lua --set T=1 -o "$T/row.c" >"$log" 2>&1
report $? "emit --set T=1"
count 1 '        rt->parallel(pool, 3 * N_EMBD / K1_COLUMNS, ' "$T/wide.c"
for tiles in 'CR_TILES_3(CR_TILE)' 'CR_TILE(1, 8)'; do
    count 0 "$tiles" "$T/wide.c"
    count 1 "$tiles" "$T/row.c"
done

# A file with AVX2 and without AVX-512 includes only the header of AVX2, and its attention has no tiles of one vector.
"$crescent" emit $wide --isa avx2,plain -o "$T/avx2.c" >"$log" 2>&1
report $? "emit $wide --isa avx2,plain"
count 1 '#include <avx2intrin.h>' "$T/avx2.c"
count 0 '#include <avx2intrin.h>' "$T/wide.c"
count 0 'define CR_TILES_1(T) CR_HEIGHTS' "$T/avx2.c"

# Banded products without such tiles have the bits of plain C, also in their last columns, which are one vector here.
cat >"$T/sum.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "band.h"
int main(void)
{
    float *weights = aligned_alloc(64, (GPT2_BLOCK_PARAM_BYTES + 63) / 64 * 64);
    float *arena = aligned_alloc(64, (GPT2_BLOCK_ARENA_BYTES + 63) / 64 * 64);
    static float x[GPT2_BLOCK_IN_X_ELEMENTS], y[GPT2_BLOCK_OUT_Y_ELEMENTS];
    for (long i = 0; i < GPT2_BLOCK_PARAM_BYTES / 4; i++) weights[i] = (i * 7919 % 1000 - 500) * 1e-4f;
    for (long i = 0; i < GPT2_BLOCK_IN_X_ELEMENTS; i++) x[i] = (i * 10007 % 1000 - 500) * 2e-3f;
    if (gpt2_block_run(weights, x, y, arena) != 0) return 1;
    for (long i = 0; i < GPT2_BLOCK_OUT_Y_ELEMENTS; i++) printf("%a\n", (double)y[i]);
    return 0;
}
END
for list in plain avx2,plain; do
    "$crescent" emit graphs/gpt2_block.lua --set T=24 --set n_embd=128 --set n_head=2 --isa $list -o "$T/band.c" >"$log" 2>&1 &&
        cc -O1 -I"$T" "$T/sum.c" "$T/band.c" -o "$T/band" -lm >"$log" 2>&1 && "$T/band" >"$T/band.$list"
    report $? "bands of --isa $list"
done
count 0 'define CR_TILES_1(T) CR_HEIGHTS' "$T/band.c"
[ -s "$T/band.plain" ] && ! grep -q nan "$T/band.plain" && cmp -s "$T/band.plain" "$T/band.avx2,plain"
report $? "bits of bands"
"$crescent" compare $wide --backends tcc,standalone >"$log" 2>&1 && grep -q "^y .* 0\.0  ok" "$log"
report $? "compare $wide"

# Models with each list of instruction sets compile without a warning and write the bytes that `crescent run` writes.
files="--weights tests/fixtures/gpt2_long/model.safetensors --input x=tests/fixtures/gpt2_long/x.npy"
long="graphs/gpt2_block.lua $(sed -n 's/^set /--set /p' tests/fixtures/gpt2_long/case.txt | tr '\n' ' ')"
"$crescent" run $long $files --output "y=$T/y.npy" >"$log" 2>&1
report $? "run $long"
for list in plain avx2,plain; do
    "$crescent" emit $long --isa $list -o "$T/bits.c" >"$log" 2>&1 &&
        cc $strict -DGPT2_BLOCK_MAIN "$T/bits.c" -o "$T/bits" -lm >"$log" 2>&1 && [ ! -s "$log" ] &&
        "$T/bits" $files --output "y=$T/bits.npy" >"$log" 2>&1
    report $? "emit --isa $list"
    same "bits of --isa $list" "$T/y.npy" "$T/bits.npy"
done

conclude
