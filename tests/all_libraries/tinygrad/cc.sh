#!/bin/sh
# clang, or gcc for a machine without clang: without the options that gcc lacks, and with its own attribute for vectors.
command -v clang >/dev/null && exec clang "$@"
arguments=
for argument; do
    case $argument in --target=* | -) ;; -o) break ;; *) arguments="$arguments $argument" ;; esac
done
object=$(mktemp) && trap 'rm -f "$object"' EXIT
sed -E 's/typedef (.+) (\w+) __attribute__\(\(aligned\(([0-9]+)\),ext_vector_type\(([0-9]+)\)\)\);/typedef \1 \2 __attribute__((aligned(\3),vector_size(sizeof(\1)*\4)));/' |
    gcc $arguments -w -D__fp16=_Float16 -o "$object" - && cat "$object"
