#!/bin/bash
# sweep.sh BUILD COUNT [FIRST [DIRECTORY]]: tests the random configurations FIRST (default: 1) to FIRST + COUNT - 1.
# Trains each, kills a second run of it with SIGKILL at a random moment, resumes that with other threads, and compares both
# directories. Then shows the run in every view of inspect, and checks the gradients. A view must print finite numbers, or refuse
# with one message where the configuration has nothing to show. Prints one line per failure, with the command that repeats it;
# DIRECTORY keeps the files of the last configuration.
set -u
build=$(realpath "$1") count=$2 first=${3:-1}
top=$(realpath "$(dirname "$0")/../..")
train=$build/train inspect=$build/inspect
scratch=${4:-$(mktemp -d)}
[ $# -ge 4 ] || trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch" && cd "$scratch" || exit 1
failures=0 views=0 refusals=0 killed=0

bad() {  # bad WHAT
  failures=$((failures + 1))
  echo "FAIL  $number: $*: $0 $build 1 $number DIRECTORY"
}

make_data() {
  local names=(Mary John Emily Peter) places=(kitchen garden office bathroom) i
  local reasons=(lost early late tired hungry new sad glad)
  cp "$top/examples/mine.jsonl" mine.jsonl
  head -c 20000 "$top/docs/tutorial/self-attention.md" >text.txt
  for ((i = 0; i < 40; ++i)); do
    local who=${names[i % 4]} other=${names[(i + 1) % 4]} there=${places[i / 4 % 4]} then=${places[(i / 16 + i) % 4]}
    printf '1 %s went to the %s.\n2 Then %s moved to the %s.\n3 Where is %s?\t%s\t1\n' \
      "$who" "$there" "$other" "$then" "$who" "$there"
    printf '4 After that %s went to the %s.\n5 Where is %s?\t%s\t4\n' "$other" "$there" "$other" "$there"
  done >babi.txt
  for ((i = 0; i < 96; ++i)); do
    printf '{"tokens": ["The", "old", "%s", "met", "%s", "because", "he", "was", "%s"], "query": 6, ' \
      "${names[i % 4]}" "${names[(i + 1 + i / 32) % 4]}" "${reasons[i / 4 % 8]}"
    printf '"candidates": [[0, 3], [4, 5]], "antecedent": %s}\n' $((i / 4 % 2))
  done >choices.jsonl
  sed '0~3s/"antecedent": ./"antecedent": null/' choices.jsonl >or_none.jsonl
}

one_of() { drawn=${@:1+RANDOM%$#:1}; }            # drawn: one of the arguments
set_key() { settings+=(--set "$1=$2"); }          # set_key KEY VALUE
draw() { one_of "${@:2}" && set_key "$1" "$drawn"; }  # draw KEY VALUE...: sets drawn, too

draw_task() {
  draw data.task coreference bank chinese babi jsonl text induction candidates
  task=$drawn answer=word tokens=words sentence= begin=
  case $task in
    coreference | bank | chinese) draw data.sentences 20 64 && draw data.held_out 6 24 ;;
    babi) set_key data.train babi.txt ;;
    jsonl) set_key data.train mine.jsonl ;;
    text)
      set_key data.train text.txt
      draw data.tokens words characters bytes subwords && tokens=$drawn
      [ "$drawn" != subwords ] || draw data.vocabulary 400 500
      draw data.context 1 2 7 16 ;;
    induction) draw data.sentences 20 64 && draw data.held_out 6 24 && draw data.context 16 20 ;;
    candidates)
      one_of candidate candidate_or_none word && answer=$drawn
      set_key model.answer "$answer"
      if [ "$answer" = candidate_or_none ]; then set_key data.train or_none.jsonl; else set_key data.train choices.jsonl; fi
      draw data.tokens words words subwords && tokens=$drawn
      [ "$drawn" != subwords ] || draw data.vocabulary 300 ;;
  esac
  case $task in
    coreference) sentence="The animal didn't cross the street because it was too tired" ;;
    jsonl) sentence="We left the trophy beside the basket because it was too large" ;;
    candidates)
      sentence="The old Mary met John because he was late"
      [ $answer = word ] || sentence="[The old Mary] met [John] because he was late" ;;
    text) sentence=A begin="attention is" ;;
  esac
  if [[ ! $task =~ ^(text|induction|candidates)$ ]]; then
    draw data.unknown error error token
    [ "$drawn" != token ] || draw data.min_count 1 2
  fi
  if [[ $task =~ ^(coreference|candidates)$ ]]; then draw data.shuffle_antecedents false false true; fi
}

