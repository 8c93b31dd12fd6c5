#!/bin/sh
# check_layers.sh [OBJECTS [LUA]] - checks that #include lines follow the layers of the architecture.  With the folder
# OBJECTS of a build, also checks that the files of a folder do not call each other in circles, and that each symbol
# that other files can see is used by one of them.  No two types that files share have one name.  The command line
# links with the shared library, and with nothing else of the compiler but its helpers.
#
#     ir <- passes <- emit <- exec <- library;  frontend sees ir;  library sees it, too
#     the rooms of compiler/passes/, from the first to the last: a room sees itself and the rooms before
#     it.  Files of compiler/passes/ itself, which run the passes, see all rooms; no room sees one of
#     them, but pass_list.h, which declares the passes.  A room ROOM has a header ROOM.h, which says what
#     comes in and what goes out, and names the room's passes and the headers that others include
#     compiler/files/, the readers and writers of files, sees libc only; emit, exec, library and
#     frontend, which reads JSON with it, see it
#     compiler/json/, documents of JSON and what config.json says, sees ir and files; exec, library, frontend and
#     tokenizer see it, and cli and explain its writer
#     compiler/tokenizer/, text to ids and back, sees ir, files and json; emit and library see it
#     compiler/import/, ONNX files to scripts, sees ir, files and frontend, which infers shapes;
#     library sees it
#     compiler/crescent.h, the public interface, sees libc only; library implements it
#     cli sees crescent.h and the few helpers listed below, which know nothing of a model:
#     texts, memory, errors, hash tables, JSON, and a program run to its end
#     explain, which shows what a compilation did and finds the node that goes wrong, sees crescent.h and
#     those helpers, as any client does; it has some functions of crescent.h, and no other folder sees it
#     compiler/ but cli may see runtime/*.h; runtime/ sees libc and its own folder only
#     no other folder's *.inc, but for two: exec/random_fill.* is compiled once for each instruction set,
#     as the runtime is, and emit/standalone_main.inc is a text with that of files/write.inc in it
#     lua, the module for Lua, sees crescent.h and library/lua_function.h, a graph of a running Lua
#     lua.h only in frontend/ and lua/, and by frontend/luaapi.h in import/lua_terms.c; libtcc.h only in exec/jit_tcc.c,
#     pcre2.h only in tokenizer/pattern.c, utf8proc.h only in tokenizer/unicode.c,
#     mpi.h only in runtime/ranks_mpi.c,
#     machine instructions only in runtime/, and in exec/peak_rates.c and exec/processor.c, which ask the machine
#     a kind of kernels is known by its name in compiler/passes/kinds/ only
#     no two folders have sources of one name, but for cli/, lua/ and import/; import/ and passes/ have none
#
# Run from the top folder.  First plants violations in a scratch tree and checks that each is found, then reads the
# real tree.  OBJECTS has the folders of the tree; the objects of frontend/ and lua/, and of import/lua_terms.c, are
# below OBJECTS/LUA. The last line is "N passed, M failed".
set -u

