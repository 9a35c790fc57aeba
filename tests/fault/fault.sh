#!/bin/bash
# fault.sh BUILD [MALLOCS]: makes each open, read, write, fsync, rename, close and mmap of a short train, of a resumed train
# and of inspect page fail, one at a time, and about MALLOCS of their allocations (default 150; "all": each). Every time the
# program must report the reason and exit with a code other than 0, or succeed as if nothing had happened. Files that were
# written must survive, and the resumed run must give exactly the same model. Then it tests short and interrupted writes, a
# full disk, a file size limit, and little memory.
set -u
build=$(realpath "$1") mallocs=${2:-150}
top=$(realpath "$(dirname "$0")/../..")
train=$build/train inspect=$build/inspect inject=$build/libheed_inject.so
scratch=$(mktemp -d)
trap 'umount "$scratch/disk" 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
cat > small.yaml <<YAML
data: {sentences: 40, held_out: 10}
model: {d_model: 8, layers: 1}
optim: {warmup: 1}
train: {steps: 4, batch_size: 4, evaluate_every: 2, checkpoint_every: 2}
dump: {every: 2, sentences: 1}
YAML
export OMP_NUM_THREADS=1
failures=0 faults=0 survived=0

bad() {
  failures=$((failures + 1))
  echo "FAIL  $*"
  sed 's/^/      /' err 2>/dev/null | head -5
}

same() { cmp -s "$1/model.safetensors" alone/model.safetensors && cmp -s "$1/metrics.jsonl" alone/metrics.jsonl; }

said() {  # said CODE PROGRAM WHAT: fails for a signal, and for an exit code other than 0 without a reason
  if [ "$1" -ge 126 ]; then bad "$3: exit code $1"; return 1; fi
  [ "$1" -eq 0 ] || grep -q "^$2: ..*" err || { bad "$3: exit code $1 without a reason"; return 1; }
}

goes_on() {  # goes_on RUN WHAT: resumes the run without the fault
  if [ -e "$1/config.yaml" ]; then
    $train --quiet --resume "$1" 2>err || { bad "$2: cannot be resumed"; return; }
  else
    $train --quiet --config small.yaml --out "$1" 2>err || { bad "$2: cannot be begun again"; return; }
  fi
  same "$1" || bad "$2: another result after it was resumed"
  [ -z "$(find "$1" -name '*.tmp-*')" ] || bad "$2: left behind: $(find "$1" -name '*.tmp-*')"
}

# faulty FAULT COMMAND...: runs the command with HEED_FAULT=FAULT
faulty() { timeout -k 5 60 env LD_PRELOAD="$inject" HEED_FAULT="$1" HEED_FAULT_COUNT=count "${@:2}" >out 2>err </dev/null; }

train_once() {
  rm -rf r
  faulty "$1" "$train" --quiet --config small.yaml --out r
  local code=$?
  said $code train "train, $1" || return
  if [ $code -eq 0 ]; then same r || bad "train, $1: exit code 0, another result"; survived=$((survived + 1)); fi
  goes_on r "train, $1"
}

resume_once() {
  rm -rf r && cp -r half r
  faulty "$1" "$train" --quiet --resume r
  local code=$?
  said $code train "resume, $1" || return
  if [ $code -eq 0 ]; then same r || bad "resume, $1: exit code 0, another result"; survived=$((survived + 1)); fi
  goes_on r "resume, $1"
}

page_once() {
  cp page.html p.html
  faulty "$1" "$inspect" page alone --out p.html --limit 4
  local code=$?
  said $code inspect "page, $1" || return
  cmp -s p.html page.html || bad "page, $1: exit code $code, and another page"
  [ $code -ne 0 ] || survived=$((survived + 1))
  [ -z "$(find . -name 'p.html.tmp-*')" ] || bad "page, $1: left behind: $(find . -name 'p.html.tmp-*')"
  rm -f p.html.tmp-*
}

refuse_once() {  # train must not overwrite an existing run, whichever call fails
  rm -rf r && cp -r alone r
  faulty "$1" "$train" --quiet --config small.yaml --out r
  local code=$?
  said $code train "existing run, $1" || return
  [ $code -ne 0 ] || bad "existing run, $1: exit code 0"
  diff -r r alone >/dev/null || bad "existing run, $1: was changed"
}

