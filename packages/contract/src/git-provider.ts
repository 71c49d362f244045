import { z } from 'zod'
import { createdQuery, once } from './page.ts'

/** An installation of the provider's app, bound to the workspace that connected it. */
export const gitInstallation = z.object({
  installation_id: z.int(),
  account_login: z.string(),
  /** `User` or `Organization`. */
  account_type: z.string(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
})

/** A repository that the installation can read. */
export const gitRepository = z.object({
  id: z.int(),
  name: z.string(),
  full_name: z.string(),
  private: z.boolean(),
  default_branch: z.string(),
  clone_url: z.string(),
  html_url: z.string(),
})

const installationId = once('installation_id').regex(/^[1-9]\d{0,14}$/, 'installation_id must be an integer >= 1')

/** Query of `GET /v1/gitprovider/callback`: the provider redirects the user here after the installation. */
export const gitCallbackQuery = z.object({
  installation_id: installationId,
  setup_action: once('setup_action').optional(),
  state: once('state').min(1, 'state required').max(128, 'state is not one that was given out'),
})

/** Query of `GET /v1/gitprovider/repos`. */
export const gitReposQuery = z.object({ installation_id: installationId })

/** Query of `GET /v1/gitprovider/installations`. */
export const gitInstallationListQuery = createdQuery.extend({ account_login: once('account_login').optional() })
