/**
 * The media type of a folder that `put` has packed. The parameter tells it from other tars, and
 * a program that does not know it still sees a tar.
 */
export const PACKED_FOLDER = "application/x-tar; agent-files=folder";

/** Whether `put` has packed a folder, as far as the sender says: any sender can claim it. */
export function isPackedFolder({ mime }: { readonly mime: string }): boolean {
  return /^application\/x-tar *;(?:.*;)? *agent-files="?folder"? *(?:;|$)/i
    .test(mime);
}

/** What a packed folder has in front of the folder itself. */
export function listingName(folder: string): string {
  return `${folder}.listing.tsv`;
}

/** `drawings.tar` → `drawings`: what the folder of an archive is called. */
export function folderNameOf(fileName: string): string {
  return fileName.replace(/(?<=.)\.tar$/i, "");
}