sweep() {  # sweep PROGRAM_once KIND ERRNO [MOST]
  "$1" "$2:0:$3"
  local calls step=1 number
  calls=$(cat count)
  [ "$calls" -gt 0 ] || { echo "      $1 $2: no calls"; return; }
  [ -z "${4:-}" ] || [ "$4" = all ] || step=$(((calls + $4 - 1) / $4))
  for ((number = 1; number <= calls; number += step)); do
    faults=$((faults + 1))
    "$1" "$2:$number:$3"
  done
  printf '%-12s %-7s %6d calls, each %d. of them failed\n' "$1" "$2" "$calls" "$step"
}

$train --quiet --config small.yaml --out alone 2>err || { bad "the run left alone"; exit 1; }
$train --quiet --config small.yaml --set train.steps=2 --set optim.schedule=constant --out half 2>err || exit 1
sed -i 's/steps: 2$/steps: 4/; s/schedule: constant/schedule: cosine/' half/config.yaml
$inspect page alone --out page.html --limit 4 >/dev/null 2>err || { bad "the page left alone"; exit 1; }

EIO=5 EINTR=4 ENOMEM=12 ENOSPC=28 EMFILE=24
for program in train_once resume_once page_once; do
  sweep $program open $EMFILE
  sweep $program read $EIO
  sweep $program write $ENOSPC
  sweep $program fsync $EIO
  sweep $program rename $ENOSPC
  sweep $program close $EIO
  sweep $program mmap $ENOMEM
  sweep $program malloc $ENOMEM "$mallocs"
done
sweep refuse_once open $EMFILE

# Short writes and interrupted calls are not failures and change nothing.
for kind in half write read; do
  for number in 1 2 3 5 8 13; do
    code=0
    rm -rf r
    faulty "$kind:$number:$EINTR" "$train" --quiet --config small.yaml --out r || code=$?
    [ $code -eq 0 ] && same r || bad "$kind $number, interrupted: exit code $code"
  done
done
rm -rf r
faulty "half:1+:0" "$train" --quiet --config small.yaml --out r && same r || bad "every write takes half of its bytes"

# A full disk, a file size limit, little memory: for each size the run can be resumed afterwards.
for kib in 1 2 4 8 12 16; do
  rm -rf r
  (ulimit -f $kib && exec "$train" --quiet --config small.yaml --out r) >out 2>err
  said $? train "ulimit -f $kib" && goes_on r "ulimit -f $kib"
done
limits=0
for ((mib = 20; mib < 2000; mib += mib / 10)); do
  rm -rf r
  (ulimit -v $((mib * 1024)) && exec timeout -k 5 60 "$train" --quiet --config small.yaml --out r) >out 2>err
  code=$?
  [ $code -ne 127 ] || continue  # too little for the loader
  limits=$((limits + 1))
  said $code train "ulimit -v $mib MiB" && goes_on r "ulimit -v $mib MiB"
done
[ $limits -gt 5 ] || bad "ulimit -v: only $limits sizes were tried"
if mkdir -p disk && mount -t tmpfs -o size=128k heed-fault disk 2>/dev/null; then
  for kib in 4 40 60 80 100; do
    rm -rf disk/r && head -c $((kib * 1024)) /dev/zero >disk/filler
    "$train" --quiet --config small.yaml --out disk/r >out 2>err
    code=$?
    rm -f disk/filler
    said $code train "disk with $kib KiB taken" && goes_on disk/r "disk with $kib KiB taken"
  done
  umount disk
  for inodes in $(seq 1 12); do
    mount -t tmpfs -o size=1m,nr_inodes=$inodes heed-fault disk
    "$train" --quiet --config small.yaml --out disk/r >out 2>err
    code=$?
    said $code train "disk of $inodes inodes"
    [ $code -eq 0 ] || grep -q 'No space left on device. That disk cannot hold more files' err ||
      bad "disk of $inodes inodes: another reason"
    mount -o remount,nr_inodes=100 disk
    goes_on disk/r "disk of $inodes inodes"
    umount disk
  done
else
  echo "      skipped the full disk: only root can mount one"
fi
echo "$faults faults, $survived without consequence"
[ $failures -eq 0 ] && echo PASS || echo "FAIL ($failures)"
exit $((failures > 0))
