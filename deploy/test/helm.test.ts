import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { agentConfig, controlConfig, e2bConfig, edgeConfig } from '@offshoot/contract/process-config'
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
import {
  type ByName,
  chartObjects,
  type Container,
  type Mount,
  objectIn,
  podIn,
  readYaml,
  sourcesHash,
  VALUES,
  type Volume,
} from './rendered.ts'

/** The mount that a path lies in. */
function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts
    .filter(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`))
    .toSorted((a, b) => b.mountPath.length - a.mountPath.length)[0]
}

/** Whether a container finds a file there: one of a Secret, or one that the image has. */
function hasFile(path: string, { volumeMounts }: Container, volumes: readonly Volume[]): boolean {
  if (path === `${IN_IMAGE}/COMMIT`) return readText('deploy/Dockerfile').includes(`>${path}`)
  const mount = mountOf(volumeMounts, path)
  const secret = volumes.find(({ name }) => name === mount?.name)?.secret
  if (secret === undefined) return false
  return secret.items === undefined || secret.items.some((item) => item.path === basename(path))
}

/** The configuration that a process gets, with samples for secrets, and the files that these are read from. */
function configuration(objects: ByName, part: 'control' | 'edge' | 'e2b') {
  const files: string[] = []
  const text = objectIn(objects, `ConfigMap/offshoot-${part}`).data?.[`${part}.json`] ?? ''
  const value: unknown = JSON.parse(text, (_key, each: { from_file?: string } | null) => {
    if (typeof each?.from_file !== 'string') return each
    files.push(each.from_file)
    return sampleSecret(basename(each.from_file))
  })
  return { files, value }
}

const servicesOf = (objects: ByName) => ({
  control: controlConfig.parse(configuration(objects, 'control').value),
  edge: edgeConfig.parse(configuration(objects, 'edge').value),
})

/** The Deployments. Only a chart with a domain for clients of E2B has their gateway. */
function partsOf(objects: ByName): ('control' | 'edge' | 'e2b')[] {
  return objects.has('Deployment/offshoot-e2b') ? ['control', 'edge', 'e2b'] : ['control', 'edge']
}

it('is rendered from the present chart and jobs (vitest run --project registries deploy -u renders them)', () => {
  expect(readText('deploy/rendered/sources.sha256')).toBe(sourcesHash())
})

it('has the version of the product', () => {
  const version = projectVersion()
  expect(readYaml('helm/offshoot/Chart.yaml')).toMatchObject({ version, appVersion: version })
  const { container } = podIn(chartObjects('minimal'), 'DaemonSet/offshoot-agent')
  expect(container.image).toBe(`offshoot:${version}`)
})

describe.each(VALUES)('the chart with %s values', (values) => {
  const objects = chartObjects(values)

  it.each(['control', 'edge'] as const)('gives %s a configuration, and every file that it names', (part) => {
    const { container, first, volumes } = podIn(objects, `Deployment/offshoot-${part}`)
    const { files } = configuration(objects, part)
    const config = servicesOf(objects)[part]
    expect(files.filter((path) => first === undefined || !hasFile(path, first, volumes))).toEqual([])
    const certificate = 'public_url' in config ? config.tls : config.certificate
    const named = [certificate?.cert, certificate?.key].flatMap((path) => path ?? [])
    expect(named.filter((path) => !hasFile(path, container, volumes))).toEqual([])
    expect(mountOf(container.volumeMounts, config.data_dir)).toMatchObject({ name: 'data', mountPath: config.data_dir })
    expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(portsOf(config))
  })

  it.each(partsOf(objects))('starts %s as bin/up does, with the file that was written before', (part) => {
    const { container, first } = podIn(objects, `Deployment/offshoot-${part}`)
    const target = `/run/offshoot/${part}.json`
    expect(container.command).toEqual(serviceCommand(part, target))
    const [node] = container.command
    expect(first?.command).toEqual([
      node,
      `${IN_IMAGE}/deploy/write-config.ts`,
      `/etc/offshoot/config/${part}.json`,
      target,
    ])
    expect(mountOf(first?.volumeMounts ?? [], target)?.readOnly).toBeUndefined()
    expect(mountOf(container.volumeMounts, target)?.readOnly).toBe(true)
  })

  it('gives all control processes one accounts-secret, and the edge none', () => {
    const { control } = servicesOf(objects)
    const path = join(control.data_dir, 'accounts-secret')
    const mounts = podIn(objects, 'Deployment/offshoot-control').container.volumeMounts
    expect(mountOf(mounts, path)).toMatchObject({ name: 'secret', subPath: 'accounts-secret' })
    const secret = podIn(objects, 'Deployment/offshoot-edge').volumes.find(({ name }) => name === 'secret')?.secret
    expect(secret?.items).toEqual([{ key: 'edge-secret', path: 'edge-secret' }])
  })

  it('leads the edge to control, under one secret and one suffix', () => {
    const { control, edge } = servicesOf(objects)
    expect(edge.control).toEqual({
      url: control.public_url,
      public_url: control.public_url,
      secret: control.edge_secret,
    })
    expect([edge.suffix, edge.databases?.suffix]).toEqual([control.preview.suffix, control.databases.suffix])
    expect([control.agents, edge.agents]).toEqual([[], []])
  })

  it('has probes and Services for ports that exist, and selectors that fit', () => {
    for (const part of [...partsOf(objects), 'agent']) {
      const owner = part === 'agent' ? 'DaemonSet/offshoot-agent' : `Deployment/offshoot-${part}`
      const { container } = podIn(objects, owner)
      const { startupProbe, readinessProbe, livenessProbe } = container
      const names = container.ports.map(({ name }) => name)
      for (const probe of [startupProbe, readinessProbe, livenessProbe ?? readinessProbe])
        expect(names).toContain(probe.httpGet?.port ?? probe.tcpSocket?.port)
      expect(readinessProbe.httpGet?.path).toBe(part === 'agent' ? undefined : '/healthz')
      const { selector, template } = objectIn(objects, owner).spec
      expect(template.metadata.labels).toMatchObject(selector.matchLabels ?? {})
      if (part === 'agent') continue
      const service = objectIn(objects, `Service/offshoot-${part}`).spec
      expect(names).toEqual(expect.arrayContaining(service.ports.map(({ targetPort }) => targetPort)))
      expect(service.selector).toEqual(selector.matchLabels)
      expect(objectIn(objects, `PodDisruptionBudget/offshoot-${part}`).spec.selector).toEqual(selector)
    }
  })

  it('has the agent join at an address and a port that the pod has, with data on the node', () => {
    const { container, volumes } = podIn(objects, 'DaemonSet/offshoot-agent')
    const argv = (container.args ?? []).map((word) => word.replace('$(HOST_IP)', '10.0.0.7'))
    const args = parsedArguments(argv)
    const { control } = servicesOf(objects)
    const port = container.ports[0]?.containerPort
    expect(args).toMatchObject({ command: 'up', isYes: true, join: { url: control.public_url, token: null } })
    expect(args.join?.address).toEqual({ host: '10.0.0.7', port })
    const runDir = agentConfig.shape.run_dir.parse(undefined)
    for (const path of [args.dataDir, runDir]) {
      const mount = mountOf(container.volumeMounts, path)
      expect(volumes.find(({ name }) => name === mount?.name)?.hostPath?.path).toBe(mount?.mountPath)
    }
    // The users of VMs pass through the folder above: no other process's files are there.
    expect(dirname(args.dataDir)).toBe(mountOf(container.volumeMounts, args.dataDir)?.mountPath)
    const variables = (container.env ?? []).map(({ name }) => name).filter((name) => name.startsWith('OFFSHOOT_'))
    expect([...knownVariables()]).toEqual(expect.arrayContaining(variables))
  })
})

it('has a gateway for clients of E2B only with a domain, which shares one secret with control and asks the edge', () => {
  const objects = chartObjects('full')
  const { files, value } = configuration(objects, 'e2b')
  const { control, edge } = servicesOf(objects)
  const config = e2bConfig.parse(value)
  const { container, first, volumes } = podIn(objects, 'Deployment/offshoot-e2b')
  expect(files.filter((path) => first === undefined || !hasFile(path, first, volumes))).toEqual([])
  expect(volumes.find(({ name }) => name === 'secret')?.secret?.items).toEqual([
    { key: 'gateway-secret', path: 'gateway-secret' },
  ])
  expect(container.ports.map(({ containerPort }) => containerPort)).toEqual(portsOf(config))
  expect(config).toMatchObject({ control_url: control.public_url, gateway_secret: control.gateway_secret })
  const { hostname, port } = new URL(config.edge.url)
  const http = objectIn(objects, `Service/${hostname}`).spec.ports.find((each) => String(each.port) === (port || '80'))
  expect([http?.targetPort, config.edge.suffix]).toEqual(['previews', edge.suffix])
  expect(chartObjects('minimal').has('Deployment/offshoot-e2b')).toBe(false)
  expect(servicesOf(chartObjects('minimal')).control.gateway_secret).toBeUndefined()
})

it('gives bin/up the token of its own node, and none once the Secret is gone', () => {
  const { container } = podIn(chartObjects('minimal'), 'DaemonSet/offshoot-agent')
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-join-'))
  try {
    writeFileSync(join(folder, 'node-1'), 'oht_one')
    const [tini, dashes, shell, flags, script = '', name] = container.command
    expect([tini, dashes, shell, name]).toEqual(['/usr/bin/tini', '--', '/bin/sh', 'sh'])
    const own = script
      .replaceAll('/etc/offshoot/join', folder)
      .replace(`${IN_IMAGE}/bin/up`, `echo "\${OFFSHOOT_JOIN_TOKEN-none}"`)
    const tokenOf = (node: string) =>
      spawnSync('sh', [flags ?? '', own, 'sh', '--yes'], { env: { ...process.env, NODE_NAME: node }, encoding: 'utf8' })
    expect(tokenOf('node-1')).toMatchObject({ status: 0, stderr: '', stdout: 'oht_one --yes\n' })
    expect(tokenOf('node-2')).toMatchObject({ status: 0, stderr: '', stdout: 'none --yes\n' })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('is described with every key of the Secret that it reads', () => {
  const objects = chartObjects('minimal')
  const { files } = configuration(objects, 'control')
  const keys = files.filter((path) => path.startsWith('/etc/offshoot/secret/')).map((path) => basename(path))
  const readme = readText('docs/kubernetes.md')
  for (const key of [...keys, 'accounts-secret', 'gateway-secret']) expect(readme).toContain(`--from-literal=${key}=`)
})
