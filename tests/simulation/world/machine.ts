import { Buffer } from "node:buffer";
import type { PGlite } from "@electric-sql/pglite";

/**
 * The state of a whole database: the memory and the files of the program. Going back to it takes
 * about ten milliseconds and is exact: even the transaction ids begin again.
 */
export interface Snapshot {
  readonly memory: Uint8Array;
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
  position: number;
  node: FileNode;
  shared: object;
}

type SavedNode =
  & Pick<FileNode, "name" | "parent" | "name_next" | "usedBytes">
  & { readonly contents: FileNode["contents"] | null };

interface SavedStream extends Pick<Stream, "position" | "node"> {
  readonly stream: Stream;
  readonly shared: object;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const WHOLE: Range = { start: 0, end: Infinity };

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
  #first: Snapshot | null = null;

  constructor(database: PGlite) {
    this.#module = database.Module as unknown as EmscriptenModule;
  }

  save(): Snapshot {
    const { HEAPU8, FS } = this.#module;
    const nodes = new Map<FileNode, SavedNode>();
    const isFirst = this.#first === null;
    const visit = (node: FileNode) => {
      const { name, parent, name_next, usedBytes } = node;
      const contents = FS.isDir(node.mode)
        ? { ...node.contents as Record<string, FileNode> }
        : FS.isFile(node.mode) && (isFirst || this.#isNew(node))
        ? (node.contents as Uint8Array).slice(0, usedBytes)
        : this.#first?.nodes.get(node)?.contents ?? null;
      nodes.set(node, { name, parent, name_next, usedBytes, contents });
      if (!FS.isDir(node.mode)) return;
      for (const child of Object.values(node.contents as Record<string, FileNode>)) {
        if (child.mount.type === FS.root.mount.type) visit(child);
      }
    };
    visit(FS.root);
    const snapshot: Snapshot = {
      memory: HEAPU8.slice(0, usedLength(HEAPU8)),
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
    const { HEAPU8, FS } = this.#module;
    HEAPU8.set(snapshot.memory);
    HEAPU8.fill(0, snapshot.memory.length, usedLength(HEAPU8));
    const isFirst = snapshot === this.#first;
    for (const [node, { name, parent, name_next, usedBytes, contents }] of snapshot.nodes) {
      Object.assign(node, { name, parent, name_next });
      if (FS.isDir(node.mode)) {
        node.contents = { ...contents as Record<string, FileNode> };
        continue;
      }
      const range = isFirst ? this.#written.get(node) : WHOLE;
      if (contents === null || range === undefined) continue;
      restoreBytes(node, contents as Uint8Array, range);
      if (contents !== this.#first!.nodes.get(node)?.contents) this.#note(node, WHOLE);
      node.usedBytes = usedBytes;
    }
    FS.nameTable.length = 0;
    FS.nameTable.push(...snapshot.nameTable);
    FS.streams.length = 0;
    for (const saved of snapshot.streams) {
      if (saved === undefined || saved === null) {
        FS.streams.push(undefined);
        continue;
      }
      const { stream, position, node, shared } = saved;
      Object.assign(stream, { position, node });
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

  #isNew(node: FileNode): boolean {
    return this.#written.has(node) || !this.#first!.nodes.has(node);
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

const ZEROS = new Uint8Array(1024 ** 2);

/** The length of the memory up to its last megabyte that is not all 0: a quarter of the whole. */
function usedLength(memory: Uint8Array): number {
  for (let end = memory.length; end > 0; end -= ZEROS.length) {
    if (Buffer.compare(memory.subarray(end - ZEROS.length, end), ZEROS) !== 0) return end;
  }
  return 0;
}
