#!/bin/bash
# How many instructions calls take, with this library and with the reference: callgrind counts them, so the figures are the same on an idle
# and on a busy machine. It has no AVX-512, and counts `rep stosb` by the byte.
#
#   benches/instructions/run.sh OURS REFERENCE [WORD...]
#
# OURS and REFERENCE are folders with a libblosc2.so.9. Printed are the instructions of one call with each, and how many times as many
# the reference takes. Words keep the rows whose name holds all of them. The profiles, by function where the library has its symbols, stay in
# target/instructions/{ours,reference}: `callgrind_annotate FILE`.
set -euo pipefail
export LC_ALL=C
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup.sh"
[ $# -ge 2 ] || die "two folders are needed: this library's and the reference's"
libraries=("$1" "$2")
shift 2
for library in "${libraries[@]}"; do
  [ -f "$library/libblosc2.so.9" ] || die "there is no $library/libblosc2.so.9"
done
work=$target/instructions
need_packages gcc libc6-dev valgrind
fresh_folder "$work"

"${CC:-cc}" -O2 -Wall -Wextra -Werror -I "$root/include" -o "$work/program" "$root/benches/instructions/main.c" \
  "${libraries[0]}/libblosc2.so.9" -lm

# counts <library folder> <name>: lines of row, tabulator, instructions of one call; in the program's order.
counts() {
  local profiles=$work/$2
  mkdir "$profiles"
  LD_LIBRARY_PATH=$1 valgrind --quiet --tool=callgrind --collect-atstart=no --callgrind-out-file="$profiles/profile" \
    "$work/program" || die "the program does not run with $1"
  find "$profiles" -name 'profile.*' | sort -V | xargs awk -F '[:|] *' -v OFS='\t' '
    /^desc: Trigger: Client Request: / { name = $4; calls = $5 }
    /^totals: / { if (calls) print name, $2 / calls; calls = 0 }'
}

counts "${libraries[0]}" ours >"$work/ours.tsv"
counts "${libraries[1]}" reference >"$work/reference.tsv"
paste "$work/ours.tsv" "$work/reference.tsv" | awk -F '\t' -v words="$*" '
  BEGIN { count = split(words, word, " ") }
  { for (i = 1; i <= count; i++) if (!index($1, word[i])) next }
  { printf "%6.2f %10.0f %10.0f  %s\n", $4 / $2, $2, $4, $1; rows++; more += $2 > $4 }
  END { printf "%d rows; this library takes more instructions in %d\n", rows, more }'
