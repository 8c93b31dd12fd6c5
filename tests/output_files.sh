#!/bin/sh
# output_files.sh - tests the files that verbs and standalone programs write.
#
# modes      new files of every verb have the mode 0666 less the umask; an existing file keeps its mode
# early      if a result cannot be written, this is reported before the work, which may take long
# litter     a program that is interrupted while the C compiler runs, or killed while it writes, leaves no
#            temporary files; leftovers of other programs do no harm
# kept       packed weights, which a background process writes for the next run
# $CRESCENT is the program.  The last line is "N passed, M failed".
set -u

crescent="${CRESCENT:-build/crescent}"
. "$(dirname "$0")/report.sh"

cat >"$T/model.lua" <<'END'
local o = options {N = 2}
return {y = input("x", {o.N, 2}) * param("w", {2})}
END
cat >"$T/step.lua" <<'END'
local w = param("w", {2})
return {loss = sum(w * w, 1), w = w * 0.5}
END
"$crescent" emit "$T/model.lua" --isa plain -o "$T/main.c" >"$log" &&
    ${CC:-cc} -O1 -DMODEL_MAIN "$T/main.c" -o "$T/main" -lm >>"$log" 2>&1
report $? "the standalone main"
"$crescent" run "$T/model.lua" --output y="$T/x.npy" >"$log" 2>&1 &&
    "$crescent" train "$T/step.lua" --steps 0 --save "$T/w.safetensors" >>"$log" 2>&1
report $? "files to read"

# ---- modes ----

# write_all FOLDER: writes every kind of file by every verb that writes.
write_all() {
    "$crescent" emit "$T/model.lua" -o "$1/m.c" &&
        "$crescent" emit "$T/step.lua" --train -o "$1/s.c" &&
        "$crescent" run "$T/model.lua" --output "y=$1/y.npy" --grads "$1/g.safetensors" &&
        "$crescent" compare "$T/model.lua" --backends ref,tcc --grads "$1/c.safetensors" &&
        "$crescent" train "$T/step.lua" --steps 2 --save "$1/p.safetensors" \
            --checkpoint "$1/k.safetensors" $curve &&
        "$T/main" --weights "$T/w.safetensors" --input "x=$T/x.npy" --output "y=$1/main.npy"
}

for mask in 022 077 002 027 000; do
    mkdir "$T/m$mask"
    curve=
    ! command -v gnuplot >/dev/null 2>&1 || curve="--loss-curve $T/m$mask/l.svg"
    (umask $mask && write_all "$T/m$mask") >"$log" 2>&1
    report $? "umask $mask: files are written"
    expected=$(printf '%o' $((0666 & ~$mask)))
    [ "$(ls -A "$T/m$mask" | wc -l)" -ge 9 ] &&
        [ -z "$(find "$T/m$mask" -type f ! -perm "$expected" | tee "$log")" ]
    report $? "umask $mask: files that are not of mode $expected"
done

