import type { Catalogue } from "./catalogue.ts";
import { type DifferingLine, diffLines } from "./line_diff.ts";

/**
 * The differences of two databases, one text for each object that differs, in order. Lines begin
 * with `-` for what the migrations make, and with `+` for what the schemas say.
 */
export function compareCatalogues(
  { migrations, schemas }: { readonly migrations: Catalogue; readonly schemas: Catalogue },
): string[] {
  const names = [...new Set([...migrations.keys(), ...schemas.keys()])].sort();
  return names.flatMap((name) => {
    const [migrated, declared] = [migrations.get(name), schemas.get(name)];
    if (migrated === declared) return [];
    if (migrated === undefined) {
      return [`${name}: in supabase/schemas, not made by the migrations.`];
    }
    if (declared === undefined) {
      return [`${name}: made by the migrations, not in supabase/schemas.`];
    }
    const lines = describe(name, diffLines(migrated.split("\n"), declared.split("\n")));
    return [[`${name}:`, ...lines].join("\n  ")];
  });
}

/**
 * Describes two properties of a function in words, with the statement that a migration needs. They
 * are the roles that may execute it, which `drop` and `create` reset to the default, and its
 * settings, which `create or replace` also removes.
 */
function describe(name: string, lines: readonly DifferingLine[]): string[] {
  const isFunction = name.startsWith("function ");
  const inWords = lines.filter(({ text }) =>
    isFunction && (EXECUTABLE.test(text) || SETTING.test(text))
  );
  return [
    ...lines.filter((line) => !inWords.includes(line)).map(({ side, text }) => `${side} ${text}`),
    ...describePrivileges(name, inWords),
    ...describeSettings(name, inWords),
  ];
}

const EXECUTABLE = /^executable for: (.*)$/;
/** A setting, as pg_get_functiondef writes it. */
const SETTING = /^ SET (\S+) TO (.*)$/;

function describePrivileges(name: string, lines: readonly DifferingLine[]): string[] {
  const rolesOf = (side: DifferingLine["side"]) =>
    lines.flatMap((line) =>
      line.side === side ? EXECUTABLE.exec(line.text)?.[1]?.split(", ") ?? [] : []
    );
  const [migrated, declared] = [rolesOf("-"), rolesOf("+")];
  const surplus = migrated.filter((role) => !declared.includes(role)).join(", ");
  const missing = declared.filter((role) => !migrated.includes(role)).join(", ");
  return [
    ...(surplus === ""
      ? []
      : [`The migrations let ${surplus} execute it: revoke execute on ${name} from ${surplus};`]),
    ...(missing === "" ? [] : [
      `The migrations do not let ${missing} execute it: grant execute on ${name} to ${missing};`,
    ]),
  ];
}

function describeSettings(name: string, lines: readonly DifferingLine[]): string[] {
  const settingsOf = (side: DifferingLine["side"]) =>
    new Map(lines.flatMap((line): [string, string][] => {
      const [, setting, value] = SETTING.exec(line.text) ?? [];
      return line.side !== side || setting === undefined || value === undefined
        ? []
        : [[setting, value]];
    }));
  const [migrated, declared] = [settingsOf("-"), settingsOf("+")];
  return [
    ...[...declared].map(([setting, value]) =>
      migrated.has(setting)
        ? `The migrations give it another ${setting}, ${
          migrated.get(setting)
        }: alter ${name} set ${setting} to ${value};`
        : `The migrations leave it without its ${setting}: alter ${name} set ${setting} to ${value};`
    ),
    ...[...migrated.keys()].filter((setting) => !declared.has(setting)).map((setting) =>
      `The migrations give it a ${setting}: alter ${name} reset ${setting};`
    ),
  ];
}
