"""The expectations of a run as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from streamgauge.report.expectations import Expectation

_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit(suite: str, expectations: Sequence[Expectation], properties: Mapping[str, str]) -> str:
    """One test suite with a test case for each expectation; ``properties`` say where report and summary are."""
    counts = {outcome: sum(one.outcome == outcome for one in expectations) for outcome in _TAGS}
    attributes = {
        "name": suite,
        "tests": str(len(expectations)),
        "failures": str(counts["failed"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(root, "testsuite", attributes)
    held = ElementTree.SubElement(element, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(held, "property", {"name": name, "value": _printable(value)})
    for one in expectations:
        case = ElementTree.SubElement(element, "testcase", {"classname": suite, "name": _printable(one.name)})
        if one.outcome in _TAGS:
            ElementTree.SubElement(case, _TAGS[one.outcome], {"message": _printable(one.message)})
        elif one.message:
            ElementTree.SubElement(case, "system-out").text = _printable(one.message)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """XML has no place for control characters, which a message of somebody's program may have."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)
