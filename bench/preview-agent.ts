/**
 * A fake agent in its own process, with one sandbox. Its ports lead to this host's ports. Its first line of output gives
 * its address.
 */
import { randomUUID } from 'node:crypto'
import { FakeAgent } from '@offshoot/edge/test/fake-agent'

const agent = await FakeAgent.start()
const id = randomUUID()
agent.add(id)
console.log(JSON.stringify({ url: agent.url, secret: agent.secret, id }))
