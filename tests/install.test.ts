/** @module-tag long */
/** The unit for systemd. This machine need not run systemd: its command line runs here as systemd would run it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '@offshoot/kit/free-port'
import { isAlive } from '@offshoot/kit/process-identity'
import { hasProgram } from '@offshoot/up/base/has-program'
import { imagesDir, Offshoot } from './setup/offshoot.ts'
import { layOutFromSeed } from './setup/seed.ts'
import { until } from './setup/until.ts'

const execute = promisify(execFile)
const up = resolve(import.meta.dirname, '../bin/up')
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const oneSentence = /^[^\n]+\.\n$/

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-install-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const done = await execute(up, args, { env: { ...process.env, ...env } }).catch((error: unknown) => error)
  const { code = 0, stdout, stderr } = done as { code?: number; stdout: string; stderr: string }
  return { code, output: stdout, errors: stderr }
}

/** The values of a field of a unit. */
function valuesOf(unit: string, field: string): string[] {
  return unit.split('\n').flatMap((line) => (line.startsWith(`${field}=`) ? [line.slice(field.length + 1)] : []))
}

describe('bin/up install', () => {
  it('writes a unit that starts at boot, as often as it is asked to, and uninstall removes it and no data', async ({
    skip,
  }) => {
    if (!(await hasProgram('systemctl'))) skip('systemctl is not installed')
    const root = join(folder, 'root')
    const data = join(folder, 'data')
    await mkdir(join(data, 'agent'), { recursive: true })
    const place = ['--root', root]
    const options = [...place, '--data-dir', data, '--port', '9000']
    const { output: printed } = await run(['install', '--print', ...options])
    await expect(readdir(root)).rejects.toThrow('ENOENT')
    for (const news of ['is installed', 'is unchanged'])
      expect(await run(['install', ...options])).toMatchObject({
        code: 0,
        errors: '',
        output: expect.stringContaining(news),
      })
    const [unit = '', ...others] = (await readdir(root, { recursive: true })).filter((name) =>
      name.endsWith('offshoot.service'),
    )
    expect(others).toHaveLength(1)
    expect(await readFile(join(root, unit), 'utf8')).toBe(printed)
    expect(await readlink(join(root, others[0] ?? ''))).toContain('offshoot.service')
    expect(valuesOf(printed, 'ExecStart')[0]).toContain(`--data-dir ${data} `)

    const changed = await run(['install', ...place, '--data-dir', data, '--port', '9001'])
    expect(changed.output).toContain('is installed')
    for (const news of ['is removed', 'is not there'])
      expect(await run(['uninstall', ...place])).toMatchObject({ code: 0, output: expect.stringContaining(news) })
    const left = (await readdir(root, { recursive: true })).filter((name) => name.includes('offshoot.service'))
    expect([left, await readdir(data)]).toEqual([[], ['agent']])
  })

  it('refuses in one sentence to replace what it has not written, and a port that changes', async () => {
    const root = join(folder, 'other')
    const home = join(folder, 'home')
    for (const place of ['etc/systemd/system', join(home, '.config/systemd/user')]) {
      await mkdir(join(root, place), { recursive: true })
      await writeFile(join(root, place, 'offshoot.service'), '[Unit]\n')
    }
    const env = { HOME: home, XDG_CONFIG_HOME: '' }
    for (const command of ['install', 'uninstall'])
      expect(await run([command, '--root', root], env)).toMatchObject({
        code: 1,
        errors: expect.stringMatching(oneSentence),
      })
    expect(await run(['install', '--print', '--port', '0'])).toMatchObject({ code: 2 })
  })
})

describe('the unit', () => {
  let dataDir: string
  let offshoot: Offshoot
  let output = ''
  afterAll(async () => {
    await offshoot?.destroy()
  })

  /** Runs the command line with the variables, capabilities and limits that the unit sets. */
  async function startAsSystemd(unit: string): Promise<ChildProcess> {
    const [line = ''] = valuesOf(unit, 'ExecStart')
    const dropped = valuesOf(unit, 'CapabilityBoundingSet').flatMap((set) => set.slice(1).split(' '))
    const names = dropped.map((name) => `-${name.slice('CAP_'.length).toLowerCase()}`)
    const limits = names.length === 0 ? [] : ['setpriv', '--no-new-privs', `--bounding-set=${names.join(',')}`]
    const variables = valuesOf(unit, 'Environment').map((each) => /^"?([^=]+)=(.*?)"?$/.exec(each)?.slice(1) ?? [])
    const [file = '', ...args] = [...limits, ...line.split(' ')]
    const env = { PATH: SYSTEM_PATH, ...(Object.fromEntries(variables) as Record<string, string>) }
    const child = spawn(file, args, { env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
    await until(
      'ready',
      () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${output}`)
        return /^ready http/m.test(output)
      },
      240_000,
    )
    return child
  }

  /** Ends everything at once, as a power cut does. */
  async function cutPower(): Promise<void> {
    const record = JSON.parse(await readFile(join(dataDir, 'up.json'), 'utf8')) as {
      pid: number
      services: Record<string, { pid: number; start_ticks: number }>
    }
    const machines = (await offshoot.virtualMachines()).map(({ pid }) => pid)
    const services = Object.values(record.services)
    for (const pid of [record.pid, ...services.map((each) => each.pid), ...machines]) process.kill(pid, 'SIGKILL')
    await until('the end of all services', async () => {
      const alive = await Promise.all(services.map((each) => isAlive({ pid: each.pid, startTicks: each.start_ticks })))
      return !alive.includes(true) && (await offshoot.virtualMachines()).length === 0
    })
  }

  it('starts the service within its limits, and after a reboot everything is back', async () => {
    dataDir = join(import.meta.dirname, '../.offshoot/tests', `install-${process.pid}`)
    await layOutFromSeed(dataDir, imagesDir, ['minimal'])
    const options = ['--data-dir', dataDir, '--images-dir', imagesDir, '--port', String(await findFreePort())]
    const env = { OFFSHOOT_TEMPLATES: 'minimal', OFFSHOOT_POOL_MIB: '0', OFFSHOOT_RATE_LIMIT: '1000000/1000000' }
    const { output: unit } = await run(['install', '--print', ...options], env)
    const first = await startAsSystemd(unit)
    offshoot = await Offshoot.attach(dataDir)
    const ended = once(first, 'exit')
    const { base_url: address } = offshoot.credentials
    const [asleep, awake] = [await offshoot.create(), await offshoot.create()]
    await offshoot.exec(asleep.id, 'echo kept > /root/file')
    expect((await offshoot.request('POST', `/v1/sandboxes/${asleep.id}/hibernate`)).status).toBe(200)
    await cutPower()
    await ended

    const second = await startAsSystemd(unit)
    offshoot = await Offshoot.attach(dataDir)
    expect(offshoot.credentials.base_url).toBe(address)
    expect(await offshoot.exec(asleep.id, 'cat /root/file')).toMatchObject({ stdout: 'kept\n' })
    expect((await offshoot.request('GET', `/v1/sandboxes/${awake.id}`)).body.status).toBe('failed')
    const later = await offshoot.create()
    expect(await offshoot.exec(later.id, 'echo again')).toMatchObject({ stdout: 'again\n' })

    // A stop signals only the supervisor, and VMs go on.
    const machines = await offshoot.virtualMachines()
    second.kill('SIGTERM')
    await once(second, 'exit')
    expect(second.exitCode).toBe(0)
    expect(await offshoot.virtualMachines()).toEqual(machines)
  })
})
