# IP addresses, for configuration.awk. One address has many spellings, so addresses are compared and
# written in one form: an IPv4 address as its number, an IPv6 address as its eight groups, each with
# four digits and a colon after it.

# The canonical spelling of an IPv4 or IPv6 address; "" if the text is not an address.
function canonical(text,    groups) {
  if (text !~ /:/) return ipv4_number(text) < 0 ? "" : text
  groups = ipv6_groups(text)
  return groups == "" ? "" : ipv6_text(groups)
}

# The number of a dotted quad without leading zeros; -1 if the text is not one.
function ipv4_number(text,    octets, i, number) {
  if (split(text, octets, ".") != 4) return -1
  for (i = 1; i <= 4; i++) {
    if (octets[i] !~ /^(0|[1-9][0-9]?[0-9]?)$/ || octets[i] + 0 > 255) return -1
    number = number * 256 + octets[i]
  }
  return number
}

# The groups of an IPv6 address that is in lower case and has no dotted quad; "" for any other text.
function ipv6_groups(text,    halves, left, right, count, groups) {
  if (text !~ /^[0-9a-f:]+$/ || text ~ /[^:][^:][^:][^:][^:]|:::/ || text ~ /^:[^:]|[^:]:$/) return ""
  count = split(text, halves, "::")
  if (count > 2) return ""
  left = padded(halves[1])
  if (count == 2) {
    right = padded(halves[2])
    # `::` stands for at least one group.
    if (length(left right) > 35) return ""
    for (groups = left; length(groups right) < 40;) groups = groups "0000:"
  } else groups = left
  groups = groups right
  return length(groups) == 40 ? groups : ""
}

# Pads groups of one to four digits to four digits each.
function padded(text,    groups, count, i, result) {
  count = split(text, groups, ":")
  for (i = 1; i <= count; i++) result = result substr("0000", length(groups[i]) + 1) groups[i] ":"
  return result
}

# The form of RFC 5952: without leading zeros, and with `::` for the first of the longest runs of
# zeros.
function ipv6_text(groups,    text, zeros, at) {
  text = ":" groups
  gsub(/:0000/, ":z", text); gsub(/:0+/, ":", text); gsub(/z/, "0", text)
  for (zeros = ":0:0:0:0:0:0:0:0:"; length(zeros) > 3; zeros = substr(zeros, 3)) {
    at = index(text, zeros)
    if (at) { text = substr(text, 1, at - 1) "::" substr(text, at + length(zeros)); break }
  }
  if (text !~ /^::/) text = substr(text, 2)
  if (text !~ /::$/) text = substr(text, 1, length(text) - 1)
  return text
}

# The number of the IPv4 address in the last 32 bits.
function last_ipv4_number(groups,    digits, i, number) {
  digits = substr(groups, 31, 4) substr(groups, 36, 4)
  for (i = 1; i <= 8; i++) number = number * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
  return number
}

# Whether any address from `first` to `last` cannot be used between hosts: unspecified, loopback,
# link-local, multicast or reserved.
function is_special_ipv4(first, last) {
  return first <= ipv4_number("0.255.255.255") || last >= ipv4_number("224.0.0.0") ||
    first <= ipv4_number("127.255.255.255") && last >= ipv4_number("127.0.0.0") ||
    first <= ipv4_number("169.254.255.255") && last >= ipv4_number("169.254.0.0")
}
