#!/usr/bin/env bash
# require_releasable.sh <tag>: fails, and says why, unless this tree can be released under the tag.
# Run it in the root of the repository.
set -euo pipefail

tag=$1
problems=()
if [[ ! -s LICENSE ]]; then
  problems+=("There is no LICENSE file. Choose a licence before you publish anything.")
fi
if [[ ! $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
  problems+=("The tag $tag is not of the form v1.2.3.")
fi
for file in packages/agent-files/package.json clients/python/pyproject.toml supabase/functions/_shared/request/version.ts; do
  if ! grep -qF "\"${tag#v}\"" "$file"; then
    problems+=("$file does not have the version ${tag#v}.")
  fi
done
if ((${#problems[@]} > 0)); then
  printf '%s\n' "${problems[@]}" >&2
  exit 1
fi
