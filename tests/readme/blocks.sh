# blocks LANGUAGE FILE: the numbered lines ("12:text") of the fenced blocks of that language, an empty line after each.
blocks() {
  awk -v open="^\`\`\`$1\$" '
    inside && /^```$/ { inside = 0; print ""; next }
    inside            { print NR ":" $0 }
    $0 ~ open         { inside = 1 }' "$2"
}

# programs LANGUAGE REGEX FILE: its blocks that have a match, each ended by the line "----".
programs() {
  blocks "$1" "$3" | awk -v RS= -v wanted="$2" '$0 ~ wanted { gsub(/(^|\n)[0-9]+:/, "\n"); print $0 "\n----" }'
}

# commands FILE: the commands of its sh blocks, one per line as "LINE:command", without comments; && separates commands.
commands() {
  blocks sh "$1" | sed -E -e 's/^([0-9]+:)[[:space:]]+/\1/' -e 's/[[:space:]]+#.*$//' -e '/^[0-9]*:?$/d' -e '/^[0-9]+:#/d' |
    awk '{ if (sub(/\\$/, "")) { held = held (held == "" ? $0 : substr($0, index($0, ":") + 1)); next }
           if (held != "") { $0 = held substr($0, index($0, ":") + 1); held = "" }
           line = substr($0, 1, index($0, ":"))
           count = split(substr($0, length(line) + 1), parts, / +&& +/)
           for (i = 1; i <= count; i++) print line parts[i] }'
}

# kind COMMAND: how a command of a document is tested. install.sh runs the commands of kind "install", in order.
kind() {
  case $1 in
    ./setup.sh*) echo setup ;;
    *"cmake --workflow --preset "*) echo workflow ;;
    "cmake --preset "* | "cmake --build --preset "* | "ctest --preset "*) echo preset ;;
    .ci/run | "tests/debian.sh "* | tests/python/wheel.sh*) echo script ;;
    build/train* | build/inspect* | build/examples/*) echo program ;;
    "cmake --install "* | "cmake -S "* | "cmake --build "* | mine/* | "g++ "* | "export "* | heed-train* | heed-inspect*)
      echo install ;;
    "apt-get "* | "mountpoint "* | "mount "* | "umount "* | "update-binfmts "* | "debootstrap "* | "chroot "* | "find "* | "ln "* | done | "mpirun "* | \
      qemu-aarch64-static*) echo sysroot ;;
    "python3 -m venv "* | .venv/bin/pip* | .venv/bin/python* | .venv/bin/jupyter*) echo python ;;
    "cpack "* | "sudo apt-get install ./"*) echo package ;;
    *) echo unknown ;;
  esac
}
