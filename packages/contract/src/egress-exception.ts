import { z } from 'zod'

/** A destination that guests may reach although it is private or the host's own: by TCP and UDP. */
export interface EgressException {
  /** Four numbers and the length of the prefix: `10.1.0.0/16`. */
  readonly cidr: string
  /** 1 to 65535. */
  readonly port: number
}

/** `CIDR:port`, IPv4. `null`: it is none. */
export function parseEgressException(text: string): EgressException | null {
  const [, ip = '', bits = '', port = ''] = /^([\d.]+)\/(\d{1,2}):(\d{1,5})$/.exec(text) ?? []
  if (!z.ipv4().safeParse(ip).success || Number(bits) > 32 || Number(port) < 1 || Number(port) > 65_535) return null
  return { cidr: `${ip}/${Number(bits)}`, port: Number(port) }
}

/** In a configuration file. At most so many: each is a rule that a guest's first packet may pass. */
export const egressExceptions = z
  .array(z.string().refine((text) => parseEgressException(text) !== null, 'must be CIDR:port'))
  .max(128)
