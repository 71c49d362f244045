import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import type { Framework } from '@offshoot/contract/app'
import type { Cli } from '../frame/cli.ts'

/** Options of `create` and `set`. */
export interface Settings {
  readonly branch?: string
  readonly framework?: Framework
  readonly root?: string
  readonly install?: string
  readonly build?: string
  readonly start?: string
  readonly port?: number
  readonly maxInstances?: number
  readonly idleTimeout?: number
  readonly visibility?: 'public' | 'private'
  readonly autoDeploy?: boolean
  readonly previews?: boolean
}

/** The fields of the API. Options that were not given are `undefined`. */
export function fieldsOf(settings: Settings) {
  return {
    git_branch: settings.branch,
    framework: settings.framework,
    root_directory: settings.root,
    install_command: settings.install,
    build_command: settings.build,
    start_command: settings.start,
    port: settings.port,
    max_instances: settings.maxInstances,
    idle_timeout_seconds: settings.idleTimeout,
    visibility: settings.visibility,
    auto_deploy: settings.autoDeploy,
    preview_deploys: settings.previews,
  }
}

/** The variables in a file of lines `KEY=VALUE`; `-` is the standard input. */
export async function readVariables(cli: Cli, file: string): Promise<Record<string, string>> {
  const text = file === '-' ? await textOf(cli.streams.stdin) : await readFile(resolve(cli.cwd, file), 'utf8')
  return parseEnv(text) as Record<string, string>
}
