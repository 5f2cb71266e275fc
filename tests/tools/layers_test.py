"""tools/layers on small trees, each with one breach."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'layers'


class LayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ('tools', 'cmake', '.ci'):
            (self.root / name).mkdir()
        for name in ('run', 'test', '.ci/run'):
            self.write(name, '#!/bin/sh\n')
        shutil.copy(TOOL, self.root / 'tools' / 'layers')
        self.write('src/relay/core.h', '#include "sink/sink.h"\n#include <vector>\n')
        self.write('src/sink/kafka/kafka_sink.cc', '#include "sink/kafka/kafka_sink.h"\n#include "outbox/message.h"\n')
        self.write('src/app/main.cc', '#include "sink/kafka/kafka_sink.h"\n#include <CLI/CLI.hpp>\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def breaches(self):
        done = subprocess.run([sys.executable, self.root / 'tools' / 'layers'], stdout=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1 if lines else 0)
        return lines

    def assert_one(self, beginning):
        lines = self.breaches()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(beginning), lines[0])

    def test_a_tree_in_order(self):
        self.assertEqual(self.breaches(), [])

    def test_upwards(self):
        self.write('src/base/time.h', '#include "model/record.h"\n')
        self.assert_one('src/base/time.h:1: base may not include model/record.h')

    def test_sideways(self):
        self.write('src/sink/http/http_sink.cc', '\n#include "sink/kafka/kafka_sink.h"\n')
        self.assert_one('src/sink/http/http_sink.cc:2: sink/http may not include sink/kafka/kafka_sink.h')

    def test_past_the_interface(self):
        self.write('src/relay/runner.cc', '#include "store/sqlite/cursor.h"\n')
        lines = self.breaches()
        self.assertIn('relay may not include store/sqlite/cursor.h', lines[0])

    def test_a_product_in_the_relay(self):
        self.write('src/relay/policy.cc', '// as Kafka does\n')
        self.assert_one('src/relay/policy.cc:1: relay/ names a product: Kafka')

    def test_out_of_the_public_library(self):
        self.write('include/outbox/message.h', '#include "base/time.h"\n')
        self.assert_one('include/outbox/message.h:1:')

    def test_a_heavy_header_twice(self):
        self.write('src/config/load.cc', '#include <CLI/App.hpp>\n')
        self.assert_one('src/config/load.cc:1: CLI11 is heavy and stands in src/app/main.cc:2')

    def test_a_heavy_header_in_a_header(self):
        self.write('src/base/log.h', '#include <spdlog/spdlog.h>\n')
        self.assert_one('src/base/log.h:1: spdlog is heavy')

    def test_a_folder_without_a_row(self):
        self.write('src/misc/util.h', '')
        self.assert_one('src/misc/util.h:1: tools/layers has no row for the folder misc')

    def test_a_file_too_long(self):
        for number in range(40):
            self.write(f'src/base/small_{number}.h', '')
        self.write('src/base/long.cc', '\n' * 701)
        self.assert_one('src/base/long.cc:700: 701 lines')


if __name__ == '__main__':
    unittest.main()
