import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDevice, withKvmDevice } from './setup/kvm-device.ts'
import { copyMinimalImages } from './setup/minimal-images.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const up = resolve(import.meta.dirname, '../bin/up')
const imagesDir = resolve(process.env['OFFSHOOT_IMAGES_DIR'] ?? join(import.meta.dirname, '../.offshoot/images'))

/** Runs `bin/up` to its end. */
async function run(...args: string[]): Promise<{ code: number | null; output: string; errors: string }> {
  const child = spawn(up, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, OFFSHOOT_TEMPLATES: 'minimal' },
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: child.exitCode, output, errors }
}

/** As the page of the link does. */
function open(link: string): Promise<Response> {
  const { origin, hash } = new URL(link)
  const headers = { 'content-type': 'application/json', origin }
  return fetch(`${origin}/api/auth/sign-in/link`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ token: hash.slice(1) }),
  })
}

/** A single line that ends in a full stop, without a stack. */
const oneSentence = /^[^\n]+\.\n$/

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await Offshoot.startFirst('up')
})
afterAll(async () => {
  await offshoot?.destroy()
})

describe('bin/up', () => {
  it('prints three lines that work when pasted', async () => {
    const lines = offshoot.output.slice(offshoot.output.search(/^ready /m)).split('\n')
    const pasted = lines.slice(1).filter((line) => line.trim() !== '')
    const shell = spawn('bash', ['-eu'], { stdio: ['pipe', 'pipe', 'pipe'] })
    shell.stdin.end(pasted.join('\n'))
    const [output, errors] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'exit')])
    expect([shell.exitCode, errors]).toEqual([0, expect.not.stringContaining('rror')])
    expect(output).toContain('"exit_code":0')
    expect((await offshoot.request('GET', '/v1/sandboxes')).body).toEqual([])
  })

  it('prints a link that signs in to the console once, and another one when asked for it', async () => {
    const [, printed = ''] = /^# console: (http\S+\/sign-in#\S+) \(signs in once\)$/m.exec(offshoot.output) ?? []
    const answer = await open(printed)
    expect([answer.status, await answer.json()]).toMatchObject([200, { user: { email: offshoot.credentials.email } }])
    expect((await open(printed)).status).toBe(401)
    const another = await run('--sign-in-link', '--data-dir', offshoot.dataDir)
    expect(another).toMatchObject({ code: 0, errors: '', output: expect.stringMatching(/^http\S+\/sign-in#\S+\n$/) })
    expect((await open(another.output.trim())).status).toBe(200)
    expect(await readFile(join(offshoot.dataDir, 'credentials.json'), 'utf8')).not.toContain('sign_in')
    const refused = await run('--sign-in-link', '--data-dir', join(tmpdir(), 'offshoot-nowhere'))
    expect(refused).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(oneSentence) })
  })

  it('keeps its credentials to their owner and over a restart, but for a fresh jwt', { tags: ['faults'] }, async () => {
    expect((await stat(join(offshoot.dataDir, 'credentials.json'))).mode & 0o777).toBe(0o600)
    const before = offshoot.credentials
    await offshoot.stop()
    await offshoot.up()
    const { base_url: _, jwt, ...kept } = offshoot.credentials
    expect(before).toMatchObject(kept)
    expect(jwt).not.toBe(before.jwt)
    expect((await offshoot.request('GET', '/v1/sandboxes')).status).toBe(200)
  })

  it('refuses a data directory that is in use', async () => {
    const second = await run('--data-dir', offshoot.dataDir, '--images-dir', imagesDir, '--port', '0')
    expect(second.code).toBe(1)
    expect(second.errors).toMatch(oneSentence)
    expect((await offshoot.request('GET', '/v1/sandboxes')).status).toBe(200)
  })

  it('refuses a port that is taken, before it does anything', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const folder = join(await mkdtemp(join(tmpdir(), 'offshoot-')), 'data')
    const refused = await run('--data-dir', folder, '--images-dir', imagesDir, '--port', String(port))
    expect(refused.code).toBe(1)
    expect(refused.errors).toMatch(oneSentence)
    expect(refused.errors).toContain(String(port))
    await expect(stat(folder)).rejects.toThrow('ENOENT')
    server.close()
    await rm(join(folder, '..'), { recursive: true })
  })

  it.each([[['--port', 'x']], [['--port', '70000']], [['--nonsense']], [['--data-dir']]])(
    'refuses %j',
    async (args) => {
      const refused = await run(...args)
      expect(refused.code).toBe(2)
      expect(refused.errors).toMatch(/^[^\n]+\n/)
    },
  )

  it('refuses a data directory that is a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-'))
    const file = join(folder, 'data')
    await writeFile(file, '')
    const refused = await run('--data-dir', file, '--images-dir', imagesDir, '--port', '0')
    expect(refused.code).toBe(1)
    expect(refused.errors).toMatch(oneSentence)
    await rm(folder, { recursive: true })
  })
})

