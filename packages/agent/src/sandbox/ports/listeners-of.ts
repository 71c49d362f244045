import type { GuestLink } from '@offshoot/guest-link/link'
import type { Deadline } from '@offshoot/kit/deadline'

/** Our templates' own server: there in every sandbox, and nothing for a browser. */
const SSH_PORT = 22

/** The ports of a guest that accept connections, but for that of our own SSH server. @throws as GuestPorts.listeners */
export async function listenersOf({ ports }: GuestLink, deadline: Deadline): Promise<number[]> {
  return (await ports.listeners(deadline)).filter((port) => port !== SSH_PORT)
}
