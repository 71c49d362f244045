import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ApiError } from '@offshoot/sdk'
import { clientOf } from '../frame/client.ts'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { saveCredentials, writeConfig } from '../frame/config.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { withProgress } from '../frame/progress.ts'
import { ask, askSecret, choose, firstLineOfStdin, isInteractive } from '../frame/questions.ts'
import { signIn } from './sign-in.ts'

interface Options {
  readonly email?: string
  readonly credentials?: string
}

export const run: Action<Options> = async (cli, { options: { email, credentials } }) => {
  if (email !== undefined && credentials !== undefined)
    throw new UsageError('--email and --credentials exclude each other')
  if (credentials !== undefined) return loginByFile(cli, credentials)
  if (email !== undefined) return loginByAccount(cli, email)
  if (!isInteractive(cli)) return loginByKey(cli, await firstLineOfStdin(cli))
  const way = await choose(cli, `Sign in to ${cli.baseUrl} with`, [
    { value: 'key', label: 'an API key (ofs_…)' },
    { value: 'account', label: 'an account (e-mail address and password)' },
  ])
  if (way === 'account') return loginByAccount(cli, await ask(cli, 'E-mail address'))
  return loginByKey(cli, await askSecret(cli, 'API key'))
}

async function loginByKey(cli: Cli, text: string, baseUrl = cli.baseUrl): Promise<void> {
  const key = text.trim()
  if (!/^(ofs|e2b)_[\x21-\x7e]+$/.test(key))
    throw new UsageError(
      key === '' ? 'the API key is missing: give it on the standard input' : 'an API key begins with ofs_',
    )
  const api = clientOf(baseUrl, async () => key)
  // A key with scopes may not list sandboxes, and is a valid key nevertheless.
  await withProgress(cli, 'checking the key', api.request('GET /v1/sandboxes', { query: { limit: 1 } })).catch(
    (error: unknown) => {
      const isScope = error instanceof ApiError && /scope|forbidden|suspended/.test(error.body.error)
      if (!isScope) throw error
    },
  )
  await saveCredentials(cli.configPath, baseUrl, key)
  cli.out.note(`Signed in to ${baseUrl} with the key ${prefixOf(key)}.`)
}

async function loginByFile(cli: Cli, path: string): Promise<void> {
  const text = await readFile(resolve(cli.cwd, path), 'utf8')
  const value = parsed(text)
  if (typeof value?.api_key !== 'string' || typeof value.base_url !== 'string')
    throw new Failure(`${path} has no api_key and base_url`, {
      exitCode: EXIT.usage,
      next: 'name the credentials.json in the data directory of the server',
    })
  return loginByKey(cli, value.api_key, value.base_url.replace(/\/+$/, ''))
}

/** Content that is no JSON is reported like an object without the fields. */
function parsed(text: string): { readonly base_url?: unknown; readonly api_key?: unknown } | null {
  try {
    return JSON.parse(text) as ReturnType<typeof parsed>
  } catch {
    return null
  }
}

async function loginByAccount(cli: Cli, email: string): Promise<void> {
  const password = isInteractive(cli) ? await askSecret(cli, 'Password') : await firstLineOfStdin(cli)
  if (password === '') throw new UsageError('the password is missing: give it on the standard input')
  const session = await signIn(cli, email, password)
  await writeConfig(cli.configPath, { base_url: cli.baseUrl, session, email })
  cli.out.note(`Signed in to ${cli.baseUrl} as ${email}.`)
}

/** The part of a key that is no secret. */
export function prefixOf(key: string): string {
  return /^ofs_(op_)?[A-Za-z0-9]{8}/.exec(key)?.[0] ?? `${key.slice(0, 8)}…`
}
