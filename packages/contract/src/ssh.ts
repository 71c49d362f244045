import { z } from 'zod'
import { optional, requiredText, text } from './fields.ts'
import { createdQuery, once } from './page.ts'

/** Maximum keys of one user. */
export const MAX_SSH_KEYS = 100
/** Lifetime of a certificate in seconds. */
export const SSH_CERTIFICATE_SECONDS = 3600
/** Maximum characters of a line with a public key. An RSA key of 16384 bits has 2800. */
const MAX_KEY_CHARS = 8192
const MAX_NAME_CHARS = 100

/** Body of `POST /v1/me/ssh-keys`. */
export const createSshKeyBody = z.object({
  /** A line of a `.pub` file: Ed25519, ECDSA, RSA of 2048 bits or more, or a security key. */
  public_key: requiredText('public_key', MAX_KEY_CHARS),
  /** Default: the comment of the line. */
  name: optional(
    text('name', MAX_NAME_CHARS).refine(
      (name) => !name.includes('\0') && name.isWellFormed(),
      'name must not contain NUL or half a surrogate pair',
    ),
  ),
})
export type CreateSshKeyBody = z.output<typeof createSshKeyBody>

/** A key with which its user enters every sandbox of the user's workspaces. */
export const sshKey = z.object({
  id: z.string(),
  name: z.string(),
  /** For example `ssh-ed25519`. */
  type: z.string(),
  /** As `ssh-keygen -l` prints it. */
  fingerprint: z.string(),
  /** `TYPE BASE64`. */
  public_key: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  /** Accurate to the minute; `null` before the first use. */
  last_used_at: z.string().nullable(),
})
export type SshKey = z.infer<typeof sshKey>

/** Query of `GET /v1/me/ssh-keys`. */
export const sshKeyListQuery = createdQuery.extend({ fingerprint: once('fingerprint').optional() })

/** Where the SSH gateway is. Every edge of the service has the same host key. */
export const sshGateway = z.object({
  host: z.string(),
  port: z.int(),
  /** `TYPE BASE64`. */
  host_key: z.string(),
  /** As `ssh-keygen -l` prints it. */
  host_key_fingerprint: z.string(),
  /** A line for the file `known_hosts`. */
  known_hosts: z.string(),
})
export type SshGateway = z.infer<typeof sshGateway>

/** Body of `POST /v1/ssh-certificates`. */
export const createSshCertificateBody = z.object({
  /** A line of a `.pub` file. */
  public_key: requiredText('public_key', MAX_KEY_CHARS),
})

/** A certificate of OpenSSH for the caller's key. It opens what the credential of the request opens. */
export const sshCertificate = z.object({
  /** The content of the file `KEY-cert.pub`, beside the private key. */
  certificate: z.string(),
  /** RFC 3339. One hour after the request. */
  expires_at: z.string(),
  gateway: sshGateway,
})
export type SshCertificate = z.infer<typeof sshCertificate>
