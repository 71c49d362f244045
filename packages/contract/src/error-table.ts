import { errorNames, registeredError } from './errors.ts'

/** The registry as a page: `docs/errors.md`, which the test beside this keeps equal to it. */
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

Every refusal is one flat JSON object: \`error\`, for people; perhaps \`detail\`; and the fields named below. Branch on the status: the
text can change. \`X-Request-Id\` stands on every answer. 429, 500, 502, 503 and 507 are worth repeating after a while, 402 once billing is in
order; the others only after a change. The last column is the name of the error in \`/openapi.json\` (\`x-errors\`).

This page is made from the registry, \`packages/contract/src/errors.ts\`, by its test.

| Status | \`error\` | Beside it | Name |
|---|---|---|---|
${rows.join('\n')}
`
}
