/**
 * The media type of a folder that `put` has packed. The parameter distinguishes it from other tars.
 * A program that does not know the parameter still sees a tar.
 */
export const PACKED_FOLDER = "application/x-tar; agent-files=folder";

/** Whether the media type says that `put` packed a folder. Any sender can claim that. */
export function isPackedFolder({ mime }: { readonly mime: string }): boolean {
  return /^application\/x-tar *;(?:.*;)? *agent-files="?folder"? *(?:;|$)/i
    .test(mime);
}

/** The name of the listing, which comes before the packed folder. */
export function listingName(folder: string): string {
  return `${folder}.listing.tsv`;
}

/** `drawings.tar` → `drawings`: the name for the folder of an archive. */
export function folderNameOf(fileName: string): string {
  return fileName.replace(/(?<=.)\.tar$/i, "");
}

// These types are in the library's interface. They name nothing of Node: programs for browsers are
// compiled without its types.

/** A file or folder of the archive. */
export interface PackedEntry {
  /** The path within the archive. */
  readonly name: string;
  readonly size: number;
}

/** An entry that cannot be sent. */
export interface LeftOut {
  /** The path that it would have within the archive. What is not UTF-8 in it is `\ufffd`. */
  readonly name: string;
  readonly kind:
    | "symbolic link"
    | "fifo"
    | "socket"
    | "device"
    | "name that is not UTF-8";
}

export interface WalkOptions {
  /** Patterns of what is not to be sent, each like a line of a `.gitignore` in the folder. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * Whether to leave out `.git`, and what git ignores: by each `.gitignore` in the folder and in
   * the repository around it, and by the repository's own `info/exclude`.
   */
  readonly gitignore?: boolean | undefined;
}
