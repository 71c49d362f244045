import { expect, it } from 'vitest'
import { parseEgressException } from './egress-exception.ts'

it('takes a network and a port', () => {
  expect(parseEgressException('10.1.0.0/16:80')).toEqual({ cidr: '10.1.0.0/16', port: 80 })
  expect(parseEgressException('192.168.1.7/32:65535')).toEqual({ cidr: '192.168.1.7/32', port: 65_535 })
})

it.each([
  '',
  '10.1.0.0:80',
  '10.1.0.0/16',
  '10.1.0.0/33:80',
  '10.1.0/16:80',
  '10.1.0.256/32:1',
  'fd00::/8:80',
  '10.1.0.0/16:0',
  '10.1.0.0/16:65536',
  '10.1.0.0/16:80 ',
  '10.1.0.0/16:80;accept',
])('refuses %j', (text) => {
  expect(parseEgressException(text)).toBeNull()
})
