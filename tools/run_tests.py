"""Builds and runs the parts of ./test, and counts test cases: those of a GoogleTest program one by one, a script as one."""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
BUILD = CHECKOUT / 'build'
IN_CI = os.environ.get('CI') == 'true'

# A part of ./test is a label of ctest; those that need real services run one test at a time. The checks come after the
# build: tools/lint asks it which headers a file includes.
QUICK = ('unit', 'simulation')
SERVED = ('conformance', 'integration', 'fault')
PARTS = (*QUICK, *SERVED, 'checks', 'tidy', 'sanitizers')
LONG = ('tidy', 'sanitizers')  # not in a plain ./test

SANITIZERS = {'asan': 'address,undefined', 'tsan': 'thread'}
# ThreadSanitizer reads what has threads; the core and the simulator have none.
SANITIZED_PARTS = {'asan': ('unit', 'simulation', 'conformance'), 'tsan': ('conformance',)}


@dataclasses.dataclass
class Case:
    name: str
    outcome: str      # passed | failed | skipped
    detail: str = ''  # the output of a failed one, the reason of a skipped one


class BuildFailed(Exception):
    pass


def main():
    parser = argparse.ArgumentParser(prog='./test')
    parser.add_argument('parts', nargs='*', metavar='PART', help=', '.join(PARTS))
    parts = parser.parse_args().parts or [part for part in PARTS if part not in LONG]
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"no part named '{unknown[0]}'; there are {', '.join(PARTS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    cases = []
    with Services() as services:
        for part in parts:
            started = time.monotonic()
            try:
                found = run_part(part, services)
            except BuildFailed as failure:
                found = [Case(f'{part}: build', 'failed', str(failure))]
            report(part, found, time.monotonic() - started)
            cases += found
    return close(cases)


def run_part(part, services):
    if part == 'checks':
        return run_checks('layers', 'headers compile alone', 'format')
    if part == 'tidy':
        return run_checks('tidy')
    if part == 'sanitizers':
        return [case for name in SANITIZERS for case in run_sanitizer(name, services)]
    build = configure('test', 'RelWithDebInfo', '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g')
    return run_label(build, part, services)


def run_sanitizer(name, services):
    # Lines are all that a report needs; the rest of the debug information takes a quarter of the build's time.
    build = configure(name, 'RelWithDebInfo', '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1',
                      f'-DOUTBOX_SANITIZE={SANITIZERS[name]}')
    suppressions = CHECKOUT / 'tests' / 'support' / 'tsan.suppressions'
    environment = {
        'OUTBOX_SIMULATION_SEEDS': '1000',
        'ASAN_OPTIONS': 'detect_stack_use_after_return=1:check_initialization_order=1',
        'UBSAN_OPTIONS': 'print_stacktrace=1',
        'TSAN_OPTIONS': f'suppressions={suppressions}:halt_on_error=0:second_deadlock_stack=1',
    }
    cases = []
    for part in SANITIZED_PARTS[name]:
        cases += run_label(build, part, services, environment)
    for case in cases:
        case.name = f'{name}: {case.name}'
    return cases


# Building.

def configure(name, build_type, *options):
    folder = BUILD / name
    logged(folder, 'configure', ['cmake', '-S', CHECKOUT, '-B', folder, '-G', 'Ninja', f'-DCMAKE_BUILD_TYPE={build_type}',
                                 '-DOUTBOX_TESTS=ON', '-DOUTBOX_BENCH=OFF', *options])
    return folder


def build_targets(folder, targets):
    logged(folder, 'build', ['cmake', '--build', folder, '--target', *targets])


def logged(folder, step, command):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f'{step}.log', 'w+') as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            log.seek(0)
            raise BuildFailed(log.read())


# Running.

def run_label(build, label, services, environment=None):
    if not select(build, label):
        return []
    # Integration and fault tests run the daemon, examples and scripts as well.
    build_targets(build, ['all'] if label in ('integration', 'fault') else [f'tests_{label}'])
    tests = select(build, label)
    results = build / 'results' / label
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    addresses = services.addresses() if label in SERVED else {}
    jobs = 1 if label in SERVED else os.cpu_count()
    with open(results / 'ctest.log', 'w') as log:
        subprocess.run(['ctest', '--test-dir', build, '-L', f'^{label}$', '-j', str(jobs), '--no-tests=error',
                        '--test-output-size-failed', '10000000', '--output-junit', results / 'ctest.xml'],
                       stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                       env={**os.environ, **addresses, **(environment or {}), 'GTEST_OUTPUT': f'xml:{results}/gtest/'})
    return [case for test in tests for case in read_results(test, results)]


