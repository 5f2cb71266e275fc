"""./run --help answers from the script alone: it installs, builds and makes nothing."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[2] / 'run'


class RunHelpTest(unittest.TestCase):
    def test_answers_where_nothing_else_of_the_checkout_is(self):
        for flag in ('--help', '-h'):
            with tempfile.TemporaryDirectory() as folder:
                script = pathlib.Path(folder) / 'run'
                shutil.copy(RUN, script)
                done = subprocess.run([script, flag], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn('./run -- ARG…', done.stdout)
                self.assertIn('--for 20s', done.stdout)
                self.assertNotIn('set -euo', done.stdout)
                self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], ['run'])


if __name__ == '__main__':
    unittest.main()
