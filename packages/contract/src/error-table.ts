import { errorNames, registeredError } from './errors.ts'

/** The registry as the page `docs/errors.md`. A test keeps the two equal. */
export function errorTable(): string {
  const rows = errorNames
    .map((name) => ({ name, ...registeredError(name) }))
    .toSorted((a, b) => a.status - b.status)
    .map(({ name, status, error, detail, fields = [] }) => {
      const extra = [
        ...(detail === undefined ? [] : [`\`detail\`: ${detail}`]),
        ...fields.map((field) => `\`${field}\``),
      ]
      return `| ${status} | ${error} | ${extra.join(', ')} | ${name} |`
    })
  return `# Errors

After reading this page you can handle every refusal of the API. A refusal is one flat JSON object:
\`error\`, a text for people; sometimes \`detail\`; and the fields in the table. Every answer has the
header \`X-Request-Id\`.

- Branch on the status. The texts can change.
- Retry 429, 500, 502, 503 and 507 after a while, and 402 once billing is in order.
- Retry the others only after a change.

The last column is the name of the error in \`/openapi.json\` (\`x-errors\`). A test generates this page
from \`packages/contract/src/errors.ts\`.

| Status | \`error\` | Beside it | Name |
|---|---|---|---|
${rows.join('\n')}
`
}
