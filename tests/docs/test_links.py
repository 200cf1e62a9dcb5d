from docs._tools.links import find_faults


def test_links_anchors_and_foreign_hosts(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html#top"></a><img src="data:,">')
    assert list(find_faults(tmp_path)) == [
        "a.html loads https://example.org/x.js from another host.",
        "a.html: b.html#gone has no such anchor.",
        "a.html: c.html is not there.",
    ]
