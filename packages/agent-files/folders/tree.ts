import { type Platform, sameFileText } from "./entry_path.ts";
import { refusal } from "./tar/refusal.ts";

interface Known {
  readonly path: string;
  readonly isDirectory: boolean;
  /** Whether the archive has an entry for this path, not only for something below it. */
  isListed: boolean;
}

/** The folders to create for an entry, outermost first, and the entry's own path. */
export interface Place {
  readonly folders: readonly string[];
  /** The path below the target, with `/`; empty for the target itself. */
  readonly path: string;
  /** Whether the folder exists already, because an entry below it came first. */
  readonly isThere: boolean;
}

export interface TreeOptions {
  readonly platform: Platform;
  /** How many files and folders there may be. */
  readonly maxEntries: number;
}

/**
 * The files and folders of an archive so far. No two have the same path, and none is below a file.
 */
export class Tree {
  readonly #known = new Map<string, Known>();
  readonly #options: TreeOptions;

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  /** How many files and folders. */
  get size(): number {
    return this.#known.size;
  }

  /** Throws `archive_refused` if the entry conflicts with others, or is one too many. */
  add(name: string, segments: readonly string[], isDirectory: boolean): Place {
    const path = segments.join("/");
    if (path === "") {
      if (!isDirectory) throw refusal(name, "is a file without a name");
      return { folders: [], path, isThere: true };
    }
    const folders: string[] = [];
    for (let depth = 1; depth < segments.length; depth++) {
      const above = segments.slice(0, depth).join("/");
      const known = this.#at(above);
      if (known === undefined) {
        this.#remember(name, {
          path: above,
          isDirectory: true,
          isListed: false,
        });
        folders.push(above);
      } else if (!known.isDirectory) throw refusal(name, "lies below a file");
      else if (known.path !== above) {
        throw refusal(name, `is in a folder also named ${known.path}`);
      }
    }
    const known = this.#at(path);
    if (known === undefined) {
      this.#remember(name, { path, isDirectory, isListed: true });
      return { folders, path, isThere: false };
    }
    const isSame = known.path === path && known.isDirectory && isDirectory &&
      !known.isListed;
    if (!isSame) throw refusal(name, "comes twice");
    known.isListed = true;
    return { folders, path, isThere: true };
  }

  #at(path: string): Known | undefined {
    return this.#known.get(sameFileText(path, this.#options.platform));
  }

  #remember(name: string, known: Known): void {
    const { platform, maxEntries } = this.#options;
    if (this.#known.size >= maxEntries) {
      throw refusal(name, `exceeds the limit of ${maxEntries} entries`);
    }
    this.#known.set(sameFileText(known.path, platform), known);
  }
}
