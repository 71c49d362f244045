/**
 * Names in the certificates that control's authority issues (docs/adr/0043-joining-hosts.md). They are names of roles,
 * not addresses: a caller connects to any address and expects the name of the role there.
 */
const SUFFIX = 'offshoot.internal'

export const CONTROL_NAME = `control.${SUFFIX}`
export const EDGE_NAME = `edge.${SUFFIX}`

/** The name of a host's agent. @param hostId a UUID in lower case */
export function hostName(hostId: string): string {
  return `${hostId}.host.${SUFFIX}`
}

const HOST_NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.host\.offshoot\.internal$/

/** The host whose name this is; `null` for every other name. */
export function hostIdOf(name: string): string | null {
  return HOST_NAME.exec(name)?.[1] ?? null
}

/**
 * The version of what the fleet trusted when a certificate was issued, which is the organizational unit in its subject.
 * 0: an earlier version of control issued it.
 */
export function trustVersionOf({ subject }: { readonly subject: string }): number {
  return Number(/^OU=(\d+)$/m.exec(subject)?.[1] ?? 0)
}
