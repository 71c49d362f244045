import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import type { Language, LspQuery } from '@offshoot/contract/lsp'
import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestProcess } from '@offshoot/guest-link/guest-process'
import { accountOf, withTemplateDefaults, guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** The folder of a template's language servers: one program per language, named like it, that uses its standard streams. */
const FOLDER = '/usr/local/lib/language-servers'

/** @throws ApiError 404 if the template has no server for the language; other statuses for an unusable sandbox, folder or user */
export function startLanguageServer(sandbox: Sandbox, language: Language, query: LspQuery): Promise<GuestProcess> {
  const program = `${FOLDER}/${language}`
  return withGuest(sandbox, async (link) => {
    const deadline = guestDeadline(`start of the ${language} server`)
    try {
      return await link.run({ argv: [program], ...accountOf(withTemplateDefaults(sandbox, query)) }, deadline)
    } catch (error) {
      if (isMissing(error, program)) {
        const detail = `the template ${sandbox.manifest.template} has no language server for ${language}`
        throw new ApiError('notFound', { detail }, { cause: error })
      }
      throw error
    }
  })
}

/** Tells a missing program from a missing working directory, which is also ENOENT but the caller's mistake. */
function isMissing(error: unknown, program: string): boolean {
  return error instanceof GuestRunError && error.errno === constants.errno.ENOENT && error.message.includes(program)
}
