import { describe, expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'
import { UsageError } from './usage-error.ts'

describe('parseArguments', () => {
  it('takes the defaults from where it is called', () => {
    expect(parseArguments([], {}, '/home/me')).toEqual({
      command: 'up',
      dataDir: '/home/me/.offshoot',
      isDataDirNamed: false,
      imagesDir: '/home/me/.offshoot/images',
      port: 8080,
      edgePort: null,
      preview: { suffix: 'localhost', certificate: null, acme: null },
      tls: null,
      databasePort: null,
      e2bPort: null,
      sshPort: null,
      sshAddress: null,
      e2bDomain: null,
      databaseSuffix: null,
      join: null,
      isYes: false,
      isJson: false,
      templates: null,
      maxUploadBytes: null,
      poolMemoryMib: null,
      hasZygotes: null,
      commitLimitMib: null,
      disk: { warn_below_mib: null, refuse_below_mib: null },
      network: {},
      accelerator: 'auto',
      kvm: {},
      limits: {},
    })
  })

  it('resolves folders and reads the wanted templates', () => {
    const args = ['--data-dir', 'd', '--images-dir=/i', '--port', '0', '--edge-port', '9000', '--yes', '--down']
    const kvm = {
      OFFSHOOT_KVM_CPU: 'qemu64,vendor=GenuineIntel',
      OFFSHOOT_KVM_KERNEL_PARAMETERS: 'nokaslr noxsave',
      OFFSHOOT_KVM_PATIENCE: '10',
      OFFSHOOT_KVM_VHOST_NET: 'on',
    }
    const memory = { OFFSHOOT_POOL_MIB: '0', OFFSHOOT_ZYGOTES: 'off', OFFSHOOT_COMMIT_MIB: '4096' }
    const disk = { OFFSHOOT_DISK_WARN_MIB: '9000', OFFSHOOT_DISK_REFUSE_MIB: '0', OFFSHOOT_COMPRESS_AFTER_S: '60' }
    const env = {
      OFFSHOOT_TEMPLATES: 'minimal, base',
      OFFSHOOT_PREVIEW_SUFFIX: 'P.example.com',
      OFFSHOOT_PREVIEW_CERT: 'c.pem',
      OFFSHOOT_PREVIEW_KEY: '/k.pem',
      OFFSHOOT_EGRESS_ALLOW: '10.1.0.0/16:443, 10.2.0.1/32:53',
      OFFSHOOT_GUEST_RANGE: '10.9.0.0/16',
      OFFSHOOT_MAX_UPLOAD_MIB: '5120',
      OFFSHOOT_RATE_LIMIT: '100/5',
      OFFSHOOT_DEFAULT_PLAN: 'pro',
    }
    expect(parseArguments([...args, '--accelerator', 'kvm'], { ...env, ...memory, ...disk, ...kvm }, '/w')).toEqual({
      command: 'down',
      dataDir: '/w/d',
      isDataDirNamed: true,
      imagesDir: '/i',
      port: 0,
      edgePort: 9000,
      preview: { suffix: 'p.example.com', certificate: { cert: '/w/c.pem', key: '/k.pem' }, acme: null },
      tls: null,
      databasePort: null,
      e2bPort: null,
      sshPort: null,
      sshAddress: null,
      e2bDomain: null,
      databaseSuffix: null,
      join: null,
      isYes: true,
      isJson: false,
      templates: ['minimal', 'base'],
      maxUploadBytes: 5 * 1024 ** 3,
      poolMemoryMib: 0,
      hasZygotes: false,
      commitLimitMib: 4096,
      disk: { warn_below_mib: 9000, refuse_below_mib: 0, compress_after_s: 60 },
      network: { egress_allow: ['10.1.0.0/16:443', '10.2.0.1/32:53'], guest_range: '10.9.0.0/16' },
      accelerator: 'kvm',
      kvm: {
        cpu: 'qemu64,vendor=GenuineIntel',
        kernel_parameters: ['nokaslr', 'noxsave'],
        patience: 10,
        vhost_net: true,
      },
      limits: { rate_burst: 100, rate_per_second: 5, default_plan: 'pro' },
    })
  })

  it.each(['0', 'x', '-1', '1.5'])('refuses an upload limit of %s', (mib) => {
    expect(() => parseArguments([], { OFFSHOOT_MAX_UPLOAD_MIB: mib }, '/')).toThrow(UsageError)
  })

  it.each([
    { OFFSHOOT_POOL_MIB: '-1' },
    { OFFSHOOT_POOL_MIB: 'x' },
    { OFFSHOOT_ZYGOTES: 'yes' },
    { OFFSHOOT_COMMIT_MIB: '0' },
    { OFFSHOOT_DISK_REFUSE_MIB: '5%' },
    { OFFSHOOT_COMPRESS_AFTER_S: '1h' },
  ])('refuses %o', (env) => {
    expect(() => parseArguments([], env, '/')).toThrow(UsageError)
  })
  it.each(['50', '0/25', '50/0', '50/x', '1000001/1', '50/25/1'])('refuses a rate limit of %s', (rate) => {
    expect(() => parseArguments([], { OFFSHOOT_RATE_LIMIT: rate }, '/')).toThrow(UsageError)
  })

  it.each([
    { OFFSHOOT_EGRESS_ALLOW: '10.1.0.0/16' },
    { OFFSHOOT_EGRESS_ALLOW: '10.1.0.0/16:443,' },
    { OFFSHOOT_EGRESS_ALLOW: 'fd00::/8:443' },
    { OFFSHOOT_KVM_CPU: 'host;id' },
    { OFFSHOOT_KVM_PATIENCE: 'long' },
    { OFFSHOOT_KVM_PATIENCE: '0' },
    { OFFSHOOT_KVM_VHOST_NET: 'yes' },
    { OFFSHOOT_GUEST_RANGE: '10.9.0.0/24' },
    { OFFSHOOT_GUEST_RANGE: '10.9.1.0/16' },
    { OFFSHOOT_GUEST_RANGE: '10.999.0.0/16' },
  ])('refuses %o', (env) => {
    expect(() => parseArguments([], env, '/')).toThrow(UsageError)
  })

  it('takes a certificate by ACME', () => {
    const env = { OFFSHOOT_PREVIEW_SUFFIX: 'p.example.com', OFFSHOOT_PREVIEW_ACME_HOOK: 'hook' }
    const { acme } = parseArguments([], env, '/w').preview
    expect(acme).toEqual({ directory_url: 'https://acme-v02.api.letsencrypt.org/directory', hook: '/w/hook' })
    const named = { OFFSHOOT_PREVIEW_ACME_DIRECTORY: 'http://ca/dir', OFFSHOOT_PREVIEW_ACME_EMAIL: 'me@example.com' }
    expect(parseArguments([], { ...env, ...named }, '/w').preview.acme).toEqual({
      directory_url: 'http://ca/dir',
      hook: '/w/hook',
      email: 'me@example.com',
    })
  })

  it('takes a name under which the API is served with TLS', () => {
    expect(parseArguments([], {}, '/').tls).toBe(null)
    expect(parseArguments([], { OFFSHOOT_TLS_NAME: 'API.example.com' }, '/').tls).toEqual({
      name: 'api.example.com',
      acme: {},
    })
    const named = { OFFSHOOT_TLS_ACME_DIRECTORY: 'http://ca/dir', OFFSHOOT_TLS_ACME_EMAIL: 'me@example.com' }
    expect(parseArguments([], { OFFSHOOT_TLS_NAME: 'api.example.com', ...named }, '/').tls?.acme).toEqual({
      directory_url: 'http://ca/dir',
      email: 'me@example.com',
    })
  })

  it.each([
    { OFFSHOOT_TLS_NAME: 'localhost' },
    { OFFSHOOT_TLS_NAME: 'https://api.example.com' },
    { OFFSHOOT_TLS_NAME: 'api.example.com', OFFSHOOT_TLS_ACME_DIRECTORY: 'ca' },
    { OFFSHOOT_PREVIEW_ACME_HOOK: '/hook' },
    { OFFSHOOT_PREVIEW_SUFFIX: 'a.b', OFFSHOOT_PREVIEW_ACME_HOOK: '/h', OFFSHOOT_PREVIEW_ACME_DIRECTORY: 'ca' },
    { OFFSHOOT_PREVIEW_SUFFIX: 'a.b', OFFSHOOT_PREVIEW_ACME_HOOK: '/h', OFFSHOOT_PREVIEW_CERT: '/c' },
    { OFFSHOOT_PREVIEW_ACME_HOOK: '/h', OFFSHOOT_PREVIEW_CERT: '/c', OFFSHOOT_PREVIEW_KEY: '/k' },
  ])('refuses %o', (env) => {
    expect(() => parseArguments([], env, '/')).toThrow(UsageError)
  })

  it('refuses a plan that there is none of', () => {
    expect(() => parseArguments([], { OFFSHOOT_DEFAULT_PLAN: 'gold' }, '/')).toThrow(UsageError)
  })

  it('counts an empty list of templates as none given', () => {
    expect(parseArguments([], { OFFSHOOT_TEMPLATES: '' }, '/').templates).toBeNull()
  })

  it.each([
    ['--port', 'x'],
    ['--port', '65536'],
    ['--port', '-1'],
    ['--port', ''],
    ['--edge-port', 'x'],
    ['--e2b-port', 'x'],
    ['--accelerator', 'xen'],
    ['--accelerator'],
    ['--nonsense'],
    ['--data-dir'],
    ['--data-dir', ''],
    ['--images-dir', ''],
    ['word'],
    ['--prepare', '--down'],
    ['--doctor', '--down'],
    ['--sign-in-link', '--prepare'],
    ['--json'],
  ])('refuses %s %s', (...args) => {
    expect(() => parseArguments(args, {}, '/')).toThrow(UsageError)
  })
})
