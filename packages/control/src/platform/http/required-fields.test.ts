/** @module-tag faults */
import { randomUUID } from 'node:crypto'
import { publicSchemas } from '@offshoot/contract/public-schemas'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { filledPath, objectsOfEveryKind, type Ids } from '../../test/objects-of-every-kind.ts'
import { lineOf, newPair } from '../../test/ssh-proof.ts'
import { OPERATOR, OPERATOR_KEY } from '../../test/operator.ts'

/** The part of a body's schema that says which fields must be there. */
interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
  /** One of these must be there. */
  readonly anyOf?: readonly { readonly required: readonly string[] }[]
  /** Fields that a field needs beside it. */
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>
}

interface Operation {
  readonly name: string
  /** The contract's schema of the body, if it has a name. Agents parse the bodies of some routes with it. */
  readonly schema: z.ZodType | undefined
  readonly method: string
  readonly path: string
  readonly credential: string | undefined
  readonly body: Schema
}

type Values = Readonly<Record<string, unknown>>

/** A value that the service takes for each field, so that a refusal is about a missing one. */
const VALUES: Values = {
  email: 'x@example.com',
  password: 'correct horse battery',
  code: '123456',
  name: 'mine',
  role: 'member',
  public_key: lineOf(newPair()),
  plan: 'pro',
  credit_usd: 1,
  reason: 'a reason',
  size_mb: 512,
  template: 'base',
  visibility: 'private',
  cmd: 'true',
  argv: ['true'],
  stdin: '',
  eof: true,
  port: 3000,
  signal: 'SIGINT',
  rows: 24,
  cols: 80,
  time: '2026-01-01T00:00:00Z',
  since: '2026-01-01T00:00:00Z',
  git_url: 'https://git.example.com/mine.git',
  domain: 'www.example.com',
  url: 'https://example.com/',
  count: 2,
  jsonrpc: '2.0',
  from_snapshot: randomUUID(),
  org_id: randomUUID(),
  slug: 'mine',
  label: 'a label',
  burst: 1_000_000,
  per_second: 1_000_000,
  certificate: 'PEM',
  private_key: 'PEM',
}
/** Where the same name means something else. */
const VALUES_BY_ROUTE: Readonly<Record<string, Values>> = {
  'POST /v1/admin/operators': { role: 'viewer' },
  'PATCH /v1/admin/operators/{id}': { role: 'viewer' },
  'POST /v1/sandboxes/{id}/code': { code: '1' },
}

/** Which of the fields a body has, by the document: each alternative, and each optional field beside it. */
function* allowed({ properties = {}, required = [], anyOf = [{ required: [] }], dependentRequired = {} }: Schema) {
  for (const alternative of anyOf) {
    const least = new Set([...required, ...alternative.required])
    yield [...least]
    for (const field of Object.keys(properties)) {
      if (!least.has(field)) yield [...new Set([...least, field, ...(dependentRequired[field] ?? [])])]
    }
  }
}

/** Fields without one that must be there. */
function* refused({ required = [], anyOf = [], dependentRequired = {} }: Schema) {
  const least = [...required, ...(anyOf[0]?.required ?? [])]
  for (const field of required) yield least.filter((each) => each !== field)
  if (anyOf.length > 0) yield [...required]
  for (const field of Object.keys(dependentRequired)) yield [...least, field]
}

describe('the fields of bodies', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let operations: Operation[]
  let owned: Record<string, Ids>

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], OPERATOR)
    alice = await harness.tenant(control, 'alice')
    operations = await documented()
    owned = await objectsOfEveryKind(harness, control, alice)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  /** Every operation with a JSON body. */
  async function documented(): Promise<Operation[]> {
    const { body: document } = await call(control.url, 'GET', '/openapi.json')
    const schemas = new Map(publicSchemas().map((each) => [each.name, each.schema]))
    const named = document.components.schemas as Record<string, Schema>
    return Object.entries(document.paths as Record<string, Record<string, DocumentedOperation>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).flatMap(([method, { security, requestBody }]) => {
          const schema = requestBody?.content['application/json']?.schema
          if (schema === undefined) return []
          const ref = schema.$ref?.split('/').at(-1) ?? ''
          const [credential] = Object.keys(security[0] ?? {})
          const name = `${method.toUpperCase()} ${path}`
          return [
            {
              name,
              schema: schemas.get(ref),
              method: method.toUpperCase(),
              path,
              credential,
              body: named[ref] ?? schema,
            },
          ]
        }),
    )
  }

  interface DocumentedOperation {
    readonly security: readonly object[]
    readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  }

  /** What the service says to a body with these fields. */
  async function answer({ name, schema, method, path, credential }: Operation, fields: readonly string[]) {
    const values = { ...VALUES, ...VALUES_BY_ROUTE[name] }
    const body = Object.fromEntries(fields.map((field) => [field, values[field] ?? null]))
    const issue = schema?.safeParse(body).error?.issues[0]
    if (issue !== undefined) return { status: 400, error: issue.message }
    const token = { operator: OPERATOR_KEY, jwt: alice.jwt, 'key-or-jwt': alice.key }[credential ?? '']
    const ids = { ...owned['orgs'], ...owned[path.split('/')[2] ?? ''] }
    const { status, body: said } = await call(control.url, method, filledPath(path, ids), {
      body,
      ...(token !== undefined && { token }),
    })
    return { status, error: String(said?.error ?? said?.message ?? '') }
  }

  /** Answers 403 without the right password or a fresh sign-in. */
  const ASKS_FOR_PROOF = 'DELETE /v1/me'
  const MISSING = /required|missing/i

  it('are required if the document says so, and no other is', async () => {
    expect(operations.length).toBeGreaterThan(50)
    const wrong: unknown[] = []
    // Operators change the limits of the workspace.
    const inOrder = operations.toSorted(
      (a, b) => Number(a.credential === 'operator') - Number(b.credential === 'operator'),
    )
    for (const operation of inOrder) {
      const { name, credential } = operation
      for (const fields of refused(operation.body)) {
        const { status, error } = await answer(operation, fields)
        if (status !== 400) wrong.push([name, 'takes only', fields, status, error])
      }
      for (const fields of allowed(operation.body)) {
        const { status, error } = await answer(operation, fields)
        const isMissing = status === 400 && MISSING.test(error)
        const wasLookedAt = credential === undefined || ![401, 403, 429].includes(status) || name === ASKS_FOR_PROOF
        if (isMissing || !wasLookedAt) wrong.push([name, 'with only', fields, status, error])
      }
    }
    expect(wrong).toEqual([])
  })
})
