import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** As received: headers, an empty line, the text. */
  readonly raw: string
}

/** A mail server that keeps received mails, on a port of its own. */
export class MailServer {
  readonly received: ReceivedMail[] = []
  /** While true, every mail gets a temporary failure. */
  isBusy = false
  readonly #server: SMTPServer

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData: (stream, session, done) => {
        const parts: Buffer[] = []
        stream.on('data', (part: Buffer) => parts.push(part))
        stream.on('end', () => {
          if (this.isBusy) return done(Object.assign(new Error('busy, later'), { responseCode: 451 }))
          const { mailFrom, rcptTo } = session.envelope
          const from = mailFrom === false ? '' : mailFrom.address
          this.received.push({ from, to: rcptTo.map(({ address }) => address), raw: Buffer.concat(parts).toString() })
          done()
        })
      },
    })
    // A client that is stopped breaks its connection.
    this.#server.on('error', () => undefined)
  }

  static async start(): Promise<MailServer> {
    const server = new MailServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  /** The newest mail to that address. */
  to(address: string): ReceivedMail | undefined {
    return this.received.findLast(({ to }) => to.includes(address))
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve))
  }
}

/** The text of a mail, with soft line breaks and escapes decoded. */
export function textOf({ raw }: ReceivedMail): string {
  const [head = '', ...body] = raw.replaceAll('\r\n', '\n').split('\n\n')
  const text = body.join('\n\n')
  if (!/^content-transfer-encoding: quoted-printable$/im.test(head)) return text
  const bytes = text
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
