/** What a deployment gives to a process, compared with what the process knows. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlConfig, E2bConfig, EdgeConfig } from '@offshoot/contract/process-config'
import { NODE_OPTIONS } from '@offshoot/up/base/node-options'
import { parseArguments, type UpArguments } from '@offshoot/up/base/arguments'
import { bundledProgram } from '@offshoot/up/images/services'
import { repository } from './rendered.ts'

/** Where the image has the repository. */
export const IN_IMAGE = '/opt/offshoot'

/** The command with which `bin/up` starts a service, in the image. */
export function serviceCommand(name: 'control' | 'edge' | 'e2b', config: string): readonly string[] {
  return [`${IN_IMAGE}/node_modules/.bin/node`, ...NODE_OPTIONS, bundledProgram(IN_IMAGE, name), config]
}

/** Something of the form that a secret must have. */
export function sampleSecret(name: string): string {
  if (/^operator.key.sha256$/.test(name)) return 'ab'.repeat(32)
  return Buffer.alloc(32, name).toString('base64')
}

/** Every port at which the process listens. */
export function portsOf(config: ControlConfig | EdgeConfig | E2bConfig): readonly number[] {
  if ('domain' in config) return [config.listen.port]
  const ports =
    'public_url' in config
      ? [config.listen.port, config.tls?.port]
      : [config.listen.port, config.databases?.listen.port, config.ssh?.listen.port]
  return ports.filter((port) => port !== undefined)
}

/** Parses a command line of `bin/up` as it does. */
export function parsedArguments(argv: readonly string[], env: NodeJS.ProcessEnv = {}): UpArguments {
  return parseArguments(argv, env, '/')
}

/** Names of the environment variables that `bin/up` reads. */
export function knownVariables(): ReadonlySet<string> {
  const read = new Set<string>()
  const recorder = new Proxy<NodeJS.ProcessEnv>(
    {},
    {
      get: (_target, name) => {
        read.add(String(name))
        return undefined
      },
    },
  )
  parseArguments(['--join', 'https://api.example.com'], recorder, '/')
  return read
}

export function readText(path: string): string {
  return readFileSync(join(repository, path), 'utf8')
}

export function projectVersion(): string {
  return (JSON.parse(readText('package.json')) as { version: string }).version
}
