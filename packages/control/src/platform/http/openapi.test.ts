import { errorNames, registeredError } from '@offshoot/contract/errors'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl } from '../../test/harness.ts'

interface Operation {
  readonly security: readonly Record<string, unknown>[]
  readonly responses: Record<string, { readonly description: string; readonly 'x-errors'?: readonly string[] }>
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
}

describe('/openapi.json and the error registry', () => {
  let harness: Harness
  let control: RunningControl
  // The OpenAPI document of the running service, untyped.
  // oxlint-disable-next-line typescript/no-explicit-any
  let document: any
  let operations: [name: string, operation: Operation][]

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
    document = (await call(control.url, 'GET', '/openapi.json')).body
    operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    )
  })

  afterAll(async () => harness.stop())

  it('name the same errors', () => {
    const { 'x-errors': all, 'x-errors-everywhere': everywhere, 'x-errors-elsewhere': elsewhere } = document.components
    expect(Object.keys(all)).toEqual(errorNames)
    const named = new Set<string>([...everywhere, ...elsewhere])
    for (const [, { responses }] of operations) {
      for (const [status, { 'x-errors': names = [], description }] of Object.entries(responses)) {
        for (const name of names) {
          const { error, status: registered } = registeredError(name as (typeof errorNames)[number])
          expect([name, String(registered)]).toEqual([name, status])
          expect(description).toContain(error)
          named.add(name)
        }
      }
    }
    expect([...named].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      [...errorNames].toSorted((a, b) => (a < b ? -1 : 1)),
    )
  })

  it('describe a refusal for each thing that is looked at before a route', () => {
    for (const [name, { security, responses }] of operations) {
      const statuses = Object.keys(responses)
      if (security.length > 0) expect([name, statuses]).toEqual([name, expect.arrayContaining(['401', '429'])])
      // A webhook has a signature, which may be invalid, but no credential, which may be missing.
      else
        expect([name, responses['401']?.['x-errors'] ?? []]).not.toEqual([
          name,
          expect.arrayContaining(['missingBearerToken']),
        ])
      expect(Object.values(responses).every(({ description }) => description !== '')).toBe(true)
    }
  })

  it('tell of every form that an answer has, and that it may grow', () => {
    const success = (path: string, method = 'get') => document.paths[`/v1/sandboxes/{id}${path}`][method].responses
    expect(Object.keys(success('/logs')['200'].content)).toEqual([
      'application/json',
      'text/plain',
      'text/event-stream',
    ])
    expect(Object.keys(success('/events')['200'].content)).toEqual(['application/json', 'text/event-stream'])
    expect(Object.keys(success('/fs'))).toEqual(expect.arrayContaining(['200', '206', '416']))
    expect(success('/exec', 'post')['201'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/BackgroundStarted',
    })
    expect(Object.keys(success('/pause', 'post'))).toContain('400')
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })

  it('tell of parameters as what they mean, and of the ways to send a credential', () => {
    const { parameters, security } = document.paths['/v1/sandboxes/{id}/events'].get
    const shown = Object.fromEntries(
      parameters.map(({ name, schema }: { name: string; schema: object }) => [name, schema]),
    )
    expect(shown).toMatchObject({ tail: { type: 'integer', minimum: 0 }, follow: { type: 'boolean' } })
    expect(security).toEqual([{ 'key-or-jwt': [] }, { 'query-token': [] }])
    expect(document.paths['/v1/sandboxes'].get.security).toEqual([{ 'key-or-jwt': [] }])
    const { parameters: ofFiles } = document.paths['/v1/sandboxes/{id}/fs'].get
    expect(ofFiles.find(({ name }: { name: string }) => name === 'path')).toMatchObject({ required: true, in: 'query' })
  })

  it('name the schemas of objects, and describe them and their fields', () => {
    const { Fork: fork, BackgroundStarted: started, ...schemas } = document.components.schemas
    expect(started.required).toEqual(['pid', 'exec_id'])
    expect(schemas['Sandbox']).toMatchObject({
      description: 'A sandbox as the API shows it. Missing values are `null`.',
      properties: {
        id: {
          type: 'string',
          description: 'UUID; also the credential for preview addresses while `visibility` is `public`.',
        },
      },
    })
    expect(fork.properties.id).toEqual(schemas['Sandbox'].properties.id)
    const names = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference)
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
    expect(new Set(names)).toEqual(new Set(known))
  })

  it('tell of every parameter of a path', () => {
    for (const [name, { parameters }] of operations) {
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
      expect([name, parameters.filter((each) => each.in === 'path').map((each) => each.name)]).toEqual([name, inPath])
    }
  })
})
