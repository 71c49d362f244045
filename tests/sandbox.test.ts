import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
/** Logins of which at least one takes place while the kernel starts no thread. */
const LOGINS = 3

describe('a sandbox', () => {
  it('is created, shown, listed and deleted, and leaves nothing behind', async () => {
    const created = await offshoot.request('POST', '/v1/sandboxes', {
      body: { template: 'minimal', metadata: { owner: 'ann' }, cpu: 64, memory_mb: 1_000_000, unknown: true },
    })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      template: 'minimal',
      status: 'running',
      boot_mode: 'snapshot',
      metadata: { owner: 'ann' },
      cpu: 1,
      persistent: false,
      from_snapshot: null,
      parent_id: null,
      fork_tree_id: null,
      volumes: [],
      managed_by: null,
    })
    expect(created.body.id).toMatch(UUID)
    expect(created.body.created_at).toMatch(TIMESTAMP)
    expect(created.body.memory_mb).toBeLessThan(1_000_000)
    expect(Date.parse(created.body.expires_at) - Date.parse(created.body.created_at)).toBe(3_600_000)
    expect(created.body.boot_ms).toBeGreaterThan(0)

    const path = `/v1/sandboxes/${created.body.id}`
    const shown = await offshoot.request('GET', path)
    expect(shown.status).toBe(200)
    expect(shown.body).toEqual(created.body)
    const listed = await offshoot.request('GET', '/v1/sandboxes?metadata.owner=ann')
    expect(listed.body).toEqual([created.body])

    expect(await offshoot.virtualMachines()).toHaveLength(1)
    expect((await offshoot.request('DELETE', path)).status).toBe(204)
    expect((await offshoot.request('GET', path)).status).toBe(404)
    expect((await offshoot.request('DELETE', path)).status).toBe(404)
    expect(await offshoot.virtualMachines()).toEqual([])
    expect(await offshoot.folders()).toEqual([])
  })

  it('ignores its lifetime when it is persistent', async () => {
    const { id, ...fields } = await offshoot.create({ template: 'minimal', persistent: true, ttl_seconds: 5 })
    expect(fields).toMatchObject({ persistent: true, expires_at: null })
    await offshoot.delete(id)
  })

  it('is a machine of its own: clock, host name, machine id, random numbers, processes, files', async () => {
    const [one, two] = await Promise.all([offshoot.create(), offshoot.create()])
    const look = async (id: string) => {
      const { stdout } = await offshoot.exec(
        id,
        'hostname; cat /etc/machine-id; date +%s; head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/boot_id >/dev/null; ls /tmp',
      )
      const [hostname, machineId, clock, random, ...files] = stdout.split('\n')
      return { hostname, machineId, clockSeconds: Number(clock), random, files: files.join('') }
    }
    await offshoot.exec(one.id, 'touch /tmp/mine')
    const [first, second] = await Promise.all([look(one.id), look(two.id)])
    expect(first.hostname).not.toBe(second.hostname)
    expect(first.machineId).toMatch(/^[0-9a-f]{32}$/)
    expect(first.machineId).not.toBe(second.machineId)
    expect(first.random).not.toBe(second.random)
    expect(first.files).toContain('mine')
    expect(second.files).toBe('')
    // The snapshot is minutes to weeks old, so a guest whose clock was not set would differ by that much.
    expect(Math.abs(first.clockSeconds - Date.now() / 1000)).toBeLessThan(5)
    await Promise.all([offshoot.delete(one.id), offshoot.delete(two.id)])
  })

  it('has its environment in every command and shows it to no reader', async () => {
    const { id } = await offshoot.create({ template: 'minimal', env: { TOKEN: 'a secret = "quoted"' } })
    expect((await offshoot.exec(id, 'printf %s "$TOKEN"')).stdout).toBe('a secret = "quoted"')
    expect((await offshoot.exec(id, 'printf %s "$TOKEN"', { env: { TOKEN: 'nearer' } })).stdout).toBe('nearer')
    expect((await offshoot.request('GET', `/v1/sandboxes/${id}`)).text).not.toContain('secret')
    await offshoot.delete(id)
  })

  it('becomes failed when its VM dies', async () => {
    const { id } = await offshoot.create()
    const machine = (await offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === id)
    process.kill(machine?.pid ?? Number.NaN, 'SIGKILL')
    await until(
      'status failed',
      async () => (await offshoot.request('GET', `/v1/sandboxes/${id}`)).body.status === 'failed',
    )
    const exec = await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body: { cmd: 'true' } })
    expect(exec.status).toBe(404)
    expect(exec.body).toEqual({ error: 'sandbox not found or not running' })
    await offshoot.delete(id)
    expect(await offshoot.folders()).not.toContain(id)
  })
})

describe('the base template', () => {
  it('holds what it promises', { tags: ['faults'] }, async () => {
    const { id, ...fields } = await offshoot.create({ template: 'base' })
    expect(fields).toMatchObject({ cpu: 1, memory_mb: 512 })
    const programs = await offshoot.exec(
      id,
      'set -e; cat /etc/debian_version; python3 --version; pip --version; git --version; curl --version | head -1; node --version; npm --version; ls /etc/ssl/certs/ca-certificates.crt',
    )
    expect(programs.stderr).toBe('')
    expect(programs.exit_code).toBe(0)
    expect(programs.stdout).toMatch(/^12\./)
    expect(programs.stdout).toMatch(/^v24\./m)
    expect((await offshoot.exec(id, 'id -un; echo $HOME; pwd', { user: 'user' })).stdout).toBe(
      'user\n/home/user\n/home/user\n',
    )
    expect((await offshoot.exec(id, "python3 -c 'print(6 * 7)'; node -e 'console.log(6 * 7)'")).stdout).toBe('42\n42\n')
    const disk = await offshoot.exec(id, "df -m / | awk 'NR==2 {print $2}'")
    expect(Number(disk.stdout)).toBeGreaterThan(3500)
    await offshoot.delete(id)
  })

  it('begins a login shell without running a program, which takes a while under emulation', async () => {
    const { id } = await offshoot.create({ template: 'base' })
    // The shell keeps the process id of `sh`. The next process gets the next number, unless something else has run: the
    // kernel may start a thread, but not each time.
    const login = 'sh -c \'echo $$; exec bash -lc "true & echo \\$!; echo \\$PATH"\''
    const logins = []
    for (let i = 0; i < LOGINS; i++) logins.push((await offshoot.exec(id, login)).stdout.split('\n'))
    expect(Math.min(...logins.map(([shell, next]) => Number(next) - Number(shell)))).toBe(1)
    const [[, , path] = []] = logins
    expect(path).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
    const other = await offshoot.exec(id, `su user -s /bin/sh -c '. /etc/profile; echo $PATH'`)
    expect(other.stdout.trim()).toBe('/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games')
    await offshoot.delete(id)
  })

  it('has an SSH server listening, with keys no other sandbox has', async () => {
    const { id } = await offshoot.create({ template: 'base' })
    const banner = await offshoot.exec(
      id,
      `python3 -c "import socket; print(socket.create_connection(('127.0.0.1', 22), 10).recv(64).split(b'\\r\\n')[0].decode())"`,
    )
    expect(banner.stdout).toMatch(/^SSH-2\.0-/)
    await offshoot.delete(id)
  })
})
