"""How ./test counts: what ctest and GoogleTest wrote, read back."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
import run_tests  # noqa: E402

GOOGLETEST = '''<testsuites><testsuite name="S">
<testcase name="a" status="run" result="completed" classname="S" />
<testcase name="b" status="run" result="completed" classname="S"><failure message="short" type=""><![CDATA[a.cc:3
expected 1]]></failure></testcase>
<testcase name="c" status="run" result="skipped" classname="S"><skipped message="a.cc:9&#x0A;no server&#x0A;" /></testcase>
<testcase name="DISABLED_d" status="notrun" result="suppressed" classname="S" />
</testsuite></testsuites>'''


class ReadResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name)
        (self.results / 'gtest').mkdir()

    def ctest(self, status, output=''):
        (self.results / 'ctest.xml').write_text(f'<testsuite><testcase name="core_test" status="{status}">'
                                                f'<system-out>{output}</system-out></testcase></testsuite>')

    def read(self, program='core_test'):
        cases = run_tests.read_results({'name': 'core_test', 'program': program}, self.results)
        return [(case.outcome, case.detail) for case in cases]

    def test_cases_are_counted_one_by_one(self):
        (self.results / 'gtest' / 'core_test.xml').write_text(GOOGLETEST)
        self.ctest('fail')
        self.assertEqual(self.read(), [('passed', ''), ('failed', 'a.cc:3\nexpected 1'), ('skipped', 'no server')])

    def test_a_program_that_fails_although_its_cases_passed(self):
        (self.results / 'gtest' / 'core_test.xml').write_text(GOOGLETEST.replace('<failure', '<note').replace(
            '</failure', '</note'))
        self.ctest('fail', 'a leak')
        self.assertEqual([outcome for outcome, _ in self.read()], ['passed', 'passed', 'skipped', 'failed'])
        self.assertEqual(self.read()[-1][1], 'a leak')

    def test_a_program_that_crashed_wrote_nothing(self):
        self.ctest('fail', 'Segmentation fault')
        self.assertEqual(self.read(), [('failed', 'Segmentation fault')])

    def test_a_script_is_one_case(self):
        self.ctest('run')
        self.assertEqual(self.read(), [('passed', '')])

    def test_a_script_may_skip(self):
        self.ctest('notrun', 'looking\nno strace here\n')
        self.assertEqual(self.read(), [('skipped', 'no strace here')])

    def test_a_program_that_was_not_built_is_no_skip(self):
        self.ctest('notrun', 'Unable to find executable')
        self.assertEqual(self.read(program=''), [('failed', 'Unable to find executable')])

    def test_a_test_that_ctest_never_ran(self):
        (self.results / 'ctest.xml').write_text('<testsuite/>')
        self.assertEqual(self.read(), [('failed', '')])


class SummaryTest(unittest.TestCase):
    def test_the_line(self):
        cases = [run_tests.Case('a', 'passed'), run_tests.Case('b', 'failed'), run_tests.Case('c', 'passed')]
        self.assertEqual(run_tests.summary(cases), '2 passed, 1 failed, 0 skipped')


if __name__ == '__main__':
    unittest.main()
