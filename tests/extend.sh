#!/bin/sh
# extend.sh - follows the pages on extending Crescent, in a copy of the tree: inserts the blocks of a page where the
# page says, builds, and runs its commands.  Then leaves out one entry after another and checks that the tree does not
# compile.
#
# In a page, a line in bold type says what to do with the fenced block below it:
#
#     **A new file, `FILE`:**
#     **In `FILE`, in front of `TEXT`:**    of the first line that begins with TEXT, but for spaces
#     **Run, in the top folder:**           one command a line; each must succeed
#
# CC is the compiler, $CRESCENT the program; the objects of build/ are copied if they belong to it.  The last line is
# "N passed, M failed".
set -u
. "$(dirname "$0")/report.sh"
top=$(cd "$(dirname "$0")/.." && pwd)
copy=$T/copy
page= commands=$T/commands

# Compiles without optimisation, which this test does not need, but with all warnings; and without the options of a
# make that runs this script.
CFLAGS=-O0 LUA=lua5.4 CC=${CC:-cc}
export CFLAGS LUA CC
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD SANITIZE

# ---- the pages -----------------------------------------------------------------------

# take_apart PAGE FOLDER: writes a file NUMBER.text for each block, and its line in bold type to NUMBER.what.
take_apart() {
    mkdir -p "$2"
    awk -v folder="$2" '
        fenced && /^```$/ { fenced = 0; what = ""; next }
        fenced { if (what != "") print >text; next }
        /^```/ {
            fenced = 1
            if (what == "") next
            number++
            text = sprintf("%s/%02d.text", folder, number)
            print what >sprintf("%s/%02d.what", folder, number)
            printf "" >text
            next
        }
        /^\*\*/ { what = $0; next }
        !/^$/ { what = "" }' "$1"
}

# insert FILE TEXT BLOCK: inserts the block before the first line that begins with TEXT.
insert() {
    TEXT=$2 awk -v block="$3" '
        { line = $0; sub(/^ +/, "", line) }
        !found && index(line, ENVIRON["TEXT"]) == 1 {
            while ((getline row <block) > 0) print row
            found = 1
        }
        { print }
        END { exit !found }' "$1" >"$T/inserted" && cat "$T/inserted" >"$1"
}

# do_block WHAT BLOCK: does what a line in bold type says; appends commands to $commands.
do_block() {
    file=$(echo "$1" | sed 's/^[^`]*`\([^`]*\)`.*/\1/')
    case $1 in
    '**A new file, `'*'`:**')
        [ ! -e "$copy/$file" ] && mkdir -p "$(dirname "$copy/$file")" && cp "$2" "$copy/$file" ;;
    '**In `'*'`, in front of `'*'`:**')
        insert "$copy/$file" "$(echo "$1" | sed 's/.*in front of `\(.*\)`:\*\*$/\1/')" "$2" ;;
    '**Run, in the top folder:**')
        cat "$2" >>"$commands.$page" ;;
    *) false ;;
    esac
}

