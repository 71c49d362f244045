import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findFreePort } from '@offshoot/kit/free-port'
import { until } from '../tests/setup/until.ts'
import { type Figure, Samples } from './measure.ts'

const NGINX = '/usr/sbin/nginx'
const ROUNDS = 5
const ROUND_MS = 2_000
const CONNECTIONS = 32
/** The measured processes run on this core, and as far as possible nothing else does. */
const CORE = '0'
const bareProxy = join(import.meta.dirname, '../packages/edge/src/test/bare-proxy.ts')
const edgeMain = join(import.meta.dirname, '../packages/edge/src/main.ts')

/**
 * Requests per second on one core, through the edge and through the least that a proxy of Node does; floor: nginx as a
 * plain reverse proxy on that core. All use the same server, alternately. Behind the edge there is one more process,
 * which plays agent and guest and takes CPU time of the other cores. So the report also gives the CPU time per request.
 */
export async function proxyRate(): Promise<Record<string, Figure>> {
  if (!existsSync(NGINX)) {
    console.error('preview_rps: left out, there is no nginx (apt-get install nginx-light)')
    return {}
  }
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-rate-'))
  const children: ChildProcess[] = []
  const start = (program: string, ...args: string[]) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    return child
  }
  try {
    const [backend, proxy, bare, edge] = [
      await findFreePort(),
      await findFreePort(),
      await findFreePort(),
      await findFreePort(),
    ]
    await startNginx(
      start,
      folder,
      'backend',
      `server { listen ${backend}; keepalive_requests 1000000000; location / { return 200 'ok'; } }`,
    )
    const agent = await startAgent(start)
    const proxies = {
      nginx: new MeasuredProxy(
        await startNginx(start, folder, 'proxy', proxyConfiguration(proxy, backend), true),
        proxy,
      ),
      bare: new MeasuredProxy(onCore(start, process.execPath, bareProxy, `${bare}`, `${backend}`), bare),
      edge: new MeasuredProxy(await startEdge(start, folder, edge, agent), edge, `${backend}-${agent.id}.localhost`),
    }
    const all = Object.values(proxies)
    for (const each of all) await until('the proxies', () => each.answers())
    for (let round = 0; round < ROUNDS; round++) for (const each of all) await each.measure()
    const { nginx } = proxies
    return {
      preview_rps: proxies.edge.rates.figure('1/s', nginx.rates.p50),
      preview_rps_bare: proxies.bare.rates.figure('1/s', nginx.rates.p50),
      preview_request_cpu_us: proxies.edge.cpu.figure('us', nginx.cpu.p50),
      preview_request_cpu_bare_us: proxies.bare.cpu.figure('us', nginx.cpu.p50),
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

/** A process that forwards requests, and what has been measured of it. */
class MeasuredProxy {
  /** Requests per second. */
  readonly rates = new Samples()
  /** Microseconds per request. */
  readonly cpu = new Samples()
  readonly #process: ChildProcess
  readonly #port: number
  readonly #host: string

  constructor(process: ChildProcess, port: number, host = 'localhost') {
    this.#process = process
    this.#port = port
    this.#host = host
  }

  async answers(): Promise<boolean> {
    return (await rate(this.#port, this.#host, 100)) > 0
  }

  async measure(): Promise<void> {
    const before = cpuMs(this.#process)
    const perSecond = await rate(this.#port, this.#host, ROUND_MS)
    this.rates.add(perSecond)
    this.cpu.add(((cpuMs(this.#process) - before) * 1000) / (perSecond * (ROUND_MS / 1000)))
  }
}

/** CPU time of a process in milliseconds (proc_pid_stat(5), fields 14 and 15, in hundredths of a second). */
function cpuMs({ pid }: ChildProcess): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13)
  return (Number(user) + Number(system)) * 10
}

type Start = (program: string, ...args: string[]) => ChildProcess

const proxyConfiguration = (port: number, backend: number) => `
  upstream servers { server 127.0.0.1:${backend}; keepalive 64; }
  server {
    listen ${port};
    keepalive_requests 1000000000;
    location / {
      proxy_pass http://servers;
      proxy_http_version 1.1;
      proxy_set_header connection '';
      proxy_set_header host $host;
      proxy_set_header x-forwarded-for $remote_addr;
    }
  }`

async function startNginx(
  start: Start,
  folder: string,
  name: string,
  servers: string,
  isOnCore = false,
): Promise<ChildProcess> {
  const path = join(folder, `${name}.conf`)
  const own = `pid ${folder}/${name}.pid; daemon off; master_process off; error_log stderr; events {}`
  await writeFile(path, `${own} http { access_log off; ${servers} }`)
  const command = [NGINX, '-p', folder, '-c', path] as const
  return isOnCore ? onCore(start, ...command) : start(...command)
}

function onCore(start: Start, ...command: readonly string[]): ChildProcess {
  return start('taskset', '-c', CORE, ...command)
}

async function startAgent(start: Start): Promise<{ url: string; secret: string; id: string }> {
  const child = start(process.execPath, join(import.meta.dirname, 'preview-agent.ts'))
  if (child.stdout === null) throw new Error('no output')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return JSON.parse(line) as { url: string; secret: string; id: string }
}

async function startEdge(start: Start, folder: string, port: number, { url, secret }: { url: string; secret: string }) {
  const limits = { requests_per_second: 1_000_000 }
  const listen = { host: '127.0.0.1', port }
  const config = {
    listen,
    suffix: 'localhost',
    agents: [{ url, secret }],
    data_dir: join(folder, 'edge'),
    limits,
    log_level: 'silent',
  }
  const path = join(folder, 'edge.json')
  await writeFile(path, JSON.stringify(config))
  return onCore(start, process.execPath, edgeMain, path)
}

/** Complete answers per second; each connection sends its next request after each answer. */
async function rate(port: number, host: string, forMs: number): Promise<number> {
  const request = `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`
  let answers = 0
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined)
    socket.on('data', (chunk) => {
      // An answer of a few hundred bytes arrives in one piece, or its last piece ends it: the body is `ok`.
      if (chunk[chunk.length - 1] !== 0x6b || !chunk.includes('200 OK')) return
      answers += 1
      socket.write(request)
    })
    socket.write(request)
    return socket
  })
  const startedAt = performance.now()
  await new Promise((resolve) => setTimeout(resolve, forMs))
  const seconds = (performance.now() - startedAt) / 1000
  for (const socket of sockets) socket.destroy()
  return answers / seconds
}
