import fc from "fast-check";

/** Lines by which a server could try to run, load or set something on an agent's host. */
export const HOSTILE_LINES = [
  "PostUp = touch /tmp/served",
  "PreUp = touch /tmp/served",
  "PreDown = touch /tmp/served",
  "PostDown = touch /tmp/served",
  "postup = touch /tmp/served",
  "POSTUP=touch /tmp/served",
  " PostUp = touch /tmp/served",
  "PostUp= touch /tmp/served",
  "[Interface]",
  "[interface]",
  "PrivateKey = AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=",
  "SaveConfig = true",
  "DNS = 192.0.2.1",
  "FwMark = 1",
  "Table = auto",
  "Table = off",
  "Address = 0.0.0.0/0",
  "Address = 10.0.0.1/7",
  "AllowedIPs = 0.0.0.0/0",
  "AllowedIPs = 192.0.2.1/32, fd12:3456:789a:1::9/128",
  "AllowedIPs = 10.213.0.9/32, 2001:db8::9/128",
  "Endpoint = $(id):51820",
  "Endpoint = example.com:51820",
  "#endpoint x endpoint $(id):1",
  "#endpoint 18W5BAjy8M5s2WvW5TSB4FaY6qha2nwnkfUsJpFOHD8= endpoint -h:1",
  "#name 18W5BAjy8M5s2WvW5TSB4FaY6qha2nwnkfUsJpFOHD8= endpoint a;id:1",
  "#include /etc/shadow",
  "#nft add rule ip filter input accept",
  "#nft flush ruleset",
  '#nft include "/etc/shadow"',
  "#nft table ip other {",
  "#nft delete table inet other",
  "#nft table inet <table> { chain c { accept; } }",
  "#nft   set other {",
  "#nft   map other {",
  "#nft       10.213.0.2, 10.213.0.9,",
  "#nft       10.213.0.2 . tcp . 22 }; flush ruleset; table inet y {",
  "#nft       10.213.0.0/16,",
  "#nft }",
  "#nft",
  "#",
  "#!",
  "PostUp = \\",
] as const;

/** Fragments to insert into the middle of a line. */
const FRAGMENTS = [
  "\n",
  "\r\n",
  "\0",
  "#",
  " ",
  ";id;",
  "$(id)",
  "`id`",
  "'",
  '"',
  "\\",
  "}",
  "{",
  "%i",
  "<ipv4>",
  "<peers>",
  "<private_key>",
  "&",
  "\n#nft ",
  "\nPostUp = id\n",
];

/** Texts that differ by zero or a few changes from one of `texts`. */
export function mutations(texts: readonly string[]): fc.Arbitrary<string> {
  const change = fc.oneof(
    inLines((lines, at) => lines.toSpliced(at, 1)),
    inLines((lines, at) => lines.toSpliced(at, 0, lines[at] ?? "")),
    fc.tuple(fc.nat(), fc.constantFrom(...HOSTILE_LINES)).map(([place, line]) => (text: string) =>
      onLines(text, place, (lines, at) => lines.toSpliced(at, 0, line))
    ),
    fc.tuple(fc.nat(), fc.nat()).map(([place, other]) => (text: string) =>
      onLines(text, place, (lines, at) => {
        const moved = lines[at] ?? "";
        return lines.toSpliced(at, 1).toSpliced(other % lines.length, 0, moved);
      })
    ),
    fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: "binary" }))).map(
      ([place, fragment]) => (text: string) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + fragment + text.slice(at);
      },
    ),
    fc.tuple(fc.nat(), fc.constantFrom(..."0123456789abcxyzABC./:=-+ ")).map(
      ([place, character]) => (text: string) => {
        const at = place % text.length;
        return text.slice(0, at) + character + text.slice(at + 1);
      },
    ),
    fc.tuple(fc.nat(), fc.constantFrom(...texts)).map(([place, other]) => (text: string) =>
      onLines(text, place, (lines, at) => {
        const others = other.split("\n");
        return [...lines.slice(0, at), ...others.slice(at % others.length)];
      })
    ),
  );
  return fc.tuple(fc.constantFrom(...texts), fc.array(change, { maxLength: 3 }))
    .map(([text, changes]) => changes.reduce((changed, apply) => apply(changed), text));
}

type Edit = (lines: readonly string[], at: number) => string[];

function inLines(edit: Edit): fc.Arbitrary<(text: string) => string> {
  return fc.nat().map((place) => (text) => onLines(text, place, edit));
}

function onLines(text: string, place: number, edit: Edit): string {
  const lines = text.split("\n");
  return edit(lines, place % lines.length).join("\n");
}