# apply PAGE: does all that docs/PAGE.md says, except for its commands.
apply() {
    page=$1
    take_apart "$top/docs/$page.md" "$T/$page"
    for what in "$T/$page"/*.what; do
        do_block "$(cat "$what")" "${what%.what}.text" >"$log" 2>&1
        report $? "docs/$page.md: $(cat "$what")"
    done
}

# run PAGE: runs its commands, one after another.  The output of the last one is kept in $log.
run() {
    while read -r command; do
        (cd "$copy" && sh -c "$command") </dev/null >"$log" 2>&1
        report $? "docs/$1.md: $command"
    done <"$commands.$1"
}

# ---- tests of what the pages promise ----------------------------------------------------

# suite NAME: builds and runs tests/test_NAME.c of the copy.
suite() {
    (cd "$copy" && make "build/lua5.4/tests/test_$1" &&
        CRESCENT=build/crescent "build/lua5.4/tests/test_$1") >"$log" 2>&1
    report $? "tests/test_$1.c of the copy"
}

# refused WHAT FILE SED SOURCE: checks that the source does not compile after FILE was edited by sed.  Compiling ends
# with the first error: after an error about an unused function, gcc would go on to generate code, 20 s for the
# runtime.  BUILD is another folder, as the options of the compiler differ.
refused() {
    cp -p "$copy/$2" "$T/kept"
    sed "$3" "$T/kept" >"$copy/$2"
    ! cmp -s "$T/kept" "$copy/$2"
    report $? "$1: the edit changes nothing"
    ! make -C "$copy" BUILD=build/refused CC="$CC -Wfatal-errors" "build/refused/obj/${4%.c}.o" \
        >"$log" 2>&1 && grep -q 'error:' "$log"
    report $? "$1: it compiles, expected that it does not"
    cp -p "$T/kept" "$copy/$2"
}

# ---- one function a page ---------------------------------------------------------------

# The gradient of prod if none, one or two of the elements of a row are 0.
prod_gradient() {
    cat >"$T/expected" <<'END'
-0.25 -0.25 -0.25 0.0625 -0.25
-0.25 0 0 0 0
0 0 0 0 0
END
    od -An -v -f -j128 -w20 "$copy/prod_gradient.npy" | awk '
        { for (i = 1; i <= NF; i++) printf("%s%g", (i > 1 ? " " : ""), $i); print "" }' |
        sed 's/-0\( \|$\)/0\1/g' >"$T/found"
    diff "$T/expected" "$T/found" >"$log" 2>&1
    report $? 'the gradient of prod beside zeros'
}

check_ops() {
    run add-an-op
    for name in interpreter runtime integers gradient; do
        suite "$name"
    done
    prod_gradient
    gradients=compiler/ir/gradients.def reductions=runtime/reductions.h
    elementwise=runtime/elementwise.h
    refused 'a reduction without a gradient' $gradients '/^GRADIENT(min,/d' compiler/ir/gradient.c
    refused 'an op without a gradient' $gradients '/^GRADIENT(softsign,/d' compiler/ir/gradient.c
    refused 'a gradient that is empty' $gradients 's/^GRADIENT(min,.*/GRADIENT(min, )/' \
        compiler/ir/gradient.c
    refused 'a gradient for too many operands' $gradients 's/^GRADIENT(min, /&g, /' \
        compiler/ir/gradient.c
    refused 'a gradient of no op' $gradients 's/^GRADIENT(min,.*/&\nGRADIENT(none, g)/' \
        compiler/ir/gradient.c
    refused 'a reduction without an identity' $reductions 's/OP(min, ARITH, CR_HIGHEST,/OP(min, ARITH,/' \
        compiler/ir/ops.c
    refused 'an identity that is empty' $reductions 's/OP(min, ARITH, CR_HIGHEST,/OP(min, ARITH, ,/' \
        compiler/ir/ops.c
    refused 'a reduction without its meaning' $reductions 's/CR_MIN(a, b), "[^"]*"/CR_MIN(a, b)/' \
        compiler/ir/ops.c
    refused 'a meaning that is empty' $reductions 's/CR_MIN(a, b), "[^"]*"/CR_MIN(a, b), ""/' \
        compiler/ir/ops.c
    refused 'a reduction that combines nothing' $reductions 's/CR_MIN(a, b)//' compiler/ir/ops.c
    refused 'a reduction of another rule' $reductions 's/OP(min, ARITH/OP(min, LOGIC/' runtime/runtime.c
    refused 'an op without its meaning' $elementwise 's/(CR_ONE + CR_ABS(a)), "[^"]*"/(CR_ONE + CR_ABS(a))/' \
        compiler/ir/ops.c
    refused 'an op without an expression' $elementwise 's/a \/ (CR_ONE + CR_ABS(a))//' compiler/ir/ops.c
}

check_pass() {
    run add-a-pass
    refused 'a pass without its row' compiler/passes/passes.def '/^PASS(halve,/d' \
        compiler/passes/rewrite/halve.c
    mv "$copy/compiler/passes/rewrite/halve.c" "$T/halve.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
    ! make -C "$copy" >"$log" 2>&1 && grep -q 'undefined reference.*cr_pass_halve' "$log"
    report $? 'a row without its pass: it links, expected that it does not'
    mv "$T/halve.c" "$copy/compiler/passes/rewrite/halve.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
}

