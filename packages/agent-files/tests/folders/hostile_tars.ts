/** Archives that a hostile sender may send as a folder. */
import { gzipSync } from "node:zlib";
import { END, entry, join, pax, record, tar } from "./raw_tar.ts";

export interface HostileTar {
  readonly what: string;
  readonly bytes: Uint8Array;
  /** The receiver's platform. Default: linux. */
  readonly platform?: "linux" | "darwin" | "win32";
  /** Matches the error message. */
  readonly says: RegExp;
  /** The limit on files and folders. */
  readonly maxEntries?: number;
}

const file = (name: string, more = {}) => entry({ name, body: "hostile", ...more });
const folder = (name: string) => entry({ name, type: "5", mode: 0o755 });
const long = "n".repeat(256);
const damaged = (bytes: Uint8Array, at: number, byte: number) => {
  const copy = bytes.slice();
  copy[at] = byte;
  return copy;
};

const OUTSIDE: HostileTar[] = [
  ["an absolute name", file("/outside/new"), /absolute/],
  ["an absolute name of two slashes", file("//outside/new"), /absolute/],
  ["an absolute folder", folder("/outside/new/"), /absolute/],
  ["a name that leads up", file("../new"), /leads out/],
  ["a name that leads up from within", file("a/../../outside/new"), /leads out/],
  ["a name that leads up and in again", file("../target/new"), /leads out/],
  ["a folder that leads up", folder("../outside/new/"), /leads out/],
  ["only ..", folder(".."), /leads out/],
  [".. in the prefix", file("new", { prefix: "../outside" }), /leads out/],
  ["an absolute prefix", file("new", { prefix: "/outside" }), /absolute/],
  ["a pax path that leads up", join(pax({ path: "../outside/new" }), file("ok")), /leads out/],
  ["an absolute pax path", join(pax({ path: "/outside/new" }), file("ok")), /absolute/],
  [
    "a pax path that overrides another",
    join(pax({ path: "fine" }), pax({ path: "../new" }), file("ok")),
    /leads out/,
  ],
  ["a global pax path", join(pax({ path: "../new" }, "g"), file("ok")), /for all its entries/],
  ["a global pax size", join(pax({ size: "0" }, "g"), file("ok")), /for all its entries/],
  [
    "a GNU long name that leads up",
    join(entry({ name: "././@LongLink", type: "L", body: "../outside/new\0" }), file("ok")),
    /leads out/,
  ],
  [
    "a GNU long name that is absolute",
    join(entry({ name: "././@LongLink", type: "L", body: "/outside/new" }), file("ok")),
    /absolute/,
  ],
].map(([what, bytes, says]) => ({ what, bytes: tar(bytes as Uint8Array), says }) as HostileTar);

const TYPES: HostileTar[] = [
  ["a symbolic link", entry({ name: "link", type: "2", link: "../outside" }), /symbolic link/],
  [
    "a symbolic link and a file through it",
    join(entry({ name: "link", type: "2", link: "../outside" }), file("link/new")),
    /symbolic link/,
  ],
  [
    "a symbolic link and a file of its name",
    join(entry({ name: "link", type: "2", link: "../outside/secret" }), file("link")),
    /symbolic link/,
  ],
  ["a symbolic link within", entry({ name: "link", type: "2", link: "ok" }), /symbolic link/],
  [
    "a symbolic link with a pax target",
    join(pax({ linkpath: "../outside" }), entry({ name: "link", type: "2" })),
    /symbolic link/,
  ],
  [
    "a symbolic link with a GNU long target",
    join(
      entry({ name: "././@LongLink", type: "K", body: "../outside/secret" }),
      entry({ name: "link", type: "2" }),
    ),
    /symbolic link/,
  ],
  ["a hard link", entry({ name: "link", type: "1", link: "../outside/secret" }), /hard link/],
  [
    "a hard link and a file of its name",
    join(entry({ name: "link", type: "1", link: "../outside/secret" }), file("link")),
    /hard link/,
  ],
  ["a character device", entry({ name: "null", type: "3" }), /device/],
  ["a block device", entry({ name: "disk", type: "4" }), /device/],
  ["a fifo", entry({ name: "pipe", type: "6" }), /fifo/],
  ["a GNU sparse file", entry({ name: "sparse", type: "S", body: "x" }), /sparse/],
  [
    "a pax sparse file",
    join(pax({ "GNU.sparse.realsize": "1099511627776" }), file("sparse")),
    /sparse/,
  ],
  ["a GNU dump of a folder", entry({ name: "dump", type: "D", body: "Yfile\0" }), /unknown type/],
  ["a volume's name", entry({ name: "volume", type: "V" }), /unknown type/],
  ["an unknown type", entry({ name: "unknown", type: "Z" }), /unknown type/],
].map(([what, bytes, says]) =>
  ({ what, bytes: tar(file("before"), bytes as Uint8Array), says }) as HostileTar
);

