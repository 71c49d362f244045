import type { SandboxId } from '@offshoot/contract/ids'
import { sandboxCredentialText, sandboxOfCredentialText } from '@offshoot/contract/sandbox-credential'
import { signText, verifySignedText } from '@offshoot/kit/signed-text'

/**
 * Access tokens of sandboxes (`envdAccessToken`). A token is control's credential for the inside of that sandbox, so
 * the gateway stores nothing, and holds no right of its own over workspaces.
 */
export class SandboxAccess {
  readonly #secret: Buffer

  constructor(secret: Buffer) {
    this.#secret = secret
  }

  tokenOf(id: SandboxId): string {
    return signText(this.#secret, sandboxCredentialText(id))
  }

  /** The sandbox whose token it is; `null` for any other text. */
  sandboxOf(token: string): SandboxId | null {
    const text = verifySignedText(this.#secret, token)
    return text === null ? null : sandboxOfCredentialText(text)
  }
}
