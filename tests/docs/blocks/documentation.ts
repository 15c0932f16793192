/** Reads the documentation: its pages, and their fenced blocks. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

/** A fenced block of the documentation. */
export interface Block {
  /** `<page>, <heading>, <number below that heading>`. */
  readonly id: string;
  /** The language after the fence, or "". */
  readonly language: string;
  readonly text: string;
}

/** The paths of every page, from the project's folder. */
export async function listPages(): Promise<string[]> {
  const folders = ["docs", "examples", "clients", "packages"].map(async (folder) => {
    const files = await readdir(join(PROJECT, folder), { recursive: true });
    return files.filter((file) =>
      file.endsWith(".md") && !/(?:^|\/)(?:dist|node_modules)\//.test(file)
    )
      .map((file) => join(folder, file));
  });
  const pages = (await Promise.all(folders)).flat()
    .filter((page) => !/\/(?:dist|node_modules)\//.test(page))
    // Its blocks are programs of whoever reads it.
    .filter((page) => page !== "packages/command/README.md");
  return [
    "README.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ...pages.sort(),
  ];
}

export function readPage(page: string): Promise<string> {
  return readFile(join(PROJECT, page), "utf8");
}

/** Every block of every page, in order. */
export async function readBlocks(): Promise<Block[]> {
  const pages = await listPages();
  return (await Promise.all(pages.map(async (page) => blocksOf(page, await readPage(page)))))
    .flat();
}

/** The text of a block. A test runs the blocks that it asks for here, by a literal id. */
export async function documentedBlock(id: string): Promise<string> {
  const block = (await readBlocks()).find((block) => block.id === id);
  if (block === undefined) throw new Error(`The documentation has no block "${id}".`);
  return block.text;
}

/** The page without its blocks: prose, headings, tables and lists. */
export function proseOf(markdown: string): string {
  return markdown.replaceAll(FENCED, "");
}

const FENCED = /^```(\w*)\n(.*?)^```$/gms;

function blocksOf(page: string, markdown: string): Block[] {
  const counts = new Map<string, number>();
  return Array.from(markdown.matchAll(FENCED), ({ 1: language = "", 2: text = "", index }) => {
    const headings = proseOf(markdown.slice(0, index)).matchAll(/^#+ (.+)$/gm);
    const place = `${page}, ${Array.from(headings).at(-1)?.[1] ?? "top"}`;
    const number = (counts.get(place) ?? 0) + 1;
    counts.set(place, number);
    return { id: `${place}, ${number}`, language, text };
  });
}
