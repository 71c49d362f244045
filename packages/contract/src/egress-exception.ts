import { z } from 'zod'

/** A private or host address that guests may reach by TCP and UDP. */
export interface EgressException {
  /** IPv4 prefix, e.g. `10.1.0.0/16`. */
  readonly cidr: string
  /** 1 to 65535. */
  readonly port: number
}

/** Parses `CIDR:port` (IPv4). `null` if malformed. */
export function parseEgressException(text: string): EgressException | null {
  const [, ip = '', bits = '', port = ''] = /^([\d.]+)\/(\d{1,2}):(\d{1,5})$/.exec(text) ?? []
  if (!z.ipv4().safeParse(ip).success || Number(bits) > 32 || Number(port) < 1 || Number(port) > 65_535) return null
  return { cidr: `${ip}/${Number(bits)}`, port: Number(port) }
}

/** The list in a configuration file. Its length is limited because each entry is a firewall rule. */
export const egressExceptions = z
  .array(z.string().refine((text) => parseEgressException(text) !== null, 'must be CIDR:port'))
  .max(128)