describe('bin/up --prepare', () => {
  // Every test that starts from a seed shows that `--prepare` leaves nothing for the start to build.
  it(
    'makes what a first start would make as often as it is asked to, without KVM where that is said, and refuses a directory in use',
    { tags: ['long'] },
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'offshoot-'))
      const prepare = () => run('--prepare', '--data-dir', folder, '--images-dir', imagesDir, '--accelerator', 'tcg')
      const made = await prepare()
      expect(made).toMatchObject({ code: 0, output: expect.stringContaining('baking template') })
      expect(made.output).toContain('software emulation was asked for')
      expect(made.output).not.toContain('trying whether guests run under KVM')
      const credentials = async () => JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'))
      const { jwt: _, ...kept } = await credentials()
      expect(JSON.parse(await readFile(join(folder, 'up.json'), 'utf8')).services).toEqual({})
      expect(await prepare()).toMatchObject({ code: 0, output: expect.not.stringContaining('baking template') })
      expect(await credentials()).toMatchObject(kept)
      await rm(folder, { recursive: true })
      const refused = await run('--prepare', '--data-dir', offshoot.dataDir, '--images-dir', imagesDir)
      expect(refused).toMatchObject({ code: 1, errors: expect.stringMatching(oneSentence) })
    },
  )
})

describe('bin/up --down', () => {
  it(
    'ends services and VMs, twice without complaint, and the next start says what became of them',
    { tags: ['faults'] },
    async () => {
      const { id } = await offshoot.create()
      await offshoot.down()
      expect(await offshoot.virtualMachines()).toEqual([])
      await offshoot.down()
      await offshoot.up()
      expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status).toBe('failed')
      await offshoot.delete(id)
    },
  )
})

describe('bin/up --accelerator', () => {
  it('auto tells in /healthz why guests do not run under KVM', async () => {
    const { agents } = (await offshoot.request('GET', '/healthz')).body
    const [{ accelerator, accelerator_reason: reason }] = agents
    expect(accelerator === 'kvm' ? reason === null : reason.length > 0).toBe(true)
  })
})

// Needs root, and an existing device as mount point.
const canReplaceKvm = process.getuid?.() === 0 && (await stat('/dev/kvm').catch(() => null)) !== null

describe.skipIf(!canReplaceKvm)('bin/up that is ended while it tries KVM', () => {
  let folder: string
  let dataDir: string
  let images: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-'))
    await chmod(folder, 0o755)
    dataDir = join(folder, 'data')
    await makeDevice(join(folder, 'kvm'), { driver: 'null', gid: 0, mode: 0o666 })
    // They bring no QEMU, so the host's is used.
    images = join(folder, 'images')
    await copyMinimalImages(images)
    await rm(join(images, 'qemu'), { recursive: true })
    await mkdir(join(images, 'qemu'))
    // A fake QEMU that never answers, so that `bin/up` waits for it.
    const qemu = `#!/bin/sh\ncase "$1" in --version) echo 'QEMU emulator version 7.2.22' ;; *) exec sleep 600 ;; esac\n`
    await writeFile(join(folder, 'qemu-system-x86_64'), qemu, { mode: 0o755 })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** Pids of the processes of a KVM trial. */
  async function probing(): Promise<number[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
    const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
    const place = join(dataDir, 'agent/probe/')
    const found = pids.filter((_pid, at) => folders[at]?.startsWith(place))
    // Before it executes the fake QEMU, the process is the jail launcher.
    const names = await Promise.all(found.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')))
    return found.filter((_pid, at) => names[at] === 'sleep\n')
  }

  /** The process that started the fake QEMU. */
  async function prepareProcess(): Promise<number> {
    const status = await readFile(`/proc/${(await probing())[0]}/status`, 'utf8')
    return Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1])
  }

  it.each([
    ['SIGINT to bin/up', (child: ChildProcess) => child.kill('SIGINT')],
    ['SIGKILL to bin/up', (child: ChildProcess) => child.kill('SIGKILL')],
    ['SIGKILL to what tries it', async () => process.kill(await prepareProcess(), 'SIGKILL')],
  ])('by %s leaves no QEMU', { tags: ['long'] }, async (_what, end) => {
    const [program = '', ...under] = withKvmDevice(join(folder, 'kvm'))
    const line = [up, '--prepare', '--data-dir', dataDir, '--images-dir', images]
    const env = { ...process.env, OFFSHOOT_TEMPLATES: 'minimal', PATH: `${folder}:${process.env['PATH']}` }
    const child = spawn(program, [...under, ...line], { stdio: 'ignore', env })
    const ended = once(child, 'exit')
    await until('a probe', async () => (await probing()).length > 0)
    await end(child)
    await ended
    await until('the end of the QEMU', async () => (await probing()).length === 0)
    await run('--down', '--data-dir', dataDir)
  })
})
