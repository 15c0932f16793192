/**
 * How many releases have changed what the same state renders to. Every such release raises this
 * number, so that agents fetch the new text. The number is here and not in the database, because
 * migrations are applied while the functions of the previous release still render.
 */
export const RENDERING_REVISION = 2;

/** The wire contract's `config_version`. The database's `stateVersion` rises with the state. */
export function configVersion(stateVersion: number): number {
  return stateVersion + RENDERING_REVISION;
}