def select(build, label):
    """The tests of a label: name and program; no program yet where it was not built."""
    listed = subprocess.run(['ctest', '--test-dir', build, '-L', f'^{label}$', '--show-only=json-v1'],
                            check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    return [{'name': test['name'], 'program': pathlib.Path(test.get('command', [''])[0]).name}
            for test in json.loads(listed)['tests']]


def read_results(test, results):
    """A GoogleTest program leaves an XML file; what leaves none is one case, judged by how it ended."""
    ended = next((case for case in xml.parse(results / 'ctest.xml').iter('testcase') if case.get('name') == test['name']),
                 None)
    output = ended.findtext('system-out') or '' if ended is not None else ''
    failed = ended is None or ended.get('status') not in ('run', 'notrun', 'disabled')
    written = results / 'gtest' / f"{test['program']}.xml"
    cases = []
    if written.exists():
        cases = [read_case(test['name'], case) for case in xml.parse(written).iter('testcase')
                 if case.get('status') == 'run']
        if failed and not any(case.outcome == 'failed' for case in cases):
            cases.append(Case(f"{test['name']}: the program itself", 'failed', output))
        return cases
    if failed or not test['program']:
        return [Case(test['name'], 'failed', output)]
    if ended.get('status') == 'run':
        return [Case(test['name'], 'passed')]
    return [Case(test['name'], 'skipped', output.strip().rpartition('\n')[2])]


def read_case(program, case):
    name = f"{program}: {case.get('classname')}.{case.get('name')}"
    failures = [failure.text or failure.get('message', '') for failure in case.iter('failure')]
    if failures:
        return Case(name, 'failed', '\n'.join(failures))
    skipped = case.find('skipped')
    if skipped is not None:
        return Case(name, 'skipped', skipped.get('message', '').strip().rpartition('\n')[2])
    return Case(name, 'passed')


def run_checks(*names):
    build = configure('test', 'RelWithDebInfo', '-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g')
    checks = {
        'layers': [CHECKOUT / 'tools' / 'layers'],
        'headers compile alone': ['cmake', '--build', build, '--target', 'headers_compile_alone'],
        'format': [CHECKOUT / 'tools' / 'lint', 'format'],
        'tidy': [CHECKOUT / 'tools' / 'lint', 'tidy'],
    }
    cases = []
    for name in names:
        done = subprocess.run(checks[name], cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        cases.append(Case(f'checks: {name}', 'passed' if done.returncode == 0 else 'failed', done.stdout))
    return cases


class Services:
    """The real services: started when the first part needs them, stopped at the end, on data of their own."""

    def __init__(self):
        self.folder = BUILD / 'test-services'
        self.found = None

    def __enter__(self):
        os.environ['OUTBOX_SERVICES_DIR'] = str(self.folder)  # also for tests that kill and start a service
        return self

    def __exit__(self, *_):
        if self.found is not None:
            self.tool('down', '--purge')

    def addresses(self):
        if self.found is None:
            self.found = {}
            self.tool('down', '--purge')
            for name in ('postgresql', 'postgresql-newest', 'pgbouncer', 'kafka', 'rabbitmq', 'nats'):
                for line in self.tool('up', name).splitlines():
                    variable, _, address = line.partition('=')
                    self.found[f'OUTBOX_{variable}'] = address
        return self.found

    def tool(self, *arguments):
        # Where a service cannot be had, the tool says why, and the tests that need it are skipped.
        return subprocess.run([CHECKOUT / 'tools' / 'services', *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True).stdout


# Telling.

def report(part, cases, seconds):
    for case in cases:
        if case.outcome == 'failed':
            print(f'\nFAILED {case.name}\n{case.detail.rstrip()}\n')
    print(f'{part:12} {summary(cases)} ({seconds:.0f} s)', flush=True)


def close(cases):
    skipped = [case for case in cases if case.outcome == 'skipped']
    for case in skipped:
        print(f'skipped {case.name}: {case.detail}')
        if IN_CI:
            case.outcome = 'failed'
    failed = [case for case in cases if case.outcome == 'failed']
    for case in failed:
        print(f'failed {case.name}')
    print(summary(cases), flush=True)
    return 1 if failed or not cases else 0


def summary(cases):
    counts = {outcome: sum(case.outcome == outcome for case in cases) for outcome in ('passed', 'failed', 'skipped')}
    return ', '.join(f'{count} {outcome}' for outcome, count in counts.items())


if __name__ == '__main__':
    sys.exit(main())