check_runtime_function() {
    run add-a-runtime-function
    refused 'a function without its row' runtime/runtime.h '/CR_FUNCTION(reverse,/,+1d' runtime/runtime.c
    refused 'a row without its function' runtime/move.inc \
        '/^static void CR_NAME(cr_reverse)/,/^}/d' runtime/runtime.c
    refused 'a function whose arguments mean nothing' compiler/ir/functions.def \
        '/^FUNCTION(reverse,/d' compiler/ir/program.c
    refused 'a row without parameters' runtime/runtime.h \
        's/CR_FUNCTION(reverse, void, .*))/CR_FUNCTION(reverse, void)/' runtime/runtime.c
}

check_kernel_kind() {
    run add-a-kernel-kind
    mv "$copy/compiler/passes/kinds/kind_fill.c" "$T/kind_fill.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
    ! make -C "$copy" >"$log" 2>&1 && grep -q 'undefined reference.*cr_lower_fill' "$log"
    report $? 'a kind without its functions: it links, expected that it does not'
    mv "$T/kind_fill.c" "$copy/compiler/passes/kinds/kind_fill.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
}

check_step() {
    run add-a-step
    refused 'a kind of step without its member' compiler/ir/program.h '/^            int64_t elements;/d' \
        compiler/ir/step_copy.c
    mv "$copy/compiler/emit/emit_step_copy.c" "$T/emit_step_copy.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
    ! make -C "$copy" >"$log" 2>&1 && grep -q 'undefined reference.*cr_emit_step_copy' "$log"
    report $? 'a kind of step without its functions: it links, expected that it does not'
    mv "$T/emit_step_copy.c" "$copy/compiler/emit/emit_step_copy.c"
    rm -f "$copy/build/lua5.4/libcrescent.a"
}

# Writes the output of a model with the formats of rules to $T/NAME.npy.
with_format() {
    name=$1 rules=$2
    shift 2
    (cd "$copy" && build/crescent run graphs/gpt2_block.lua --set T=8 --format "$rules" \
        --output "y=$T/$name.npy" "$@") >"$log" 2>&1
    status=$?
    ! grep -q 'not on this machine' "$log" || cp "$T/tcc.npy" "$T/$name.npy" && status=0
    report $status "--format $rules $*"
}

