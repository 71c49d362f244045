import { once } from 'node:events'
import { chown, mkdir, mkdtemp, link, realpath, rm, symlink } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { channelFolder, ForeignSocket, hasChannel, ownSocket } from './channel.ts'
import { QMP_SOCKET } from './machine.ts'

const [VICTIM_UID, BROKEN_UID] = [299_996, 299_997]

describe.runIf(process.getuid?.() === 0)('the socket of a VM', () => {
  let root: string
  let victim: string
  let broken: string
  const servers: Server[] = []

  async function listen(folder: string, uid: number): Promise<void> {
    const server = createServer().listen(join(folder, QMP_SOCKET))
    servers.push(server)
    await once(server, 'listening')
    await chown(join(folder, QMP_SOCKET), uid, uid)
  }

  beforeAll(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'offshoot-channel-')))
    victim = join(root, 'victim')
    broken = join(root, 'broken')
    for (const [folder, uid] of [
      [victim, VICTIM_UID],
      [broken, BROKEN_UID],
    ] as const) {
      await mkdir(folder)
      await chown(folder, uid, uid)
    }
    await listen(victim, VICTIM_UID)
  })
  afterAll(async () => {
    for (const server of servers) server.close()
    await rm(root, { recursive: true })
  })

  it('without a jail is in its folder, even before QEMU has made it', async () => {
    expect(await hasChannel(victim)).toBe(false)
    expect(await ownSocket(victim, QMP_SOCKET, false)).toBe(join(victim, QMP_SOCKET))
    expect(await ownSocket(broken, QMP_SOCKET, false)).toBe(join(broken, QMP_SOCKET))
  })

  it('without a jail is refused if it is a link, a file, or another user’s socket', async () => {
    const place = join(broken, QMP_SOCKET)
    const refused = () => expect(ownSocket(broken, QMP_SOCKET, false)).rejects.toThrow(ForeignSocket)
    await symlink(join(victim, QMP_SOCKET), place)
    await refused()
    await rm(place)
    await link(join(victim, QMP_SOCKET), place)
    await refused()
    await rm(place)
    await mkdir(place)
    await refused()
    await rm(place, { recursive: true })
  })

  it('with a jail is beside its folder, whatever its folder contains', async () => {
    await mkdir(channelFolder(broken), { mode: 0o700 })
    await symlink(join(victim, QMP_SOCKET), join(broken, QMP_SOCKET))
    await listen(channelFolder(broken), 0)
    expect(await hasChannel(broken)).toBe(true)
    expect(await ownSocket(broken, QMP_SOCKET, true)).toBe(join(channelFolder(broken), QMP_SOCKET))
  })
})
