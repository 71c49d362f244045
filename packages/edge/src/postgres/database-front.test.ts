import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { connect as connectTls, createSecureContext, type TLSSocket } from 'node:tls'
import { databaseUser } from '@offshoot/contract/database'
import { parseSandboxId, type SandboxId } from '@offshoot/contract/ids'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Agent } from '../agents/agent.ts'
import { LocalAuthority } from '../certificates/local-authority.ts'
import { AbsentDatabases } from './absent-databases.ts'
import { DatabaseFront } from './database-front.ts'
import { startupPacket } from './startup-packet.ts'

const id = parseSandboxId(randomUUID()) as SandboxId
const PER_DATABASE = 3
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex')
const READY = Buffer.from('5a0000000549', 'hex')

let folder: string
let agent: Server
let front: DatabaseFront
let port: number
/** Number of connections requested from the agent. */
let asked = 0
/** Number of refusals before a connection succeeds. */
let refusals = 0
/** Behavior of the server inside. */
let serve: (socket: Socket) => void
const warnings: string[] = []
const onWarning = (warning: Error) => warnings.push(warning.message)

beforeAll(async () => {
  process.on('warning', onWarning)
  folder = await mkdtemp(join(tmpdir(), 'offshoot-front-'))
  agent = createServer()
  agent.on('upgrade', (_request, socket: Socket) => {
    asked += 1
    if (refusals-- > 0) {
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      return
    }
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: offshoot-tcp\r\n\r\n')
    socket.on('error', () => undefined)
    serve(socket)
  })
  await once(agent.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`
  const authority = await LocalAuthority.open(folder)
  const pem = await authority.issue(['db.test'])
  const location = { agent: new Agent({ url, secret: randomBytes(32).toString('base64') }), status: 'running' }
  front = new DatabaseFront({
    suffix: null,
    // Both are wide interfaces; the front uses only these members.
    databases: {
      locations: { find: async () => location, forget: () => undefined, release: async () => null } as never,
      absent: new AbsentDatabases(async () => null),
    },
    certificates: { default: pem, forName: async () => createSecureContext(pem) },
    wakeMs: 10_000,
    perDatabase: PER_DATABASE,
    maxConnections: 1000,
    log: pino({ level: 'silent' }),
  })
  await once(front.server.listen(0, '127.0.0.1'), 'listening')
  port = (front.server.address() as AddressInfo).port
})
afterAll(async () => {
  process.off('warning', onWarning)
  front.close()
  agent.closeAllConnections()
  agent.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  asked = 0
  refusals = 0
})

async function encrypted(): Promise<TLSSocket> {
  const socket = connect(port, '127.0.0.1')
  socket.write(SSL_REQUEST)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toBe('S')
  const client = connectTls({ socket, rejectUnauthorized: false })
  client.on('error', () => undefined)
  await once(client, 'secureConnect')
  client.write(startupPacket(196_608, new Map([['user', databaseUser(id)]])))
  return client
}

it('waits for a server that is just starting, however often it must be asked, and warns of nothing', async () => {
  refusals = 12
  serve = (socket) => socket.once('data', () => socket.end(READY))
  const client = await encrypted()
  expect(await buffer(client)).toEqual(READY)
  expect([asked, warnings]).toEqual([13, []])
})

it('carries all that either says before its end, and then ends the other', async () => {
  const much = Buffer.alloc(3_000_000, 'x')
  const { promise: heard, resolve } = Promise.withResolvers<number>()
  serve = (socket) => {
    let bytes = 0
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
    socket.once('end', () => {
      resolve(bytes)
      socket.end(much)
    })
  }
  const client = await encrypted()
  const answer = buffer(client)
  client.end(much)
  expect(await heard).toBeGreaterThanOrEqual(much.length)
  serve = (socket) => socket.once('data', () => socket.end(much))
  expect((await buffer(await encrypted())).length).toBe(much.length)
  await answer.catch(() => undefined)
})

it.each([
  ['the server', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy()), () => undefined],
  [
    'the client',
    (socket: Socket) => socket.resume().once('end', () => socket.end()),
    (client: TLSSocket) => client.destroy(),
  ],
] as const)('lets go of the other when %s breaks off', async (_who, inside, outside) => {
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const { promise: there, resolve: arrive } = Promise.withResolvers<void>()
  serve = (socket) => {
    socket.once('close', () => resolve())
    socket.once('data', () => arrive())
    inside(socket)
  }
  const client = await encrypted()
  const closed = once(client, 'close')
  client.resume()
  await there
  outside(client)
  expect(await Promise.all([gone, closed])).toHaveLength(2)
})

it('lets in as many as it may, and tells the next one so', async () => {
  serve = (socket) => socket.once('data', () => socket.write(READY))
  const there = []
  for (let n = 0; n < PER_DATABASE; n++) {
    const client = await encrypted()
    await once(client, 'data')
    there.push(client)
  }
  const refusal = (await buffer(await encrypted())).toString()
  expect(refusal.split('\0')).toEqual(
    expect.arrayContaining(['VFATAL', 'C53300', 'Mtoo many connections to this database']),
  )
  const [first] = there
  if (first !== undefined) {
    first.destroy()
    await once(first, 'close')
  }
  // The slot is free once the front has seen the disconnect.
  const inAgain = async (): Promise<string> => {
    const client = await encrypted()
    const [answer] = (await once(client, 'data')) as [Buffer]
    client.destroy()
    return answer.equals(READY) ? 'in' : inAgain()
  }
  expect(await inAgain()).toBe('in')
  for (const client of there) client.destroy()
})
