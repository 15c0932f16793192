/** Every operation's card, by function: the file whose path is the operation's. */
import { stat } from "node:fs/promises";
import type { ArtifactsCard, Card, FunctionName, MeshCard, Paths } from "./card.ts";
import { fileOfCard, FUNCTIONS, pathsOf } from "./paths.ts";

export { FUNCTIONS };

async function readCard(name: FunctionName, path: string): Promise<unknown> {
  const file = fileOfCard(name, path);
  const url = new URL(`../../${file}`, import.meta.url);
  // Not `access`, for which Deno asks who the user is: the suite may only read.
  await stat(url).catch((cause) => {
    throw new Error(`${file} is missing: the card of ${path} of ${name}`, { cause });
  });
  const { card } = await import(url.href);
  if (card === undefined) throw new Error(`${file} exports no \`card\``);
  return card;
}

/** In the order of `app.ts`. */
async function readCards<Name extends FunctionName>(name: Name) {
  const read = pathsOf(name).map(async (path) => [path, await readCard(name, path)]);
  return Object.fromEntries(await Promise.all(read)) as Readonly<
    Record<Paths[Name], Name extends "agent-mesh" ? MeshCard : ArtifactsCard>
  >;
}

export const ARTIFACTS_CARDS = await readCards("agent-artifacts");
export const MESH_CARDS = await readCards("agent-mesh");

/** What is the same for the cards of both functions: everything but the cast of `valid`. */
type AnyCard = Omit<Card, "valid">;

/** The cards of a function, with their paths. */
export function cardsOf(name: FunctionName): [path: string, card: AnyCard][] {
  return Object.entries(name === "agent-artifacts" ? ARTIFACTS_CARDS : MESH_CARDS);
}

/** The cards of both functions, each once: they share some. */
export const ALL_CARDS: ReadonlySet<AnyCard> = new Set(
  FUNCTIONS.flatMap((name) => cardsOf(name)).map(([, card]) => card),
);
