# What Doxygen reads in place of a header: its plain comments made documentation.
#   above a declaration   its own, and that of those which follow without a blank line or a comment of theirs
#   behind a declaration  its own
#   above `namespace`     the file's
#   above a blank line    none's
#   none                  what the class says, for its constructors and calls; else Doxygen warns
# Private parts are left out. The namespace heed is left out, so that the reference shows names as they are used after `using namespace heed`.
# Lines indented in a comment are shown as they are.

function escaped(text) {
  gsub(/[\\@#<>%&*|]/, "\\\\&", text)
  return text
}

# Constructors, destructors, calls and defaulted operators, where the class says what they do.
function is_described_by_class(code) {
  sub(/^ *(\[\[[a-z]+\]\] )?(explicit |constexpr )*/, "", code)
  return index(code, name[depth] "(") == 1 || code ~ /^~|operator\(\)\(|= default;$/
}

# The collected lines as the inside of a comment.
function collected(    i, line, literal, text) {
  for (i = 1; i <= lines; ++i) {
    line = comment[i]
    if (line ~ /^  / && !literal) text = text "@verbatim\n"
    if (line !~ /^  / && literal) text = text "@endverbatim\n"
    literal = line ~ /^  /
    text = text (literal ? line : escaped(line)) "\n"
  }
  return text (literal ? "@endverbatim\n" : "")
}

function print_plain(    i) {
  for (i = 1; i <= lines; ++i) print "// " comment[i]
  lines = 0
}

# Follows brackets; sets `ended` when a declaration ends in `code`.
function follow(code,    i, c, text) {
  gsub(/"([^"\\]|\\.)*"|'([^'\\]|\\.)'/, "0", code)
  ended = 0
  for (i = 1; i <= length(code); ++i) {
    c = substr(code, i, 1)
    text = pending
    if (c == "(") ++parentheses
    else if (c == ")") --parentheses
    else if (c == "{") {
      ++depth
      name[depth] = text
      sub(/^.*(class|struct|union) +/, "", name[depth])
      sub(/[^A-Za-z0-9_].*$/, "", name[depth])
      declares[depth] = parentheses == 0 && text ~ /(^|[^A-Za-z_])(namespace|class|struct|union|enum)[^=()]*$/
      spaces[depth] = text ~ /(^|[^A-Za-z_])namespace[^=()]*$/
      lists[depth] = text ~ /(^|[^A-Za-z_])enum[^=()]*$/
      shared[depth] = group
      if (declares[depth]) {
        pending = group = ""
        continue
      }
    } else if (c == "}") {
      if (declares[depth]) group = shared[depth]
      else if (parentheses == 0 && substr(code, i + 1) ~ /^ *$/) ended = 1
      if (declares[depth]) pending = spaces[depth] ? "" : "}"
      if (spaces[depth--]) continue
    } else if (c == ";" && parentheses == 0 && (depth == 0 || declares[depth])) {
      ended = 1
      pending = ""
      continue
    }
    pending = pending c
  }
  pending = pending " "
  if (ended || (depth > 0 && lists[depth] && code ~ /, *$/)) pending = ""
}

/^using (Ids|Booleans) = / {  # Doxygen merges overloads for two aliases of one template
  sub(/^using/, "struct")
  sub(/ = /, " : ")
  sub(/;/, " {};")
}

{
  inside = depth > 0 && !declares[depth]  # a function's body
  beginning = pending ~ /^[ ]*$/ && parentheses == 0
}

depth == 0 && /^(template <>|struct fmt::)/ {  # specialisations of other libraries' templates
  print ""
  next
}

hidden {  # a private part, until its class ends
  code = $0
  sub(/  *\/\/.*$/, "", code)
  if (code !~ /^ *(public|protected):/ && (code !~ /^ *}/ || depth > hidden)) {
    if (code ~ /^ *\/\//) next
    follow(code)
    next
  }
  hidden = 0
}

/^ *private:/ {
  print_plain()
  hidden = depth
  pending = group = ""
  next
}

inside || !beginning {
  code = $0
  sub(/  *\/\/.*$/, "", code)
  if (!inside && code != $0 && code ~ /; *$/) sub(/\/\/ /, "///< ")
  print
  follow(code)
  next
}

/^ *\/\// {
  line = $0
  sub(/^ *\/\/\/? ?/, "", line)
  comment[++lines] = line
  next
}

/^ *$/ {
  print_plain()
  group = ""
  print
  next
}

/^}  \/\/ namespace heed$/ {
  print_plain()
  print ""
  follow("}")
  next
}

/^ *(#|}|public:|private:|protected:|friend )/ {
  print_plain()
  print
  code = $0
  sub(/  *\/\/.*$/, "", code)
  if (code !~ /^ *#/) follow(code)
  if (code ~ /:$/) pending = group = ""
  next
}

/^using (Ids|Booleans) = / {  # Doxygen confuses functions of the two aliases of one template
  code = $0
  sub(/^.*\/\/\/?<? */, "", code)
  print "/** Array<" ($2 == "Ids" ? "std::int32_t" : "std::uint8_t") ">: " code " */ class " $2 " {};"
  next
}

{
  code = $0
  behind = ""
  if (match(code, /  *\/\/ .*$/)) {
    behind = substr(code, RSTART)
    code = substr(code, 1, RSTART - 1)
    sub(/^ *\/\/ /, "", behind)
  }
  if (code ~ /^namespace/) {
    print "/** @file\n" collected() "*/"
    lines = 0
    print code == "namespace heed {" ? "" : code
    follow(code)
    next
  }
  if (lines > 0) group = collected()
  if (code ~ /= delete;$/ || code ~ /^ *~.*[;}]$/) {  # not copied; a destructor
    lines = 0
    follow(code)
    next
  }
  if (behind == "" && lines == 0 && depth > 0 && is_described_by_class(code)) {
    behind = "As " name[depth] " describes."
    group = ""
  }
  text = lines > 0 || behind == "" || code ~ /\(/ ? group : ""
  if (behind != "") text = text (text != "" ? "\n" : "") escaped(behind) "\n"
  lines = 0
  if (text != "") print "/** " text "*/"
  follow(code)
  sub(/( =)? ?[{][.][^;]*[}];/, ";", code)  # Sphinx reads no designated initialisers
  print code
}
