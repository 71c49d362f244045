import { expect, it } from 'vitest'
import { forwardedResolver, publicAddresses } from './uplink.ts'

function v4(address: string) {
  return { address, family: 'IPv4' as const, netmask: '', mac: '', internal: false, cidr: null }
}

it.each([
  ['nameserver 127.0.0.53\n', true],
  ['# nameserver 10.0.0.1\nsearch lan\nnameserver\t127.0.0.1\nnameserver 10.0.0.1\n', true],
  // pasta stands for the first server only.
  ['nameserver 10.0.0.1\nnameserver 127.0.0.1\n', false],
  ['', false],
])('forwards questions to a name server on the loopback: %j', (text, isForwarded) => {
  expect(forwardedResolver(text).length > 0).toBe(isForwarded)
})

it('knows the public IPv4 addresses of the host', () => {
  const v6 = { ...v4('2001:db8::1'), family: 'IPv6' as const, scopeid: 0 }
  const addresses = ['8.8.8.8', '10.1.2.3', '127.0.0.1', '169.254.1.1', '1.1.1.1', '203.0.113.9', '8.8.8.8'].map(v4)
  expect(publicAddresses({ eth0: [...addresses, v6], empty: undefined })).toEqual(['1.1.1.1', '8.8.8.8'])
})
