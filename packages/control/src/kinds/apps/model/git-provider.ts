import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { GitProviderSettings } from '@offshoot/contract/control-settings'
import { ApiError } from '@offshoot/contract/errors'
import { gitRepository } from '@offshoot/contract/git-provider'
import { SignJWT } from 'jose'
import { request } from 'undici'
import { z } from 'zod'
import { readWhole } from '../../../platform/http/bounded-body.ts'

/** Milliseconds for one answer. */
const ANSWER_MS = 10_000
/** Lifetime of a token that control signs, in seconds. The provider accepts at most ten minutes. */
const APP_TOKEN_SECONDS = 540
/** Seconds by which the token's start is put into the past, because clocks differ. */
const CLOCK_SECONDS = 60
/** Bytes of one answer: a page of repositories is the longest. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
const PAGE = 100
/** Pages of repositories that are read. */
const MAX_PAGES = 10

const installation = z.object({
  account: z.object({ login: z.string(), type: z.string() }),
  created_at: z.string(),
  updated_at: z.string(),
})
const token = z.object({ token: z.string() })
const repositories = z.object({ repositories: z.array(gitRepository) })

export type ProvidersInstallation = z.infer<typeof installation>

/**
 * The API for the provider's app. Requests about the app itself use a token that control signs. Requests about an
 * installation use a token that the provider issues for an hour. Control stores neither.
 */
export class GitProvider {
  readonly #settings: GitProviderSettings
  readonly #key: KeyObject

  constructor(settings: GitProviderSettings) {
    this.#settings = settings
    this.#key = createPrivateKey(settings.private_key)
  }

  get webhookSecret(): string {
    return this.#settings.webhook_secret
  }

  /** The address at which a user installs the app. */
  installUrl(state: string): string {
    const { web_url: web, slug } = this.#settings
    return `${web}/apps/${encodeURIComponent(slug)}/installations/new?state=${encodeURIComponent(state)}`
  }

  /** The account in a repository's address; `null` if the address belongs to another provider. */
  accountOf(gitUrl: string): string | null {
    const url = new URL(gitUrl)
    if (url.host !== new URL(this.#settings.web_url).host) return null
    return url.pathname.split('/')[1] || null
  }

  /** `null`: there is none. @throws ApiError 502 */
  async installation(id: number): Promise<ProvidersInstallation | null> {
    const answer = await this.#ask('GET', `/app/installations/${id}`, await this.#appToken(), installation)
    return answer === 'unprocessable' ? null : answer
  }

  /** All repositories of the installation, a thousand at most. @throws ApiError 502 */
  async repositories(installationId: number): Promise<z.infer<typeof gitRepository>[]> {
    const credential = await this.#installationToken(installationId, { permissions: { metadata: 'read' } })
    if (credential === null) throw new ApiError('gitProvider', { detail: 'the installation may not list repositories' })
    const all: z.infer<typeof gitRepository>[] = []
    for (let page = 1; page <= MAX_PAGES; page++) {
      const path = `/installation/repositories?per_page=${PAGE}&page=${page}`
      const answer = await this.#ask('GET', path, credential, repositories)
      const found = answer === null || answer === 'unprocessable' ? [] : answer.repositories
      all.push(...found)
      if (found.length < PAGE) break
    }
    return all
  }

  /**
   * A token that can only read the contents of one repository, for an hour. It is used in a guest whose root user is
   * the tenant, so it must grant nothing else. `null`: the installation does not have that repository.
   * @throws ApiError 502, also if the installation is gone
   */
  async cloneToken(installationId: number, gitUrl: string): Promise<string | null> {
    const name = new URL(gitUrl).pathname.split('/')[2]?.replace(/\.git$/, '')
    if (!name) return null
    return this.#installationToken(installationId, { repositories: [name], permissions: { contents: 'read' } })
  }

  async #installationToken(installationId: number, scope: object): Promise<string | null> {
    const path = `/app/installations/${installationId}/access_tokens`
    const answer = await this.#ask('POST', path, await this.#appToken(), token, scope)
    if (answer === null) throw new ApiError('gitProvider', { detail: 'the installation is gone' })
    return answer === 'unprocessable' ? null : answer.token
  }

  #appToken(): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    return new SignJWT({})
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuedAt(now - CLOCK_SECONDS)
      .setExpirationTime(now + APP_TOKEN_SECONDS)
      .setIssuer(this.#settings.app_id)
      .sign(this.#key)
  }

  /**
   * `null` for a missing object; `unprocessable` for a scope that the installation does not have.
   * @throws ApiError 502, also for an answer that does not match `schema`
   */
  async #ask<Answer>(
    method: 'GET' | 'POST',
    path: string,
    credential: string,
    schema: z.ZodType<Answer>,
    body?: object,
  ): Promise<Answer | 'unprocessable' | null> {
    const headers = {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${credential}`,
      'user-agent': 'offshoot',
      'x-github-api-version': '2022-11-28',
    }
    try {
      const answer = await request(this.#settings.api_url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
        headersTimeout: ANSWER_MS,
        bodyTimeout: ANSWER_MS,
      })
      const text = (await readWhole(answer.body, MAX_ANSWER_BYTES)).toString()
      if (answer.statusCode === 404) return null
      if (answer.statusCode === 422) return 'unprocessable'
      if (answer.statusCode >= 300)
        throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 200)}`)
      return schema.parse(JSON.parse(text))
    } catch (error) {
      throw new ApiError('gitProvider', {}, { cause: error })
    }
  }
}
