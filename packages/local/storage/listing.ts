import type { ObjectRow } from "./object_rows.ts";

/** The body that supabase-js sends for `list`. */
export interface ListRequest {
  readonly prefix?: string;
  readonly search?: string;
  readonly limit?: number;
  readonly offset?: number;
  readonly sortBy?: { readonly column?: string; readonly order?: string };
}

type Column = "name" | "created_at" | "updated_at" | "last_accessed_at";

/** An object directly in the folder, or a folder there, for which only the name is set. */
export type ListEntry =
  & { readonly name: string }
  & Record<
    "id" | "updated_at" | "created_at" | "last_accessed_at" | "metadata",
    unknown
  >;

/** The prefix of all names in the folder. supabase-js sends it without the final slash. */
export function folderPrefix(request: ListRequest): string {
  const prefix = request.prefix ?? "";
  return prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
}

/** One page of what is directly in a folder. `rows`: everything below the folder. */
export function listFolder(rows: readonly ObjectRow[], request: ListRequest): ListEntry[] {
  const prefix = folderPrefix(request);
  const entries = new Map<string, ListEntry>();
  for (const row of rows) {
    const [name, ...deeper] = row.name.slice(prefix.length).split("/");
    if (!name?.startsWith(request.search ?? "")) continue;
    entries.set(name, deeper.length > 0 ? folder(name) : object(name, row));
  }
  const column = (request.sortBy?.column ?? "name") as Column;
  const direction = request.sortBy?.order === "desc" ? -1 : 1;
  const offset = request.offset ?? 0;
  return [...entries.values()]
    .sort((a, b) => direction * compare(a[column], b[column]))
    .slice(offset, offset + (request.limit ?? 100));
}

function folder(name: string): ListEntry {
  return {
    name,
    id: null,
    updated_at: null,
    created_at: null,
    last_accessed_at: null,
    metadata: null,
  };
}

function object(name: string, row: ObjectRow): ListEntry {
  const { id, updated_at, created_at, last_accessed_at, metadata } = row;
  return { name, id, updated_at, created_at, last_accessed_at, metadata };
}

function compare(a: unknown, b: unknown): number {
  const [left, right] = [a, b].map((value) =>
    value instanceof Date ? value.getTime() : value ?? ""
  );
  return left! < right! ? -1 : left! > right! ? 1 : 0;
}
