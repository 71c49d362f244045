/**
 * A fake agent in its own process, with one sandbox. Its ports lead to this host's ports. Its first line of output gives
 * its address.
 */
import { randomUUID } from 'node:crypto'
import { PretendedAgent } from '@offshoot/edge/test/pretended-agent'

const agent = await PretendedAgent.start()
const id = randomUUID()
agent.add(id)
console.log(JSON.stringify({ url: agent.url, secret: agent.secret, id }))
