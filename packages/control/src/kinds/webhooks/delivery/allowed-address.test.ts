import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DnsServer } from '../../../test/dns-server.ts'
import { AllowedAddresses } from './allowed-address.ts'
import { retryDelay } from './retry-delay.ts'

/** The host name of a URL, which the parser of URLs normalizes. */
const hostOf = (host: string) => new URL(`http://${host}/`).hostname

describe('addresses of webhooks', () => {
  let dns: DnsServer
  beforeAll(async () => {
    dns = await DnsServer.start()
  })
  afterAll(() => dns.stop())

  const addresses = new AllowedAddresses([], [])

  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[ff02::1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:db8::1]',
    'localhost',
  ])('may not be %s', async (host) => {
    await expect(addresses.resolve(hostOf(host))).rejects.toThrow('the address is not public')
  })

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '[2606:4700::1111]'])('may be %s', async (host) => {
    await expect(addresses.resolve(hostOf(host))).resolves.toHaveLength(1)
  })

  it('may not be those of this host', async () => {
    for (const each of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
      expect(addresses.isAllowed({ address: each.address, family: each.family === 'IPv6' ? 6 : 4 })).toBe(false)
    }
  })

  it('may be those that the operator allows, and no others', async () => {
    const some = new AllowedAddresses(['10.0.0.0/8', '127.0.0.1', 'fd00::/8'], [])
    for (const host of ['10.255.0.1', '127.0.0.1', '[fd00::1]', '8.8.8.8']) await some.resolve(host)
    for (const host of ['127.0.0.2', '192.168.0.1', '[fe80::1]', '[::ffff:192.168.0.1]']) {
      await expect(some.resolve(host)).rejects.toThrow('the address is not public')
    }
  })

  it('are refused if one of a name is not public, and if it has none', async () => {
    const asking = new AllowedAddresses([], [dns.address])
    dns.addresses.set('inside.example', ['169.254.169.254'])
    dns.addresses.set('outside.example', ['8.8.4.4'])
    await expect(asking.resolve('inside.example')).rejects.toThrow('the address is not public')
    await expect(asking.resolve('outside.example')).resolves.toEqual([{ address: '8.8.4.4', family: 4 }])
    await expect(asking.resolve('nowhere.example')).rejects.toThrow(/ENOTFOUND/)
  })
})

describe('the delay between attempts', () => {
  it('grows from 5 seconds to 4 hours, and ends with the day', () => {
    const day = 24 * 3_600_000
    const delays: number[] = []
    for (let sum = 0, tries = 1; ; tries += 1) {
      const next = retryDelay(tries, day - sum, null, 0.5)
      if (next === null) break
      delays.push(next / 1000)
      sum += next
    }
    expect(delays.slice(0, 9)).toEqual([5, 15, 45, 135, 405, 1215, 3645, 10_935, 14_400])
    expect(delays.reduce((sum, each) => sum + each, 0)).toBe(day / 1000)
    expect(delays).toHaveLength(13)
  })

  it('varies by a fifth, and is as long as the receiver asks', () => {
    expect(retryDelay(1, 1e9, null, 0)).toBe(4_000)
    expect(retryDelay(1, 1e9, null, 1)).toBe(6_000)
    expect(retryDelay(1, 1e9, 60_000, 0.5)).toBe(60_000)
    expect(retryDelay(1, 70_000, 90_000, 0.5)).toBe(70_000)
    expect(retryDelay(1, 10_000, null, 0.5)).toBeNull()
  })
})