const NAMES: HostileTar[] = [
  { what: "a file twice", bytes: tar(file("twice"), file("twice")), says: /comes twice/ },
  { what: "a folder twice", bytes: tar(folder("a/"), folder("a/")), says: /comes twice/ },
  { what: "a file, then its folder", bytes: tar(file("a"), folder("a/")), says: /comes twice/ },
  { what: "a folder, then its file", bytes: tar(folder("a/"), file("a")), says: /comes twice/ },
  { what: "the same by other text", bytes: tar(file("a"), file("./a")), says: /comes twice/ },
  { what: "an entry below a file", bytes: tar(file("a"), file("a/b")), says: /below a file/ },
  { what: "a file as the folder itself", bytes: tar(file("./.")), says: /without a name/ },
  { what: "a name that is empty", bytes: tar(file("")), says: /without a name/ },
  { what: "a file with a folder's name", bytes: tar(file("a/")), says: /folder's name/ },
  {
    what: "a folder with bytes",
    bytes: tar(entry({ name: "a/", type: "5", body: "x" })),
    says: /folder with content/,
  },
  { what: "too long a part", bytes: tar(pax({ path: long }), file("ok")), says: /too long/ },
  {
    what: "too long a path",
    bytes: tar(pax({ path: `${"a".repeat(250)}/`.repeat(17) + "b" }), file("ok")),
    says: /too long/,
  },
  {
    what: "too long a GNU name",
    bytes: tar(entry({ type: "L", body: long }), file("ok")),
    says: /too long/,
  },
  {
    what: "a NUL in a pax path",
    bytes: tar(pax({ path: "ok\0/../../new" }), file("ok")),
    says: /NUL/,
  },
  {
    what: "a NUL in a GNU name",
    bytes: tar(entry({ type: "L", body: "ok\0/../../new" }), file("ok")),
    says: /NUL/,
  },
  {
    what: "a name that is not UTF-8",
    bytes: tar(entry({ name: new Uint8Array([0x61, 0xff, 0xfe]) })),
    says: /not UTF-8/,
  },
  ...(["darwin", "win32"] as const).flatMap((platform): HostileTar[] => [
    {
      what: "names equal but for case",
      platform,
      bytes: tar(file("Plan"), file("pLAN")),
      says: /twice/,
    },
    {
      what: "names equal when composed",
      platform,
      bytes: tar(file("ä"), file("a\u0308")),
      says: /twice/,
    },
    {
      what: "folders equal but for case",
      platform,
      bytes: tar(file("A/b"), file("a/c")),
      says: /also named/,
    },
  ]),
  ...["con", "NUL.txt", "a/com1", "aux.tar.gz", "lpt¹"].map((name): HostileTar => ({
    what: `the reserved name ${name}`,
    platform: "win32",
    bytes: tar(file(name)),
    says: /Windows/,
  })),
  ...["a.", "a ", "folder./b", "c:x", "a\\..\\..\\new", "x:stream", "a?", "a\x1f"].map(
    (name): HostileTar => ({
      what: `the name ${JSON.stringify(name)} on Windows`,
      platform: "win32",
      bytes: tar(file(name)),
      says: /Windows/,
    }),
  ),
];

const plain = tar(file("ok"));
const damage = /damaged|ends too early/;

const DAMAGED: HostileTar[] = [
  { what: "nothing", bytes: new Uint8Array(), says: /too early/ },
  { what: "no tar", bytes: join("x".repeat(2000)), says: /not a tar/ },
  { what: "gzip", bytes: new Uint8Array(gzipSync(plain)), says: /compressed|too early/ },
  { what: "a gzip bomb", bytes: gzipOf(2 ** 26), says: /compressed/ },
  { what: "a wrong checksum", bytes: tar(file("ok", { wrong: 1 })), says: /damaged/ },
  {
    what: "a wrong checksum later",
    bytes: tar(file("ok"), file("b", { wrong: 1 })),
    says: /damaged/,
  },
  { what: "a changed name", bytes: damaged(plain, 0, 0x78), says: /damaged/ },
  { what: "an archive cut in a header", bytes: plain.slice(0, 300), says: damage },
  { what: "an archive cut in a file", bytes: plain.slice(0, 515), says: damage },
  { what: "an archive cut behind a file", bytes: plain.slice(0, 1024), says: damage },
  { what: "an archive cut in its end", bytes: plain.slice(0, 1536), says: damage },
  {
    what: "one block of zeros",
    bytes: join(file("ok"), new Uint8Array(512), file("b"), END),
    says: /damaged/,
  },
  {
    what: "another archive behind the end",
    bytes: join(plain, tar(file("b"))),
    says: /data after its end/,
  },
  { what: "a byte behind the end", bytes: join(plain, "x"), says: /data after its end/ },
  {
    what: "a size that is too large",
    bytes: tar(file("big", { size: 0o77777777777 })),
    says: /larger/,
  },
  {
    what: "a negative size",
    bytes: tar(file("big", { size: new Uint8Array(12).fill(0xff) })),
    says: /invalid size/,
  },
  {
    what: "a size beyond 2^53",
    bytes: tar(file("big", { size: new Uint8Array(12).fill(0xff).with(0, 0x80) })),
    says: /invalid size/,
  },
  {
    what: "a size that is no number",
    bytes: tar(file("a", { size: join("99999999999\0") })),
    says: /invalid size/,
  },
  {
    what: "a pax size that is no number",
    bytes: tar(pax({ size: "-1" }), file("a")),
    says: /invalid size/,
  },
  {
    what: "a pax size that is too large",
    bytes: tar(pax({ size: "1099511627776" }), file("a")),
    says: /larger/,
  },
  { what: "a huge pax header", bytes: tar(entry({ type: "x", size: 2 ** 30 })), says: /too long/ },
  { what: "a huge GNU name", bytes: tar(entry({ type: "L", size: 2 ** 30 })), says: /too long/ },
  {
    what: "a pax record of no length",
    bytes: tar(entry({ type: "x", body: "0 path=a\n" })),
    says: /damaged header/,
  },
  {
    what: "a pax record that is too long",
    bytes: tar(entry({ type: "x", body: "99 path=a\n" })),
    says: /damaged header/,
  },
  {
    what: "a pax record without an end",
    bytes: tar(entry({ type: "x", body: record("path", "a").replace("\n", " ") })),
    says: /damaged header/,
  },
  {
    what: "a pax header of no entry",
    bytes: tar(file("ok"), pax({ path: "a" })),
    says: /no entry/,
  },
  {
    what: "more entries than allowed",
    bytes: tar(...Array.from({ length: 20 }, (_, index) => entry({ name: `f${index}` }))),
    says: /limit of 10 entries/,
    maxEntries: 10,
  },
  {
    what: "a path that is too deep",
    bytes: tar(pax({ path: "a/".repeat(1500) + "b" }), file("ok")),
    says: /too deep/,
  },
  {
    what: "a bomb of folders that are not listed",
    bytes: tar(
      ...Array.from({ length: 20 }, (_, index) => [
        pax({ path: `${index}/${"a/".repeat(190)}b` }),
        file("ok"),
      ]).flat(),
    ),
    says: /limit of 1[0-9]{3} entries/,
  },
];

function gzipOf(size: number): Uint8Array {
  return new Uint8Array(gzipSync(new Uint8Array(size)));
}

export const HOSTILE_TARS: readonly HostileTar[] = [...OUTSIDE, ...TYPES, ...NAMES, ...DAMAGED];
