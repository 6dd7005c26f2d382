#!/usr/bin/env bash
# The linker of `make tsan`: puts the functions of std.c in place of the standard library's. TSAN_STD is the library's shared object,
# which has the mangled names.
set -euo pipefail
# Build scripts are linked without the options of the target, and run without the sanitizer.
case " $* " in *' -rdynamic '*) ;; *) exec cc "$@";; esac

folder=$(dirname "$(readlink -f "$0")")
object=$(mktemp --suffix=.o)
trap 'rm -f "$object"' EXIT
cc -O1 -fPIC -c "$folder/std.c" -o "$object"
names=$(nm -D --defined-only "$TSAN_STD" | cut -d' ' -f3)
options=()
replace() {
    local name
    name=$(grep -E "$2" <<<"$names") || { echo "$TSAN_STD has no function $2: adapt tests/thread_sanitizer" >&2; exit 1; }
    options+=("-Wl,--wrap=$name" "-Wl,--defsym=__wrap_$name=tsan_$1" "-Wl,--defsym=std_$1=__real_$name")
}
replace lock_contended '5mutex5futexNtB._5Mutex14lock_contended$'
replace once_call '4once5futexNtB._4Once4call$'
replace thread_ends '9ScopeData29decrement_num_running_threads$'
cc "$@" "$object" "${options[@]}"
