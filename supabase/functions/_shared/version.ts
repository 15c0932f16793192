/** The release that these functions are of, as CHANGELOG.md calls it at its top, in lower case. */
export const VERSION = "unreleased";
