/** The fields of a DNS message (RFC 1035, 4.1) that the agent reads. It forwards the rest unread. */

const HEADER_BYTES = 12
const RESPONSE = 0x80
const OPCODE = 0x78
const TRUNCATED = 0x02
const RECURSION_AVAILABLE = 0x80
const SERVER_FAILURE = 2
/** Maximum bytes of a name, including the length bytes of its labels. */
const MAX_NAME_BYTES = 255
const MAX_LABEL_BYTES = 63
/** Type and class of a question. */
const QUESTION_TAIL_BYTES = 4
const PREFIX_BYTES = 2

/** Whether the message is a well-formed standard query with exactly one question. */
export function isQuestion(message: Buffer): boolean {
  if (message.length < HEADER_BYTES) return false
  const flags = message.readUInt8(2)
  return (flags & (RESPONSE | OPCODE)) === 0 && message.readUInt16BE(4) === 1 && questionEnd(message) !== null
}

/** Whether a message is the response to this question: same id, same name, type and class. */
export function isAnswerTo(message: Buffer, question: Buffer): boolean {
  const end = questionEnd(question)
  if (end === null || message.length < end || (message.readUInt8(2) & RESPONSE) === 0) return false
  if (message.readUInt16BE(0) !== question.readUInt16BE(0) || message.readUInt16BE(4) !== 1) return false
  // A server may change the case of letters.
  const asked = (bytes: Buffer) => bytes.subarray(HEADER_BYTES, end).toString('latin1').toLowerCase()
  return asked(message) === asked(question)
}

/** A copy of the message with another id. */
export function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message)
  copy.writeUInt16BE(id, 0)
  return copy
}

export function idOf(message: Buffer): number {
  return message.readUInt16BE(0)
}

/** A SERVFAIL response: no upstream name server answered. @param question one that {@link isQuestion} */
export function failureOf(question: Buffer): Buffer {
  return emptyAnswer(question, 0, SERVER_FAILURE)
}

/** A truncated response, which tells the client to retry over TCP. @param question one that {@link isQuestion} */
export function truncatedAnswerTo(question: Buffer): Buffer {
  return emptyAnswer(question, TRUNCATED, 0)
}

function emptyAnswer(question: Buffer, flags: number, code: number): Buffer {
  const answer = Buffer.from(question.subarray(0, questionEnd(question) ?? HEADER_BYTES))
  answer.writeUInt8(answer.readUInt8(2) | RESPONSE | flags, 2)
  answer.writeUInt8(RECURSION_AVAILABLE | code, 3)
  answer.fill(0, 6, HEADER_BYTES)
  return answer
}

/** The end of the first question; `null` if it is malformed. Names in questions are never compressed. */
function questionEnd(message: Buffer): number | null {
  let at = HEADER_BYTES
  while (at < message.length && at < HEADER_BYTES + MAX_NAME_BYTES) {
    const labelBytes = message.readUInt8(at)
    if (labelBytes > MAX_LABEL_BYTES) return null
    at += 1 + labelBytes
    if (labelBytes === 0) return at + QUESTION_TAIL_BYTES <= message.length ? at + QUESTION_TAIL_BYTES : null
  }
  return null
}

/** Splits a TCP stream into messages, each prefixed with its length (RFC 1035, 4.2.2). Buffers at most 64 KiB. */
export class LengthPrefixed {
  readonly #onMessage: (message: Buffer) => void
  #rest = Buffer.alloc(0)

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
  }

  push(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#rest.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + this.#rest.readUInt16BE(0)
      if (this.#rest.length < end) return
      const message = this.#rest.subarray(PREFIX_BYTES, end)
      this.#rest = this.#rest.subarray(end)
      this.#onMessage(message)
    }
  }
}

export function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt16BE(message.length)
  return Buffer.concat([prefix, message])
}
