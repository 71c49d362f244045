import type { ControlConfig } from '@offshoot/contract/process-config'
import type { Logger } from 'pino'
import type { Mail } from './mail.ts'
import { MailFolder } from './mail-folder.ts'

/** Milliseconds for each of: connecting, the greeting, any later silence. */
const SERVER_TIMEOUT_MS = 20_000

/** Delivers mails. Resolves once the mail is delivered. */
export type MailCarrier = (mail: Mail) => Promise<void>

/** Delivers by SMTP if a server is configured, else into a folder whose path is logged. */
export async function mailCarrier({ mail: settings, data_dir }: ControlConfig, log: Logger): Promise<MailCarrier> {
  const { from, smtp } = settings
  if (smtp === undefined) {
    const folder = new MailFolder(`${data_dir}/mail`, from)
    log.info({ folder: folder.path }, 'no mail server is configured: mails become files in this folder')
    return async (mail) => log.info({ file: await folder.write(mail) }, 'mail written')
  }
  const { host, port, secure, user, password } = smtp
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    secure,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    connectionTimeout: SERVER_TIMEOUT_MS,
    greetingTimeout: SERVER_TIMEOUT_MS,
    socketTimeout: SERVER_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return async (mail) => {
    await transport.sendMail({ from, ...mail })
  }
}