# violations FOLDER: prints a line for each #include of FOLDER's compiler/ and runtime/ that breaks a rule.
violations() {
    (cd "$1" && find compiler runtime -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.def' \) 2>/dev/null |
        sort | xargs awk '
        function set(list, into,    n, i, word) {
            n = split(list, word, " ")
            for (i = 1; i <= n; i++) into[word[i]] = 1
        }
        function complain(why) {
            printf "%s:%d: #include %s: %s\n", FILENAME, FNR, shown, why
        }
        # Returns the layer of a path from the top folder: "ir", "runtime", "public".
        function layer_of(path,    part, n) {
            n = split(path, part, "/")
            if (part[1] == "runtime") return "runtime"
            return n > 2 ? part[2] : "public"
        }
        # Returns the room of a path in compiler/passes/, "" for files of that folder itself.
        function room_of(path,    part, n) {
            if (path == "compiler/passes/pass_list.h") return "module" # which all rooms see
            n = split(path, part, "/")
            return part[2] == "passes" && n > 3 ? part[3] : ""
        }
        # Returns what is wrong with an include between two rooms, or "".
        function wrong_room(name,    target) {
            target = room_of(name)
            if (room != "" && !(room in rooms)) return room " is no room of passes"
            if (target != "" && !(target in rooms)) return target " is no room of passes"
            if (room == "" || (target != "" && rooms[target] <= rooms[room])) return ""
            return target == "" ? "a room does not see what runs the passes" : room " does not see " target
        }
        function check_project(name,    target, why) {
            if (name !~ "/") return # a neighbour in the same folder
            target = layer_of(name)
            why = layer == "passes" && target == "passes" ? wrong_room(name) : ""
            if (name ~ /(^|\/)\.\.?\//) complain("a path begins at the top folder")
            else if (name == "compiler/frontend/luaapi.h" && layer != "frontend" &&
                     FILENAME !~ /^compiler\/(import\/lua_terms\.c|lua\/)/)
                complain("Lua belongs to compiler/frontend/, compiler/lua/ and compiler/import/lua_terms.c")
            else if (name !~ /^(compiler|runtime)\//) complain("no folder of this project")
            else if (layer == "runtime") complain("runtime/ names its own files only")
            else if (layer == "lua") {
                if (target != "lua" && target != "public" && name != "compiler/library/lua_function.h")
                    complain("lua sees crescent.h and library/lua_function.h only")
            } else if (layer == "cli" || layer == "explain") {
                if (target != layer && target != "public" && !(name in helpers))
                    complain(layer " sees crescent.h and its helpers only")
            } else if (layer == "files" && target == "runtime") complain("files does not see runtime")
            else if (name ~ /\.(inc|c)$/ && target != layer && !((FILENAME " " target) in texts))
                complain("only headers of another folder may be used")
            else if (target != "runtime" && !((layer " " target) in sees))
                complain(layer " does not see " target)
            else if (why != "") complain(why)
        }
        function check_system(name) {
            if (name ~ /^(lua[a-z]*|lauxlib)\.h(pp)?$/) {
                if (layer != "frontend" && layer != "lua")
                    complain("Lua belongs to compiler/frontend/ and compiler/lua/")
            } else if (name == "libtcc.h") {
                if (FILENAME != "compiler/exec/jit_tcc.c")
                    complain("TinyCC belongs to compiler/exec/jit_tcc.c")
            } else if (name == "pcre2.h") {
                if (FILENAME != "compiler/tokenizer/pattern.c")
                    complain("PCRE2 belongs to compiler/tokenizer/pattern.c")
            } else if (name == "utf8proc.h") {
                if (FILENAME != "compiler/tokenizer/unicode.c")
                    complain("utf8proc belongs to compiler/tokenizer/unicode.c")
            } else if (name == "mpi.h") {
                if (FILENAME != "runtime/ranks_mpi.c") complain("MPI belongs to runtime/ranks_mpi.c")
            } else if (name in machine) {
                if (layer != "runtime" && FILENAME !~ /^compiler\/exec\/(peak_rates|processor)\.c$/)
                    complain("machine instructions belong to runtime/")
            } else if (!(name in libc)) complain("not a header of libc")
        }
        BEGIN {
            set("assert.h ctype.h dirent.h dlfcn.h errno.h fcntl.h fenv.h float.h ftw.h link.h", libc)
            set("getopt.h glob.h inttypes.h libgen.h limits.h locale.h malloc.h math.h", libc)
            set("poll.h pthread.h regex.h sched.h semaphore.h setjmp.h signal.h spawn.h", libc)
            set("stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h", libc)
            set("stdlib.h stdnoreturn.h string.h strings.h termios.h time.h unistd.h", libc)
            set("wchar.h sys/file.h sys/ioctl.h sys/mman.h sys/random.h sys/resource.h sys/statvfs.h", libc)
            set("sys/stat.h sys/sysinfo.h sys/time.h sys/types.h sys/uio.h sys/wait.h", libc)
            set("cpuid.h immintrin.h x86intrin.h arm_neon.h sys/auxv.h", machine)
            set("smmintrin.h avxintrin.h avx2intrin.h fmaintrin.h f16cintrin.h", machine)

            set("compiler/ir/byte_text.h compiler/ir/error.h compiler/ir/escape.h compiler/ir/unwind.h", helpers)
            set("compiler/ir/hash.h compiler/ir/mem.h compiler/ir/nearest_name.h compiler/ir/sort_order.h compiler/ir/text.h", helpers)
            set("compiler/exec/child_process.h compiler/json/json_writer.h", helpers)

            n = split("ir passes emit exec library", chain, " ")
            for (i = 1; i <= n; i++)
                for (j = 1; j <= i; j++) sees[chain[i] " " chain[j]] = 1
            n = split("module weights rewrite attention shard fuse plan schedule verifier kinds", chain, " ")
            for (i = 1; i <= n; i++) rooms[chain[i]] = i
            n = split("files emit exec library frontend", chain, " ")
            for (i = 1; i <= n; i++) sees[chain[i] " files"] = 1
            n = split("json exec library frontend tokenizer", chain, " ")
            for (i = 1; i <= n; i++) sees[chain[i] " json"] = 1
            sees["json ir"] = sees["json files"] = 1
            sees["tokenizer tokenizer"] = sees["tokenizer ir"] = sees["tokenizer files"] = 1
            sees["emit tokenizer"] = sees["library tokenizer"] = 1
            texts["compiler/exec/random_fill.c runtime"] = texts["compiler/exec/random_fill.inc runtime"] = 1
            texts["compiler/emit/standalone_main.inc files"] = 1
            sees["import import"] = sees["import ir"] = sees["import files"] = 1
            sees["import frontend"] = 1
            sees["library import"] = 1
            sees["frontend frontend"] = sees["frontend ir"] = 1
            sees["library frontend"] = sees["library public"] = 1
        }
        FNR == 1 {
            layer = layer_of(FILENAME)
            room = room_of(FILENAME)
        }
        /^[ \t]*#[ \t]*include/ {
            shown = $0
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "", shown)
            if (match(shown, /^"[^"]*"/)) check_project(substr(shown, 2, RLENGTH - 2))
            else if (match(shown, /^<[^>]*>/)) check_system(substr(shown, 2, RLENGTH - 2))
            else complain("a computed name cannot be checked")
        }' /dev/null)
}

. "$(dirname "$0")/report.sh"

# expect caught|allowed FILE LINE: checks one planted include, alone in a scratch tree.
expect() {
    tree=$(mktemp -d) || exit 1
    mkdir -p "$tree/compiler" "$tree/runtime" "$tree/$(dirname "$2")"
    printf '/* planted */\n%s\n' "$3" >"$tree/$2"
    found=$(violations "$tree")
    rm -rf "$tree"
    case "$1:$found" in
    allowed: | caught:"$2:2: "*) report 0 ;;
    *) report 1 "'$3' in $2 should be $1; found: ${found:-nothing}" ;;
    esac
}

