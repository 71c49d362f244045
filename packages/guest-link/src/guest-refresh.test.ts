import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestRequestError } from './guest-link-error.ts'
import type { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { runToEnd } from './testing/run-to-end.ts'

let guest: HostGuest
let link: GuestLink

const path = (name: string) => join(guest.root, name)

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  // In this order, so that the guest ends even when there is no link.
  await guest.stop()
  link.close()
})

describe('requests', () => {
  it('the guest answers HELLO with version, boot id and the maximum of streams', () => {
    expect(link.hello).toEqual({
      protocolVersion: 6,
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      streamsMax: 512,
    })
  })

  it('the guest echoes a ping of every size', async () => {
    for (const size of [0, 1, 255, 4096, 16_383, 16_384]) {
      const payload = randomBytes(size)
      expect(Buffer.from(await link.ping(deadlineFor('ping'), payload)).equals(payload)).toBe(true)
    }
  })

  it('the guest answers QUIESCE', async () => {
    await expect(link.quiesce(deadlineFor('quiesce'))).resolves.toBeUndefined()
  })

  it('refresh writes identity files and the environment of all commands', async () => {
    for (const folder of ['etc/ssh', 'etc/dropbear', 'var/lib/dbus'])
      await mkdir(join(guest.root, folder), { recursive: true })
    await writeFile(path('etc/hosts'), '127.0.0.1\tlocalhost\n127.0.1.1\told-name\n10.0.0.9\tkept')
    await writeFile(path('var/lib/dbus/machine-id'), 'old')
    const keys = ['etc/ssh/ssh_host_rsa_key', 'etc/ssh/ssh_host_rsa_key.pub', 'etc/dropbear/dropbear_rsa_host_key']
    for (const name of [...keys, 'etc/ssh/sshd_config']) await writeFile(path(name), 'x')

    const machineId = randomBytes(16).toString('hex')
    const refresh = { time: new Date(), hostname: 'box-7', machineId, entropy: randomBytes(64) }
    await link.refresh({ ...refresh, env: { COLOUR: 'green', SHAPE: 'round' } }, deadlineFor('refresh')).settled

    expect(readFileSync(path('etc/machine-id'), 'utf8')).toBe(`${machineId}\n`)
    expect(readFileSync(path('var/lib/dbus/machine-id'), 'utf8')).toBe(`${machineId}\n`)
    expect(readFileSync(path('etc/hostname'), 'utf8')).toBe('box-7\n')
    expect(readFileSync(path('etc/hosts'), 'utf8')).toBe('127.0.0.1\tlocalhost\n10.0.0.9\tkept\n127.0.1.1\tbox-7\n')
    expect(keys.filter((name) => existsSync(path(name)))).toEqual([])
    expect(existsSync(path('etc/ssh/sshd_config'))).toBe(true)

    const seen = await runToEnd(link, 'echo $COLOUR $SHAPE $HOME', { env: { SHAPE: 'flat' } })
    expect(seen.stdout.toString()).toBe('green flat /root\n')
    await link.refresh({ ...refresh, env: 'keep' }, deadlineFor('refresh')).settled
    expect((await runToEnd(link, 'echo $COLOUR')).stdout.toString()).toBe('green\n')
    await link.refresh({ ...refresh, env: {} }, deadlineFor('refresh')).settled
    expect((await runToEnd(link, 'echo [$COLOUR]')).stdout.toString()).toBe('[]\n')
  })

  it('refresh makes the gateway the name server', async () => {
    await mkdir(path('etc'))
    const address = { ip: '10.213.0.6', prefixBits: 30, gateway: '10.213.0.5', mtu: 1400 }
    const refresh = { time: 1n, hostname: 'b', machineId: 'b'.repeat(32), entropy: randomBytes(32), env: {} }
    await link.refresh(refresh, deadlineFor('refresh')).settled
    expect(existsSync(path('etc/resolv.conf'))).toBe(false)
    await link.refresh({ ...refresh, address }, deadlineFor('refresh')).settled
    expect(readFileSync(path('etc/resolv.conf'), 'utf8')).toBe('nameserver 10.213.0.5\n')
    for (const [wrong, named] of [
      [{ ip: '10.213.0' }, 'address'],
      [{ gateway: 'fe80::1' }, 'address'],
      [{ prefixBits: 31 }, 'prefix'],
      [{ mtu: 100 }, 'mtu'],
    ] as const) {
      const refused = link.refresh({ ...refresh, address: { ...address, ...wrong } }, deadlineFor('refresh')).settled
      await expect(refused).rejects.toThrow(`refresh: ${named}`)
    }
    await link.ping(deadlineFor('ping'))
  })

  it('refresh leaves nothing of a longer file, and does not follow a link', async () => {
    await mkdir(path('etc'))
    await writeFile(path('etc/hostname'), 'a-name-much-longer-than-the-new-one\n')
    await writeFile(path('elsewhere'), 'untouched')
    await symlink(path('elsewhere'), path('etc/machine-id'))
    const machineId = randomBytes(16).toString('hex')
    const refresh = { time: 1n, hostname: 'b', machineId, entropy: randomBytes(32), env: {} }
    await link.refresh(refresh, deadlineFor('refresh')).settled
    expect(readFileSync(path('etc/hostname'), 'utf8')).toBe('b\n')
    expect(readFileSync(path('etc/machine-id'), 'utf8')).toBe(`${machineId}\n`)
    expect(readFileSync(path('elsewhere'), 'utf8')).toBe('untouched')
  })

  it('a FIFO in the place of a file does not block quiesce and refresh', async () => {
    await mkdir(path('etc'))
    const made = await runToEnd(link, 'mkfifo hosts hostname machine-id', { cwd: path('etc') })
    expect(made.exitCode).toBe(0)
    await link.quiesce(deadlineFor('quiesce'))
    const refresh = { time: 1n, hostname: 'b', machineId: 'b'.repeat(32), entropy: randomBytes(32), env: {} }
    await link.refresh(refresh, deadlineFor('refresh')).settled
    expect(readFileSync(path('etc/hostname'), 'utf8')).toBe('b\n')
  })

  it('a failed refresh names its step, and the guest goes on', async () => {
    const refresh = { time: 1n, hostname: 'box', machineId: 'a'.repeat(32), entropy: randomBytes(32), env: {} }
    await mkdir(join(guest.root, 'etc/machine-id'), { recursive: true })
    await expect(link.refresh(refresh, deadlineFor('refresh')).settled).rejects.toThrow(
      /^refresh: machine id: Is a directory/,
    )
    await expect(link.refresh({ ...refresh, hostname: 'a b' }, deadlineFor('refresh')).settled).rejects.toThrow(
      GuestRequestError,
    )
    await expect(link.refresh({ ...refresh, mac: '02:00:00' }, deadlineFor('refresh')).settled).rejects.toThrow('mac')
    await link.ping(deadlineFor('ping'))
  })
})
