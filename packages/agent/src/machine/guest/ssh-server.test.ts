import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { GuestLinkLost, GuestRequestError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import { deadlineFor, HostGuest } from '@offshoot/guest-link/testing/host-guest'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { findFreePort } from '@offshoot/kit/free-port'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { answersSsh, visitSshServer } from './ssh-server.ts'

let guest: HostGuest
let link: GuestLink
let server: Server | undefined
let clients: Socket[] = []

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  await guest.stop()
  link.close()
  for (const client of clients.splice(0)) client.destroy()
  server?.close()
  server = undefined
})

/** A server that greets, and leaves when its client does, as SSH servers do before a login; or never leaves. */
async function serve({ greeting, leaves }: { greeting: string; leaves: boolean }): Promise<number> {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    clients.push(socket.on('error', () => undefined).resume())
    socket.write(greeting)
    if (leaves) socket.once('end', () => socket.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

it.each([
  ['SSH-2.0-dropbear_2022.83\r\n', true],
  ['SSH-1.99-old\r\n', true],
  ['220 mail.example.com ESMTP\r\n', false],
  ['SSH-1.5-older\r\n', false],
])('a server that greets with %j is an SSH server: %s', async (greeting, isSsh) => {
  const port = await serve({ greeting, leaves: true })
  expect(await answersSsh(link, deadlineFor('banner'), port)).toBe(isSsh)
})

it('a guest in which nothing listens has no SSH server', async () => {
  await expect(answersSsh(link, deadlineFor('banner'), await findFreePort())).rejects.toThrow(GuestRequestError)
})

it('a visit ends after the session of the server', async () => {
  const port = await serve({ greeting: 'SSH-2.0-dropbear_2022.83\r\n', leaves: true })
  await visitSshServer(link, deadlineFor('visit'), port)
  expect(clients.map(({ readableEnded, writableEnded }) => [readableEnded, writableEnded])).toEqual([[true, true]])
})

it('a visit where nothing listens is no failure', async () => {
  await expect(visitSshServer(link, deadlineFor('visit'), await findFreePort())).resolves.toBeUndefined()
})

it('a visit gives up a server that never leaves, and fails only if no time is left for anything else', async () => {
  const port = await serve({ greeting: 'hello', leaves: false })
  await expect(visitSshServer(link, Deadline.after(20, 'all'), port)).rejects.toThrow(DeadlineExceeded)
  await visitSshServer(link, deadlineFor('visit'), port)
  expect(clients.length).toBeGreaterThan(0)
})

it('a visit fails with the link', async () => {
  const port = await serve({ greeting: 'hello', leaves: false })
  const visit = visitSshServer(link, deadlineFor('visit'), port)
  link.close()
  await expect(visit).rejects.toThrow(GuestLinkLost)
})