# refuses TEXT VERB ...: passes if the command ends with status 2 and one line that has the text.
refuses() {
    text=$1
    shift
    (cd "$copy" && build/crescent "$@") >"$T/out" 2>"$log"
    [ $? -eq 2 ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -qF -- "$text" "$log"
    report $? "crescent $*: expected '$text'"
}

# kept LINE: checks that the program of choice.lua has a buffer "NAME FORMAT [SHAPE]".
kept() {
    grep -q "^--   #[0-9]* *$1 *weights" "$log"
    report $? "choice.lua: expected a buffer $1"
}

# The main of an emitted file, whose weights share panels, on the files of a fixture.
check_format_main() {
    fixture=tests/fixtures/heads
    files="--weights $fixture/model.safetensors --input x=$fixture/x.npy"
    sizes='--set B=2 --set T=13 --set n_embd=33 --set n_head=3 --set block_size=16'
    (cd "$copy" && build/crescent run graphs/heads_block.lua $sizes --format 'e5m2,*.net.2.*=f32' \
        $files --output "y=$T/heads.npy" &&
        build/crescent emit graphs/heads_block.lua $sizes --format 'e5m2,*.net.2.*=f32' \
            --isa plain -o "$T/heads.c" &&
        $CC -O0 -Wall -Wextra -Wpedantic -Werror -DHEADS_BLOCK_MAIN "$T/heads.c" -o "$T/heads" -lm &&
        "$T/heads" $files --output "y=$T/main.npy") >"$log" 2>&1 &&
        grep -q 'layouts_e5m2' "$T/heads.c"
    report $? 'a main that packs e5m2'
    same 'a main that packs e5m2: its output' "$T/heads.npy" "$T/main.npy"
}

# Checks that all backends compute the same bits, close to those of f32; and which options are refused.
check_format_bits() {
    model='graphs/gpt2_block.lua --set T=8'
    with_format tcc e5m2
    with_format f32 f32
    for way in '--backend cc' '--isa plain' '--isa avx2' '--isa avx512' '--threads 1' \
        '--backend standalone' '--skip outline'; do
        with_format other e5m2 $way
        same "e5m2 $way" "$T/tcc.npy" "$T/other.npy"
    done
    ! cmp -s "$T/tcc.npy" "$T/f32.npy"
    report $? 'e5m2 computes what f32 does'
    (cd "$copy" && build/crescent compare $model --expect "y=$T/f32.npy" --atol 0.5 --format e5m2) \
        >"$log" 2>&1
    report $? 'e5m2 is close to f32'
    refuses "'e5m3' is no format of weights, expected one of f32, bf16, f16, q8, q4, e5m2" run $model --format e5m3
    refuses 'no parameter has such a name' run $model --format 'f32,h.*=e5m2'
    refuses 'there are gradients, expected f32' run $model --format e5m2 --grads none
    refuses 'there are gradients, expected f32' emit graphs/train_add.lua --train --format e5m2 \
        -o "$T/step.c"
}

# Checks which weights are kept in the format: not weights that ops other than products and gathers read, nor weights
# that a concat of the script joins with these; and that the pass `join` does not join them.  Panels are found by
# their widths.
check_format_choice() {
    cat >"$T/choice.lua" <<'END'
local x, t = input("x", {4, 64}), input("t", {4}, "i32")
local a, b, c = param("a", {64, 96}), param("b", {64, 160}), param("c", {64, 32})
local tied, d, e = param("tied", {64, 64}), param("d", {64, 224}), param("e", {64, 288})
return {p = matmul(x, a), q = matmul(x, b), r = matmul(x, c), s = matmul(x, tied),
    rows = gather(tied, t), both = matmul(x, concat({d, e}, 2)), left = matmul(e, input("z", {288, 2}))}
END
    (cd "$copy" && build/crescent dump "$T/choice.lua" --after schedule --format e5m2,c=f32) \
        >"$T/choice" 2>"$log"
    report $? 'choice.lua'
    cp "$T/choice" "$log"
    kept '[^ ]* *e5m2 \[64, 256\]' # a and b
    kept '[^ ]* *f32 \[64, 32\]'   # c
    kept 'tied *e5m2 \[64, 64\]'   # its rows, as columns
    kept '[^ ]* *f32 \[64, 512\]'  # d and e
    (cd "$copy" && build/crescent compare "$T/choice.lua" --format e5m2,c=f32) >"$log" 2>&1
    report $? 'choice.lua: the interpreter rounds what is packed'
}

check_format() {
    run add-a-format
    check_format_bits
    check_format_main
    check_format_choice
    formats=compiler/ir/formats.def
    refused 'a format without a function that packs its pieces' $formats \
        '/^WEIGHT_FORMAT(e5m2,/,/^              "/{/rt->pack_e5m2/,/row_stride, p->col_stride/d}' \
        compiler/ir/program.c
    refused 'a format without a product' $formats 's/ gemm_e5m2,//' compiler/ir/program.c
    refused 'a format without a scale' $formats 's/^WEIGHT_FORMAT(e5m2, 8, 1, 0,/WEIGHT_FORMAT(e5m2, 8, 1,/' \
        compiler/ir/program.c
    refused 'a format that cannot be read back' $formats '/rt->unpack_e5m2/s/rt.* gemm/gemm/' \
        compiler/exec/pack_tensors.c
    refused 'an empty expression that packs' $formats \
        '/^WEIGHT_FORMAT(e5m2,/,/^              "/{/rt->pack_e5m2/,/p->panel_stride/d;s/^ *p->row_stride, p->col_stride)//}' \
        compiler/ir/program.c
    refused 'blocks that do not fill 32 rows' $formats 's/^WEIGHT_FORMAT(e5m2, 8, 1,/WEIGHT_FORMAT(e5m2, 8, 3,/' \
        compiler/ir/program.c
    refused 'a product that is no function of the runtime' $formats 's/gemm_e5m2/gemm_e5m3/' \
        compiler/ir/program.c
    refused 'a format whose functions are not there' runtime/runtime.h '/CR_FUNCTION(pack_e5m2,/,+5d' \
        compiler/exec/pack_tensors.c
    cp -p "$copy/$formats" "$T/kept"
    sed 's/ gemm_e5m2,/ gemm,/' "$T/kept" >"$copy/$formats"
    make -C "$copy" build/obj/compiler/ir/program.o >"$log" 2>&1 && # which alone knows of products
        make -C "$copy" -o $formats build/crescent >"$log" 2>&1
    (cd "$copy" && build/crescent run graphs/gpt2_block.lua --set T=8 --format e5m2) >"$log" 2>&1
    grep -q 'bug: after schedule.* of gemm is of f32, attn_c_attn_weight is of e5m2' "$log"
    report $? 'the product of another format: it runs, expected that the verifier refuses it'
    cp -p "$T/kept" "$copy/$formats"
}

check_tokenizers() {
    run tokenizers
    refused 'a kind without its row' compiler/tokenizer/normalizers.c '/^    {.type = "ByteLevel"/d' \
        compiler/tokenizer/normalizers.c
    refused 'a row without its kind' compiler/tokenizer/normalizers.c \
        '/^static int byte_level(/,/^}/d' compiler/tokenizer/normalizers.c
}

# The numbers of complex.lua, and the error for a row without its inputs.
check_onnx() {
    run onnx
    suite import
    echo '-5 10 -4 3' >"$T/expected"
    od -An -v -f -j128 -w16 "$copy/complex.npy" | awk '{ $1 = $1; print }' >"$T/found"
    diff "$T/expected" "$T/found" >"$log" 2>&1
    report $? 'the products of complex.lua'
    refused 'a row without its inputs' compiler/import/ops.def \
        's/onnx_math.complex_mul, "a b", /onnx_math.complex_mul, /' compiler/import/ops.c
}

# ---- the copy ------------------------------------------------------------------------

# Copies the objects of build/ and their sources.  Then make compiles only the files that include a file that a page
# changes, which are most, and files that were edited since.  Those objects were built with other options than the
# copy; the file in which make remembers the options gets an old date.  Objects with sanitizers are not copied, as
# they do not link with others.
take_objects() {
    echo "${CRESCENT-}" | grep -Eqx 'build/(lua5\.4/)?crescent' && grep -qv fsanitize "$top/build/obj/flags" ||
        { echo 'nothing is taken over: the copy is compiled from nothing' && return; }
    remembered="build/obj/flags build/obj/lua5.4/incdir"
    make -C "$copy" $remembered >"$log" 2>&1 &&
        (cd "$copy" && touch -d 2001-01-01 $remembered) &&
        (cd "$top" && find build/obj/compiler build/obj/lua5.4/compiler build/obj/runtime \
            \( -name '*.o' -o -name '*.d' \) -print | tar cf - -T -) | tar xf - -C "$copy"
    report $? 'the objects of build/'
}

# ---- all pages -----------------------------------------------------------------------

mkdir "$copy"
(cd "$top" && tar cf - --exclude=./build --exclude=./.git .) | tar xf - -C "$copy"

take_objects
# One build serves all pages.
for page in add-an-op add-a-pass add-a-runtime-function add-a-kernel-kind add-a-step add-a-format tokenizers \
    onnx; do
    apply $page
done
make -C "$copy" -j2 >"$log" 2>&1
built=$?
report $built 'the copy with what all pages add'
if [ $built -ne 0 ]; then
    conclude
    exit
fi
! grep -q 'warning:' "$log"
report $? 'the copy with what all pages add: warnings'

check_ops
check_pass
check_runtime_function
check_kernel_kind
check_step
check_format
check_tokenizers
check_onnx
conclude
