/** Who is let in where. */
import { randomBytes, randomUUID } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import Fastify, { type FastifyInstance } from 'fastify'
import { SignJWT } from 'jose'
import { beforeEach, expect, it } from 'vitest'
import { answerErrors } from './answer-errors.ts'
import { requireControl, requireCredential } from './require-credential.ts'

const control = randomBytes(32)
const edge = randomBytes(32)

let server: FastifyInstance

beforeEach(() => {
  server = serve(edge)
})

/** One route of each kind. */
function serve(edgeSecret: Uint8Array | null): FastifyInstance {
  const made = Fastify()
  requireCredential(made, { control, edge: edgeSecret })
  answerErrors(made)
  made.get('/list', { config: { isForEdge: true } }, async (request) => {
    requireControl(request)
    return request.caller
  })
  made.get('/own', async (request) => request.caller)
  made.get('/open', { config: { isPublic: true } }, async () => 'open')
  return made
}

interface Signed {
  readonly key?: Uint8Array
  readonly keyId?: string
  readonly workspaceId?: string
  readonly expires?: string
  readonly algorithm?: string
}

function sign({ key = control, keyId, workspaceId, expires = '60s', algorithm = 'HS256' }: Signed): Promise<string> {
  return new SignJWT(workspaceId === undefined ? {} : { workspace_id: workspaceId })
    .setProtectedHeader({ alg: algorithm, ...(keyId !== undefined && { kid: keyId }) })
    .setExpirationTime(expires)
    .sign(key)
}

async function statusOf(url: string, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (await server.inject({ url, headers })).statusCode
}

it('opens to control what is control’s, to a workspace what is its own', async () => {
  const ofControl = await sign({})
  const ofWorkspace = await sign({ workspaceId: randomUUID() })
  expect([await statusOf('/list', ofControl), await statusOf('/own', ofControl)]).toEqual([200, 200])
  expect([await statusOf('/list', ofWorkspace), await statusOf('/own', ofWorkspace)]).toEqual([404, 200])
})

it('opens to the edge what says so, and nothing else, whatever workspace it names', async () => {
  for (const workspaceId of [undefined, randomUUID()]) {
    const token = await sign({ key: edge, keyId: EDGE_KEY_ID, ...(workspaceId !== undefined && { workspaceId }) })
    for (let i = 0; i < 2; i++) {
      expect([await statusOf('/list', token), await statusOf('/own', token)]).toEqual([200, 404])
    }
  }
})

it.each<[string, Signed]>([
  ['the edge’s key under control’s name', { key: edge }],
  ['control’s key under the edge’s name', { keyId: EDGE_KEY_ID }],
  ['an unknown name', { keyId: 'other' }],
  ['another key', { key: randomBytes(32) }],
  ['another algorithm', { algorithm: 'HS512', key: randomBytes(64) }],
  ['one that has expired', { expires: '-1m' }],
])('is shut to %s', async (_what, how) => {
  const token = await sign(how)
  expect([await statusOf('/list', token), await statusOf('/own', token), await statusOf('/open', token)]).toEqual([
    401, 401, 200,
  ])
})

it('is shut to any edge where none is configured, and to who says nothing', async () => {
  server = serve(null)
  expect(await statusOf('/list', await sign({ key: edge, keyId: EDGE_KEY_ID }))).toBe(401)
  expect([await statusOf('/list'), await statusOf('/open')]).toEqual([401, 200])
})