# Writes over files with other modes, which must keep them.
chmod 640 "$T/m077"/*
curve=
(umask 000 && write_all "$T/m077") >"$log" 2>&1
report $? "files are written anew"
[ -z "$(find "$T/m077" -type f ! -perm 640 | tee "$log")" ]
report $? "modes of older files changed"

# ---- errors before the work ----

# not_tuned TEXT OPTIONS...: passes if tuning for an hour, without a cache folder, ends at once with a line that has
# the text.
not_tuned() {
    words=$1
    shift
    timeout 1800 env -u HOME -u XDG_CACHE_HOME "$crescent" tune "$T/model.lua" --seconds 3600 "$@" >"$T/out" 2>"$log"
    status=$?
    [ $status -eq 2 ] && [ ! -s "$T/out" ] && [ "$(wc -l <"$log")" -eq 1 ] && grep -qFe "$words" "$log"
    report $? "tune $*: exit status $status, expected 2 and '$words'"
}

cp "$T/model.lua" "$T/kept.lua"
not_tuned 'cannot be written: No such file' -o "$T/nowhere/m.target"
not_tuned 'cannot be written: Not a directory' -o "$T/model.lua/m.target"
not_tuned 'a folder, expected' -o "$T"
not_tuned 'both --out and the script' -o "$T/./model.lua"
not_tuned '--out: an empty name' -o ''
not_tuned 'neither is an absolute path'
same 'the script that was to be tuned' "$T/kept.lua" "$T/model.lua"
"$crescent" tune "$T/model.lua" --seconds 0.1 -o "$T/m.target" >"$T/out" 2>"$log" &&
    "$crescent" run "$T/model.lua" --target "$T/m.target" >"$T/out" 2>"$log"
report $? 'tune -o of a file that can be written'

# ---- interruptions ----

# A compiler that sends $SIGNAL to the program that called it, and then works or fails.
cat >"$T/cc" <<'END'
#!/bin/sh
kill -"$SIGNAL" "$PPID"
[ "$SIGNAL" = KILL ] || exit 1
cc "$@" -O0 # quickly
echo done >"$DONE"
END
chmod +x "$T/cc"
mkdir "$T/tmp"
exec 2>/dev/null # the shell says of a program that it was ended
for backend in cc standalone; do
    for signal in INT TERM HUP KILL; do
        rm -f "$T/done"
        (SIGNAL=$signal DONE="$T/done" CC="$T/cc" TMPDIR="$T/tmp" exec "$crescent" run \
            "$T/model.lua" --backend $backend) >"$log" 2>&1
        status=$?
        tries=0
        while [ $signal = KILL ] && [ ! -e "$T/done" ] && [ $tries -lt 100 ]; do
            sleep 1
            tries=$((tries + 1))
        done
        [ $status -gt 128 ] && [ -z "$(ls -A "$T/tmp")" ]
        report $? "--backend $backend, SIG$signal: status $status, left: $(ls -A "$T/tmp")"
        rm -rf "$T/tmp"/*
    done
done

# A writer that is killed at any time leaves the old file or the new one, and no other file.
mkdir "$T/kills"
"$crescent" run "$T/model.lua" --set N=500000 --output "y=$T/kills/y.npy" >"$log" 2>&1
report $? "a larger file"
cp "$T/kills/y.npy" "$T/y.npy"
for delay in 0.02 0.04 0.06 0.08 0.1 0.13 0.16 0.2; do
    timeout -s KILL $delay "$crescent" run "$T/model.lua" --set N=500000 \
        --output "y=$T/kills/y.npy" >/dev/null 2>&1
    cmp "$T/kills/y.npy" "$T/y.npy" >"$log" 2>&1 && [ "$(ls -A "$T/kills" | tee -a "$log")" = y.npy ]
    report $? "killed after $delay s"
done >"$T/kills.log" 2>&1
grep FAILED "$T/kills.log" >"$log"
[ $? -eq 1 ]
report $? "writers that were killed"

# ---- leftovers of other programs ----

mkdir "$T/stale"
for name in y.npy.tmp .crescent-0.tmp .crescent-1.tmp m.c.tmp; do
    echo stale >"$T/stale/$name"
done
chmod 444 "$T/stale"/.c*
"$T/main" --weights "$T/w.safetensors" --input "x=$T/x.npy" --output "y=$T/stale/y.npy" >"$log" 2>&1 &&
    "$T/main" --weights "$T/w.safetensors" --input "x=$T/x.npy" --output "y=$T/stale/y.npy" >"$log" 2>&1
report $? "a standalone main beside leftovers"
"$crescent" emit "$T/model.lua" -o "$T/stale/m.c" >"$log" 2>&1
report $? "emit beside leftovers"
[ "$(ls -A "$T/stale" | tr '\n' ' ')" = "m.c m.c.tmp m.h y.npy y.npy.tmp " ]
report $? "beside leftovers: $(ls -A "$T/stale" | tr '\n' ' ')"

# ---- kept packed weights ----

# Writes 18 MB of zeros: the length of a safetensors header, the header, then the numbers.
cat >"$T/large.lua" <<'END'
return {y = matmul(input("x", {1, 64}), param("w", {64, 70000}))}
END
header='{"w":{"dtype":"F32","shape":[64,70000],"data_offsets":[0,17920000]}}    '
{
    printf '\110\0\0\0\0\0\0\0%s' "$header"
    head -c 17920000 /dev/zero
} >"$T/large.safetensors"

# large OPTION...: runs a model whose cache folder is $T/cache.
large() {
    XDG_CACHE_HOME=$T/cache "$crescent" run "$T/large.lua" --weights "$T/large.safetensors" "$@" >"$log" 2>&1
}

large --cache-weights 0 && large --cache-weights 1M && ! ls "$T"/cache/crescent/*.weights >>"$log" 2>&1
report $? "weights that are not to be kept"
large --output "y=$T/first.npy"
tries=0
until ls "$T"/cache/crescent/*.weights >>"$log" 2>&1 || [ $tries -ge 6000 ]; do
    tries=$((tries + 1))
    sleep 0.2
done
[ "$(ls "$T"/cache/crescent/*.weights | wc -l)" -eq 1 ]
report $? "weights that are kept: $(ls -A "$T/cache/crescent" | tr '\n' ' ')"
large --output "y=$T/second.npy" && cmp "$T/first.npy" "$T/second.npy" >"$log" 2>&1
report $? "a run with weights that were kept"

# `crescent pack` writes the same file before the first run.
packed() {
    XDG_CACHE_HOME=$T/packed "$crescent" pack "$T/large.lua" "$@" >"$log" 2>&1
}
packed --weights "$T/large.safetensors" && grep -q 'keeps 17.1 MiB of weights for `run`$' "$log" &&
    packed --weights "$T/large.safetensors" && grep -q '17.1 MiB of weights were kept before$' "$log"
report $? "pack"
XDG_CACHE_HOME=$T/packed "$crescent" run "$T/large.lua" --weights "$T/large.safetensors" \
    --output "y=$T/third.npy" >"$log" 2>&1 && cmp "$T/first.npy" "$T/third.npy" >>"$log" 2>&1
report $? "a run with packed weights"
packed; [ $? -eq 2 ] && grep -q 'a script, whose weights are drawn, expected --weights FILE$' "$log"
report $? "pack of weights that are drawn"
packed --weights "$T/large.safetensors" --cache-weights 0
[ $? -eq 2 ] && grep -q -e '--cache-weights 0: expected a number of bytes to keep$' "$log"
report $? "pack into no cache"
XDG_CACHE_HOME=$T/small "$crescent" pack "$T/large.lua" --weights "$T/large.safetensors" --cache-weights 1M >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'bytes to keep, expected at most the 1048576 of the cache$' "$log"
report $? "pack into a cache that is too small"
XDG_CACHE_HOME='' HOME='' "$crescent" pack "$T/large.lua" --weights "$T/large.safetensors" >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'cannot be kept, expected .* an absolute path in XDG_CACHE_HOME or HOME$' "$log"
report $? "pack without a cache folder"
XDG_CACHE_HOME=$T/model.lua "$crescent" pack "$T/large.lua" --weights "$T/large.safetensors" >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'model.lua/crescent: cannot be opened: Not a directory$' "$log"
report $? "pack with a cache folder in a file"

# The same for an ONNX file, by both verbs.
onnx() {
    verb=$1 && shift
    XDG_CACHE_HOME=$T/onnx "$crescent" "$verb" tests/onnx/mlp.onnx --set n=3 "$@" >"$log" 2>&1
}
onnx run --output "y=$T/onnx1.npy" && ! ls "$T"/onnx/crescent/*.weights >>"$log" 2>&1
report $? "an ONNX file with fewer weights than are kept"
onnx pack --cache-weights 0; [ $? -eq 2 ] && ! ls "$T"/onnx/crescent/*.weights >>"$log" 2>&1
report $? "pack of an ONNX file into no cache"
onnx pack && grep -q '^tests/onnx/mlp.onnx: keeps .* of weights for `run`$' "$log" && onnx pack &&
    grep -q ' of weights were kept before$' "$log" && onnx run --output "y=$T/onnx2.npy" &&
    cmp "$T/onnx1.npy" "$T/onnx2.npy" >>"$log" 2>&1
report $? "a run with packed weights of an ONNX file"
onnx run --format q8 --cache-weights 0 --output "y=$T/onnx2.npy" && onnx pack --format q8 &&
    grep -q ' keeps ' "$log" && onnx run --format q8 --output "y=$T/onnx1.npy" &&
    cmp "$T/onnx1.npy" "$T/onnx2.npy" >>"$log" 2>&1
report $? "packed weights of an ONNX file in another format"

# emit writes both files or none: here the header cannot be written.
mkdir -p "$T/both/m.h"
"$crescent" emit "$T/model.lua" -o "$T/both/m.c" >"$log" 2>&1
[ $? -eq 2 ] && [ "$(ls -A "$T/both")" = m.h ]
report $? "emit where a folder has the header's name: $(ls -A "$T/both" | tr '\n' ' ')"

conclude
