/** @module-tag long */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, readFile, stat } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { ensureHostReady } from '@offshoot/up/host/debian-packages'
import { POSTGRES_UID } from '@offshoot/up/services/postgres-cluster'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from './setup/http.ts'
import { imagesDir, Offshoot } from './setup/offshoot.ts'
import { visit } from './setup/preview.ts'
import { RootlessUser, UID } from './setup/rootless-user.ts'
import { until } from './setup/until.ts'

const command = promisify(execFile)
const up = resolve(import.meta.dirname, '../bin/up')
const isRoot = process.getuid?.() === 0

/** A network namespace that stands for the internet, with a link to the host. The host has a public address there, too. */
const OUTSIDE = `ofr${process.pid}`
const HOST_PUBLIC = '93.184.216.33'
const PUBLIC = '93.184.216.34'
const PRIVATE = '10.99.0.1'
const PORT = 80

/**
 * A shell command that requests a page, and prints the answer. Its side of the connection stays open: pasta of Debian 12
 * stalls a connection whose client closes it before it has read the answer (docs/rootless.md).
 */
function get(address: string, path: string): string {
  const line = `printf 'GET ${path} HTTP/1.0\\r\\n\\r\\n' >&3`
  return `[ -p /tmp/in ] || mkfifo /tmp/in; exec 3<>/tmp/in; ${line}; timeout 20 nc -w 9 ${address} ${PORT} <&3`
}

function ip(line: string) {
  return command('ip', line.split(' '))
}