draw_model() {
  local heads d_model d_k
  one_of 1 2 3 4 && heads=$drawn
  set_key model.heads "$heads"
  one_of 4 6 8 12 16 && d_model=$drawn
  set_key model.d_model "$d_model"
  draw model.positions none learned sinusoidal rotary
  if [ "$drawn" = rotary ]; then one_of 2 4 6; else one_of 0 0 1 3 8; fi
  d_k=$drawn
  [ $d_k -gt 0 ] || [ $((d_model % heads)) -eq 0 ] || d_k=2
  [ $d_k -eq 0 ] || set_key model.d_k "$d_k"
  draw model.tie none none none K_is_V Q_is_K && tie=$drawn
  if [ $tie = K_is_V ]; then
    [ $d_k -eq 0 ] || set_key model.d_v "$d_k"
  elif [ $d_k -gt 0 ]; then
    draw model.d_v 1 2 5
  fi
  if [ $tie != Q_is_K ]; then
    case $heads in 4) draw model.kv_heads 0 1 2 ;; *) draw model.kv_heads 0 1 ;; esac
  fi
  draw model.layers 1 2 3
  draw model.mlp 0 1 8 33
  [ "$drawn" = 0 ] || draw model.activation gelu gelu_tanh quick_gelu relu relu2 silu tanh
  [ "$drawn" = 0 ] || draw model.gated false true
  draw model.norm layer rms
  draw model.normalised_heads false true
  draw model.logits tied untied
  draw model.bias false true
  draw model.output_bias false true
  draw model.zero_outputs false false true
  draw model.dropout 0 0.1 0.5
  draw model.embedding_dropout 0 0 0.2
  draw model.attention_dropout 0 0 0.2
}

draw_training() {
  local steps=$((4 + RANDOM % 12))
  set_key train.steps $steps
  draw optim.name sgd adam adamw
  if [ "$drawn" = sgd ]; then
    draw optim.momentum 0 0.9
    [ "$drawn" = 0 ] || draw optim.nesterov false true
  else
    draw optim.beta1 0 0.9 && draw optim.beta2 0 0.95 0.999 && draw optim.eps 1e-8 1e-3
  fi
  draw optim.lr 1e-4 3e-3 0.1
  draw optim.min_lr 0 1e-5
  draw optim.weight_decay 0 0.1
  draw optim.schedule constant linear cosine
  draw optim.warmup 0 1 4
  draw optim.clip 0 0.1 1
  draw train.batch_size 1 4 12 && one_of 1 "$drawn" && set_key train.accumulate "$drawn"
  draw train.average 0 0 2 100
  draw train.patience 0 0 2
  draw train.evaluate_every 1 3 100
  draw train.checkpoint_every 1 2 5
  draw dump.every 1 3 100
  draw dump.sentences 1 4
  draw dump.weights false true && keeps_models=$drawn
  set_key seed $RANDOM
}

run() { timeout -k 5 300 "$@" >out 2>err </dev/null; }

begin() {  # begin RUN
  run "$train" --quiet --config base.yaml "${settings[@]}" --out "$1" || { bad "train: exit code $?: $(head -1 err)"; return 1; }
}

