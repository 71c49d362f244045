import { readFile } from 'node:fs/promises'
import { resolve as pathOf } from 'node:path'
import type { AppDomain } from '@offshoot/contract/app-domain'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly add?: string
  readonly rm?: string
  readonly certificate?: string
  readonly privateKey?: string
}

export const run: Action<Options> = async (cli, line) => {
  const { add, rm, certificate, privateKey, json } = line.options
  if (add !== undefined && rm !== undefined) throw new UsageError('--add and --rm exclude each other')
  if ((certificate === undefined) !== (privateKey === undefined))
    throw new UsageError('--certificate and --private-key belong together')
  if (certificate !== undefined && add === undefined) throw new UsageError('--certificate needs --add')
  const api = await cli.api()
  const path = { id: await resolve(api, 'app', operand(line, 0)) }
  if (rm !== undefined) {
    const request = { path: { ...path, domain: rm }, signal: cli.signal }
    await api.request('DELETE /v1/apps/{id}/domains/{domain}', request)
    return cli.out.line(rm)
  }
  if (add !== undefined) {
    const [chain, key] = await Promise.all([certificate, privateKey].map((file) => textOf(cli, file)))
    const body = { domain: add, certificate: chain, private_key: key }
    const domain = await api.request('POST /v1/apps/{id}/domains', { path, body, signal: cli.signal })
    return json ? cli.out.json(domain) : showAdded(cli, domain)
  }
  const domains = await api
    .list('GET /v1/apps/{id}/domains', { path, query: { limit: 1000 }, signal: cli.signal })
    .all()
  cli.out.list(line.options, domains, {
    id: ({ domain }) => domain,
    headings: ['DOMAIN', 'STATUS', 'CERTIFICATE', 'TXT RECORD', 'VALUE'],
    row: ({ domain, status, certificate: its, record }) => [
      domain,
      cli.out.style(status === 'verified' ? 'green' : 'yellow', status),
      its === null ? '' : `${its.status}${its.error === null ? '' : ` (${its.error})`}`,
      record.name,
      record.value,
    ],
    empty: 'There are no domains. Add one with --add',
  })
}

async function textOf(cli: Cli, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(pathOf(cli.cwd, file), 'utf8')
}

/** Prints the domain as the result, and what the user still has to do as remarks. */
function showAdded({ out }: Cli, { domain, status, record, url }: AppDomain): void {
  out.line(`${domain} ${status}`)
  if (status === 'verified') return out.note(`The app is served at ${url}`)
  out.note(`Set this DNS record, then repeat the command: ${record.name} ${record.type} "${record.value}"`)
  out.note(`Point ${domain} to the server.`)
}
