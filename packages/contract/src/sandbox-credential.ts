import { parseSandboxId, type SandboxId } from './ids.ts'

const START = 'ofs_sandbox_'

/**
 * A credential for the inside of one sandbox: its commands, files, ports and records. It opens neither the lifecycle of
 * the sandbox nor anything else of the workspace.
 *
 * It is the text of {@link sandboxCredentialText}, signed with the secret that control and the E2B gateway share
 * (`kit/signed-text.ts`), so no process stores credentials. It is valid for as long as the sandbox exists.
 */
export function isSandboxCredential(token: string): boolean {
  return token.startsWith(START)
}

/** The text of a credential, without its signature. */
export function sandboxCredentialText(id: SandboxId): string {
  return `${START}${id}`
}

/** The sandbox that the text of a verified credential names; `null` for any other text. */
export function sandboxOfCredentialText(text: string): SandboxId | null {
  return isSandboxCredential(text) ? parseSandboxId(text.slice(START.length)) : null
}