train_and_resume() {
  local threads=$((1 + RANDOM % 3)) fraction=$((RANDOM % 1000)) began milliseconds
  if [ $((RANDOM % 4)) -eq 0 ]; then
    begin origin || return 1
    set_key model.from origin
  fi
  printf '%s ' "$train" --config base.yaml "${settings[@]}" >command
  began=$(date +%s%N)
  begin alone || return 1
  milliseconds=$((($(date +%s%N) - began) / 1000000))
  "$train" --quiet --config base.yaml "${settings[@]}" --out killed >/dev/null 2>&1 &
  sleep "$(printf '0.%06d' $((milliseconds * fraction % 1000000)))"
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  killed=$((killed + ($? == 137)))
  if [ -e killed/config.yaml ]; then
    run "$train" --quiet --threads $threads --resume killed || { bad "resume: exit code $?: $(head -1 err)"; return 1; }
  else
    begin killed || return 1
  fi
  diff -r alone killed >out 2>&1 || bad "the resumed run differs: $(head -1 out)"
}

# view MAY_REFUSE ARGUMENT...: MAY_REFUSE is the condition under which the view has nothing to show.
view() {
  local may_refuse=$1 code not_finite
  shift
  views=$((views + 1))
  run "$inspect" "$@"
  code=$?
  if [ $code -eq 0 ]; then
    [ -s out ] || bad "inspect $*: exit code 0 without output"
    not_finite=$(grep -iE -m1 '(^|[^[:alpha:]])(nan|inf|infinity)([^[:alpha:]]|$)' out)
    [ -z "$not_finite" ] || bad "inspect $*: $not_finite"
  elif [ $code -gt 2 ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^inspect: ..*' err; then
    bad "inspect $*: exit code $code: $(tr '\n' ' ' <err)"
  elif ! eval "$may_refuse"; then
    bad "inspect $*: $(cat err)"
  else
    refusals=$((refusals + 1))
  fi
}

show() {
  local option
  view false alone
  for option in --matrix --json "--layer 1 --head 1" "--probe 1"; do
    view false alone $option
  done
  view false weights alone
  view false weights alone --json
  view false verify alone
  view '[ $tokens = subwords ]' why alone
  view '[ $tokens = subwords ]' why alone --json
  view false causes alone --limit 4
  view false causes alone --limit 4 --json
  view '[ $keeps_models = false ] || [ $task = text ]' history alone --limit 4
  view '[ $keeps_models = false ] || [ $task = text ]' history alone --limit 4 --json
  view false induction alone
  view false induction alone --json
  view false match alone killed --limit 4
  view false match alone killed --limit 4 --json
  view false compare alone killed
  view false compare alone --step 0 --step 0
  view false compare alone --step 0 --step 0 --json
  view '[ $answer = word ]' report alone
  view '[ $answer = word ]' report alone --json
  view false page alone --out page.html --limit 4
  view false page alone killed --out page.html --limit 4
  view false export alone --svg /dev/stdout
  view false export alone --csv /dev/stdout
  view false export alone --npy a.npy
  view '[ $task != text ]' generate alone --prompt "$begin" --tokens 9
  view '[ $task != text ]' generate alone --prompt "$begin" --tokens 9 --json
  if [ -n "$sentence" ]; then
    view false alone --sentence "$sentence"
    view false steps alone --sentence "$sentence"
    view false steps alone --sentence "$sentence" --json
    view false why alone --sentence "$sentence"
  fi
}

make_data
echo "name: sweep" >base.yaml
for ((number = first; number < first + count; ++number)); do
  rm -rf origin alone killed page.html
  RANDOM=$number
  settings=()
  draw_task
  draw_model
  draw_training
  train_and_resume || continue
  show
  run "$train" --config base.yaml "${settings[@]}" --check-gradients ||
    bad "--check-gradients: exit code $?: $(grep -h FAIL out | head -1)$(head -1 err)"
done
echo "$count configurations, $killed killed while they ran, $views views, $refusals of them refused: $failures failures"
exit $((failures > 0))
