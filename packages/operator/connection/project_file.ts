import { join } from "node:path";
import { CommandError } from "../../command/command_error.ts";
import { readPrivateFile, settingsFolder, writePrivateFile } from "../../command/private_file.ts";

/** A deployment, and the credential with which its operator calls it. */
export interface Project {
  readonly url: string;
  readonly secretKey: string;
}

/** What `agentops login` stores: projects by name. */
export type Projects = Readonly<Record<string, Project>>;

/** Below the XDG base directory for settings. */
export function projectFile(): string {
  return join(settingsFolder(), "agentops", "projects.json");
}

/**
 * The stored projects; none if nothing is stored. Throws if other users can read the file, and
 * CommandError if it is damaged.
 */
export async function readProjects(): Promise<Projects> {
  const file = projectFile();
  const text = await readPrivateFile(file);
  if (text === null) return {};
  const projects = parseProjects(text);
  if (projects === null) {
    throw new CommandError(`${file} is damaged. Remove it, and run \`agentops login\` again.`);
  }
  return projects;
}

/** Stores a project in the place of an earlier one of this name, or removes it if it is null. */
export async function storeProject(name: string, project: Project | null): Promise<void> {
  const { [name]: _earlier, ...others } = await readProjects();
  const projects = project === null ? others : { ...others, [name]: project };
  await writePrivateFile(projectFile(), `${JSON.stringify(projects, null, 2)}\n`);
}

function parseProjects(text: string): Projects | null {
  try {
    const projects: unknown = JSON.parse(text);
    if (projects === null || typeof projects !== "object" || Array.isArray(projects)) return null;
    return Object.values(projects).every(isProject) ? projects as Projects : null;
  } catch {
    return null;
  }
}

function isProject(value: unknown): value is Project {
  const { url, secretKey } = (value ?? {}) as Partial<Project>;
  return typeof url === "string" && URL.canParse(url) && typeof secretKey === "string";
}
