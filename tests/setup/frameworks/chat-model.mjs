import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

/**
 * A model of the AI SDK behind a server that speaks the protocol of OpenAI.
 *
 * @param turns what the model says, one function for each turn: calls of tools, as `[name, input]`, or a text. They get
 * the `answers` of all calls until then.
 * @returns the model, what it was asked, and how to end its server
 */
export async function startChatModel(turns) {
  const asked = []
  const server = createServer((request, response) => void answer(request, response, turns, asked))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`
  const model = createOpenAICompatible({ name: 'test', baseURL }).chatModel('test')
  return { model, asked, close: () => server.close() }
}

async function answer(request, response, turns, asked) {
  const { messages, tools } = await json(request)
  const answers = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  const turn = messages.filter(({ role }) => role === 'assistant').length
  asked.push({ path: request.url, tools, answers })
  const said = turns[turn]({ answers })
  const calls = typeof said === 'string' ? [] : said
  const toolCalls = calls.map(([name, input], index) => ({
    id: `call-${turn}-${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  const message =
    calls.length === 0
      ? { role: 'assistant', content: said }
      : { role: 'assistant', content: null, tool_calls: toolCalls }
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({
      id: `answer-${turn}`,
      object: 'chat.completion',
      created: 0,
      model: 'test',
      choices: [{ index: 0, message, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  )
}
