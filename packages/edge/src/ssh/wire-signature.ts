import { mpint, SshFormatError, string } from '@offshoot/kit/ssh/ssh-wire'

const SEQUENCE = 0x30
const INTEGER = 0x02
/** The flags and the counter of a security key. */
const TOKEN_STATE_BYTES = 5

/**
 * A signature in SSH's format, as the client sent it. The library takes the format's name off, and turns ECDSA into
 * ASN.1, but leaves the signatures of certificates as they are.
 *
 * @param algorithm of the signature; for a certificate that of the certificate
 * @throws SshFormatError
 */
export function wireSignature(algorithm: string, signature: Buffer): Buffer {
  if (algorithm.endsWith('-cert-v01@openssh.com')) return signature
  if (algorithm.startsWith('ecdsa-')) return Buffer.concat([string(algorithm), string(numbersOf(signature))])
  if (!algorithm.startsWith('sk-')) return Buffer.concat([string(algorithm), string(signature)])
  const end = signature.length - TOKEN_STATE_BYTES
  if (end < 0) throw new SshFormatError('signature too short')
  return Buffer.concat([string(algorithm), string(signature.subarray(0, end)), signature.subarray(end)])
}

/** SSH's two numbers from ASN.1's `SEQUENCE { r INTEGER, s INTEGER }`. */
function numbersOf(der: Buffer): Buffer {
  const [tag, content, rest] = element(der)
  if (tag !== SEQUENCE || rest.length > 0) throw new SshFormatError('not an ECDSA signature')
  const [first, r, afterR] = element(content)
  const [second, s, afterS] = element(afterR)
  if (first !== INTEGER || second !== INTEGER || afterS.length > 0) throw new SshFormatError('not an ECDSA signature')
  return Buffer.concat([mpint(r), mpint(s)])
}

/** One element of ASN.1: its tag, its content, and the bytes after it. The signatures of P-521 have two bytes of length. */
function element(bytes: Buffer): [tag: number, content: Buffer, rest: Buffer] {
  const [tag, first, second = 0] = bytes
  if (tag === undefined || first === undefined) throw new SshFormatError('truncated')
  const [start, length] = first === 0x81 ? [3, second] : [2, first]
  if (length >= 0x80 && start === 2) throw new SshFormatError('too long')
  if (bytes.length < start + length) throw new SshFormatError('truncated')
  return [tag, bytes.subarray(start, start + length), bytes.subarray(start + length)]
}
