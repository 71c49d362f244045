import { describe, expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'
import { UsageError } from './usage-error.ts'

const parse = (args: readonly string[], env = {}) => parseArguments(args, env, '/').join

describe('the arguments of a join', () => {
  it.each([
    [['--join', 'https://api.example.com'], {}, 'https://api.example.com', null, null, 7443],
    [['--join', 'https://a.example/', '--token', 't'], {}, 'https://a.example', 't', null, 7443],
    [['--join', 'https://a.example/offshoot/'], {}, 'https://a.example/offshoot', null, null, 7443],
    [['--join', 'http://127.0.0.1:8080'], { OFFSHOOT_JOIN_TOKEN: 'e' }, 'http://127.0.0.1:8080', 'e', null, 7443],
    [['--join', 'https://a', '--host-address', 'B.example'], {}, 'https://a', null, 'b.example', 7443],
    [['--join', 'https://a', '--host-address', '192.0.2.1:1'], {}, 'https://a', null, '192.0.2.1', 1],
    [['--join', 'https://a', '--host-address', '[2001:db8::1]:443'], {}, 'https://a', null, '2001:db8::1', 443],
  ])('are read from %j', (args, env, url, token, host, port) => {
    expect(parse(args, env)).toEqual({ url, token, address: { host, port }, labels: {}, zone: null })
  })

  it('may have labels and a zone', () => {
    const args = ['--join', 'https://a', '--label', 'disk=nvme', '--label', 'gpu=none', '--zone', 'rack-1']
    expect(parse(args)).toMatchObject({ labels: { disk: 'nvme', gpu: 'none' }, zone: 'rack-1' })
  })

  it.each([
    [['--join', 'api.example.com']],
    [['--join', 'ftp://api.example.com']],
    [['--join', 'http://api.example.com']],
    [['--token', 't']],
    [['--host-address', 'a']],
    [['--label', 'disk=nvme']],
    [['--zone', 'a']],
    [['--join', 'https://a', '--label', 'disk']],
    [['--join', 'https://a', '--label', 'Disk=nvme']],
    [['--join', 'https://a', '--label', 'disk=']],
    [['--join', 'https://a', '--zone', '']],
    [['--join', 'https://a', '--zone', 'x'.repeat(64)]],
    [['--join', 'https://a', '--host-address', 'a:0']],
    [['--join', 'https://a', '--host-address', 'a:70000']],
    [['--join', 'https://a', '--host-address', '[a]']],
    [['--join', 'https://a', '--host-address', '2001:db8::1']],
    [['--join', 'https://a', '--host-address', '']],
  ])('are refused: %j', (args) => {
    expect(() => parse(args)).toThrow(UsageError)
  })

  it('are absent for a whole service', () => {
    expect(parse([])).toBe(null)
  })
})
