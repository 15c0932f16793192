import type { PGlite } from "@electric-sql/pglite";
import { Memory, type SavedMemory } from "./memory.ts";

/**
 * The state of a whole database: the memory and the files of the program. Going back to it takes
 * about ten milliseconds and is exact: even the transaction ids begin again.
 */
export interface Snapshot {
  readonly memory: SavedMemory;
  readonly nodes: ReadonlyMap<FileNode, SavedNode>;
  readonly streams: readonly (SavedStream | undefined)[];
  readonly nameTable: readonly (FileNode | undefined)[];
}

/** A file or a folder of Emscripten's file system in memory. */
interface FileNode {
  name: string;
  parent: FileNode;
  name_next: FileNode | undefined;
  readonly mode: number;
  /** The bytes of a file; the entries of a folder. */
  contents: Uint8Array | Record<string, FileNode>;
  usedBytes: number;
  readonly mount: { readonly type: unknown };
  readonly stream_ops: { write: Write };
  readonly node_ops: { setattr(node: FileNode, ...rest: unknown[]): void };
}

type Write = (
  stream: Stream,
  buffer: unknown,
  offset: number,
  length: number,
  position: number,
  canOwn?: boolean,
) => number;

interface Stream {
  /** Its number. Null once it was closed. */
  fd: number | null;
  position: number;
  node: FileNode;
  shared: object;
}

interface SavedNode extends Pick<FileNode, "name" | "parent" | "name_next" | "usedBytes"> {
  /** The bytes of `written`; of a folder, its entries. Null: it is neither file nor folder. */
  readonly contents: FileNode["contents"] | null;
  /** Outside of this range, the file is as in the first snapshot. */
  readonly written: Range;
}

interface SavedStream extends Pick<Stream, "position" | "node"> {
  readonly stream: Stream;
  readonly shared: object;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const WHOLE: Range = { start: 0, end: Infinity };
const NOTHING: Range = { start: 0, end: 0 };

interface EmscriptenModule {
  readonly HEAPU8: Uint8Array;
  readonly FS: {
    readonly root: FileNode;
    readonly nameTable: (FileNode | undefined)[];
    readonly streams: (Stream | undefined)[];
    isDir(mode: number): boolean;
    isFile(mode: number): boolean;
  };
}

/** Saves and restores everything that a database consists of. Call it only between two queries. */
export class Machine {
  readonly #module: EmscriptenModule;
  /** The ranges of bytes that were written after the first snapshot, by file. */
  readonly #written = new Map<FileNode, Range>();
  readonly #memory: Memory;
  #first: Snapshot | null = null;

  constructor(database: PGlite) {
    this.#module = database.Module as unknown as EmscriptenModule;
    this.#memory = new Memory(() => this.#module.HEAPU8);
  }

  save(): Snapshot {
    const { FS } = this.#module;
    const nodes = new Map<FileNode, SavedNode>();
    const isFirst = this.#first === null;
    const visit = (node: FileNode) => {
      const { name, parent, name_next, usedBytes } = node;
      const isKnown = this.#first?.nodes.has(node) ?? false;
      const written = isKnown ? this.#written.get(node) ?? NOTHING : WHOLE;
      const contents = FS.isDir(node.mode)
        ? { ...node.contents as Record<string, FileNode> }
        : FS.isFile(node.mode)
        ? (node.contents as Uint8Array).slice(written.start, Math.min(written.end, usedBytes))
        : null;
      nodes.set(node, { name, parent, name_next, usedBytes, contents, written });
      if (!FS.isDir(node.mode)) return;
      for (const child of Object.values(node.contents as Record<string, FileNode>)) {
        if (child.mount.type === FS.root.mount.type) visit(child);
      }
    };
    visit(FS.root);
    const snapshot: Snapshot = {
      memory: this.#memory.save(),
      nodes,
      nameTable: [...FS.nameTable],
      streams: FS.streams.map((stream) =>
        stream && {
          stream,
          position: stream.position,
          node: stream.node,
          shared: { ...stream.shared },
        }
      ),
    };
    if (isFirst) this.#watchWrites(nodes);
    this.#first ??= snapshot;
    return snapshot;
  }

  restore(snapshot: Snapshot): void {
    const { FS } = this.#module;
    this.#memory.restore(snapshot.memory);
    const isFirst = snapshot === this.#first;
    for (const [node, saved] of snapshot.nodes) {
      const { name, parent, name_next, usedBytes, contents, written } = saved;
      Object.assign(node, { name, parent, name_next });
      if (FS.isDir(node.mode)) {
        node.contents = { ...contents as Record<string, FileNode> };
        continue;
      }
      if (contents === null) continue;
      const first = this.#first!.nodes.get(node)?.contents as Uint8Array | undefined;
      const range = this.#written.get(node);
      if (first !== undefined && range !== undefined) restoreBytes(node, first, range);
      if (!isFirst && written !== NOTHING) {
        writeBytes(node, contents as Uint8Array, written.start);
        this.#note(node, written);
      }
      node.usedBytes = usedBytes;
    }
    FS.nameTable.length = 0;
    FS.nameTable.push(...snapshot.nameTable);
    FS.streams.length = 0;
    for (const [fd, saved] of snapshot.streams.entries()) {
      if (saved === undefined || saved === null) {
        FS.streams.push(undefined);
        continue;
      }
      const { stream, position, node, shared } = saved;
      // PostgreSQL may have closed it since: a segment of its log, for example, once it was full.
      Object.assign(stream, { fd, position, node });
      Object.assign(stream.shared, shared);
      FS.streams.push(stream);
    }
    if (isFirst) this.#written.clear();
  }

  #note(node: FileNode, { start, end }: Range): void {
    const noted = this.#written.get(node);
    this.#written.set(node, {
      start: Math.min(start, noted?.start ?? start),
      end: Math.max(end, noted?.end ?? end),
    });
  }

  #watchWrites(nodes: ReadonlyMap<FileNode, SavedNode>): void {
    const file = [...nodes.keys()].find(({ mode }) => this.#module.FS.isFile(mode))!;
    const { write } = file.stream_ops;
    file.stream_ops.write = (stream, buffer, offset, length, position, canOwn) => {
      this.#note(stream.node, { start: position, end: position + length });
      return write(stream, buffer, offset, length, position, canOwn);
    };
    const { setattr } = file.node_ops;
    file.node_ops.setattr = (node, ...rest) => {
      this.#note(node, WHOLE);
      setattr(node, ...rest);
    };
  }
}

function restoreBytes(node: FileNode, bytes: Uint8Array, { start, end }: Range): void {
  const present = node.contents as Uint8Array;
  if (present.length < bytes.length) node.contents = bytes.slice();
  else present.set(bytes.subarray(start, Math.min(end, bytes.length)), start);
}

function writeBytes(node: FileNode, bytes: Uint8Array, at: number): void {
  const present = node.contents as Uint8Array;
  if (present.length < at + bytes.length) {
    node.contents = new Uint8Array(at + bytes.length);
    node.contents.set(present);
  }
  (node.contents as Uint8Array).set(bytes, at);
}