expect caught compiler/ir/graph.c '#include "compiler/passes/passes.h"'
expect caught compiler/ir/graph.c '#include "compiler/frontend/script.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/emit/emit.h"'
expect caught compiler/emit/emit.h '#  include "compiler/exec/exec.h"'
expect caught compiler/exec/interpreter.c '#include "compiler/cli/cli.h"'
expect caught compiler/exec/interpreter.c '#include "compiler/frontend/script.h"'
expect caught compiler/frontend/script.c '#include "compiler/passes/passes.h"'
expect caught compiler/crescent.h '#include "compiler/ir/graph.h"'
expect caught compiler/exec/interpreter.c '#include "compiler/crescent.h"'
expect caught compiler/library/run.c '#include "compiler/cli/options.h"'
expect caught compiler/cli/run.c '#include "compiler/exec/engine.h"'
expect caught compiler/cli/run.c '#include "compiler/ir/graph.h"'
expect caught compiler/cli/run.c '#include "compiler/library/handles.h"'
expect caught compiler/cli/run.c '#include "compiler/explain/page.h"'
expect caught compiler/explain/autopsy.c '#include "compiler/library/handles.h"'
expect caught compiler/explain/autopsy.c '#include "compiler/exec/interpreter.h"'
expect caught compiler/explain/page.c '#include "compiler/passes/module/kernel.h"'
expect caught compiler/exec/engine.c '#include "compiler/explain/page.h"'
expect allowed compiler/explain/page.c '#include "compiler/crescent.h"'
expect allowed compiler/explain/document.c '#include "compiler/ir/escape.h"'
expect caught compiler/library/inspection.c '#include "compiler/explain/page.h"'
expect caught compiler/cli/params.c '#include "compiler/frontend/script.h"'
expect caught compiler/cli/run.c '#include "runtime/npy.h"'
expect caught compiler/cli/params.c '#include "compiler/json/document.h"'
expect allowed compiler/cli/params.c '#include "compiler/json/json_writer.h"'
expect caught compiler/ir/graph.c '#include "../passes/passes.h"'
expect caught compiler/ir/graph.c '#include "tests/fuzz/case.h"'
expect caught compiler/ir/graph.c '#include CR_COMPUTED'
expect caught compiler/emit/body.c '#include "runtime/runtime.inc"'
expect caught compiler/emit/body.c '#include <immintrin.h>'
expect caught compiler/cli/run.c '#include <lua.h>'
expect caught compiler/lua/model.c '#include "compiler/frontend/script.h"'
expect caught compiler/lua/model.c '#include "compiler/ir/mem.h"'
expect caught compiler/lua/model.c '#include "compiler/library/handles.h"'
expect caught compiler/library/run.c '#include "compiler/lua/tensor.h"'
expect caught compiler/exec/interpreter.c '#include <libtcc.h>'
expect caught runtime/runtime.c '#include "compiler/ir/graph.h"'
expect caught runtime/runtime.inc '#include "runtime/runtime.h"'
expect caught compiler/files/safetensors.c '#include <jansson.h>'
expect caught compiler/files/json.c '#include "compiler/ir/mem.h"'
expect caught compiler/files/numbers.c '#include "runtime/vector.h"'
expect caught compiler/ir/graph.c '#include "compiler/files/json.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/files/writer.h"'
expect caught compiler/cli/run.c '#include "compiler/files/write.inc"'
expect caught compiler/exec/interpreter.c '#include "runtime/math.inc"'
expect caught compiler/exec/random_fill.c '#include "compiler/files/write.inc"'
expect caught compiler/exec/random_fill.c '#include <immintrin.h>'
expect caught runtime/pool.c '#include "compiler/files/writer.h"'
expect caught runtime/pool.c '#include <check.h>'
expect caught compiler/tokenizer/bpe.c '#include "compiler/passes/passes.h"'
expect caught compiler/tokenizer/bpe.c '#include <pcre2.h>'
expect caught compiler/exec/join_ranks.c '#include <mpi.h>'
expect allowed runtime/ranks_mpi.c '#include <mpi.h>'
expect caught compiler/library/tokenize.c '#include <utf8proc.h>'
expect caught compiler/cli/tokenize.c '#include "compiler/tokenizer/tokenizer.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/tokenizer/tokenizer.h"'
expect allowed compiler/import/graph.c '#include "compiler/frontend/script.h"'
expect caught compiler/import/graph.c '#include "compiler/passes/passes.h"'
expect caught compiler/import/graph.c '#include "compiler/frontend/luaapi.h"'
expect allowed compiler/import/lua_terms.c '#include "compiler/frontend/luaapi.h"'
expect caught compiler/ir/graph.c '#include "compiler/import/graph.h"'
expect caught compiler/passes/rewrite/join.c '#include "compiler/passes/fuse/lower.h"'
expect caught compiler/passes/module/kernel.h '#include "compiler/passes/weights/weights.h"'
expect caught compiler/passes/verifier/verify_kernels.c '#include "compiler/passes/kinds/mask.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/passes/passes.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/passes/hall/hall.h"'
expect caught compiler/passes/hall/hall.c '#include "compiler/passes/module/module.h"'
expect caught compiler/passes/pass_list.h '#include "compiler/passes/fuse/lower.h"'
expect allowed compiler/passes/kinds/lower_gemm.c '#include "compiler/passes/fuse/lower_common.h"'
expect allowed compiler/passes/rewrite/join.c '#include "compiler/passes/pass_list.h"'
expect allowed compiler/passes/driver.c '#include "compiler/passes/verifier/verifier.h"'
expect allowed compiler/exec/interpreter.c '#include "compiler/passes/plan/stored_nodes.h"'
expect allowed compiler/import/model_proto.c '#include "compiler/files/mapping.h"'
expect allowed compiler/ir/graph.h '#include "ops.def"'
expect allowed compiler/tokenizer/bpe.c '#include "compiler/ir/mem.h"'
expect allowed compiler/json/document.c '#include "compiler/files/json.h"'
expect allowed compiler/tokenizer/tokenizer_part.h '#include "compiler/json/document.h"'
expect caught compiler/json/document.c '#include "compiler/tokenizer/tokenizer.h"'
expect caught compiler/passes/fuse/fuse.c '#include "compiler/json/document.h"'
expect allowed compiler/library/tokenize.c '#include "compiler/tokenizer/tokenizer.h"'
expect allowed compiler/passes/fuse/fuse.c '#include "compiler/ir/graph.h"'
expect allowed compiler/frontend/script.c '#include <lauxlib.h>'
expect allowed compiler/lua/model.c '#include <lua.h>'
expect allowed compiler/lua/model.c '#include "compiler/crescent.h"'
expect allowed compiler/lua/open_options.c '#include "compiler/library/lua_function.h"'
expect allowed compiler/exec/jit_tcc.c '#include <libtcc.h>'
expect allowed compiler/cli/run.c '#include "compiler/crescent.h"'
expect allowed compiler/cli/run.c '#include "compiler/ir/escape.h"'
expect allowed compiler/exec/exec.h '#include "runtime/runtime.h" /* kernels */'
expect allowed compiler/library/graph.c '#include "compiler/frontend/script.h"'
expect allowed compiler/library/run.c '#include "compiler/crescent.h"'
expect allowed compiler/library/output_file.c '#include "compiler/files/npy.h"'
expect allowed compiler/exec/load_tensors.c '#include "compiler/files/npy.h"'
expect allowed compiler/exec/random_fill.inc '#include "runtime/math.inc"'
expect allowed compiler/exec/peak_rates.c '#include <immintrin.h>'
expect allowed compiler/exec/processor.c '#include <cpuid.h>'
expect allowed compiler/emit/standalone_main.inc '#include "compiler/files/write.inc"'
expect allowed runtime/runtime.c '#include <immintrin.h>'

