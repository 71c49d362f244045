import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { CertificateAuthority, makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { call } from './http.ts'
import { imagesDir, type Offshoot } from './offshoot.ts'
import { losePackets, passPackets } from './packet-loss.ts'
import { until } from './until.ts'

const command = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')
/** The name that the certificate of the TLS proxy is for. */
const API = 'api.example'
/** Each process has its own network, so that several may run on one machine. */
const NETWORK = `10.98.${process.pid % 256}`
const FIRST = `${NETWORK}.1`
const SECOND = `${NETWORK}.2`
const PATIENCE_MS = 300_000

function ip(line: string) {
  return command('ip', line.split(' '))
}

/**
 * A second machine: a network namespace of its own, with a data directory and a link to this machine. It reaches control
 * through a proxy that ends TLS, as an operator would set up.
 */
export class JoinedMachine {
  readonly dataDir: string
  readonly address = SECOND
  readonly #name = `ofj${process.pid}`
  readonly #env: NodeJS.ProcessEnv
  #proxy: Server | undefined
  #up: ChildProcess | undefined

  /** @param env of `bin/up` there */
  constructor(env: NodeJS.ProcessEnv = {}) {
    this.#env = env
    this.dataDir = join(repository, '.offshoot/tests', `joined-${process.pid}`)
  }

  /** @param baseUrl of control */
  async layOut(baseUrl: string): Promise<void> {
    await mkdir(this.dataDir, { recursive: true, mode: 0o711 })
    const device = this.#name
    await ip(`netns add ${this.#name}`)
    await ip(`link add ${device} type veth peer name up0 netns ${this.#name}`)
    await ip(`address add ${FIRST}/30 dev ${device}`)
    await ip(`link set ${device} up`)
    await ip(`-n ${this.#name} link set lo up`)
    await ip(`-n ${this.#name} address add ${SECOND}/30 dev up0`)
    await ip(`-n ${this.#name} link set up0 up`)
    await ip(`-n ${this.#name} route add default via ${FIRST}`)
    await mkdir(`/etc/netns/${this.#name}`, { recursive: true })
    await writeFile(`/etc/netns/${this.#name}/hosts`, `127.0.0.1 localhost\n${FIRST} ${API}\n`)
    await this.#startProxy(baseUrl)
  }

  /** Lays it out, and makes it a host of the fleet of the first machine. @throws with its output */
  async join({ credentials }: Offshoot): Promise<void> {
    const { base_url: url, operator_key: key } = credentials
    await this.layOut(url)
    const headers = { authorization: `Bearer ${key}` }
    const { token } = (await call('POST', `${url}/v1/admin/hosts/tokens`, { headers })).body
    const exitCode = await this.up('--join', this.controlUrl, '--token', token)
    if (exitCode !== null) throw new Error(`the second machine did not join:\n${this.output}`)
  }

  async #startProxy(baseUrl: string): Promise<void> {
    const authority = await CertificateAuthority.open(await makeAuthority('Public'))
    const key = makePrivateKey()
    const cert = await authority.sign(await certificateRequest(key), API, 3_600)
    await writeFile(this.#authorityPath, authority.certificate)
    const { port } = new URL(baseUrl)
    const proxy = createServer({ cert, key })
    proxy.removeAllListeners('secureConnection')
    proxy.on('secureConnection', (socket) => {
      const inside = connect(Number(port), '127.0.0.1')
      for (const each of [socket, inside]) each.on('error', () => [socket, inside].map((both) => both.destroy()))
      socket.pipe(inside).pipe(socket)
    })
    proxy.listen(0, FIRST)
    await once(proxy, 'listening')
    this.#proxy = proxy
  }

  /** Control's address for this machine. */
  get controlUrl(): string {
    if (this.#proxy === undefined) throw new Error('not laid out')
    return `https://${API}:${(this.#proxy.address() as AddressInfo).port}`
  }

  get #authorityPath(): string {
    return `${this.dataDir}.authority.pem`
  }

  get #outputPath(): string {
    return `${this.dataDir}.output`
  }

  get output(): string {
    return readFileSync(this.#outputPath, 'utf8')
  }

  get env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      OFFSHOOT_POOL_MIB: '0',
      OFFSHOOT_TEMPLATES: 'minimal',
      NODE_EXTRA_CA_CERTS: this.#authorityPath,
      ...this.#env,
    }
  }

  /** Runs `bin/up` there until it ends or is ready. @returns its exit code; `null`: it runs */
  async up(...args: string[]): Promise<number | null> {
    const line = [join(repository, 'bin/up'), '--data-dir', this.dataDir, '--images-dir', imagesDir, '--yes', ...args]
    const output = openSync(this.#outputPath, 'w', 0o600)
    const child = spawn('ip', ['netns', 'exec', this.#name, ...line], {
      env: this.env,
      stdio: ['ignore', output, output],
      detached: true,
    })
    closeSync(output)
    const running = this.#up
    this.#up = child
    const isOver = () => child.exitCode !== null || /^ready https/m.test(this.output)
    await until('bin/up of the second machine', isOver, PATIENCE_MS)
    // One that was refused does not end the one that runs.
    if (child.exitCode !== null) this.#up = running
    return child.exitCode
  }

  /** Runs a program of the repository there. */
  async run(...args: string[]): Promise<string> {
    const line = ['netns', 'exec', this.#name, process.execPath, ...args]
    return (await command('ip', line, { env: this.env })).stdout
  }

  /** Cuts the machine off, or connects it again. Everything on it goes on. */
  async connect(isConnected: boolean): Promise<void> {
    await (isConnected ? passPackets(this.#name) : losePackets(this.#name, 'both'))
  }

  async stop(): Promise<void> {
    const child = this.#up
    this.#up = undefined
    if (child === undefined || child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }

  /** Ends everything on it, as if it was switched off. */
  async end(): Promise<void> {
    await this.stop()
    await command('ip', ['netns', 'exec', this.#name, join(repository, 'bin/up'), '--down', '--data-dir', this.dataDir])
  }

  async destroy(): Promise<void> {
    await this.end()
    this.#proxy?.closeAllConnections()
    this.#proxy?.close()
    await command('ip', ['netns', 'delete', this.#name]).catch(() => undefined)
    await rm(`/etc/netns/${this.#name}`, { recursive: true, force: true })
    for (const path of [this.dataDir, this.#authorityPath, this.#outputPath])
      await rm(path, { recursive: true, force: true })
  }
}
