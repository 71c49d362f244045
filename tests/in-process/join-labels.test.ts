import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { call, Harness } from '@offshoot/control/test/harness'
import { parseArguments } from '@offshoot/up/base/arguments'
import { dataLayout } from '@offshoot/up/base/data-layout'
import { enrol } from '@offshoot/up/join/enrol'
import { hostFiles } from '@offshoot/up/join/membership'
import { expect, it } from 'vitest'
import { OPERATOR, OPERATOR_KEY } from '@offshoot/control/test/operator'

it('bin/up gives control the labels and the zone of the host that joins', async () => {
  const harness = await Harness.start()
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-join-'))
  try {
    const { url } = await harness.control([], OPERATOR)
    const { body } = await call(url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    const address = ['--host-address', '192.0.2.7']
    const described = ['--label', 'disk=nvme', '--label', 'gpu=none', '--zone', 'rack-2']
    const args = parseArguments(['--join', url, '--token', body.token, ...address, ...described], {}, '/')
    if (args.join === null) throw new Error('no join')
    const layout = dataLayout(folder, folder)
    await mkdir(dirname(hostFiles(layout).firstKey), { recursive: true })
    const { host_id: id } = await enrol(layout, args.join, new AbortController().signal)
    const { rows } = await harness.pool.query('select labels, zone from joined_hosts where id = $1', [id])
    expect(rows).toEqual([{ labels: { disk: 'nvme', gpu: 'none' }, zone: 'rack-2' }])
  } finally {
    await harness.stop()
    await rm(folder, { recursive: true })
  }
})
