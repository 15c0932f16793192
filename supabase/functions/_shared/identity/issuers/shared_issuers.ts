/**
 * Issuers that sign for many tenants with the same keys. A condition must name the tenant by a
 * claim that no other tenant can ever get. Names of organizations and repositories are not enough:
 * when one is given up, another tenant can take it.
 */
interface SharedIssuer {
  readonly issuer: string;
  /** Whether URLs below this one belong to the same issuer. */
  readonly hasMore: boolean;
  /** One of these must be among the conditions, as an equality. */
  readonly tenantClaims: readonly string[];
}

const SHARED_ISSUERS: readonly SharedIssuer[] = [
  // `sub` and `repository_owner` are made of names, and the tenant can customize the form of `sub`.
  {
    issuer: "https://token.actions.githubusercontent.com",
    hasMore: true,
    tenantClaims: ["repository_id", "repository_owner_id", "enterprise_id"],
  },
  // After a project or a group was moved, others can take its path.
  {
    issuer: "https://gitlab.com",
    hasMore: false,
    tenantClaims: ["project_id", "namespace_id"],
  },
  // `email` can be given to another account.
  { issuer: "https://accounts.google.com", hasMore: false, tenantClaims: ["sub"] },
  {
    issuer: "https://agent.buildkite.com",
    hasMore: false,
    tenantClaims: ["organization_id", "pipeline_id"],
  },
  // The issuer URL of a team contains the team's name, which the team can change.
  { issuer: "https://oidc.vercel.com", hasMore: true, tenantClaims: ["owner_id", "project_id"] },
  {
    issuer: "https://app.terraform.io",
    hasMore: false,
    tenantClaims: ["terraform_organization_id", "terraform_workspace_id"],
  },
  // Cloud agents. `sub` is the owner's number, not an e-mail address; `repo_url` names only one of
  // several repositories.
  { issuer: "https://api.cursor.com", hasMore: false, tenantClaims: ["team_id", "sub"] },
  // The team is in a list, and conditions cannot look into lists.
  { issuer: "https://app.warp.dev", hasMore: false, tenantClaims: ["sub"] },
];

/** A condition must name one of these claims; null: the issuer has one tenant. */
export function tenantClaimsOf(issuer: string): readonly string[] | null {
  const shared = SHARED_ISSUERS.find((one) =>
    issuer === one.issuer || issuer === `${one.issuer}/` ||
    one.hasMore && issuer.startsWith(`${one.issuer}/`)
  );
  return shared?.tenantClaims ?? null;
}
