#!/usr/bin/env bash
# make.sh PROGRAMS OUT: trains the models of the gallery with PROGRAMS/train and writes their pages into OUT. The target
# "gallery" runs it. OUT/index.html, the page docs/gallery/index.md of the site, then links to them. Two pages need files that are not part of heed: $SHAKESPEARE, the text "tiny Shakespeare", and $MINILM,
# the directory of all-MiniLM-L6-v2. Without them these pages are left out, with a message. Chromium takes a picture of each
# page for the index; with $SITE, the address at which OUT will be found, links to the pages show it (Open Graph).
set -euo pipefail
programs=$(realpath "$1") out=$2
sources=$(realpath "$(dirname "$0")/../..")
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || echo "gallery: no pictures: chromium is missing"

page() {  # page NAME [OPTION...]: the page of the run or model in the directory NAME, and its picture
  "$programs/inspect" page "$1" --out "$out/$1.html" --force "${@:2}"
  [ -n "$chromium" ] || return 0
  timeout 60 "$chromium" --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=1 --window-size=1200,630 \
    --virtual-time-budget=5000 --screenshot="$out/$1.png" "file://$out/$1.html" >/dev/null 2>&1
  if [ -n "${SITE:-}" ]; then
    sed -i "s|^<title>|<meta property=\"og:image\" content=\"${SITE%/}/$1.png\">\n<meta name=\"twitter:card\" content=\"summary_large_image\">\n&|" \
      "$out/$1.html"
  fi
}

trained() {  # trained NAME CONFIG [SETTING...]
  "$programs/train" --quiet --config "$sources/$2" --out "$1" "${@:3}"
  page "$1" --limit 40
}

trained toy toy.yaml --set dump.weights=true
trained chinese examples/chinese.yaml
trained induction examples/induction.yaml
if [ -n "${SHAKESPEARE:-}" ]; then
  trained shakespeare examples/nanogpt.yaml --set data.train="$(cd "$OLDPWD" && realpath "$SHAKESPEARE")"
else
  echo "gallery: shakespeare is left out: set SHAKESPEARE to the file input.txt"
fi
if [ -n "${MINILM:-}" ]; then
  ln -s "$(cd "$OLDPWD" && realpath "$MINILM")" minilm
  page minilm --sentence "The animal didn't cross the street because it was too tired." --query it
else
  echo "gallery: minilm is left out: set MINILM to the directory of all-MiniLM-L6-v2"
fi

for made in "$out"/*.html; do  # the site's list of pages names them as <code>; a list without pages stays as it is
  name=$(basename "$made" .html)
  picture=
  [ ! -e "$out/$name.png" ] || picture="<img src=\"$name.png\" alt=\"\" width=\"400\"><br>"
  [ ! -e "$out/index.html" ] ||
    sed -i -E "s|<code[^>]*><span class=\"pre\">$name\.html</span></code>|<a href=\"$name.html\">$picture$name</a>|" "$out/index.html"
done
