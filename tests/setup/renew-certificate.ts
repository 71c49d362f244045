/** Renews the certificate of a host now, as its supervisor does when half of the time is over: renew-certificate.ts DIR */
import { dataLayout } from '@offshoot/up/base/data-layout'
import { readMembership } from '@offshoot/up/join/membership'
import { renewCertificate } from '@offshoot/up/join/renew'

const [dir] = process.argv.slice(2)
if (dir === undefined) throw new Error('usage: renew-certificate.ts DIR')
const layout = dataLayout(dir, '/')
const member = await readMembership(layout)
if (member === null) throw new Error(`${dir} has not joined`)
await renewCertificate(layout, member, new AbortController().signal)
