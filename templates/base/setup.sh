# Runs as root inside the image when its packages and files are in place.

useradd --create-home --uid 1000 --shell /bin/bash user
chown -R root:root /usr/local /etc/apt /etc/dpkg /etc/sudoers.d /etc/pip.conf
chmod 0440 /etc/sudoers.d/user

# The package gives only vi; a full vim that is installed later takes this name over.
update-alternatives --quiet --install /usr/bin/vim vim /usr/bin/vim.tiny 10

# A login shell runs no program before its prompt: under emulation, each takes 8 ms. bash knows the user id by itself.
sed -i 's/\$(id -u)/${EUID:-$(id -u)}/' /etc/profile
sed -i '/^mesg n/d' /root/.profile

# Made at the first connection (dropbear -R), so that no two sandboxes share one.
mkdir -p /etc/dropbear
rm -f /etc/dropbear/*_host_key

# The first packages were unpacked before dpkg.cfg.d/paths held.
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type l -delete
find /usr/share/doc -depth -type d -empty -delete
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/*

# Language servers, without what none of them reads: maps, manuals, types of the servers' own code, tests, translations.
cd /usr/local/lib/language-servers
ln -s typescript javascript
find node_modules -type f \( -name '*.map' -o -name '*.md' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
find node_modules -type f -name '*.d.ts' ! -path 'node_modules/typescript/lib/*' -delete
rm -rf node_modules/.bin node_modules/@mixmark-io/domino/test node_modules/zod/src node_modules/typescript/lib/*/
rm -rf node_modules/core-js/actual node_modules/core-js/es node_modules/core-js/features node_modules/core-js/full
rm -rf node_modules/core-js/stable node_modules/core-js/stage node_modules/core-js/web
cd /

# What differs from sandbox to sandbox, and what a build leaves behind.
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/lib/dpkg/*-old
rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/bootstrap.log /tmp/*
mkdir -p /var/lib/apt/lists/partial

# The builder's own; a sandbox gets its name servers with its address.
: > /etc/resolv.conf
chmod 0644 /etc/resolv.conf
