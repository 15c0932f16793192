/** The lines of a file of vectors, without its comments. */
export function readVectors(name: string): string[] {
  return readText(`vectors/${name}`).split("\n").filter((line) => !/^(#|$)/.test(line));
}

export function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, import.meta.url));
}
