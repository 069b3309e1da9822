"""Where `python -m kc run --report-file` writes."""

import os
import stat
import threading

import pytest
from kc.__main__ import _written


@pytest.mark.skipif(os.name != "posix", reason="links, pipes and rights of Unix")
def test_links_pipes_and_rights_stay(tmp_path):
    report = tmp_path / "deep" / "report.json"
    report.parent.mkdir()
    link = tmp_path / "link.json"
    link.symlink_to("deep/report.json")
    old = os.umask(0o027)
    try:
        _written(link, "first")
    finally:
        os.umask(old)
    assert link.is_symlink() and report.read_text() == "first"
    # The rights of any new file, then those that the file has.
    assert stat.S_IMODE(report.stat().st_mode) == 0o640
    report.chmod(0o604)
    _written(link, "second")
    assert report.read_text() == "second" and stat.S_IMODE(report.stat().st_mode) == 0o604
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    _written(pipe, "third")
    reader.join()
    assert read == ["third"] and stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(report.parent)) == ["report.json"]
