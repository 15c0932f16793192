import { createHash } from "node:crypto";
import type { StorageParts } from "../../../packages/local/storage/server.ts";
import { storageErrors } from "../../../packages/local/storage/storage_error.ts";

/** How long Storage takes for a piece of its work, in milliseconds. */
export interface StoragePace {
  /** Between the first and the last byte of an upload. */
  receive(): Promise<void>;
  /** Of the copy that a move makes. */
  copy(): Promise<void>;
}

/** The bytes of all versions of objects, as `local/storage/object_files.ts` keeps them on disk. */
export class ObjectBytes {
  readonly #versions = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #lost = new Set<string>();

  constructor(private readonly pace: StoragePace) {}

  readonly asFiles: StorageParts["files"] = {
    receive: async (version, bytes) => {
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      for await (const chunk of bytes) chunks.push(new Uint8Array(chunk));
      const whole = new Uint8Array(await new Blob(chunks).arrayBuffer());
      await this.pace.receive();
      this.#versions.set(version, whole);
      return whole.length;
    },
    read: (version, { start, length }) => {
      const bytes = this.#versions.get(version);
      if (bytes === undefined) return Promise.reject(this.#missing(version));
      return Promise.resolve(streamOf(bytes.slice(start, start + length)));
    },
    duplicate: (version, newVersion) => this.#copy(version, newVersion),
    copy: async (version, newVersion) => {
      await this.#copy(version, newVersion);
      await this.pace.copy();
    },
    remove: (version) => {
      this.#versions.delete(version);
      return Promise.resolve();
    },
  };

  /** SHA-256 in hex; null if the bytes are lost. */
  digest(version: string): string | null {
    const bytes = this.#versions.get(version);
    return bytes === undefined ? null : createHash("sha256").update(bytes).digest("hex");
  }

  /** Takes the bytes away behind Storage's back. Its rows stay. */
  lose(version: string): void {
    this.#versions.delete(version);
    this.#lost.add(version);
  }

  /** Changes the bytes behind Storage's back. */
  damage(version: string): void {
    const bytes = this.#versions.get(version);
    if (bytes?.length) bytes[0]! ^= 1;
  }

  get versions(): string[] {
    return [...this.#versions.keys()];
  }

  /** S3 says so when it has lost an object. What Storage has removed, it does not ask for. */
  #missing(version: string): Error {
    return this.#lost.has(version) ? storageErrors.noSuchKey() : new Deno.errors.NotFound();
  }

  #copy(version: string, newVersion: string): Promise<void> {
    const bytes = this.#versions.get(version);
    if (bytes === undefined) return Promise.reject(this.#missing(version));
    this.#versions.set(newVersion, bytes.slice());
    return Promise.resolve();
  }
}

function streamOf(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
