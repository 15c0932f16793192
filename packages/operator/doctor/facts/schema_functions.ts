import { createHash } from "node:crypto";
import type { SchemaFile } from "../../../local/postgres/schema_files.ts";

/** An SQL function as this checkout defines it. */
export interface SchemaFunction {
  /** With its schema, such as `mesh.lags`. */
  readonly name: string;
  /** MD5 of its body; null for an SQL-standard body, whose text PostgreSQL does not keep. */
  readonly digest: string | null;
  /** Whether it runs as its owner. */
  readonly isDefiner: boolean;
  /** The statements that restore it, privileges included. */
  readonly statement: string;
}

/** Every function that the schema files define. */
export function readSchemaFunctions(files: readonly SchemaFile[]): SchemaFunction[] {
  const patient = namesOfPatient(files);
  return files.flatMap(({ text }) =>
    Array.from(text.matchAll(/^create function ([\w.]+)\(/gm), ({ 1: name, index }) => {
      const definition = definitionAt(text, index);
      const body = /^as \$\$(.*)^\$\$;$/ms.exec(definition)?.[1];
      return {
        name: name!,
        digest: body === undefined ? null : md5(body),
        isDefiner: /^security definer$/m.test(definition),
        statement: [
          definition.replace(/^create /, "create or replace "),
          `revoke all on function ${name} from public, anon, authenticated;`,
          `grant execute on function ${name} to service_role;`,
          ...(name!.startsWith("public.") && !patient.has(name!) &&
              /^volatile$/m.test(definition)
            ? [`alter function ${name} set lock_timeout = '1s';`]
            : []),
          // PostgREST reloads its schema cache only when it is notified.
          ...(name!.startsWith("public.") ? ["notify pgrst, 'reload schema';"] : []),
        ].join("\n"),
      };
    })
  );
}

/** From `create function` to the semicolon that ends the statement. */
function definitionAt(text: string, index: number): string {
  const rest = text.slice(index);
  const header = /^(?:as \$\$|begin atomic$|return\b)/m.exec(rest)?.[0] ?? "";
  const end = header.startsWith("as") ? "\n$$;" : header.startsWith("begin") ? "\nend;" : ";\n";
  return rest.slice(0, rest.indexOf(end) + end.length).trimEnd();
}

/** Functions without a short lock timeout, as `privileges.sql` lists them. */
function namesOfPatient(files: readonly SchemaFile[]): ReadonlySet<string> {
  const { text = "" } = files.find(({ path }) => path.endsWith("/privileges.sql")) ?? {};
  const list = /patient constant regproc\[\] := array\[(.*?)\]/s.exec(text)?.[1] ?? "";
  return new Set(Array.from(list.matchAll(/'([\w.]+)'/g), ([, name]) => name!));
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}
