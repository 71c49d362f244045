import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import type { SandboxId } from '@offshoot/contract/ids'
import { edgeConfig } from '@offshoot/contract/process-config'
import { Agent as EdgeAgent } from '@offshoot/edge/agents/agent'
import { openPort } from '@offshoot/edge/agents/open-port'
import { Deadline } from '@offshoot/kit/deadline'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { previewOf } from '../tests/setup/preview.ts'
import { until } from '../tests/setup/until.ts'
import { BaselineVm } from './baseline-vm.ts'
import { type Figure, inMibPerSecond, rounds, Samples } from './measure.ts'
import { inSandbox, recipeOf } from './sandbox-benches.ts'

const run = promisify(execFile)
export const PORT = 3000
/** The port of `small-server.c`. */
const SMALL_PORT = 3001
const MIB = 32
const ANSWER_MS = 40_000
const START_MS = 60_000
/** Answers `/` with two bytes, and other paths with {@link MIB} MiB. */
const SERVER = `
const body = Buffer.alloc(${MIB} * 1024 * 1024)
require('http').createServer((request, response) => response.end(request.url === '/' ? 'ok' : body)).listen(${PORT}, '127.0.0.1')
`

const keepAlive = new Agent({ keepAlive: true })

/** Number of bytes of one answer, through the edge on a keep-alive connection. */
export async function get(
  offshoot: Offshoot,
  id: string,
  path: string,
  port = PORT,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { url, host } = previewOf(offshoot, id, port)
  const signal = AbortSignal.timeout(ANSWER_MS)
  const request = httpRequest(url + path, { headers: { ...headers, host }, agent: keepAlive, signal })
  request.end()
  const [response] = (await once(request, 'response', { signal })) as [IncomingMessage]
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`)
  return bytes
}

/** A keep-alive connection, and the host that it requests. */
interface Asked {
  readonly input: Writable
  readonly output: Readable
  readonly host: string
}

/** The same client for the edge and for the baseline channel. Reads the head and the body to their end. */
async function ask({ input, output, host }: Asked, path: string): Promise<void> {
  input.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  let head = ''
  let missing = -1
  while (missing !== 0) {
    const chunk =
      (output.read() as Buffer | null) ??
      (await once(output, 'readable', { signal: AbortSignal.timeout(ANSWER_MS) }), null)
    if (chunk === null) continue
    if (missing > 0) {
      missing -= chunk.length
      continue
    }
    head += chunk.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end !== -1) missing = Number(/content-length: (\d+)/i.exec(head)?.[1]) - (head.length - end - 4)
  }
}

/** Starts a server that answers `/` with two bytes, and waits for its first answer. */
export async function serveIn(offshoot: Offshoot, id: string): Promise<void> {
  await offshoot.request('PUT', `/v1/sandboxes/${id}/fs?path=/root/server.js`, { body: SERVER })
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
    body: { cmd: 'node /root/server.js', background: true },
  })
  await until('the server', async () => get(offshoot, id, '/').catch(() => null), START_MS)
}

async function connectTo(offshoot: Offshoot, id: string): Promise<Asked & { readonly socket: Socket }> {
  const { url, host } = previewOf(offshoot, id, PORT)
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect', { signal: AbortSignal.timeout(ANSWER_MS) })
  return { input: socket, output: socket, host, socket }
}

async function serveBaseline(baseline: BaselineVm): Promise<Asked> {
  await baseline.link.run({ argv: ['/usr/local/bin/node', '-e', SERVER], stdin: 'none' })
  const dial = () => baseline.link.ports.dial(PORT, Deadline.after(START_MS, 'baseline connection')).catch(() => null)
  const { input, output } = await until('the baseline server', dial, START_MS)
  return { input, output, host: 'localhost' }
}

/** The agent's stream to the server, as the edge opens it. */
async function connectToAgent({ dataDir }: Offshoot, id: string): Promise<Asked & { readonly close: () => void }> {
  const { agents } = edgeConfig.parse(JSON.parse(await readFile(join(dataDir, 'config/edge.json'), 'utf8')))
  const [address] = agents
  if (address === undefined) throw new Error('the edge has no agent')
  const agent = new EdgeAgent(address)
  const port = { agent, sandboxId: id as SandboxId, port: PORT }
  const socket = await openPort(port, Deadline.after(ANSWER_MS, "the agent's stream"))
  const close = () => {
    socket.destroy()
    void agent.close()
  }
  return { input: socket, output: socket, host: 'localhost', close }
}

/**
 * A small GET and a large download through the edge; floor: the same over the baseline guest channel. Also the GET
 * over the agent's stream alone. All in turn.
 */
export async function preview(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const baseline = await BaselineVm.running(await recipeOf(offshoot))
  const [rtt, agentRtt, baselineRtt] = [new Samples(), new Samples(), new Samples()]
  const [download, baselineDownload] = [new Samples(), new Samples()]
  try {
    const connection = await serveBaseline(baseline)
    await inSandbox(offshoot, async (id) => {
      await serveIn(offshoot, id)
      const visitor = await connectTo(offshoot, id)
      const withoutEdge = await connectToAgent(offshoot, id)
      for (const _ of rounds(300, 20_000)) {
        await rtt.time(async () => ask(visitor, '/'))
        await agentRtt.time(async () => ask(withoutEdge, '/'))
        await baselineRtt.time(async () => ask(connection, '/'))
      }
      withoutEdge.close()
      for (const _ of rounds(10, 30_000)) {
        await download.time(async () => ask(visitor, '/large'))
        await baselineDownload.time(async () => ask(connection, '/large'))
      }
      visitor.socket.destroy()
    })
  } finally {
    await baseline.kill()
  }
  return {
    preview_rtt: rtt.figure('ms', baselineRtt.p50),
    preview_rtt_agent: agentRtt.figure('ms', baselineRtt.p50),
    preview_throughput_mib_s: inMibPerSecond(download, MIB, baselineDownload),
  }
}

async function serveSmallIn(offshoot: Offshoot, id: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-small-server-'))
  try {
    const program = join(folder, 'server')
    await run('cc', ['-static', '-Os', '-o', program, join(import.meta.dirname, 'small-server.c')])
    const path = `/v1/sandboxes/${id}/fs?path=/root/small-server&mode=0755`
    await offshoot.request('PUT', path, { body: await readFile(program) })
  } finally {
    await rm(folder, { recursive: true })
  }
  const started = { cmd: '/root/small-server', background: true }
  await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: started })
  await until('the small server', async () => get(offshoot, id, '/', SMALL_PORT).catch(() => null), START_MS)
}

/**
 * First answer of a hibernated sandbox to a visitor; floor: its wake through the API. With the smallest possible
 * server, and with Node: under emulation a woken guest translates Node's code again.
 */
export async function previewWake(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const [visit, visitNode, wake] = [new Samples(), new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    const act = async (action: string) => {
      const { status } = await offshoot.request('POST', `/v1/sandboxes/${id}/${action}`)
      if (status !== 200) throw new Error(`${action} answered ${status}`)
    }
    await serveIn(offshoot, id)
    await serveSmallIn(offshoot, id)
    for (const _ of rounds(20)) {
      await act('hibernate')
      await visit.time(async () => get(offshoot, id, '/', SMALL_PORT))
      await act('hibernate')
      await visitNode.time(async () => get(offshoot, id, '/'))
      await act('hibernate')
      await wake.time(async () => act('wake'))
    }
  })
  return { preview_wake: visit.figure('ms', wake.p50), preview_wake_node: visitNode.figure('ms', wake.p50) }
}
