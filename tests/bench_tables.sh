#!/bin/sh
# bench_tables.sh - writes Markdown from the results that `make bench-peers` keeps in docs/bench/PROCESSOR.tsv.
#
# bench_tables.sh page FILE                   docs/bench/PROCESSOR.md: all results of the file
# bench_tables.sh table FILE TABLE [PATTERN]  the rows of a table, or of several ("prompt|token"), whose model and
#                                             settings match an awk pattern, with ratios alone; each row, and
#                                             each ratio of a peer, is from the newest run that has it
# bench_tables.sh summary FILE...             a paragraph for each processor, and the rows in which a peer is faster
# bench_tables.sh readme FILE...              the table of README.md for each processor
# bench_tables.sh story FILE                  the sentence of README.md about the time of its story
# bench_tables.sh keep FILE RUNS              prints FILE with the runs of the file RUNS inserted before its own;
#                                             runs of the same names are replaced.  FILE may be missing
# bench_tables.sh --test                      tests that slower rows are found, and that malformed lines are
#                                             refused
#
# Fields are separated by tabs.  The first field is the kind of line:
#
#   processor NAME ABOUT             the first line: a name for people, and how the program describes the machine
#   run NAME DATE ABOUT              begins a run; the newest comes first
#   contestant NAME VERSION BUILT    BUILT: the instruction sets that it was built for or chooses
#   row TABLE MODEL SETTINGS THREADS MS SHARE [PEER|MS|RATIO|VARIANT]...
#   note TEXT
#
# TABLE is block, grads, step, prompt, token, embed, story, start, compile or size (whose MS are MB). MS and SHARE are
# Crescent's; SHARE is of the peak for block, grads, step and prompt, of the bandwidth for token; both may be empty.
# RATIO is the peer's time divided by Crescent's, the median over rounds; it is empty if nothing is compared.  A row
# is behind if a RATIO is below 1. A peer whose name ends in "products" computes only a part of the work: it is a
# bound, and does not put a row behind.
set -u

# The functions that all commands share.  Every command reads the same records:
#   row_at[i]: the line of row i; run_of[i]: the number of its run; runs, run_name, run_date, run_about.
library='
function refuse(what) {
    printf "%s:%d: found %s\n", FILENAME, FNR, what >"/dev/stderr"
    broken = 1
    exit 2
}
function is_number(text) { return text ~ /^[0-9]+(\.[0-9]+)?(e-?[0-9]+)?$/ }
function is_bound(peer) { return peer ~ / products$/ }

