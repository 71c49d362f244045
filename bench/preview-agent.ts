/** A process that pretends to be an agent with one sandbox whose ports are this host's; says on its first line how it is reached. */
import { randomUUID } from 'node:crypto'
import { PretendedAgent } from '@offshoot/edge/test/pretended-agent'

const agent = await PretendedAgent.start()
const id = randomUUID()
agent.add(id)
console.log(JSON.stringify({ url: agent.url, secret: agent.secret, id }))
