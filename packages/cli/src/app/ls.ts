import type { App } from '@offshoot/contract/app'
import type { Action } from '../frame/command.ts'
import { age } from '../frame/output.ts'
import { resolve } from '../frame/resolve.ts'
import { statusOf } from './show.ts'

interface Options {
  readonly status?: App['status']
  readonly previewsOf?: string
}

export const run: Action<Options> = async (cli, { options }) => {
  const { status, previewsOf } = options
  const api = await cli.api()
  const request = { query: { limit: 1000, status }, signal: cli.signal }
  const parent = previewsOf === undefined ? null : await resolve(api, 'app', previewsOf)
  const apps =
    parent === null
      ? await api.list('GET /v1/apps', request).all()
      : await api.list('GET /v1/apps/{id}/previews', { ...request, path: { id: parent } }).all()
  const { out } = cli
  out.list(options, apps, {
    id: ({ id }) => id,
    headings: ['ID', 'NAME', 'STATUS', 'BRANCH', 'ADDRESS', 'AGE'],
    row: (each) => [
      each.id,
      each.name,
      statusOf(out, each.status),
      each.git_branch,
      each.name_url ?? each.url,
      age(each.created_at),
    ],
    empty:
      parent === null ? 'There are no apps. Create one: offshoot app create NAME REPOSITORY' : 'There are no previews.',
  })
}