found=$(violations .)
[ -z "$found" ] || echo "$found"
[ -z "$found" ]
report $? 'the tree breaks the rules above'

# ---- rooms ----

# unsaid FOLDER: prints what the headers of the rooms of FOLDER/compiler/passes/ should say and do not.
unsaid() {
    (cd "$1" && for room in compiler/passes/*/; do
        room=${room%/}
        door=$room/${room##*/}.h
        [ -f "$door" ] || { echo "$door: there is no such header"; continue; }
        for said in 'Comes in:' 'Goes out:' 'Promise:'; do
            grep -q "^ \* $said" "$door" || echo "$door: it has no '$said'"
        done
        passes=$(cat "$room"/*.c 2>/dev/null | sed -n 's/^void cr_pass_\([a-z_]*\)(.*/\1/p')
        for pass in $passes; do
            grep '^ \* Passes:' "$door" | grep -qw "$pass" || echo "$door: it does not name the pass $pass"
        done
        grep -rhoE "^#include \"$room/[a-z_]+\.h" compiler | sed 's,.*/,,' | sort -u | while read -r used; do
            [ "$used" = "${room##*/}.h" ] || grep -q "^ \*.*\<$used" "$door" ||
                echo "$door: it does not name $used, which other folders include"
        done
    done)
}

