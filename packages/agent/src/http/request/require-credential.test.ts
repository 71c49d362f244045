/** Which callers each kind of route accepts. */
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { EDGE_KEY_ID, SSH_GRANT_KEY_ID } from '@offshoot/contract/agent-credential'
import { ApiError } from '@offshoot/contract/errors'
import { CONTROL_NAME, EDGE_NAME, hostName } from '@offshoot/contract/fleet-identity'
import { admitPeers } from '@offshoot/kit/mutual-tls'
import { CertificateAuthority, makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import Fastify, { type FastifyInstance } from 'fastify'
import { SignJWT } from 'jose'
import { beforeEach, expect, it } from 'vitest'
import { answerErrors } from './answer-errors.ts'
import { refuseOtherCluster, requireControl, requireCredential } from './require-credential.ts'

const control = randomBytes(32)
const edge = randomBytes(32)

let server: FastifyInstance

beforeEach(() => {
  server = serve(edge)
})

/** One route of each kind. */
function serve(edgeSecret: Uint8Array | null, audience: string | null = null, https?: ServerOptions): FastifyInstance {
  const made = (https === undefined ? Fastify() : Fastify({ https })) as FastifyInstance
  requireCredential(made, { control, edge: edgeSecret, audience })
  answerErrors(made)
  made.get('/list', { config: { isForEdge: true } }, async (request) => {
    requireControl(request)
    return request.caller
  })
  made.get('/ssh', { config: { isForSsh: true } }, async (request) => request.caller)
  made.get('/own', async (request) => request.caller)
  made.get('/open', { config: { isPublic: true } }, async () => 'open')
  return made
}

interface Signed {
  readonly key?: Uint8Array
  readonly keyId?: string
  readonly workspaceId?: string
  readonly sandboxId?: string
  readonly clusterId?: string
  readonly audience?: string
  readonly expires?: string
  readonly algorithm?: string
}

function sign({
  key = control,
  keyId,
  workspaceId,
  sandboxId,
  clusterId,
  audience,
  expires = '60s',
  algorithm = 'HS256',
}: Signed): Promise<string> {
  const claims = {
    ...(workspaceId !== undefined && { workspace_id: workspaceId }),
    ...(sandboxId !== undefined && { sandbox_id: sandboxId }),
    ...(clusterId !== undefined && { cluster_id: clusterId }),
    ...(audience !== undefined && { aud: audience }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, ...(keyId !== undefined && { kid: keyId }) })
    .setExpirationTime(expires)
    .sign(key)
}

async function statusOf(url: string, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (await server.inject({ url, headers })).statusCode
}

it('lets control call every route, and a workspace all but those of control', async () => {
  const ofControl = await sign({})
  const ofWorkspace = await sign({ workspaceId: randomUUID() })
  expect([await statusOf('/list', ofControl), await statusOf('/own', ofControl)]).toEqual([200, 200])
  expect([await statusOf('/list', ofWorkspace), await statusOf('/own', ofWorkspace)]).toEqual([404, 200])
})

it('lets the edge call only routes marked for it, whatever workspace its credential names', async () => {
  for (const workspaceId of [undefined, randomUUID()]) {
    const token = await sign({ key: edge, keyId: EDGE_KEY_ID, ...(workspaceId !== undefined && { workspaceId }) })
    for (let i = 0; i < 2; i++) {
      expect([await statusOf('/list', token), await statusOf('/own', token)]).toEqual([200, 404])
    }
  }
})

it.each<[string, Signed]>([
  ['signed with the edge’s key but without its key id', { key: edge }],
  ['signed with control’s key under the edge’s key id', { keyId: EDGE_KEY_ID }],
  ['with an unknown key id', { keyId: 'other' }],
  ['signed with an unknown key', { key: randomBytes(32) }],
  ['signed with another algorithm', { algorithm: 'HS512', key: randomBytes(64) }],
  ['that has expired', { expires: '-1m' }],
])('rejects a credential %s', async (_what, how) => {
  const token = await sign(how)
  expect([await statusOf('/list', token), await statusOf('/own', token), await statusOf('/open', token)]).toEqual([
    401, 401, 200,
  ])
})

it('rejects every edge when none is configured, and requests without a credential', async () => {
  server = serve(null)
  expect(await statusOf('/list', await sign({ key: edge, keyId: EDGE_KEY_ID }))).toBe(401)
  expect([await statusOf('/list'), await statusOf('/open')]).toEqual([401, 200])
})

it('lets control of another cluster call every route but those that delete', async () => {
  const [own, other] = [randomUUID(), randomUUID()]
  const made = Fastify()
  requireCredential(made, { control, edge })
  refuseOtherCluster(made, {
    refuseOther: (id) => {
      if (id !== undefined && id !== own) throw new ApiError('otherCluster')
    },
  })
  answerErrors(made)
  made.delete('/own', async () => 'deleted')
  made.post('/prune', { config: { isDeletion: true } }, async () => 'pruned')
  made.post('/own', async () => 'changed')
  const ask = async (method: 'DELETE' | 'POST', url: string, clusterId?: string) => {
    const token = await sign({ workspaceId: randomUUID(), ...(clusterId !== undefined && { clusterId }) })
    return (await made.inject({ method, url, headers: { authorization: `Bearer ${token}` } })).statusCode
  }
  expect([await ask('DELETE', '/own', other), await ask('POST', '/prune', other)]).toEqual([409, 409])
  expect([await ask('DELETE', '/own', own), await ask('POST', '/prune', own)]).toEqual([200, 200])
  expect([await ask('POST', '/own', other), await ask('DELETE', '/own')]).toEqual([200, 200])
})

it('lets a grant for an SSH session into its sandbox only', async () => {
  const [workspaceId, sandboxId] = [randomUUID(), randomUUID()]
  const grant = await sign({ keyId: SSH_GRANT_KEY_ID, workspaceId, sandboxId })
  for (const url of ['/own', '/list']) expect(await statusOf(url, grant)).toBe(404)
  const { body } = await server.inject({ url: '/ssh', headers: { authorization: `Bearer ${grant}` } })
  expect(JSON.parse(body)).toMatchObject({ workspaceId, sshSandboxId: sandboxId })
  for (const wrong of [
    await sign({ keyId: SSH_GRANT_KEY_ID, workspaceId }),
    await sign({ keyId: SSH_GRANT_KEY_ID, sandboxId }),
    await sign({ keyId: SSH_GRANT_KEY_ID, key: edge, workspaceId, sandboxId }),
  ])
    expect(await statusOf('/ssh', wrong)).toBe(401)
})

it('takes on a host that has joined only credentials that name this host', async () => {
  const host = randomUUID()
  const made = serve(edge, host)
  const ask = async (how: Signed) =>
    (await made.inject({ url: '/list', headers: { authorization: `Bearer ${await sign(how)}` } })).statusCode
  const ofEdge = { key: edge, keyId: EDGE_KEY_ID }
  for (const caller of [{}, ofEdge]) {
    expect(await ask({ ...caller, audience: host })).toBe(200)
    expect(await ask({ ...caller, audience: randomUUID() })).toBe(401)
    expect(await ask(caller)).toBe(401)
  }
  expect(await statusOf('/list', await sign({ audience: randomUUID() }))).toBe(200)
})

it('takes over TLS only the credential of the process whose certificate the caller has', async () => {
  const authority = await CertificateAuthority.open(await makeAuthority('Test'))
  const identityOf = async (name: string) => {
    const key = makePrivateKey()
    const cert = await authority.sign(await certificateRequest(key), name, 3_600)
    return { cert, key, ca: authority.certificate }
  }
  const host = randomUUID()
  const tls = { ...(await identityOf(hostName(host))), requestCert: true, rejectUnauthorized: true }
  const made = serve(edge, host, tls)
  admitPeers(made.server, [CONTROL_NAME, EDGE_NAME])
  await made.listen({ host: '127.0.0.1', port: 0 })
  const { port } = made.server.address() as AddressInfo
  const ask = async (name: string, how: Signed) => {
    const identity = await identityOf(name)
    const headers = { authorization: `Bearer ${await sign({ ...how, audience: host })}` }
    const options = { host: '127.0.0.1', port, path: '/list', headers, servername: hostName(host), agent: false }
    const answer = once(request({ ...options, ...identity }).end(), 'response').catch(() => [{ statusCode: 'refused' }])
    const [{ statusCode }] = (await answer) as [{ statusCode: unknown }]
    return statusCode
  }
  try {
    const ofEdge = { key: edge, keyId: EDGE_KEY_ID }
    expect([await ask(CONTROL_NAME, {}), await ask(EDGE_NAME, ofEdge)]).toEqual([200, 200])
    expect([await ask(EDGE_NAME, {}), await ask(CONTROL_NAME, ofEdge)]).toEqual([401, 401])
    expect([await ask(hostName(randomUUID()), {}), await ask(hostName(host), ofEdge)]).toEqual(['refused', 'refused'])
  } finally {
    await made.close()
  }
})
