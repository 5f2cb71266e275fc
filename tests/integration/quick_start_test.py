"""README's "PostgreSQL to Kafka in five minutes", followed to the letter: its shell blocks, one after the other, in one
shell. Only three things differ: the daemon is the one under test, the database is a new one on the same server, and the
script waits where a reader would type the next command.

  quick_start_test.py README DAEMON
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
HEADING = '## PostgreSQL to Kafka in five minutes'
KCAT = re.compile(r'^kcat .*$', re.MULTILINE)
UUID = re.compile(r'^ *([0-9a-f]{8}-[0-9a-f-]{27})$', re.MULTILINE)


def main():
    readme, daemon = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    if not os.environ.get('OUTBOX_POSTGRESQL') or not os.environ.get('OUTBOX_KAFKA'):
        print('OUTBOX_POSTGRESQL and OUTBOX_KAFKA are not set: ./test starts the real services')
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / 'build').mkdir()
        (folder / 'build' / 'outboxd').symlink_to(daemon)
        (folder / 'tools').symlink_to(readme.parent / 'tools')
        # Names of OUTBOX_… are options of the daemon's own.
        environment = {name: value for name, value in os.environ.items()
                       if name == 'OUTBOX_SERVICES_DIR' or not name.startswith('OUTBOX_')}
        done = subprocess.run(['bash', '-euo', 'pipefail', '-c', script(blocks(readme.read_text()))], cwd=folder,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        print(done.stdout)
        log = folder / 'outboxd.log'
        if log.exists():
            print(log.read_text())
    return judge(done)


def blocks(text):
    section = text[text.index(HEADING):]
    section = section[:section.index('\n## ')]
    return re.findall(r'^```sh\n(.*?)^```$', section, re.MULTILINE | re.DOTALL)


def script(commands):
    first, *rest = commands
    first = re.sub(r'^\./run -- ', 'build/outboxd ', first, flags=re.MULTILINE)
    own_database = ('psql -q "$POSTGRESQL" -c "DROP DATABASE IF EXISTS quick_start" -c "CREATE DATABASE quick_start"\n'
                    'POSTGRESQL=${POSTGRESQL%/*}/quick_start\n')
    text = first + own_database + '\n'.join(rest)
    look = KCAT.search(text).group()
    awaited = f'for i in {{1..100}}; do {look} 2>/dev/null | grep -q . && break; sleep 0.2; done\n'
    text = KCAT.sub(lambda found: awaited + found.group(), text)
    return text + 'wait %1 && echo "the relay ended with $?"\n'


def judge(done):
    id = UUID.search(done.stdout)
    wanted = {
        'exit code 0': done.returncode == 0,
        "the message's id": id is not None,
        'the event in the topic, with its id': id is not None and re.search(
            rf'^4711 .*message-id={id.group(1)}.* {{"order": 4711, "total": 99\.90}}$', done.stdout, re.MULTILINE),
        'ready': '{"ready":true' in done.stdout,
        'the relay drained and ended': 'the relay ended with 0' in done.stdout,
    }
    for what, found in wanted.items():
        if not found:
            print(f'MISSING: {what}')
    return 0 if all(wanted.values()) else 1


if __name__ == '__main__':
    sys.exit(main())
