import { describe, expect, it } from 'vitest'
import { controlSettings } from '@offshoot/contract/control-settings'
import { objectStore } from '@offshoot/contract/object-store'
import { agentConfig } from '@offshoot/contract/process-config'
import { dataLayout } from '../base/data-layout.ts'
import { agentConfiguration, controlConfiguration, e2bConfiguration, edgeConfiguration } from './configuration.ts'

const inputs = {
  layout: dataLayout('/d', '/i'),
  ports: { control: 1, agent: 2, postgres: 3, edge: 4, databases: 5, e2b: 6, ssh: 2222 },
  templates: ['minimal'],
  maxUploadBytes: 5,
  poolMemoryMib: 0,
  hasZygotes: false,
  commitLimitMib: 6,
  disk: { warn_below_mib: 8, refuse_below_mib: null },
  network: { egress_allow: ['10.1.0.0/16:443'] },
  accelerator: 'kvm' as const,
  kvm: { kernel_parameters: ['noxsave'] },
  limits: {},
  preview: { suffix: 'localhost', certificate: null, acme: null },
  databaseSuffix: null,
  e2bDomain: null,
  sshAddress: null,
  agentSecret: Buffer.alloc(32, 7).toString('base64'),
  edgeSecret: Buffer.alloc(32, 8).toString('base64'),
  edgeControlSecret: Buffer.alloc(32, 10).toString('base64'),
  gatewaySecret: Buffer.alloc(32, 9).toString('base64'),
  objectsKey: Buffer.alloc(32, 11).toString('base64'),
  databasePassword: 'pw',
  operatorKey: 'ofs_operator_x',
  settings: controlSettings.parse({ sign_up: 'closed' }),
  isRootless: false,
  commit: 'abc',
}

describe('configuration', () => {
  it('tells the agent where its things are', () => {
    expect(agentConfiguration(inputs)).toMatchObject({
      data_dir: '/d/agent',
      images_dir: '/i',
      listen: { host: '127.0.0.1', port: 2 },
      templates: ['minimal'],
      max_upload_bytes: 5,
      pool_memory_mib: 0,
      zygotes: false,
      commit_limit_mib: 6,
      disk: { warn_below_mib: 8, refuse_below_mib: null },
      network: { egress_allow: ['10.1.0.0/16:443'], guest_range: '10.213.0.0/16' },
      accelerator: 'kvm',
      kvm: { kernel_parameters: ['noxsave'], patience: 1 },
    })
    // A round trip: the agent must read exactly what `bin/up` writes.
    expect(agentConfig.parse(JSON.parse(JSON.stringify(agentConfiguration(inputs))))).toEqual(
      agentConfiguration(inputs),
    )
    const unsaid = { maxUploadBytes: null, poolMemoryMib: null, hasZygotes: null, commitLimitMib: null }
    expect(agentConfiguration({ ...inputs, ...unsaid })).toMatchObject({
      max_upload_bytes: 1024 ** 3,
      pool_memory_mib: 512,
      zygotes: true,
      commit_limit_mib: null,
    })
  })

  it('tells control what the operator chose, and the hash of the operator’s key alone', () => {
    const configuration = controlConfiguration(inputs)
    expect(configuration).toMatchObject({
      sign_up: 'closed',
      operator_key_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(JSON.stringify(configuration)).not.toContain(inputs.operatorKey)
  })

  it('tells both where users reach the service, and control from which pages browsers may', () => {
    expect(controlConfiguration(inputs)).toMatchObject({ public_url: 'http://127.0.0.1:1', cors_origins: [] })
    expect(agentConfiguration(inputs).public_url).toBe('http://127.0.0.1:1')
    const chosen = { public_url: 'https://api.example.com', cors_origins: ['https://app.example.com'] }
    const said = { ...inputs, settings: controlSettings.parse(chosen) }
    expect(controlConfiguration(said)).toMatchObject(chosen)
    expect(agentConfiguration(said).public_url).toBe(chosen.public_url)
  })

  it('gives control and agent the same secret and address', () => {
    expect(controlConfiguration(inputs).agents).toEqual([{ url: 'http://127.0.0.1:2', secret: inputs.agentSecret }])
  })

  it('gives edge and agent another secret, and control the addresses of previews', () => {
    expect(edgeConfiguration(inputs).agents).toEqual([{ url: 'http://127.0.0.1:2', secret: inputs.edgeSecret }])
    expect(agentConfiguration(inputs).edge_secret).toBe(inputs.edgeSecret)
    expect(controlConfiguration(inputs).preview).toEqual({ scheme: 'http', port: 4, suffix: 'localhost' })
    const certificate = { cert: '/c', key: '/k' }
    const own = { ...inputs, preview: { suffix: 'p.example.com', certificate, acme: null } }
    expect(controlConfiguration(own).preview).toEqual({ scheme: 'https', port: 4, suffix: 'p.example.com' })
    expect(edgeConfiguration(own)).toMatchObject({ certificate, suffix: 'p.example.com' })
    const acme = { directory_url: 'https://ca/directory', hook: '/h' }
    const ordered = { ...inputs, preview: { suffix: 'p.example.com', certificate: null, acme } }
    expect(controlConfiguration(ordered).preview.scheme).toBe('https')
    expect(edgeConfiguration(ordered)).toMatchObject({ acme })
  })

  it('tells the agent and control where objects are stored, and the key that encrypts them', () => {
    for (const configuration of [agentConfiguration, controlConfiguration])
      expect(configuration(inputs)).not.toHaveProperty('objects')
    const s3 = { endpoint: 'https://s3', bucket: 'copies', access_key_id: 'id', secret_access_key: 'hidden' }
    const objects = objectStore.parse({ s3 })
    const chosen = { ...inputs, settings: { ...inputs.settings, objects } }
    for (const configuration of [agentConfiguration, controlConfiguration])
      expect(configuration(chosen).objects).toEqual({ store: objects, key: inputs.objectsKey })
    expect(JSON.stringify(edgeConfiguration(chosen))).not.toContain('hidden')
  })

  it('refuses a secret that is too short', () => {
    expect(() => agentConfiguration({ ...inputs, agentSecret: 'AAAA' })).toThrow('32 bytes')
  })

  it('gives the E2B gateway its own domain, or one below the preview suffix, and shares its secret with control', () => {
    const configuration = e2bConfiguration(inputs)
    expect(configuration).toMatchObject({
      listen: { host: '127.0.0.1', port: 6 },
      control_url: 'http://127.0.0.1:1',
      edge: { url: 'http://127.0.0.1:4', suffix: 'localhost' },
      domain: { suffix: 'e2b.localhost', port: 6 },
    })
    expect(configuration.gateway_secret).toBe(controlConfiguration(inputs).gateway_secret)
    const domain = { suffix: 'e2b.example.com', port: 443 }
    expect(e2bConfiguration({ ...inputs, e2bDomain: domain })).toMatchObject({ domain })
  })
})
