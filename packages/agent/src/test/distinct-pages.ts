const MIB = 1024 * 1024

/** A guest's command that fills a file with MiBs of which no two pages are equal. */
export function distinctPages(path: string, mib: number): string {
  const part = '/root/part'
  return `head -c ${MIB} /dev/urandom > ${part}; for i in $(seq ${mib}); do echo $i; cat ${part}; done > ${path}`
}