mkdir -p "$T/rooms/compiler/passes/hall" "$T/rooms/compiler/passes/loft" "$T/rooms/compiler/emit"
printf '/*\n * Comes in:\n * Goes out:\n * Passes: in\n */\n' >"$T/rooms/compiler/passes/hall/hall.h"
printf 'void cr_pass_in(void)\nvoid cr_pass_out(void)\n' >"$T/rooms/compiler/passes/hall/in.c"
echo '#include "compiler/passes/hall/stairs.h"' >"$T/rooms/compiler/emit/emit.c"
found=$(unsaid "$T/rooms")
[ "$found" = "compiler/passes/hall/hall.h: it has no 'Promise:'
compiler/passes/hall/hall.h: it does not name the pass out
compiler/passes/hall/hall.h: it does not name stairs.h, which other folders include
compiler/passes/loft/loft.h: there is no such header" ]
report $? "a header that leaves out a promise, a pass and a header should be caught; found: ${found:-nothing}"
unsaid . >"$log"
[ ! -s "$log" ]
report $? 'the headers of rooms leave out something'

# ---- kinds of kernels ----

# by_name FOLDER: prints lines outside passes/kinds/ that test for a kind of kernels by its name, or use fields that
# only one kind has.
by_name() {
    (cd "$1" && kinds=$(sed -n 's/^KIND(\([A-Z_]*\),.*/\1/p' compiler/passes/module/kernel_kinds.def | paste -sd '|') &&
        members=$(echo "$kinds" | tr '[:upper:]' '[:lower:]') &&
        grep -rnE --include='*.[ch]' "\\<CR_KERNEL_($kinds)\\>|(->|\\]\\.|\\<k\\.|\\<kernel\\.)($members)(_rows)?\\." compiler |
        grep -v '^compiler/passes/kinds/')
}

mkdir -p "$T/kinds/compiler/passes/module" "$T/kinds/compiler/passes/kinds"
printf 'KIND(HEAP, heap, "heap")\nKIND(PILE, pile, "pile")\n' >"$T/kinds/compiler/passes/module/kernel_kinds.def"
echo 'bool heap = k->kind == CR_KERNEL_HEAP && k->heap.size;' | tee "$T/kinds/compiler/passes/kinds/heap.c" >"$T/kinds/compiler/one.c"
printf 'CR_KERNEL_PILES;\nreturn k->pile.height;\nm->kernels[0].heap.size;\n' >"$T/kinds/compiler/two.c"
found=$(by_name "$T/kinds" | cut -d: -f1,2 | sort | paste -sd ' ')
[ "$found" = 'compiler/one.c:1 compiler/two.c:2 compiler/two.c:3' ]
report $? "a kind known by name elsewhere should be caught; found: ${found:-nothing}"
by_name . >"$log"
[ ! -s "$log" ] && [ -s compiler/passes/module/kernel_kinds.def ]
report $? 'a kind of kernels is known by name outside compiler/passes/kinds/'

# ---- types ----

# twice FOLDER...: prints the names beginning with cr_ under which two files define types.
twice() {
    find "$@" -name '*.[ch]' | xargs grep -HoE '^(struct|enum|union) cr_[a-z0-9_]+ \{' |
        sed -E 's/:(struct|enum|union) / /; s/ \{$//' | sort -u | awk '{ print $2 }' | sort | uniq -d
}

mkdir "$T/types"
printf 'struct cr_a {\n};\nenum cr_b {\n};\n' >"$T/types/a.h"
printf 'enum cr_a {\n};\nstruct cr_b;\n' >"$T/types/b.c"
found=$(twice "$T/types")
[ "$found" = cr_a ]
report $? "cr_a, a struct and an enum, should be caught; found: ${found:-nothing}"
twice compiler runtime >"$log"
[ ! -s "$log" ]
report $? 'two types have one of these names'

# ---- names of files ----

# namesakes TREE: prints names of sources that several folders have.  A file of cli/ or lua/ may have the name of the
# file whose command line or Lua interface it is, and a file of import/ that of the file whose counterpart for ONNX it
# is.  But import/ and passes/ both have passes over graphs, and must not share a name.
namesakes() {
    (cd "$1" && find compiler runtime -name '*.[ch]' -o -name '*.inc' -o -name '*.def' |
        grep -vE '^compiler/(cli|lua)/' | sed -E 's#^(.*)/([^/]*)$#\2 \1#; s#\.[ch] # #' | sort -u | awk '
            $2 == "compiler/import" { imported[$1] = 1; next }
            $2 ~ "^compiler/passes" { passes[$1] = 1 }
            { folders[$1]++ }
            END { for (name in folders) if (folders[name] > 1 || (imported[name] && passes[name])) print name }' |
        sort)
}

mkdir -p "$T/names/compiler/ir" "$T/names/compiler/cli" "$T/names/compiler/emit" "$T/names/runtime" \
    "$T/names/compiler/import" "$T/names/compiler/passes/plan"
touch "$T/names/compiler/ir/a.h" "$T/names/compiler/ir/a.c" "$T/names/compiler/emit/a.c" \
    "$T/names/compiler/ir/b.c" "$T/names/compiler/cli/b.c" "$T/names/runtime/c.c" \
    "$T/names/compiler/import/b.c" "$T/names/compiler/import/d.c" "$T/names/compiler/passes/plan/d.h" \
    "$T/names/compiler/emit/e.inc" "$T/names/runtime/e.inc"
found=$(namesakes "$T/names" | paste -sd ' ')
[ "$found" = 'a d e.inc' ]
report $? "a, in ir/ and in emit/, d, in import/ and in passes/, and e.inc should be caught; found: ${found:-nothing}"
namesakes . >"$log"
[ ! -s "$log" ]
report $? 'sources of two folders have one of these names'

# ---- calls ----

# Folders whose files may still call each other in circles.
circular=""
# Functions and variables that may still be unused.
unused="cr_tcc_environ cr_tcc_mprotect cr_tcc_stderr cr_tcc_stdout"

# symbols OBJECT...: prints "FILE T NAME" for a symbol that an object defines, "FILE U NAME" for one that it uses.
symbols() {
    nm -A -P "$@" 2>/dev/null | awk '
        { sub(/:$/, "", $1) }
        $3 == "U" { print $1, "U", $2 }
        $3 != "U" && $3 ~ /^[A-Z]$/ { print $1, "T", $2 }'
}

# circles OBJECT...: prints a line for each call between files that call each other in circles, or that lie between
# such circles.  These are the files that remain after repeatedly removing files that call no other file or are called
# by none.
circles() {
    symbols "$@" | awk '
        { file = $1; sub(/.*\//, "", file); sub(/\.o$/, "", file) }
        $2 == "T" { home[$3] = file }
        $2 == "U" { name[file " " $3] = $3; user[file " " $3] = file }
        END {
            for (u in name) {
                to = home[name[u]]
                call = user[u] " -> " to
                if (to != "" && to != user[u]) calls[call] = calls[call] " " name[u]
            }
            do {
                split("", calling)
                split("", called)
                n = 0
                for (c in calls) { split(c, end, " -> "); calling[end[1]] = called[end[2]] = 1 }
                for (c in calls) {
                    split(c, end, " -> ")
                    if (!(end[2] in calling) || !(end[1] in called)) { delete calls[c]; n++ }
                }
            } while (n)
            for (c in calls) print c ":" calls[c]
        }' | sort
}

# built OBJECTS FOLDER: prints the objects of a folder and its rooms whose sources still exist.
built() {
    find "$1/$2" -name '*.o' | sort | while read -r object; do
        source=${object#"$1/"}
        [ ! -f "${source%.o}.c" ] || echo "$object"
    done
}

# unused OBJECT...: prints symbols that no other object, no test and no emitted C uses, and that are not part of the
# public interface.
unused() {
    symbols "$@" | awk '
        $2 == "T" { defined[$3] = 1 }
        $2 == "U" { used[$3] = 1 }
        END { for (d in defined) if (!(d in used)) print d }' |
        grep -v -e '^main$' -e '^luaopen_crescent$' -e '^cr_text_' -e '^cr_builtin_lib_' -e '^cr_builtin_model_' -e '^__' | sort >"$T/defined"
    find tests -name '*.[ch]' -exec cat {} + | cat - compiler/crescent.h compiler/emit/*.c |
        grep -o '[A-Za-z_][A-Za-z_0-9]*' | sort -u | comm -23 "$T/defined" -
}

# A planted circle, and a planted function that nothing calls.
(
    mkdir "$T/planted" && cd "$T/planted" || exit 1
    echo 'int in_b(void); int in_a(void); int in_a(void) { return in_b(); }' >a.c
    echo 'int in_b(void); int in_a(void); int in_b(void) { return in_a(); }' >b.c
    echo 'int in_b(void); int in_c(void); int in_c(void) { return in_b(); }' >c.c
    ${CC:-cc} -c a.c b.c c.c
) >"$log" 2>&1
found=$(circles "$T"/planted/*.o)
[ "$found" = 'a -> b: in_b
b -> a: in_a' ]
report $? "a circle of a.c and b.c should be caught; found: ${found:-nothing}"
found=$(unused "$T"/planted/*.o)
[ "$found" = in_c ]
report $? "in_c, which nothing calls, should be caught; found: ${found:-nothing}"

objects=${1-}
if [ -n "$objects" ]; then
    lua=$objects/${2:-lua5.4} all=
    for folder in compiler/*/ runtime; do
        folder=${folder%/}
        case $folder in
        compiler/frontend | compiler/lua) set -- $(built "$lua" $folder) ;;
        compiler/import) set -- $(built "$objects" $folder) $(built "$lua" $folder) ;;
        *) set -- $(built "$objects" $folder) ;;
        esac
        all="$all $*"
        : >"$log"
        [ $# -gt 0 ]
        report $? "$folder: $objects has no objects of it"
        case " $circular " in
        *" ${folder#compiler/} "*) continue ;;
        esac
        circles "$@" >"$log"
        [ ! -s "$log" ]
        report $? "$folder: files call each other in circles"
    done
    unused $all | grep -v -x -F "$(printf '%s\n' $unused)" >"$log"
    [ ! -s "$log" ]
    report $? 'no other file uses these: they should be static, or gone'
fi

# ---- one front door ----

# linked FILE...: links the command line's objects, those of its helpers, and FILE with the shared library, which
# exports only the functions of crescent.h.
linked() {
    # shellcheck disable=SC2086
    ${CC:-cc} ${SANITIZE-} -o "$T/linked" $(built "$objects" compiler/cli) $helpers "$@" \
        "$objects/../${lua##*/}/libcrescent.so" -lm -lpthread >"$log" 2>&1
}

if [ -n "$objects" ] && [ -f "$objects/../${lua##*/}/libcrescent.so" ]; then
    helpers=$(for file in ir/byte_text ir/error ir/escape ir/unwind ir/hash ir/mem ir/nearest_name ir/text exec/child_process json/json_writer; do
        echo "$objects/compiler/$file.o"
    done)
    linked
    report $? 'the command line uses more than crescent.h and its helpers'
    echo 'int cr_verify(void); int (*inner)(void) = cr_verify;' >"$T/inner.c"
    ! linked "$T/inner.c"
    report $? 'a call of what is no part of crescent.h should be caught'
fi

# inside OBJECT...: prints the symbols that these objects take from the compiler and that are neither in crescent.h
# nor a helper's.
inside() {
    symbols "$@" | awk '$2 == "T" { print $3 }' | sort -u >"$T/own"
    symbols $helpers | awk '$2 == "T" { print $3 }' | sort -u | cat - "$T/own" | sort -u >"$T/own_and_helpers"
    symbols "$@" | awk '$2 == "U" && /cr_/ && !/ crescent_/ { print $3 }' | sort -u | comm -23 - "$T/own_and_helpers"
}

if [ -n "$objects" ]; then
    helpers=$(for file in ir/byte_text ir/error ir/escape ir/unwind ir/hash ir/mem ir/nearest_name ir/text exec/child_process json/json_writer; do
        echo "$objects/compiler/$file.o"
    done)
    inside $(built "$objects" compiler/explain) >"$log"
    [ ! -s "$log" ]
    report $? 'compiler/explain/ uses more than crescent.h and its helpers'
    [ -n "$(inside $(built "$objects" compiler/library))" ]
    report $? 'what compiler/library/ takes from other folders should be caught'
fi

# Fails for an empty tree, which would pass all other checks.
[ -f compiler/ir/graph.h ] && [ -f runtime/runtime.h ]
report $? 'found no compiler/ir/graph.h and runtime/runtime.h, expected to run from the top folder'

conclude
