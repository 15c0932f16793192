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