async function layOutOutside(): Promise<ChildProcess> {
  const device = OUTSIDE.slice(0, 15)
  await ip(`netns add ${OUTSIDE}`)
  await ip(`link add ${device} type veth peer name up0 netns ${OUTSIDE}`)
  await ip(`address add ${HOST_PUBLIC}/30 dev ${device}`)
  await ip(`link set ${device} up`)
  await ip(`-n ${OUTSIDE} link set lo up`)
  await ip(`-n ${OUTSIDE} address add ${PUBLIC}/30 dev up0`)
  await ip(`-n ${OUTSIDE} address add ${PRIVATE}/32 dev lo`)
  await ip(`-n ${OUTSIDE} link set up0 up`)
  await ip(`route add ${PRIVATE}/32 via ${PUBLIC}`)
  const program = resolve(import.meta.dirname, '../packages/agent/src/test/outside.ts')
  const server = spawn('ip', ['netns', 'exec', OUTSIDE, process.execPath, program, String(PORT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface(server.stdout), 'line')
  return server
}

describe.skipIf(!isRoot)('bin/up of a user without root', () => {
  let user: RootlessUser
  let offshoot: Offshoot
  let outside: ChildProcess
  /** A server of the host, at all its addresses. It counts connections. */
  let server: Server
  let connections = 0
  let sandbox: string

  beforeAll(async () => {
    await ensureHostReady(true, new AbortController().signal, ['uidmap', 'passt'])
    user = await RootlessUser.create()
    outside = await layOutOutside()
    server = createServer((socket) => {
      connections += 1
      socket.destroy()
    }).listen(0, '0.0.0.0')
    await once(server, 'listening')
    const dataDir = join(user.home, 'data')
    await mkdir(dataDir)
    await chown(dataDir, UID, UID)
    const images = await user.copyImages(imagesDir, ['minimal'])
    offshoot = Offshoot.at(dataDir, { under: user.under, env: user.env, imagesDir: images })
    await offshoot.up()
  })

  afterAll(async () => {
    await offshoot?.down()
    server?.close()
    outside?.kill('SIGKILL')
    await command('ip', ['netns', 'delete', OUTSIDE]).catch(() => undefined)
    await user?.destroy()
  })

  const run = async (cmd: string) => (await offshoot.exec(sandbox, cmd)).stdout

  it('runs a sandbox in a jail, with a volume, and says what holds', async () => {
    expect((await offshoot.request('POST', '/v1/volumes', { body: { name: 'data', size_mb: 16 } })).status).toBe(201)
    sandbox = (await offshoot.create({ template: 'minimal', volumes: [{ name: 'data' }], persistent: true })).id
    expect(await run('id -u; mount -t ext4 /dev/vdb /mnt && echo kept >/mnt/file && cat /mnt/file')).toBe('0\nkept\n')
    const health = await call('GET', `${offshoot.credentials.base_url}/healthz`)
    expect(health.body.agents).toMatchObject([
      { isolation: 'jail-nolimits', cpu_limits: 'none', network: { kind: 'tap', reason: null } },
    ])
    const [vm] = await offshoot.virtualMachines()
    const status = await readFile(`/proc/${vm?.pid}/status`, 'utf8')
    expect(status).toMatch(/^CapEff:\s+0+$/m)
    expect((await stat(`/proc/${vm?.pid}`)).uid).not.toBe(UID)
  })

  it('lets a sandbox reach the internet, and nothing near the host', async () => {
    expect(await run(get(PUBLIC, '/hello'))).toContain(`/hello at ${PUBLIC}`)
    expect(await run(`${get(PUBLIC, '/large')} | wc -c`)).toMatch(/^200\d{4}\n$/)
    const { port } = server.address() as AddressInfo
    const { stdout } = await command('ip', ['-4', '-json', 'address', 'show', 'scope', 'global'])
    const own = (JSON.parse(stdout) as { addr_info: { local: string }[] }[]).flatMap(({ addr_info }) =>
      addr_info.map(({ local }) => local),
    )
    const gateway = (await run('ip route')).split(' ')[2] ?? ''
    const addresses = ['127.0.0.1', gateway, '192.0.0.1', '192.0.0.2', '192.0.0.3', '169.254.169.254', ...own]
    expect(addresses).toContain(HOST_PUBLIC)
    const tries = addresses.map((address) => `nc -w 3 ${address} ${port} </dev/null 2>&1 && echo reached ${address}`)
    const answer = await run(
      `${tries.join('\n')}\nnc -w 3 ${PRIVATE} ${PORT} </dev/null 2>&1 && echo reached ${PRIVATE}`,
    )
    expect(answer).not.toContain('reached')
    expect(answer.match(/Connection refused/g)).toHaveLength(addresses.length + 1)
    expect(connections).toBe(0)
    const closed = await offshoot.create({ template: 'minimal', network: { egress: 'none' } })
    expect((await offshoot.exec(closed.id, get(PUBLIC, '/none'))).stdout).toBe('')
    await offshoot.delete(closed.id)
  })

  it('serves previews, forks, hibernates and wakes', async () => {
    await run('mkdir -p /www && echo page >/www/index.html && (httpd -p 3000 -h /www)')
    expect((await until('preview', async () => visit(offshoot, sandbox, 3000))).text).toBe('page\n')
    const fork = await offshoot.request('POST', `/v1/sandboxes/${sandbox}/fork`, { body: {} })
    expect(fork.status).toBe(201)
    expect((await visit(offshoot, fork.body.id, 3000)).text).toBe('page\n')
    expect((await offshoot.exec(fork.body.id, get(PUBLIC, '/fork'))).stdout).toContain('/fork at')
    await offshoot.delete(fork.body.id)
    expect((await offshoot.request('POST', `/v1/sandboxes/${sandbox}/hibernate`)).status).toBe(200)
    expect(await offshoot.virtualMachines()).toEqual([])
    expect(await run('cat /mnt/file')).toBe('kept\n')
    expect(await run(get(PUBLIC, '/woken'))).toContain('/woken at')
  })

  it('outlives a kill of everything but the VM', async () => {
    const vms = await offshoot.virtualMachines()
    expect(vms).toHaveLength(1)
    await offshoot.killService('agent')
    expect(await run('cat /mnt/file')).toBe('kept\n')
    const doomed = (await user.processes()).filter((line) => !/qemu-system|\/jail /.test(line))
    for (const what of ['main.ts', 'sleep infinity', 'pasta', 'postgres']) expect(doomed.join('\n')).toContain(what)
    for (const line of doomed) process.kill(Number(line.split(' ')[0]), 'SIGKILL')
    await offshoot.stop()
    await offshoot.up()
    expect(await offshoot.virtualMachines()).toEqual(vms)
    expect(await run(`cat /mnt/file; ${get(PUBLIC, '/again')}`)).toMatch(/^kept\n[^]*\/again at/)
  })

  it('connects sandboxes again after a kill of pasta', async () => {
    for (const line of await user.processes())
      if (/pasta|sleep infinity/.test(line)) process.kill(Number(line.split(' ')[0]), 'SIGKILL')
    await until('way out', async () => (await run(get(PUBLIC, '/back'))).includes('/back at'))
  })

  it('leaves nothing after --down, and the user can start again and remove the folder', async () => {
    await offshoot.request('POST', `/v1/sandboxes/${sandbox}/hibernate`)
    await offshoot.down()
    // The holder of a lock ends just after the program that took the lock.
    await until('the end of all processes', async () => (await user.processes()).length === 0)
    await offshoot.up()
    expect(await run('cat /mnt/file')).toBe('kept\n')
    await offshoot.down()
    // The holder of a lock ends just after the program that took the lock.
    await until('the end of all processes', async () => (await user.processes()).length === 0)
    expect(await user.run('rm', '-r', '--', offshoot.dataDir)).toMatchObject({ code: 0, errors: '' })
  })

  it('tries a guest in the diagnosis, and leaves nothing of it', async () => {
    const before = await user.processes()
    const options = ['--images-dir', join(user.home, 'images'), '--data-dir', join(user.home, 'not-made')]
    const { output } = await user.run(up, '--doctor', '--json', ...options)
    const { findings } = JSON.parse(output) as { findings: { check: string; status: string; finding: string }[] }
    expect(findings.filter(({ check }) => check === 'guest')).toMatchObject([
      { status: 'ok', finding: expect.stringMatching(/work under \w+ \(isolation jail-nolimits/) },
    ])
    await until('the end of its processes', async () => (await user.processes()).length === before.length)
  })

  it('refuses a data directory of root, and root one of a user', async () => {
    const dir = join(user.home, 'foreign')
    await mkdir(join(dir, 'postgres'), { recursive: true })
    await command('chown', ['-R', String(UID), dir])
    const line = ['--data-dir', dir, '--port', '0']
    const byRoot = await command(up, line).catch((error: { stderr: string }) => error)
    expect(byRoot.stderr).toBe(`Another user started ${dir}: run bin/up as the user with the id ${UID}.\n`)
    await chown(join(dir, 'postgres'), POSTGRES_UID, POSTGRES_UID)
    expect((await user.run(up, ...line)).errors).toBe(`Another user started ${dir}: run bin/up as root.\n`)
  })

  it('says in one sentence everything that an administrator has to do', async () => {
    await user.write('subuid', '')
    await user.makeTun('600')
    const { code, errors } = await user.run(up, '--data-dir', join(user.home, 'none'), '--port', '0')
    expect(code).toBe(1)
    expect(errors).toBe(
      'Offshoot cannot start, because the user offshoot-rootless has too few ids in /etc/subuid or /etc/subgid; ' +
        'users cannot open /dev/net/tun. As root, run once: usermod --add-subuids 100000-165535 offshoot-rootless && ' +
        'chmod 666 /dev/net/tun\n',
    )
    await expect(stat(join(user.home, 'none'))).rejects.toThrow('ENOENT')
  })
})
