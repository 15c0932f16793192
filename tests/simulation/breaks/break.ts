/** A fault that was mended once, brought back to see in how many seeds it is found. */
export interface Break {
  /** Of the list of all breaks; undefined: nobody has found it but the simulator. */
  readonly number?: number;
  /** What somebody does, and what goes wrong. */
  readonly words: string;
  /** Actors who take no part, so that more steps are spent on what breaks. */
  readonly absent?: readonly string[];
  /** Those of `SPECIAL`, and optional ones, who take part: what breaks is theirs. */
  readonly acting?: readonly string[];
  /** It is found within so many seeds, from 1 on. */
  readonly seeds?: number;
  /** Each `from` stands exactly once in its file. */
  readonly changes: readonly Change[];
}

export interface Change {
  /** `sql`: the release's migrations. Otherwise a file of `supabase/functions/`. */
  readonly file: "sql" | `${string}.ts`;
  readonly from: string;
  readonly to: string;
}

/** Actors of a subject of their own. They take part only in breaks of it. */
const SPECIAL = ["rotations"];

export function absentFrom({ absent = [], acting = [] }: Partial<Break>): readonly string[] {
  return [...absent, ...SPECIAL.filter((actor) => !acting.includes(actor))];
}

/** The break of the file `tests/simulation/breaks/<name>.ts`. */
export async function breakNamed(name: string | null): Promise<Break | undefined> {
  if (name === null) return undefined;
  return (await import(new URL(`./${name}.ts`, import.meta.url).href)).default;
}

/** `text` with the break's changes of `file`. Throws if it has none or several places for one. */
export function changed(text: string, file: string, broken: Break | undefined): string {
  return (broken?.changes ?? []).filter((change) => change.file === file)
    .reduce((now, { from, to }) => {
      const places = now.split(from).length - 1;
      if (places !== 1) throw new Error(`${file} has ${places} places for: ${from}`);
      return now.replace(from, () => to);
    }, text);
}
