# Keeps a block of lines at the end of a file of names such as /etc/hosts.
#
#   awk -v begin=<marker> -v end=<marker> -v own_name=<name of this host> \
#     -f names.awk part=rest <file of names> part=names <names> part=registered <configuration>
#
# Prints the file with the names of the configuration's peers in the block. Without such names there
# is no block. Every other line stays as it is. A line of `names` has the agent_id and the name of a
# peer. A name that is already in the file, or is this host's, is left out; case does not matter.

BEGIN { taken[tolower(own_name)]; sub(/\..*/, "", own_name); taken[tolower(own_name)]; taken["localhost"] }

part == "rest" { rest_line($0); next }

!released++ { release() }

part == "names" { if (NF == 2) name[$1] = $2; next }

part == "registered" {
  if ($0 ~ /^# [A-Za-z0-9][A-Za-z0-9._:@-]*$/) label = $2
  else if ($1 == "AllowedIPs" && label in name && !(name[label] in taken)) {
    taken[name[label]]
    gsub(/\/[0-9]+,?/, "")
    block[++count] = $3 " " name[label]
    block[++count] = $4 " " name[label]
    label = ""
  }
}

END {
  if (!released) release()
  for (i = 1; i <= rest_count; i++) print rest[i]
  if (count == 0) exit
  print begin
  for (i = 1; i <= count; i++) print block[i]
  print end
}

# Holds back the lines after a begin marker, until an end marker shows that they are a block.
function rest_line(line,    i) {
  if (line == begin) { release(); is_held = 1 }
  else if (line == end && is_held) {
    for (i = 1; i <= held_count; i++) if (!is_own_line(held[i])) keep(held[i])
    held_count = is_held = 0
  }
  else if (is_held) held[++held_count] = line
  else keep(line)
}

# If the end marker is missing, removes only the first lines after the begin marker, as long as they
# look like this agent's.
function release(    i) {
  for (i = 1; i <= held_count; i++) if (i > own_prefix()) keep(held[i])
  held_count = 0
}

# How many lines at the beginning of those held back look like this agent's.
function own_prefix(    i) {
  for (i = 1; i <= held_count && is_own_line(held[i]); i++);
  return i - 1
}

function is_own_line(line) { return line ~ /^[0-9a-f.:]+ [a-z0-9-]+$/ }

function keep(line,    words, i, n) {
  rest[++rest_count] = line
  sub(/#.*/, "", line)
  n = split(line, words, /[ \t\r]+/)
  for (i = 2; i <= n; i++) taken[tolower(words[i])]
}
