import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { EDGE_SSH_ADMISSIONS_PATH, EDGE_SSH_HOST_KEY_PATH } from '@offshoot/contract/edge-ssh'
import { pino } from 'pino'
import ssh2, { type AnyAuthMethod, type Client } from 'ssh2'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EdgeCredential } from '../agents/edge-credential.ts'
import type { SandboxLocations } from '../agents/sandbox-locations.ts'
import { SshFront, type SshFrontOptions } from './ssh-front.ts'

const newKey = () => ssh2.utils.generateKeyPairSync('ed25519').private
const KEY = newKey()

/** Control, as far as the gateway asks it. It admits every signature, as one caller, or none. */
let control: Server
let admits: boolean
let asked: number
let front: SshFront
let clients: Client[]
let sockets: Socket[]
const stopped = new AbortController()

beforeEach(async () => {
  admits = true
  asked = 0
  clients = []
  sockets = []
  const hostKey = newKey()
  control = createServer((request, response) => {
    const isAdmission = request.url === EDGE_SSH_ADMISSIONS_PATH
    if (isAdmission) asked += 1
    request.resume().on('end', () => {
      const admission = { sandbox_id: randomUUID(), user: null, caller: 'ann', grant: 'grant' }
      const body = request.url === EDGE_SSH_HOST_KEY_PATH ? { private_key: hostKey } : admission
      response.writeHead(isAdmission && !admits ? 404 : 200).end(JSON.stringify(body))
    })
  })
  await once(control.listen(0, '127.0.0.1'), 'listening')
})

afterEach(async () => {
  for (const client of clients) client.destroy()
  for (const socket of sockets) socket.destroy()
  front.close()
  control.closeAllConnections()
  control.close()
})

const portOf = (server: Pick<Server, 'address'>) => (server.address() as AddressInfo).port

async function startFront(options: Partial<SshFrontOptions> = {}): Promise<void> {
  const credential = new EdgeCredential(Buffer.alloc(32).toString('base64'))
  front = new SshFront({
    control: { controlUrl: `http://127.0.0.1:${portOf(control)}`, credential },
    // Nothing here enters a sandbox.
    locations: {} as SandboxLocations,
    wakeMs: 1000,
    perCaller: 100,
    perAddress: 100,
    maxConnections: 1000,
    maxChannels: 10,
    idleMs: 60_000,
    log: pino({ level: 'silent' }),
    ...options,
  })
  await front.start(stopped.signal)
  await once(front.server.listen(0, '127.0.0.1'), 'listening')
}

/** Connects over TCP only. */
function dial(): Socket {
  const socket = connect(portOf(front.server), '127.0.0.1').on('error', () => undefined)
  sockets.push(socket.resume())
  return socket
}

/** Signs in with one key after the other. @returns how it ended */
async function signIn(keys: readonly string[] = [KEY], socket = dial()): Promise<'admitted' | 'refused'> {
  const client = new ssh2.Client()
  clients.push(client)
  const left = keys.map((key) => ({ type: 'publickey' as const, username: 'sandbox', key }))
  const ended = new Promise<'admitted' | 'refused'>((resolve) => {
    client.on('ready', () => resolve('admitted'))
    client.on('error', () => resolve('refused'))
    client.on('close', () => resolve('refused'))
  })
  client.connect({
    sock: socket,
    username: 'sandbox',
    authHandler: (_methods, _partial, next) => next((left.shift() ?? false) as AnyAuthMethod),
  })
  return ended
}

const openConnections = () =>
  new Promise<number>((resolve) => front.server.getConnections((_error, count) => resolve(count)))
const closed = (socket: Socket) => (socket.closed ? Promise.resolve() : once(socket, 'close'))
/** Whether the gateway greets the connection instead of closing it. */
const isServed = (socket: Socket) =>
  Promise.race([once(socket, 'data').then(() => true), closed(socket).then(() => false)])

describe('the SSH port limits', () => {
  it('the connections of an address', async () => {
    await startFront({ perAddress: 2 })
    const [first, second] = [dial(), dial()]
    expect(await Promise.all([isServed(first), isServed(second)])).toEqual([true, true])
    expect(await isServed(dial())).toBe(false)
    first.destroy()
    await expect.poll(() => isServed(dial())).toBe(true)
  })

  it('all connections', async () => {
    await startFront({ maxConnections: 1 })
    expect(await isServed(dial())).toBe(true)
    expect(await isServed(dial())).toBe(false)
  })

  it('those of an address that have not signed in, but not those that have', async () => {
    await startFront({ perAddress: 1000 })
    expect(await signIn()).toBe('admitted')
    const starting = Array.from({ length: 64 }, dial)
    expect(new Set(await Promise.all(starting.map(isServed)))).toEqual(new Set([true]))
    expect(await isServed(dial())).toBe(false)
    starting[0]?.destroy()
    await expect.poll(() => signIn()).toBe('admitted')
  })

  it('the connections of a caller', async () => {
    await startFront({ perCaller: 2 })
    expect([await signIn(), await signIn(), await signIn()]).toEqual(['admitted', 'admitted', 'refused'])
    clients[0]?.end()
    await expect.poll(() => signIn()).toBe('admitted')
  })

  it('the signatures of a connection that may fail', async () => {
    await startFront()
    admits = false
    expect(await signIn(Array.from({ length: 10 }, newKey))).toBe('refused')
    expect(asked).toBe(6)
    await closed(sockets[0] as Socket)
  })

  it('the failures of an address, without asking about further signatures, until it has regained one', async () => {
    await startFront()
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      admits = false
      const keys = Array.from({ length: 6 }, newKey)
      await Promise.all(Array.from({ length: 10 }, () => signIn(keys)))
      admits = true
      expect(await signIn()).toBe('refused')
      expect(asked).toBe(60)
      now += 2000
      expect(await signIn()).toBe('admitted')
    } finally {
      clock.mockRestore()
    }
  })

  it('the channels of a connection', async () => {
    await startFront({ maxChannels: 0 })
    await signIn()
    const refused = new Promise<string>((resolve) => clients[0]?.exec('true', (error) => resolve(String(error))))
    expect(await refused).toContain('Channel open failure')
  })
})

describe('a connection ends', () => {
  it('without channels, after a while', async () => {
    await startFront({ idleMs: 50 })
    expect(await signIn()).toBe('admitted')
    await closed(sockets[0] as Socket)
  })

  it('when its client answers no probe, although its TCP connection is open', async () => {
    await startFront({ probeMs: 50 })
    const socket = dial()
    expect(await signIn([KEY], socket)).toBe('admitted')
    expect(await openConnections()).toBe(1)
    // From now on the client reads nothing and sends nothing.
    socket.removeAllListeners('data').pause()
    await expect.poll(openConnections, { timeout: 10_000 }).toBe(0)
  })

  it('not while its client answers', async () => {
    await startFront({ probeMs: 50 })
    expect(await signIn()).toBe('admitted')
    let probes = 0
    sockets[0]?.on('data', () => (probes += 1))
    await expect.poll(() => probes, { timeout: 10_000 }).toBeGreaterThan(8)
    expect(sockets[0]?.closed).toBe(false)
  })
})
