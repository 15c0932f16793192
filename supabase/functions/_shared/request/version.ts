/** The release of these functions: the first release in CHANGELOG.md, in lower case. */
export const VERSION = "unreleased";
