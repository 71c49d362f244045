/**
 * `deploy/rendered` has the chart as Helm renders it, and the Nomad jobs as JSON. `tests/registries/deploy.test.ts` writes
 * them, because Helm and a parser of HCL are not among the project's packages. Unit tests read them.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

export const repository = resolve(import.meta.dirname, '../..')
export const deploy = join(repository, 'deploy')
export const rendered = join(deploy, 'rendered')
/** Sets of values in `helm/offshoot/ci`. */
export const VALUES = ['minimal', 'full'] as const
export const JOBS = ['offshoot', 'offshoot-agent'] as const

/** SHA-256 of everything that `deploy/rendered` is made from. */
export function sourcesHash(): string {
  const hash = createHash('sha256')
  for (const path of ['helm', 'nomad'].flatMap((folder) => filesIn(folder)))
    hash.update(`${path}\n${readFileSync(join(deploy, path), 'utf8')}\n`)
  return `${hash.digest('hex')}\n`
}

function filesIn(path: string): readonly string[] {
  if (!statSync(join(deploy, path)).isDirectory()) return [path]
  return readdirSync(join(deploy, path))
    .toSorted()
    .flatMap((name) => filesIn(`${path}/${name}`))
}

export interface Mount {
  readonly name: string
  readonly mountPath: string
  readonly subPath?: string
  readonly readOnly?: boolean
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string }
  readonly tcpSocket?: { readonly port: string }
}

export interface Container {
  readonly image: string
  readonly command: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe?: Probe
  readonly volumeMounts: readonly Mount[]
}

export interface Volume {
  readonly name: string
  readonly emptyDir?: object
  readonly hostPath?: { readonly path: string }
  readonly configMap?: { readonly name: string }
  readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly path: string }[] }
}

type Labels = Readonly<Record<string, string>>

/** What our templates write of the objects of Kubernetes. */
export interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels }
  readonly data?: Labels
  readonly spec: {
    readonly selector: Labels & { readonly matchLabels?: Labels }
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[]
    readonly template: {
      readonly metadata: { readonly labels: Labels }
      readonly spec: {
        readonly initContainers?: readonly Container[]
        readonly containers: readonly Container[]
        readonly volumes: readonly Volume[]
      }
    }
  }
}

export type ByName = ReadonlyMap<string, KubernetesObject>

/** The chart's objects by kind and name, such as `Deployment/offshoot-edge`. */
export function chartObjects(values: (typeof VALUES)[number]): ByName {
  const documents = parseAllDocuments(readFileSync(join(rendered, `${values}.yaml`), 'utf8'))
  if (!Array.isArray(documents)) throw new Error('the rendered chart is empty')
  const objects = documents.map((document) => document.toJS() as KubernetesObject)
  return new Map(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]))
}

export function objectIn(objects: ByName, name: string): KubernetesObject {
  const found = objects.get(name)
  if (found === undefined) throw new Error(`the chart has no ${name}`)
  return found
}

/** The container of a pod, and those that run before it. */
export function podIn(objects: ByName, name: string) {
  const { initContainers, containers, volumes } = objectIn(objects, name).spec.template.spec
  const [container] = containers
  if (container === undefined) throw new Error(`${name} has no container`)
  return { container, first: initContainers?.[0], volumes }
}

interface NomadTemplate {
  readonly destination: string
  readonly data: string
  readonly env?: boolean
}

export interface NomadTask {
  readonly config: readonly [
    {
      readonly image: string
      readonly entrypoint: readonly string[]
      readonly args?: readonly string[]
      readonly volumes?: readonly string[]
      readonly ports?: readonly string[]
    },
  ]
  readonly template: readonly NomadTemplate[]
}

interface NomadPort {
  readonly static?: number
  readonly to?: number
}

export interface NomadGroup {
  readonly network: readonly [{ readonly port: Readonly<Record<string, readonly [NomadPort]>> }]
  readonly service: readonly [{ readonly port: string; readonly check: readonly [{ readonly path?: string }] }]
  readonly task: Readonly<Record<string, readonly [NomadTask]>>
}

export interface NomadFile {
  readonly variable: Readonly<Record<string, readonly [{ readonly default?: string }]>>
  readonly job: Readonly<Record<string, readonly [{ readonly group: Readonly<Record<string, readonly [NomadGroup]>> }]>>
}

/** A job as `hcl2json` writes it: each block is a list, and expressions are `${…}`. */
export function nomadFile(name: (typeof JOBS)[number]): NomadFile {
  return JSON.parse(readFileSync(join(rendered, `${name}.nomad.json`), 'utf8')) as NomadFile
}

/** A group of a job, and the only task in it. */
export function nomadGroup(job: (typeof JOBS)[number], name: string): { group: NomadGroup; task: NomadTask } {
  const group = nomadFile(job).job[job]?.[0].group[name]?.[0]
  const task = group?.task[name]?.[0]
  if (group === undefined || task === undefined) throw new Error(`${job} has no group ${name}`)
  return { group, task }
}

export function readYaml(path: string): unknown {
  return parse(readFileSync(join(deploy, path), 'utf8'))
}
