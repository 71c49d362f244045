import type { Build } from '@offshoot/contract/build'
import type { Action } from '../frame/command.ts'
import { age, type Style } from '../frame/output.ts'

const STYLES: Readonly<Record<Build['status'], Style>> = {
  queued: 'yellow',
  running: 'yellow',
  baking: 'yellow',
  done: 'green',
  failed: 'red',
}

export const run: Action<{ readonly status?: Build['status'] }> = async (cli, { operands: [name], options }) => {
  const { status } = options
  const query = { limit: 1000, name, status }
  const builds = await (await cli.api()).list('GET /v1/templates/builds', { query, signal: cli.signal }).all()
  const { out } = cli
  out.list(options, builds, {
    id: ({ id }) => id,
    headings: ['ID', 'TEMPLATE', 'STATUS', 'STAGE', 'AGE', 'ERROR'],
    row: (each) => [
      each.id,
      each.name,
      out.style(STYLES[each.status], each.status),
      `${each.stage} ${each.percent} %`,
      age(each.created_at),
      each.error ?? '',
    ],
    empty: 'There are no builds. Begin one: offshoot template build NAME FOLDER',
  })
}
