#!/bin/bash
# Compiles every C program of a folder against a libblosc2, runs it, and says how each went.
#
#   extra-programs.sh <folder> <include folder> <library folder> <work folder> [<compiler>]
#
# A program is a .c file, in the folder or below it, that has a main. It runs in an empty folder of its own, with no
# arguments, for at most OXIBLOSC_EXTRA_TIMEOUT seconds (60). It passes when it exits with zero.
#
# Where the environment variable OXIBLOSC_REFERENCE names the reference's libblosc2.so.9, programs that do not build
# or do not pass are tried with the reference's headers and library as well: some use headers that are not installed,
# and some want arguments. The last column says so, and only what works there and not here counts as a failure.
# Without it every program that does not build or pass does.
set -u

if [ $# -lt 4 ]; then
  sed -n '2,13s/^# \{0,1\}//p' "$0"
  exit 2
fi
# Absolute, because the programs run elsewhere.
programs=$(cd "$1" && pwd) && include_dir=$(cd "$2" && pwd) && library_dir=$(cd "$3" && pwd) || exit 2
work=$4 compiler=${5:-cc}
limit=${OXIBLOSC_EXTRA_TIMEOUT:-60}
reference=${OXIBLOSC_REFERENCE:-}
reference_dir= reference_include=
if [ -n "$reference" ]; then
  reference_dir=$(cd "$(dirname "$reference")" && pwd) || exit 2
  reference_include=$reference_dir/../include
fi

mkdir -p "$work"
work=$(cd "$work" && pwd)
results=$work/results.tsv
: >"$results"

# build <source> <program> <include folder> <library folder> <log>
build() {
  "$compiler" -std=gnu11 -O1 -g -w -I"$3" -I"$(dirname "$1")" "$1" -o "$2" \
    -L"$4" -lblosc2 -Wl,-rpath,"$4" -lpthread -lm -ldl >"$5" 2>&1
}

# run <program> <log>: in an empty folder, so that the files of one program are not in the way of another.
run() {
  local folder=$1.run status
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$folder" && timeout "$limit" "$1" >"$2" 2>&1 </dev/null)
  status=$?
  rm -rf "$folder"
  return $status
}

# outcome <source> <name> <include folder> <library folder>: "passed", "failed (<status>)" or "not built"
outcome() {
  local program=$work/$2 status
  if ! build "$1" "$program" "$3" "$4" "$program.build.log"; then
    echo "not built"
    return
  fi
  run "$program" "$program.run.log"
  status=$?
  case $status in
    0) echo "passed" ;;
    124) echo "failed (timeout)" ;;
    *) echo "failed ($status)" ;;
  esac
}

built=0 passed=0 failed=0 not_built=0 worse=0
printf '%-44s %-18s %s\n' program result reference
while IFS= read -r -d '' source; do
  grep -Eq '(^|[^[:alnum:]_])main *\(' "$source" || continue
  relative=${source#"$programs"/}
  name=${relative%.c}
  name=${name//\//__}
  result=$(outcome "$source" "$name" "$include_dir" "$library_dir")
  there=
  if [ "$result" != passed ] && [ -n "$reference" ]; then
    there=$(outcome "$source" "reference__$name" "$reference_include" "$reference_dir")
  fi
  case $result in
    passed) built=$((built + 1)) passed=$((passed + 1)) ;;
    "not built") not_built=$((not_built + 1)) ;;
    *) built=$((built + 1)) failed=$((failed + 1)) ;;
  esac
  if [ "$result" != passed ] && { [ -z "$reference" ] || [ "$there" = passed ]; }; then
    worse=$((worse + 1))
  fi
  printf '%-44s %-18s %s\n' "$relative" "$result" "$there"
  printf '%s\t%s\t%s\n' "$relative" "$result" "$there" >>"$results"
done < <(find "$programs" -name '*.c' -print0 | sort -z)

total=$((built + not_built))
echo
printf '%d programs: %d built, %d passed, %d failed, %d not built' "$total" "$built" "$passed" "$failed" "$not_built"
if [ -n "$reference" ]; then
  printf '; %d do worse than with the reference' "$worse"
fi
echo
echo "Logs and results.tsv are in $work"
if [ "$total" -eq 0 ]; then
  echo "No C program in $programs"
  exit 1
fi
[ "$worse" -eq 0 ]
