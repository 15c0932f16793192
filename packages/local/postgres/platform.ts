import postgres from "postgres";
import { readFile } from "node:fs/promises";

/**
 * Which roles may use what a migration creates and grants to nobody. Older and newer projects
 * differ.
 */
export type DefaultPrivileges = "older" | "newer";

export interface ProjectDatabaseOptions {
  /** Any database of the cluster, as its superuser. */
  readonly superuserUrl: string;
  /** The new database's name. */
  readonly name: string;
  readonly defaultPrivileges: DefaultPrivileges;
}

/** The roles that can log in. All have the cluster's one password. */
export const LOGIN_ROLES = ["postgres", "authenticator", "supabase_storage_admin"];

/** Makes the cluster's database `postgres` a stock Supabase database, unless it is one already. */
export async function preparePlatform(superuserUrl: string, password: string): Promise<void> {
  const sql = postgres(superuserUrl, { max: 1, onnotice: ignore });
  try {
    await sql.begin(async (transaction) => {
      const [roles] = await transaction`select from pg_roles where rolname = 'authenticator'`;
      if (roles !== undefined) return;
      await transaction.unsafe(await platformFile("roles.sql"));
      for (const role of LOGIN_ROLES) {
        // `alter role` takes no parameters. The password is hex, so it needs no quoting.
        await transaction.unsafe(`alter role ${role} password '${password}'`);
      }
      await transaction.unsafe("alter database postgres owner to postgres");
      await createSchemas(transaction, "older");
    });
  } finally {
    await sql.end();
  }
}

/**
 * Creates another stock Supabase database on the cluster, without the project's migrations.
 * Resolves to its URL for the role `postgres`.
 */
export async function createProjectDatabase(options: ProjectDatabaseOptions): Promise<string> {
  const cluster = postgres(options.superuserUrl, { max: 1, onnotice: ignore });
  try {
    await cluster`create database ${cluster(options.name)} template template0 owner postgres`;
  } finally {
    await cluster.end();
  }
  const url = new URL(options.superuserUrl);
  url.pathname = `/${options.name}`;
  const sql = postgres(url.href, { max: 1, onnotice: ignore });
  try {
    await sql.begin((transaction) => createSchemas(transaction, options.defaultPrivileges));
  } finally {
    await sql.end();
  }
  url.username = "postgres";
  return url.href;
}

async function createSchemas(
  transaction: postgres.TransactionSql,
  defaultPrivileges: DefaultPrivileges,
): Promise<void> {
  await transaction.unsafe(await platformFile("schemas.sql"));
  await transaction.unsafe(await platformFile(`default_privileges_${defaultPrivileges}.sql`));
  await transaction.unsafe(await platformFile("storage.sql"));
}

/** Everything that decides what a stock database of the local stack contains. */
export function platformTexts(): Promise<string[]> {
  return Promise.all(
    ["roles.sql", "schemas.sql", "default_privileges_older.sql", "storage.sql"].map(platformFile),
  );
}

function platformFile(name: string): Promise<string> {
  return readFile(new URL(`./platform/${name}`, import.meta.url), "utf8");
}

function ignore(): void {}
