import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CertificateAuthority, makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { Network } from './network.ts'

const VALID_SECONDS = 86_400

export function certificateFiles(folder: string) {
  return {
    authority: join(folder, 'authority.pem'),
    /** With that of the authority. */
    certificate: join(folder, 'certificate.pem'),
    key: join(folder, 'key.pem'),
  }
}

/** A certificate for control's name, by an authority that the machines of the fleet trust. */
export async function makeCertificate(folder: string): Promise<void> {
  const files = certificateFiles(folder)
  const authority = await CertificateAuthority.open(await makeAuthority('Public'))
  const key = makePrivateKey()
  const certificate = await authority.sign(await certificateRequest(key), Network.api, VALID_SECONDS)
  await writeFile(files.authority, authority.certificate)
  await writeFile(files.key, key, { mode: 0o600 })
  await writeFile(files.certificate, `${certificate}${authority.certificate}`)
}
