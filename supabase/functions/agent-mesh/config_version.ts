/**
 * How many times a release has changed what the same state renders to. Raised with every such change, so that agents
 * fetch the new text. It is added here and not counted in the database, because migrations are applied while the
 * functions of the release before still render.
 */
export const RENDERING_REVISION = 1;

/** The `config_version` of the wire contract, from the database's own, which rises with the state. */
export function configVersion(stateVersion: number): number {
  return stateVersion + RENDERING_REVISION;
}