# Splits a line into the fields of a record; fails unless it has the form above.
function take_row(    i, parts) {
    if (!runs) refuse("a row before a run, expected the line of its run")
    if (NF < 7) refuse(NF " fields of a row, expected 7 at least")
    if ($2 !~ /^(block|grads|step|prompt|token|embed|story|start|compile|size)$/)
        refuse("the table " $2 ", expected one that bench_tables.sh lists")
    if ($5 !~ /^[1-9][0-9]*$/) refuse($5 " threads, expected a number")
    if ($7 != "" && !is_number($7)) refuse("the share " $7 ", expected a number")
    for (i = 8; i <= NF; i++) {
        if (split($i, parts, "|") != 4) refuse("the peer " $i ", expected PEER|MS|RATIO|VARIANT")
        if (parts[3] != "" && !is_number(parts[3])) refuse("the ratio " parts[3] ", expected a number")
    }
    rows++
    row_at[rows] = $0
    run_of[rows] = runs
}
BEGIN { FS = "\t" }
FNR == 1 {
    if ($1 != "processor" || NF != 3) refuse("the line " $0 ", expected processor, NAME and ABOUT")
    files++
    processor[files] = $2
    about[files] = $3
    name_of_file[files] = FILENAME
    sub(/.*\//, "", name_of_file[files])
    sub(/\.tsv$/, "", name_of_file[files])
    next
}
/^#/ || /^$/ { next }
$1 == "run" && NF == 4 {
    runs++
    run_name[runs] = $2
    run_date[runs] = $3
    run_about[runs] = $4
    file_of[runs] = files
    next
}
$1 == "contestant" && NF == 4 && runs {
    contestants[runs] = contestants[runs] "| " $2 " | " $3 " | " $4 " |\n"
    if (!((files, $2) in version)) version[files, $2] = $3
    next
}
$1 == "note" && NF == 2 && runs { notes[runs] = notes[runs] "- " $2 "\n"; next }
$1 == "row" { take_row(); next }
{ refuse("the line " $0 ", expected a run, contestant, row or note") }

# Returns 1 if a peer is faster in the row of a line, else 0.
function behind(line,    f, n, i, parts) {
    n = split(line, f, "\t")
    for (i = 8; i <= n; i++) {
        split(f[i], parts, "|")
        if (parts[3] != "" && parts[3] + 0 < 1 && !is_bound(parts[1])) return 1
    }
    return 0
}

# Returns the cell of a peer in the row of a line; with `details`, also its time and the measured variant.
function cell_of(line, peer, details,    f, n, i, parts, more) {
    n = split(line, f, "\t")
    for (i = 8; i <= n; i++) {
        split(f[i], parts, "|")
        if (parts[1] != peer) continue
        if (parts[3] == "") return parts[2] parts[4]
        if (!details) return sprintf("%.2f", parts[3])
        more = parts[2] == "" ? parts[4] : parts[4] == "" ? parts[2] : parts[2] ", " parts[4]
        return sprintf("%.2f", parts[3]) (more == "" ? "" : " (" more ")")
    }
    return ""
}

# Returns a cell of a table, and the line below the heading for it.
function cell(text, is_bold) {
    return (text == "" ? "" : is_bold ? " **" text "**" : " " text) " |"
}

# Returns the cells of Crescent in the row of a line.
function ours(line,    f) {
    split(line, f, "\t")
    return f[6]
}
function share(line,    f) {
    split(line, f, "\t")
    return f[7] == "" ? "" : sprintf("%.0f%%", 100 * f[7])
}

# Finds the peers of the rows in `list`: first those of `known`, then others in the order of the rows, bounds last.
function peers_of(list, n, into,    i, j, k, f, parts, seen, count, known, all, total) {
    for (i = 1; i <= n; i++) {
        k = split(list[i], f, "\t")
        for (j = 8; j <= k; j++) {
            split(f[j], parts, "|")
            if (!(parts[1] in seen)) {
                seen[parts[1]] = 1
                all[++total] = parts[1]
            }
        }
    }
    k = split("PyTorch,PyTorch by hand,torch.compile,ONNX Runtime,ONNX Runtime GenAI,llama.cpp,ik_llama.cpp", known, ",")
    for (i = 1; i <= k; i++)
        if (known[i] in seen) {
            into[++count] = known[i]
            delete seen[known[i]]
        }
    for (j = 0; j < 2; j++)
        for (i = 1; i <= total; i++)
            if (all[i] in seen && is_bound(all[i]) == j) into[++count] = all[i]
    return count + 0
}

# Prints a table of rows.
function print_table(list, n, details,    peers, count, i, j, f, cells, line) {
    count = peers_of(list, n, peers)
    line = "| what | model | settings | threads | crescent, ms | of its limit |"
    cells = "|---|---|---|--:|--:|--:|"
    for (j = 1; j <= count; j++) {
        line = line " " peers[j] " |"
        cells = cells "--:|"
    }
    print line "\n" cells
    for (i = 1; i <= n; i++) {
        split(list[i], f, "\t")
        line = f[2] "\t" f[3] "\t" f[4] "\t" f[5] "\t" ours(list[i]) "\t" share(list[i])
        for (j = 1; j <= count; j++) line = line "\t" cell_of(list[i], peers[j], details)
        k = split(line, f, "\t")
        line = "|"
        for (j = 1; j <= k; j++) line = line cell(f[j], behind(list[i]))
        print line
    }
}

# Returns the key of a row: all of it but the peers.
function key_of(line,    f) {
    split(line, f, "\t")
    return f[2] "\t" f[3] "\t" f[4] "\t" f[5]
}

# Keeps one row for each key, from the newest run that has it; older runs add peers that it lacks.
function merge(file, into,    i, j, n, f, parts, key, at, has, count) {
    for (i = 1; i <= rows; i++) {
        if (file_of[run_of[i]] != file) continue
        key = key_of(row_at[i])
        n = split(row_at[i], f, "\t")
        if (!(key in at)) {
            at[key] = ++count
            into[count] = f[1] "\t" key "\t" f[6] "\t" f[7]
        }
        for (j = 8; j <= n; j++) {
            split(f[j], parts, "|")
            if ((key, parts[1]) in has) continue
            has[key, parts[1]] = 1
            into[at[key]] = into[at[key]] "\t" f[j]
        }
    }
    return count + 0
}

# Returns the dates of the runs of a file: "2026-11-22", "2026-11-22 to 2026-11-23".
function days(file,    i, first, last) {
    for (i = 1; i <= runs; i++) {
        if (file_of[i] != file) continue
        if (first == "" || run_date[i] < first) first = run_date[i]
        if (run_date[i] > last) last = run_date[i]
    }
    return first == last ? first : first " to " last
}
'

page() {
    awk "$library"'
    END {
        if (broken) exit 2
        print "# Beside its peers: " processor[1] "\n\n" about[1] "\n"
        print "Medians of runs that take turns, in milliseconds. The limit is the peak rate of products; of a token, the memory"
        print "bandwidth. A peer has its time divided by that of Crescent, in brackets its milliseconds and its fastest variant. A"
        print "row in which a peer is faster stands in bold. *Products*, where it stands beside peers, is the matrix products alone:"
        print "a bound rather than a peer."
        for (r = 1; r <= runs; r++) {
            n = worse = 0
            for (i = 1; i <= rows; i++)
                if (run_of[i] == r) {
                    list[++n] = row_at[i]
                    worse += behind(row_at[i])
                }
            print "\n## " run_name[r] ", " run_date[r] "\n\n" run_about[r]
            print "Of " n " rows " worse " are behind a peer.\n"
            if (contestants[r] != "")
                print "| | version | instruction sets |\n|---|---|---|\n" contestants[r]
            if (n) print_table(list, n, 1)
            if (notes[r] != "") printf "\n%s", notes[r]
        }
    }' "$1"
}

table() {
    awk -v wanted="$2" -v pattern="${3-}" "$library"'
    END {
        if (broken) exit 2
        count = merge(1, all)
        for (i = 1; i <= count; i++) {
            split(all[i], f, "\t")
            if (f[2] ~ "^(" wanted ")$" && (f[3] " " f[4]) ~ pattern) list[++n] = all[i]
        }
        if (!n) {
            printf "bench_tables.sh: found no row of the table %s that matches %s\n", wanted, pattern >"/dev/stderr"
            exit 2
        }
        print_table(list, n, 0)
    }' "$1"
}

summary() {
    awk "$library"'
    # Finds, by number of threads, the least and the largest ratio of the best peer of a row.
    function best_of(line,    f, n, i, parts, best) {
        n = split(line, f, "\t")
        best = ""
        for (i = 8; i <= n; i++) {
            split(f[i], parts, "|")
            if (parts[3] != "" && !is_bound(parts[1]) && (best == "" || parts[3] + 0 < best)) best = parts[3] + 0
        }
        return best
    }
    END {
        if (broken) exit 2
        for (file = 1; file <= files; file++) {
            split("", all)
            split("", list)
            n = compared = worse = least = most = 0
            count = merge(file, all)
            for (i = 1; i <= count; i++) {
                best = best_of(all[i])
                if (best == "") continue
                if (!compared++ || best < least) least = best
                if (best > most) most = best
                if (behind(all[i])) list[++worse] = all[i]
            }
            if (file != 1) print ""
            printf "**%s, measured %s** ([bench/%s.md](bench/%s.md)): the best peer of a row takes %.2f to %.2f times\n" \
                "the time of Crescent, and %d of %d rows are behind it%s\n", processor[file], days(file), \
                name_of_file[file], name_of_file[file], least, most, worse, compared, (worse ? ":\n" : ".")
            if (worse) print_table(list, worse, 0)
        }
    }' "$@"
}

readme() {
    awk "$library"'
    # Adds a line to the table: its title, and the key of the row with its numbers.
    function line_of(label, key, unit) {
        labels[++lines] = label
        keys[lines] = key
        units[lines] = unit
    }
    # Returns the row of a file that has a key, or "".
    function find(key,    i) {
        for (i = 1; i <= count; i++)
            if (key_of(all[i]) == key) return all[i]
        return ""
    }
    function our_cell(line, unit) {
        return ours(line) unit (share(line) == "" ? "" : " (" share(line) ")")
    }
    # Returns the version of a peer without the suffix of its build ("+cpu").
    function version_of(file, peer,    text) {
        text = version[file, peer]
        sub(/\+.*/, "", text)
        return text == "" ? "" : " " text
    }
    # Puts the lines of the table for which the file has rows into `list` and `head`; returns their number.
    function choose(    i, row, n) {
        for (i = 1; i <= lines; i++) {
            row = find(keys[i])
            if (row == "") continue
            list[++n] = row
            head[n] = labels[i]
            unit[n] = units[i]
        }
        return n + 0
    }
    function print_processor(file,    n, peers, i, j, k, line, f) {
        n = choose()
        k = peers_of(list, n, peers)
        if (file != 1) print ""
        printf "%s, %s, one thread. Crescent: milliseconds, and in parentheses the share of the peak, or for a\n" \
            "token of the memory bandwidth. The others: their time divided by the time of Crescent.\n\n", \
            processor[file], days(file)
        line = "| | Crescent |"
        for (j = 1; j <= k; j++)
            if (!is_bound(peers[j])) line = line " " peers[j] version_of(file, peers[j]) " |"
        print line
        gsub(/[^|]+/, "--:", line)
        sub(/--:/, "---", line)
        print line
        for (i = 1; i <= n; i++) {
            line = head[i] "\t" our_cell(list[i], unit[i])
            for (j = 1; j <= k; j++)
                if (!is_bound(peers[j])) line = line "\t" cell_of(list[i], peers[j], 0)
            m = split(line, f, "\t")
            line = "|"
            for (j = 1; j <= m; j++) line = line cell(f[j], behind(list[i]))
            print line
        }
    }
    END {
        if (broken) exit 2
        line_of("a GPT-2 block, 128 tokens", "block\tgpt2_block\tB=1 T=128\t1")
        line_of("its gradients too, (4, 64)", "grads\tgpt2_block\tB=4 T=64\t1")
        line_of("a step of a training of GPT-2 124M, (4, 64)", "step\tgpt2\tB=4 T=64\t1")
        m = split("gpt2 GPT-2-124M llama-220m a-Llama-of-220M llama-1b a-Llama-of-1B", names, " ")
        for (i = 1; i < m; i += 2) {
            model = names[i + 1]
            gsub(/-/, " ", model)
            sub(/GPT 2 /, "GPT-2 ", model)
            for (w = 1; w <= split("f32 q8_0 q4_0", weights, " "); w++) {
                how = "weights=" weights[w] " products=" (w == 1 ? "f32" : "int8") " prompt=512\t1"
                narrow = w == 1 ? "" : " in " (w == 2 ? 8 : 4) " bits, int8 products"
                line_of(model narrow ", a prompt of 512", "prompt\t" names[i] "\t" how)
                line_of("a token behind it", "token\t" names[i] "\t" how)
            }
        }
        for (w = 1; w <= 2; w++) {
            how = "embed\tminilm\tweights=" (w == 1 ? "f32" : "q8 products=int8") " texts="
            narrow = w == 1 ? "" : ", int8 products"
            line_of("an encoder of MiniLM\047s size, a text of 32 tokens" narrow, how "1 tokens=32\t1")
            line_of("32 texts of 5 to 64 tokens" narrow, how "32 tokens=5..64\t1")
        }
        line_of("start of the process to the block\047s first output", "start\tgpt2_block\tB=1 T=64\t1")
        line_of("compile the block", "compile\tgpt2_block\tB=1 T=64\t1")
        line_of("what has to be there to run", "size\tgpt2_block\tB=1 T=64\t1", " MB")
        for (file = 1; file <= files; file++) {
            split("", all)
            split("", list)
            count = merge(file, all)
            print_processor(file)
        }
    }' "$@"
}

story() {
    awk "$library"'
    END {
        if (broken) exit 2
        for (i = 1; i <= rows; i++) {
            if (row_at[i] !~ /^row\tstory\t/) continue
            split(row_at[i], f, "\t")
            match(f[4], /rate=[0-9]+/)
            printf "The program prints the continuation as one line, which is wrapped here. `--stats` adds the times: the first token\n" \
                "after %s ms, which includes reading and compiling the model, the others at %s a second, with %s of an\n" \
                "%s, %s.\n", f[6], substr(f[4], RSTART + 5, RLENGTH - 5), \
                (f[5] == 1 ? "one thread" : f[5] " threads"), processor[1], run_date[run_of[i]]
            exit
        }
        print "bench_tables.sh: found no row of the table story" >"/dev/stderr"
        exit 2
    }' "$1"
}

keep() {
    [ -f "$1" ] && set -- "$1" "$2" || set -- "$2" "$2"
    awk '
    BEGIN { FS = "\t" }
    FNR == 1 { files++ }
    files == 1 { print; if ($1 == "run") new[$2] = 1; next }
    $1 == "run" { copied = !($2 in new) }
    copied' "$2" "$1"
}

# ---- The test ------------------------------------------------------------------------

# A file with a row in which Crescent is faster, one in which a peer is, one in which only a bound is, and an older
# run.
sample() {
    printf 'processor\tTest 1\tno machine\n'
    printf 'run\tnew\t2026-01-02\tby hand\n'
    printf 'contestant\tA\t1.0\tavx2\n'
    printf 'row\tblock\tgpt2_block\tB=1 T=128\t1\t10\t0.5\tA|12|1.20|plain\tB products|9|0.90|\n'
    printf 'row\tprompt\tgpt2\tweights=q4_0 products=int8 prompt=512\t1\t20\t0.25\tA|14.4|0.72|\n'
    printf 'run\told\t2026-01-01\tby hand\n'
    printf 'row\tblock\tgpt2_block\tB=1 T=128\t1\t99\t0.1\tA|99|0.10|\tC|20|2.00|\n'
}

test_all() {
    . "$(dirname "$0")/report.sh"
    sample >"$T/x.tsv"
    row='| block | gpt2_block | B=1 T=128 | 1 | 10 | 50% | 1.20 | 2.00 | 0.90 |'
    table "$T/x.tsv" block >"$log" 2>&1
    grep -qxF "$row" "$log"
    report $? "a row ahead, of the first run, with a peer of another"
    row='| **prompt** | **gpt2** | **weights=q4_0 products=int8 prompt=512** | **1** | **20** | **25%** | **0.72** |'
    table "$T/x.tsv" prompt >"$log" 2>&1
    grep -qxF "$row" "$log"
    report $? "a row behind a peer is bold"
    readme "$T/x.tsv" >"$log" 2>&1
    grep -qxF '| a GPT-2 block, 128 tokens | 10 (50%) | 1.20 | 2.00 |' "$log" &&
        grep -qxF '| **GPT-2 124M in 4 bits, int8 products, a prompt of 512** | **20 (25%)** | **0.72** | |' "$log" &&
        grep -q '^Test 1, 2026-01-01 to 2026-01-02, one thread' "$log"
    report $? "README: rows, the processor and its days"
    summary "$T/x.tsv" >"$log" 2>&1
    grep -qF '1 of 2 rows are behind' "$log" && grep -qF '0.72 to 1.20 times' "$log"
    report $? "a summary counts rows behind"
    page "$T/x.tsv" >"$log" 2>&1
    grep -qF '| 1.20 (12, plain) | 0.90 (9) |' "$log" && grep -qF '| A | 1.0 | avx2 |' "$log" &&
        grep -qxF 'Of 1 rows 1 are behind a peer.' "$log"
    report $? "a page has times, variants and instruction sets of each run"
    printf 'processor\tTest 1\tno machine\nrun\told\t2026-01-03\tagain\nnote\tnothing\n' >"$T/again"
    keep "$T/x.tsv" "$T/again" >"$log" 2>&1
    [ "$(cut -f 1-3 "$log" | grep '^run' | tr '\t\n' ' ,')" = 'run old 2026-01-03,run new 2026-01-02,' ] &&
        keep "$T/none" "$T/again" | cmp -s - "$T/again"
    report $? "a run replaces the one of its name"
    for line in 'row\tblock\tx\ty\t1\t2' 'row\tspeed\tx\ty\t1\t2\t' 'row\tblock\tx\ty\tone\t2\t' \
        'row\tblock\tx\ty\t1\t2\thalf' 'row\tblock\tx\ty\t1\t2\t\tA|1|fast|' 'row\tblock\tx\ty\t1\t2\t\tA|1' 'what'; do
        { sample; printf "$line\n"; } >"$T/bad.tsv"
        page "$T/bad.tsv" >/dev/null 2>"$log"
        [ $? -eq 2 ] && grep -q 'bad.tsv:8: found ' "$log"
        report $? "a line that is not of this form is refused: $line"
    done
    conclude
}

case "${1-}" in
page | story) "$1" "$2" ;;
table | keep) "$@" ;;
summary | readme) "$@" ;;
--test) test_all ;;
*) echo "bench_tables.sh: found '${1-}', expected page, table, summary, readme, story, keep or --test" >&2; exit 2 ;;
esac
