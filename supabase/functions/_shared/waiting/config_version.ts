/**
 * How many releases have changed what the same state renders to. Every such release raises it, so
 * that agents fetch the new text. It is the functions' own, not counted in the database: migrations
 * are applied while the functions of the release before still render.
 */
export const RENDERING_REVISION = 2;

/** The `config_version` of the wire contract, from the database's, which rises with the state. */
export function configVersion(stateVersion: number): number {
  return stateVersion + RENDERING_REVISION;
}
