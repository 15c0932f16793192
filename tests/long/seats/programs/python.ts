/** Clients in Python, with the Pythons of this machine. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  interpreter,
  PYTHON_ENVIRONMENT,
  PYTHON_PACKAGE,
  pythons,
} from "../../../../clients/python/tests/interpreter.ts";
import { handOverIn, prepare } from "../../../openapi/generated/python_client.ts";
import { succeed } from "../../runtimes/tools.ts";
import { type Given, NotHereError, type Outcome } from "../hand_over.ts";

const HAND_OVER = `
import hashlib, io, json, platform, sys
from agent_files import AgentError, AgentFiles

given = json.loads(sys.argv[1])
size = given["file"]["size"]
planner = AgentFiles(given["url"], given["planner"]["key"])
builder = AgentFiles(given["url"], given["builder"]["key"])
planner.put(given["file"]["key"], bytes((i * 31 + (i >> 8)) & 255 for i in range(size)),
            to=[given["builder"]["id"]])
outcome = {"version": platform.python_version()}
for grant in builder.inbox():
    received = io.BytesIO()
    builder.get(grant["artifact_id"], received)
    outcome["sha256"] = hashlib.sha256(received.getvalue()).hexdigest()
    outcome["from"] = grant["from_agent"]
try:
    builder.get(given["closedId"], io.BytesIO())
except AgentError as error:
    outcome["refused"] = f"{error.status} {error.code}"
print(json.dumps(outcome))
`;

const GRAMMAR = `
import ast, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    ast.parse(path.read_text(), feature_version=(3, 10))
`;

export async function byPython(python: string, given: Given): Promise<Outcome> {
  return JSON.parse(
    await succeed(python, ["-c", HAND_OVER, JSON.stringify(given)], {
      cwd: PYTHON_PACKAGE,
      env: PYTHON_ENVIRONMENT,
    }),
  );
}

/** The client that openapi-python-client generates in a folder. */
export async function byOpenapiPythonClient(folder: string, given: Given): Promise<Outcome> {
  const inner = join(folder, "openapi-python-client");
  await mkdir(inner);
  await prepare(inner);
  return await handOverIn(inner, given);
}

/**
 * No registry that the tests use has Python 3.10, and Debian has one version. If Python 3.10 is
 * missing, this only parses the modules with the grammar of 3.10 and throws NotHereError.
 */
export async function byPython310(given: Given): Promise<Outcome> {
  for (const python of await pythons()) {
    const version = await succeed(python, ["--version"], { cwd: PYTHON_PACKAGE });
    if (version.startsWith("Python 3.10.")) return await byPython(await interpreter(python), given);
  }
  const modules = join(PYTHON_PACKAGE, "agent_files");
  await succeed("python3", ["-c", GRAMMAR, modules], { cwd: PYTHON_PACKAGE });
  throw new NotHereError("no python3.10 on the PATH or in pyenv; the grammar of 3.10 is kept");
}
