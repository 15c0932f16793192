/**
 * Issuers that sign for many tenants with the same keys. A condition has to name the tenant, by a
 * claim that nobody else can ever get: names of organizations and repositories can be given up and
 * taken by others.
 */
interface SharedIssuer {
  readonly issuer: string;
  /** Whether addresses below the issuer's are the same issuer's. */
  readonly hasMore: boolean;
  /** One of these must be among the conditions, as an equality. */
  readonly tenantClaims: readonly string[];
}

const SHARED_ISSUERS: readonly SharedIssuer[] = [
  // `sub` and `repository_owner` are made of names, and `sub` is spelled as the tenant likes.
  {
    issuer: "https://token.actions.githubusercontent.com",
    hasMore: true,
    tenantClaims: ["repository_id", "repository_owner_id", "enterprise_id"],
  },
  // Paths of projects and groups can be taken by others after they were moved.
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
  // The address of a team has its name, which it can change.
  { issuer: "https://oidc.vercel.com", hasMore: true, tenantClaims: ["owner_id", "project_id"] },
  {
    issuer: "https://app.terraform.io",
    hasMore: false,
    tenantClaims: ["terraform_organization_id", "terraform_workspace_id"],
  },
  // Cloud agents. `sub` is the owner's number, not an address; `repo_url` names one of several.
  { issuer: "https://api.cursor.com", hasMore: false, tenantClaims: ["team_id", "sub"] },
  // The team is in a list, which no condition looks into.
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
