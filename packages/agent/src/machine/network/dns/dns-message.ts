/** What is read of a message of the name service (RFC 1035, 4.1); everything else passes unread. */

const HEADER_BYTES = 12
const RESPONSE = 0x80
const OPCODE = 0x78
const TRUNCATED = 0x02
const RECURSION_AVAILABLE = 0x80
const SERVER_FAILURE = 2
/** Characters of a name at most, with the lengths of its labels. */
const MAX_NAME_BYTES = 255
const MAX_LABEL_BYTES = 63
/** Type and class of a question. */
const QUESTION_TAIL_BYTES = 4
const PREFIX_BYTES = 2

/** Whether this is one ordinary question, and nothing that only looks like it. */
export function isQuestion(message: Buffer): boolean {
  if (message.length < HEADER_BYTES) return false
  const flags = message.readUInt8(2)
  return (flags & (RESPONSE | OPCODE)) === 0 && message.readUInt16BE(4) === 1 && questionEnd(message) !== null
}

/** Whether it answers that very question, as far as can be told without reading the answer. */
export function isAnswerTo(message: Buffer, question: Buffer): boolean {
  const end = questionEnd(question)
  if (end === null || message.length < end || (message.readUInt8(2) & RESPONSE) === 0) return false
  if (message.readUInt16BE(0) !== question.readUInt16BE(0) || message.readUInt16BE(4) !== 1) return false
  // Letters may come back in another case.
  const asked = (bytes: Buffer) => bytes.subarray(HEADER_BYTES, end).toString('latin1').toLowerCase()
  return asked(message) === asked(question)
}

/** The same message under another number. */
export function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message)
  copy.writeUInt16BE(id, 0)
  return copy
}

export function idOf(message: Buffer): number {
  return message.readUInt16BE(0)
}

/** Says that nobody could be asked. @param question one that {@link isQuestion} */
export function failureOf(question: Buffer): Buffer {
  return emptyAnswer(question, 0, SERVER_FAILURE)
}

/** Says that the answer is to be asked for by TCP. @param question one that {@link isQuestion} */
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

/** Where the first question ends; `null` when it does not. Names of questions are never compressed. */
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

/** Finds messages in a stream, each after its length (RFC 1035, 4.2.2): at most 64 KiB are kept. */
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
