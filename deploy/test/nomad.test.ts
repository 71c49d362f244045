import { join } from 'node:path'
import { agentConfig, controlConfig, edgeConfig } from '@offshoot/contract/process-config'
import { describe, expect, it } from 'vitest'
import {
  IN_IMAGE,
  knownVariables,
  parsedArguments,
  portsOf,
  projectVersion,
  readText,
  sampleSecret,
  serviceCommand,
} from './process-config.ts'
import { JOBS, type NomadGroup, type NomadTask, nomadFile, nomadGroup } from './rendered.ts'

const SAMPLES: Readonly<Record<string, string>> = {
  public_url: 'https://api.example.com',
  image: 'offshoot:1',
  postgresql_host: 'postgresql.example.com',
  preview_suffix: 'p.example.com',
  edge_host: 'edge.example.com',
}

const withVariables = (text: string) =>
  text.replaceAll(/\$\{var\.(\w+)\}/g, (_all, name: string) => {
    const value = SAMPLES[name]
    if (value === undefined) throw new Error(`no sample of the variable ${name}`)
    return value
  })

/** The configuration that a template writes, with samples for the items of Nomad's variable. */
function configuration(task: NomadTask, path: string): unknown {
  const data = task.template.find(({ destination }) => `/${destination}` === path)?.data ?? ''
  const text = data
    .replaceAll(/\{\{ (with nomadVar "nomad\/jobs\/offshoot"|end) \}\}/g, '')
    .replaceAll(/\{\{ \.(\w+)\.Value \| toJSON \}\}/g, (_all, name: string) => JSON.stringify(sampleSecret(name)))
  return JSON.parse(withVariables(text))
}

/** Where the container finds the files that Nomad writes. */
const written = ({ template }: NomadTask) => template.map(({ destination }) => `/${destination}`)

/** Ports inside the container. */
function containerPorts({ network: [network] }: NomadGroup): readonly (number | undefined)[] {
  return [...new Set(Object.values(network.port).map(([{ to, static: fixed }]) => to ?? fixed))]
}

/** The names of the items of Nomad's variable that a job reads. */
const itemsIn = (text: string) => new Set([...text.matchAll(/\{\{ \.(?!Value)(\w+)/g)].map(([, name = '']) => name))

describe.each(JOBS)('the Nomad job %s', (name) => {
  const text = readText(`deploy/nomad/${name}.nomad.hcl`)

  it('declares the variables that it uses, and no others', () => {
    const used = new Set([...text.matchAll(/\bvar\.(\w+)/g)].map(([, variable]) => variable))
    expect(new Set(Object.keys(nomadFile(name).variable))).toEqual(used)
  })

  it('has the image of this version', () => {
    expect(nomadFile(name).variable['image']?.[0].default).toBe(`offshoot:${projectVersion()}`)
  })

  it('is described with every variable that has no default, and every item that it reads', () => {
    const readme = readText('docs/kubernetes.md')
    const needed = Object.entries(nomadFile(name).variable).filter(([, [{ default: value }]]) => value === undefined)
    for (const [variable] of needed) expect(readme).toContain(`-var ${variable}=`)
    for (const item of itemsIn(text)) expect(readme).toContain(`${item}=`)
  })
})

describe('the services that Nomad runs', () => {
  const control = nomadGroup('offshoot', 'control')
  const edge = nomadGroup('offshoot', 'edge')
  const controlFile = controlConfig.parse(configuration(control.task, '/secrets/control.json'))
  const edgeFile = edgeConfig.parse(configuration(edge.task, '/secrets/edge.json'))

  it('start as bin/up starts them, at the ports of their configuration', () => {
    expect(control.task.config[0].entrypoint).toEqual(serviceCommand('control', '/secrets/control.json'))
    expect(edge.task.config[0].entrypoint).toEqual(serviceCommand('edge', '/secrets/edge.json'))
    expect(new Set(containerPorts(control.group))).toEqual(new Set(portsOf(controlFile)))
    expect(new Set(containerPorts(edge.group))).toEqual(new Set(portsOf(edgeFile)))
    for (const { group, task } of [control, edge]) {
      expect(task.config[0].ports).toEqual(expect.arrayContaining(Object.keys(group.network[0].port)))
      expect(Object.keys(group.network[0].port)).toContain(group.service[0].port)
      expect(group.service[0].check[0].path).toBe('/healthz')
    }
  })

  it('have every file that their configuration names', () => {
    expect(written(control.task)).toContain(join(controlFile.data_dir, 'accounts-secret'))
    expect(written(edge.task)).toEqual(
      expect.arrayContaining([edgeFile.certificate?.cert ?? 'none', edgeFile.certificate?.key ?? 'none']),
    )
  })

  it('know each other', () => {
    const { public_url: url, edge_secret: secret, preview, databases } = controlFile
    expect(edgeFile.control).toEqual({ url, public_url: url, secret })
    expect([edgeFile.suffix, edgeFile.databases?.suffix]).toEqual([preview.suffix, databases.suffix])
  })
})

describe('the agent that Nomad runs', () => {
  const { group, task } = nomadGroup('offshoot-agent', 'agent')
  const [{ entrypoint, args: argv = [], volumes = [] }] = task.config

  it('joins at the address and the port of its node, with data on the node', () => {
    expect(entrypoint).toEqual(['/usr/bin/tini', '--', `${IN_IMAGE}/bin/up`])
    const args = parsedArguments(
      argv.map((word) => withVariables(word.replace('${attr.unique.network.ip-address}', '10.0.0.7'))),
    )
    expect(args).toMatchObject({ command: 'up', isYes: true, join: { url: SAMPLES['public_url'], token: null } })
    expect(args.join?.address).toEqual({ host: '10.0.0.7', port: containerPorts(group)[0] })
    const runDir = agentConfig.shape.run_dir.parse(undefined)
    const folders = volumes.map((volume) => volume.split(':'))
    for (const path of [join(args.dataDir, '..'), runDir]) expect(folders).toContainEqual([path, path])
  })

  it('reads its token from the environment, and none if the variable has no item for its node', () => {
    const [, name = ''] = /^\s*(\w+)=/m.exec(task.template.find(({ env }) => env)?.data ?? '') ?? []
    expect([...knownVariables()]).toContain(name)
    const join = ['--join', 'https://api.example.com']
    expect(parsedArguments(join, { [name]: 'oht_x' }).join?.token).toBe('oht_x')
    expect(parsedArguments(join, { [name]: '' }).join?.token).toBeNull()
  })
})
