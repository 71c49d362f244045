import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { type Answer, call, Harness, type RunningControl, type Tenant } from '../test/harness.ts'

const TOOLS = [
  'create_database',
  'create_sandbox',
  'delete_database',
  'delete_sandbox',
  'deploy_app',
  'fork_sandbox',
  'list_apps',
  'list_databases',
  'list_dir',
  'list_sandboxes',
  'list_templates',
  'preview_url',
  'read_file',
  'run_code',
  'run_command',
  'snapshot_sandbox',
  'write_file',
]

// Each test knows the shape that it requested.
// oxlint-disable-next-line typescript/no-explicit-any
function messageOf({ body }: Answer): any {
  if (typeof body !== 'string') return body
  return JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}')
}

describe('POST /mcp', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ACCEPT = { accept: 'application/json, text/event-stream' }
  const post = (
    body: unknown,
    { token = alice.key, headers = {} }: { token?: string; headers?: Record<string, string> } = {},
  ) => call(control.url, 'POST', '/mcp', { token, body, headers: { ...ACCEPT, ...headers } })

  /** The result of a request of the protocol's earlier era, from JSON or from an event stream. */
  async function ask(method: string, params: object = {}, options: Parameters<typeof post>[1] = {}) {
    const answer = await post({ jsonrpc: '2.0', id: 1, method, params }, options)
    return { status: answer.status, ...messageOf(answer) }
  }

  const use = async (name: string, args: object, options: Parameters<typeof post>[1] = {}) =>
    (await ask('tools/call', { name, arguments: args }, options)).result

  it('introduces itself, and lists its tools, its prompt and its resources', async () => {
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const { result } = await ask('initialize', client)
    expect(result).toMatchObject({
      serverInfo: { name: 'offshoot' },
      instructions: expect.stringContaining('fork_sandbox'),
    })
    const { tools } = (await ask('tools/list')).result
    expect(tools.map(({ name }: { name: string }) => name).toSorted()).toEqual(TOOLS)
    for (const { inputSchema, outputSchema, annotations, description } of tools)
      expect([inputSchema.type, outputSchema.type, typeof annotations.readOnlyHint, description.length > 10]).toEqual([
        'object',
        'object',
        'boolean',
        true,
      ])
    expect((await ask('prompts/list')).result.prompts).toMatchObject([{ name: 'explore_with_forks' }])
    const { messages } = (await ask('prompts/get', { name: 'explore_with_forks', arguments: { task: 'repair it' } }))
      .result
    expect(messages[0].content.text).toMatch(/fork_sandbox[^]*The task: repair it/)
    expect((await ask('resources/templates/list')).result.resourceTemplates).toMatchObject([
      { uriTemplate: 'sandbox://{id}/{+path}' },
    ])
  })

  it('acts in the workspace of the key', async () => {
    const made = await use('create_sandbox', { template: 'base', metadata: { of: 'mcp' } })
    expect(made).toMatchObject({ structuredContent: { template: 'base', status: 'running', metadata: { of: 'mcp' } } })
    const { id } = made.structuredContent
    expect((await use('list_sandboxes', {})).structuredContent.sandboxes).toMatchObject([{ id }])
    expect((await use('list_sandboxes', {}, { token: bob.key })).structuredContent.sandboxes).toEqual([])
    const url = (await use('preview_url', { sandbox_id: id, port: 3000 })).structuredContent.url
    expect(url).toContain(`3000-${id}.`)
    for (const name of [
      'delete_sandbox',
      'preview_url',
      'run_command',
      'read_file',
      'fork_sandbox',
      'snapshot_sandbox',
    ]) {
      const args = { sandbox_id: id, port: 1, cmd: 'true', path: '/etc/passwd' }
      const denied = await use(name, args, { token: bob.key })
      expect([name, denied]).toEqual([name, { isError: true, content: [{ type: 'text', text: 'not found' }] }])
    }
    expect((await use('delete_sandbox', { sandbox_id: id })).structuredContent).toEqual({ deleted: id })
    expect((await use('delete_sandbox', { sandbox_id: id })).isError).toBe(true)
  })

  it('needs for each tool the scope that its route needs', async () => {
    const body = { name: 'reader', scopes: ['sandboxes:read'] }
    const { token } = (await call(control.url, 'POST', '/v1/me/tokens', { token: alice.jwt, body })).body
    expect((await use('list_sandboxes', {}, { token })).isError).toBeUndefined()
    for (const [name, args] of [
      ['create_sandbox', {}],
      ['list_databases', {}],
      ['list_apps', {}],
    ] as const) {
      const denied = await use(name, args, { token })
      expect([name, denied.isError, denied.content[0].text]).toEqual([
        name,
        true,
        expect.stringContaining('insufficient scope'),
      ])
    }
  })

  it('records what its tools do, with the key as the actor, and not itself', async () => {
    const { structuredContent: made } = await use('create_sandbox', {})
    const { body } = await call(control.url, 'GET', '/v1/audit?limit=5', { token: alice.jwt })
    const [entry] = body
    expect(entry).toMatchObject({
      action: 'request.made',
      actor: { type: 'key' },
      target: made.id,
      details: { route: '/v1/sandboxes' },
    })
    await use('delete_sandbox', { sandbox_id: made.id })
  })

  it.each([
    ['no token', { token: '' }, 401],
    ['a wrong token', { token: 'ofs_12345678_x' }, 401],
    ['the origin of another site', { headers: { origin: 'https://evil.example' } }, 403],
    ['an origin that is none', { headers: { origin: 'null' } }, 403],
  ])('refuses %s', async (_what, options, status) => {
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, options)
    expect([answer.status, typeof answer.body.error]).toEqual([status, 'string'])
  })

  it('takes its own origin, and those that the operator allows', async () => {
    for (const origin of [control.url, 'https://app.example.com'])
      expect((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { headers: { origin } })).status).toBe(200)
  })

  it.each([
    ['GET', undefined, 405],
    ['DELETE', undefined, 405],
    ['POST', '{"broken', 400],
    ['POST', '[]', 400],
    ['POST', '{}', 400],
    [
      'POST',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { x: 'x'.repeat(9 * 1024 * 1024) } }),
      413,
    ],
  ])('answers %s %.20s with %i', async (method, body, status) => {
    const answer = await call(control.url, method, '/mcp', {
      token: alice.key,
      headers: ACCEPT,
      ...(body !== undefined && { body }),
    })
    expect([answer.status, typeof answer.body.error]).toEqual([status, 'string'])
  })

  it.each([
    ['an unknown tool', 'no_such_tool', {}],
    ['a missing argument', 'delete_sandbox', {}],
    ['an argument of the wrong type', 'delete_sandbox', { sandbox_id: 5 }],
    ['an id that is none', 'read_file', { sandbox_id: '../..', path: '/x' }],
    ['a relative path', 'read_file', { sandbox_id: crypto.randomUUID(), path: 'x' }],
    ['too many forks', 'fork_sandbox', { sandbox_id: crypto.randomUUID(), count: 17 }],
  ])('refuses %s', async (_what, name, args) => {
    const answer = await ask('tools/call', { name, arguments: args })
    expect(answer.result?.isError === true || answer.error !== undefined).toBe(true)
  })

  it('answers an unknown method as the protocol says', async () => {
    expect((await ask('no/such/method')).error).toMatchObject({ code: -32_601 })
  })
})
